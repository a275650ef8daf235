//! Removes what a survey found: objects of chosen kinds while the operator runs, their CRDs, then the operator.

use std::time::Duration;

use kube::api::DeleteParams;
use tokio::time::{Instant, sleep};

use super::{
    Choice, Claim, Cluster, Object, Stored, Survey, SurveyedKind, UninstallError, namespace,
    survey::surveyed,
};

/// The time between two looks at what is being deleted.
const PAUSE: Duration = Duration::from_millis(300);

/// What happens, in the order in which it happens.
pub enum Step {
    /// What the command waits for.
    Waits(&'static str),
    /// An object no longer exists.
    Deleted(String),
    /// A namespace is kept because of this object.
    NamespaceKept { namespace: String, because: String },
}

/// How a removal ended.
pub enum Ending {
    Done,
    /// These objects still exist after the timeout; the operator was not removed.
    Stuck(Vec<Stored>),
    /// This object still exists after the timeout, and what comes after it was not removed.
    StuckAt(String),
    /// Something has created this object again, and what comes after it was not removed.
    CreatedAgain(String),
}

/// Removes what was found. Objects and CRDs that the user did not choose, and the objects of others and of packages, stay.
pub async fn remove(
    cluster: &Cluster,
    survey: &Survey,
    choice: &Choice,
    mut step: impl FnMut(Step),
) -> Result<Ending, UninstallError> {
    let deadline = Instant::now() + choice.timeout;
    let own = || {
        let own = survey.objects.iter();
        own.filter(|(object, claim, _)| {
            *claim == Claim::Operator && (choice.namespace || !object.is_namespace())
        })
    };
    let deletes_namespace =
        survey.package().is_none() && own().any(|(object, ..)| object.is_namespace());
    // before anything is deleted, because it can fail
    let kinds_of_namespaces = match deletes_namespace {
        true => namespace::kinds(cluster).await?,
        false => vec![],
    };
    let chosen = || {
        let kinds = survey.kinds.iter();
        kinds.filter(|kind| kind.has_crd && kind.is_chosen(&choice.crds))
    };
    let remaining = delete_objects(cluster, chosen(), deadline, &mut step).await?;
    if !remaining.is_empty() {
        return Ok(Ending::Stuck(remaining));
    }
    for crd in chosen().filter_map(|kind| kind.kind.crd.as_ref()) {
        step(Step::Waits("waiting until the CRD is deleted"));
        cluster.delete_crd(crd).await?;
        while cluster.crd(crd).await?.is_some() {
            if Instant::now() >= deadline {
                return Ok(Ending::StuckAt(format!("CustomResourceDefinition {crd}")));
            }
            sleep(PAUSE).await;
        }
        step(Step::Deleted(format!("CustomResourceDefinition {crd}")));
    }
    if survey.package().is_some() {
        return Ok(Ending::Done);
    }
    for (object, _, uid) in own() {
        if object.is_namespace()
            && let Some(because) =
                namespace::occupant(cluster, &kinds_of_namespaces, &object.name).await?
        {
            let namespace = object.name.clone();
            step(Step::NamespaceKept { namespace, because });
            continue;
        }
        let deletion = delete_object(cluster, object, uid.clone(), deadline, &mut step).await?;
        if let Some(ending) = deletion.ending(object) {
            return Ok(ending);
        }
    }
    Ok(Ending::Done)
}

/// Deletes the objects of kinds, and those that appear meanwhile, until none are left. Returns what still exists at the deadline.
async fn delete_objects(
    cluster: &Cluster,
    kinds: impl Iterator<Item = &SurveyedKind> + Clone,
    deadline: Instant,
    step: &mut impl FnMut(Step),
) -> Result<Vec<Stored>, UninstallError> {
    let mut requested: Vec<(String, Option<String>)> = vec![];
    loop {
        let mut remaining = vec![];
        for kind in kinds.clone() {
            remaining.extend(surveyed(cluster, &kind.kind).await?.objects);
        }
        requested.retain(|(object, uid)| {
            let exists = remaining.iter().any(|stored| stored.uid == *uid);
            if !exists {
                step(Step::Deleted(object.clone()));
            }
            exists
        });
        if remaining.is_empty() || Instant::now() >= deadline {
            return Ok(remaining);
        }
        step(Step::Waits("waiting until the objects are deleted"));
        for stored in &remaining {
            let uid = &stored.uid;
            if stored.deleted_at.is_none() {
                let params = DeleteParams::background();
                cluster.delete(&stored.object, uid.clone(), params).await?;
            }
            if !requested.iter().any(|(_, known)| known == uid) {
                requested.push((stored.object.to_string(), uid.clone()));
            }
        }
        sleep(PAUSE).await;
    }
}

enum Deletion {
    Done,
    Late,
    /// Something has created the object again.
    Undone,
}

impl Deletion {
    /// How the removal ends with it, unless it goes on.
    fn ending(self, object: &Object) -> Option<Ending> {
        match self {
            Self::Done => None,
            Self::Late => Some(Ending::StuckAt(object.to_string())),
            Self::Undone => Some(Ending::CreatedAgain(object.to_string())),
        }
    }
}

/// Deletes an object and waits until it is gone: what comes after the Deployment must not go while pods run.
async fn delete_object(
    cluster: &Cluster,
    object: &Object,
    uid: Option<String>,
    deadline: Instant,
    step: &mut impl FnMut(Step),
) -> Result<Deletion, UninstallError> {
    let params = match object.is_deployment() {
        true => DeleteParams::foreground(),
        false => DeleteParams::background(),
    };
    cluster.delete(object, uid.clone(), params).await?;
    step(Step::Waits(match object.is_deployment() {
        true => "waiting until the operator has ended",
        false => "waiting until the objects of the operator are deleted",
    }));
    while let Some(found) = cluster.read(object).await? {
        if found.metadata.uid != uid {
            return Ok(Deletion::Undone);
        }
        if Instant::now() >= deadline {
            return Ok(Deletion::Late);
        }
        sleep(PAUSE).await;
    }
    step(Step::Deleted(object.to_string()));
    Ok(Deletion::Done)
}
