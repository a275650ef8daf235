//! Removes what a survey found: objects of chosen kinds while the operator runs, their CRDs, then the operator.

use std::{
    thread::sleep,
    time::{Duration, Instant},
};

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use super::{
    Choice, Claim, Cluster, Object, Stored, Survey, SurveyedKind, UninstallError, namespace,
    survey::surveyed,
};

/// The time between two checks whether objects still exist.
const PAUSE: Duration = Duration::from_millis(300);

/// The propagation policy for all objects but the Deployment, whose pods must be deleted before it.
const BACKGROUND: &str = "Background";

/// An event of a removal.
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
pub fn remove(
    cluster: &Cluster,
    survey: &Survey,
    choice: &Choice,
    mut step: impl FnMut(Step),
) -> Result<Ending, UninstallError> {
    let own = || {
        survey.objects.iter().filter(|(object, claim, _)| {
            *claim == Claim::Operator && (choice.namespace || !object.is_namespace())
        })
    };
    let deletes_namespace =
        survey.package().is_none() && own().any(|(object, ..)| object.is_namespace());
    // before anything is deleted, because it can fail
    let kinds_of_namespaces = if deletes_namespace {
        namespace::kinds(cluster)?
    } else {
        vec![]
    };
    let deadline = Instant::now() + choice.timeout;
    let chosen = || {
        survey
            .kinds
            .iter()
            .filter(|kind| kind.is_chosen(&choice.crds))
    };
    let remaining = delete_objects(cluster, chosen(), deadline, &mut step)?;
    if !remaining.is_empty() {
        return Ok(Ending::Stuck(remaining));
    }
    for (crd, uid) in chosen().filter_map(|kind| kind.crd.as_ref()) {
        let deletion = delete_object(cluster, crd, uid, deadline, &mut step)?;
        if let Some(ending) = deletion.ending(crd) {
            return Ok(ending);
        }
    }
    if survey.package().is_some() {
        return Ok(Ending::Done);
    }
    for (object, _, uid) in own() {
        if object.is_namespace()
            && let Some(because) = namespace::occupant(cluster, &kinds_of_namespaces, &object.name)?
        {
            let namespace = object.name.clone();
            step(Step::NamespaceKept { namespace, because });
            continue;
        }
        let deletion = delete_object(cluster, object, uid, deadline, &mut step)?;
        if let Some(ending) = deletion.ending(object) {
            return Ok(ending);
        }
    }
    Ok(Ending::Done)
}

/// Deletes the objects of kinds, and those that appear meanwhile, until none are left. Returns what still exists at the deadline.
fn delete_objects<'a>(
    cluster: &Cluster,
    kinds: impl Iterator<Item = &'a SurveyedKind> + Clone,
    deadline: Instant,
    step: &mut impl FnMut(Step),
) -> Result<Vec<Stored>, UninstallError> {
    let mut requested: Vec<(String, String)> = vec![];
    loop {
        let mut remaining = vec![];
        for kind in kinds.clone() {
            remaining.extend(surveyed(cluster, &kind.kind)?.objects);
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
        remaining
            .par_iter()
            .try_for_each(|stored| match stored.deleted_at {
                None => cluster.delete(&stored.object, &stored.uid, BACKGROUND),
                Some(_) => Ok(()),
            })?;
        for Stored { object, uid, .. } in remaining {
            if !requested.iter().any(|(_, known)| *known == uid) {
                requested.push((object.to_string(), uid));
            }
        }
        sleep(PAUSE);
    }
}

enum Deletion {
    Done,
    Late,
    /// Something has created the object again.
    Undone,
}

impl Deletion {
    /// The ending of the removal, if it cannot continue after this.
    fn ending(self, object: &Object) -> Option<Ending> {
        match self {
            Self::Done => None,
            Self::Late => Some(Ending::StuckAt(object.to_string())),
            Self::Undone => Some(Ending::CreatedAgain(object.to_string())),
        }
    }
}

/// Deletes an object, and waits until it no longer exists: what is deleted after the Deployment is needed as long as its pods run.
fn delete_object(
    cluster: &Cluster,
    object: &Object,
    uid: &str,
    deadline: Instant,
    step: &mut impl FnMut(Step),
) -> Result<Deletion, UninstallError> {
    let (policy, waits) = match object.resource.kind.as_str() {
        "Deployment" => ("Foreground", "waiting until the operator has ended"),
        "CustomResourceDefinition" => (BACKGROUND, "waiting until the CRD is deleted"),
        _ => (
            BACKGROUND,
            "waiting until the objects of the operator are deleted",
        ),
    };
    cluster.delete(object, uid, policy)?;
    step(Step::Waits(waits));
    while let Some(found) = cluster.read(object)? {
        if found["metadata"]["uid"] != uid {
            return Ok(Deletion::Undone);
        }
        if Instant::now() >= deadline {
            return Ok(Deletion::Late);
        }
        sleep(PAUSE);
    }
    step(Step::Deleted(object.to_string()));
    Ok(Deletion::Done)
}
