//! Finds what exists of an installation in the cluster. A survey only reads.

use std::fmt;

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use serde_json::Value;

use super::{
    Claim, Cluster, Installation, InstalledKind, Object, Package, UninstallError,
    cluster::Metadata,
    object::{Mark, known},
};
use crate::operator::ResourceType;

/// The kinds and objects of an installation that exist.
pub struct Survey {
    pub kinds: Vec<SurveyedKind>,
    /// The objects of the manifests and of the operator, in the order of deletion, each with its uid.
    pub objects: Vec<(Object, Claim, String)>,
}

/// A kind with its objects.
pub struct SurveyedKind {
    pub kind: InstalledKind,
    /// The CRD with its uid, if the project installs it and it exists.
    pub crd: Option<(Object, String)>,
    /// The namespace and the name of the Service whose webhook converts its objects.
    pub converter: Option<(String, String)>,
    pub objects: Vec<Stored>,
}

/// An object of a kind of the operator.
#[derive(Clone, Debug)]
pub struct Stored {
    pub object: Object,
    pub uid: String,
    pub finalizers: Vec<String>,
    /// When its deletion began, if it is being deleted.
    pub deleted_at: Option<String>,
}

impl Survey {
    /// The package that the operator is part of.
    pub fn package(&self) -> Option<&Package> {
        self.objects.iter().find_map(|(_, claim, _)| match claim {
            Claim::Package(package) => Some(package),
            _ => None,
        })
    }

    /// Whether the operator converts the objects of a kind.
    pub fn converts(&self, kind: &SurveyedKind) -> bool {
        let Some((namespace, name)) = &kind.converter else {
            return false;
        };
        let is_converter = |(object, claim, _): &(Object, Claim, _)| {
            *claim != Claim::Other && object.is_service(namespace, name)
        };
        self.objects.iter().any(is_converter)
    }

    /// A Deployment that has the name of the operator's, but not its label: it may be the operator.
    pub fn unknown_deployment(&self) -> Option<&Object> {
        self.objects
            .iter()
            .find(|(object, claim, _)| object.is_deployment() && *claim == Claim::Other)
            .map(|(object, ..)| object)
    }

    /// Whether a Deployment of the operator exists, which this command deletes.
    pub fn has_deployment(&self) -> bool {
        let is_own = |(object, claim, _): &(Object, Claim, _)| {
            object.is_deployment() && *claim == Claim::Operator
        };
        self.objects.iter().any(is_own)
    }
}

impl Stored {
    /// Formats the finalizers of the object, and since when it is being deleted; empty if it has no finalizers.
    pub fn waits_for(&self) -> String {
        let finalizers = self.finalizers.join(", ");
        match (finalizers.as_str(), &self.deleted_at) {
            ("", _) => String::new(),
            (finalizers, None) => format!("finalizers {finalizers}"),
            (finalizers, Some(since)) => {
                format!("finalizers {finalizers}, being deleted since {since}")
            }
        }
    }
}

/// Formats an object as `Memcached default/a: finalizers example.com/backup`.
impl fmt::Display for Stored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.waits_for().as_str() {
            "" => write!(f, "{}", self.object),
            waits => write!(f, "{}: {waits}", self.object),
        }
    }
}

impl SurveyedKind {
    /// The objects that have a finalizer of the operator.
    pub fn held(&self) -> impl Iterator<Item = &Stored> {
        let ours = &self.kind.finalizers;
        self.objects
            .iter()
            .filter(|object| object.finalizers.iter().any(|it| ours.contains(it)))
    }

    /// Whether the user named its CRD.
    pub fn is_chosen(&self, crds: &[String]) -> bool {
        self.kind.crd.as_ref().is_some_and(|crd| crds.contains(crd))
    }
}

/// Reads what exists of an installation.
pub fn survey(cluster: &Cluster, installation: &Installation) -> Result<Survey, UninstallError> {
    let kinds = installation.kinds.iter();
    let kinds: Result<_, _> = kinds.map(|kind| surveyed(cluster, kind)).collect();
    let kinds = kinds?;
    let objects = found(cluster, objects_of(installation))?
        .into_iter()
        .map(|(object, found)| {
            let claim = object.claim(&found, &installation.name);
            if claim != Claim::Other {
                check_namespace(&object, &found, installation)?;
            }
            Ok((object, claim, uid(&found)))
        });
    let objects = objects.collect::<Result<_, _>>()?;
    Ok(Survey { kinds, objects })
}

/// Reads the objects that earlier manifests of an installation had: those with the label of the operator that its manifests lack. A package
/// manager deletes its own.
pub fn stale(cluster: &Cluster, installation: &Installation) -> Result<Survey, UninstallError> {
    let Installation {
        name, namespace, ..
    } = installation;
    let present: Vec<String> = objects_of(installation).iter().map(Object::path).collect();
    let selector = format!("app.kubernetes.io/name={name}");
    let kinds = known(name);
    let listed = kinds.par_iter().map(|(kind, names)| {
        // of the kinds with namespaces, only roles and their bindings may be in others than the operator's
        let is_role = ["Role", "RoleBinding"].contains(&kind.kind.as_str());
        let namespace = Some(namespace.as_str()).filter(|_| kind.namespaced && !is_role);
        let listed = cluster.list(kind, namespace, &selector)?.into_iter();
        let known = listed.filter(|it| names.contains(&it.name));
        let objects = known.map(|it| Object::labeled(kind.clone(), it.namespace, it.name));
        Ok(objects.collect::<Vec<_>>())
    });
    let mut absent = listed.collect::<Result<Vec<_>, _>>()?.concat();
    absent.retain(|object| !present.contains(&object.path()));
    let found = found(cluster, absent)?;
    let found = found.into_iter().map(|(object, found)| {
        let claim = object.claim(&found, name);
        (object, claim, found)
    });
    let own: Vec<_> = found
        .filter(|(_, claim, _)| *claim == Claim::Operator)
        .collect();
    // the bindings of an operator of the same name in another namespace, whose roles have their names
    let mut others = vec![];
    for (object, _, found) in &own {
        match (&object.namespace, installed_in(found)) {
            (None, _) => check_namespace(object, found, installation)?,
            (Some(at), Some(other)) if other != namespace => {
                others.push((at.clone(), object.name.clone()));
            }
            _ => {}
        }
    }
    let is_other = |object: &Object| {
        let mut others = others.iter();
        others.any(|(namespace, name)| {
            object.namespace.as_ref() == Some(namespace) && object.name == *name
        })
    };
    let objects = own
        .into_iter()
        .filter(|(object, ..)| !is_other(object))
        .map(|(object, claim, found)| (object, claim, uid(&found)));
    Ok(Survey {
        kinds: vec![],
        objects: objects.collect(),
    })
}

/// Checks that a cluster-scoped object or a binding refers to no other namespace than the one in which the operator is installed.
fn check_namespace(
    object: &Object,
    found: &Value,
    installation: &Installation,
) -> Result<(), UninstallError> {
    match installed_in(found) {
        Some(found) if *found != installation.namespace => Err(UninstallError::Namespace {
            object: object.to_string(),
            found: found.to_owned(),
            assumed: installation.namespace.clone(),
        }),
        _ => Ok(()),
    }
}

/// Reads objects; those that do not exist are left out.
fn found(cluster: &Cluster, objects: Vec<Object>) -> Result<Vec<(Object, Value)>, UninstallError> {
    // in parallel, because most of the time of a request is the start of kubectl
    let found: Vec<_> = objects.par_iter().map(|it| cluster.read(it)).collect();
    let found = objects.into_iter().zip(found);
    found
        .filter_map(|(object, found)| Some(found.transpose()?.map(|found| (object, found))))
        .collect()
}

/// The uid of an object. Without one, it is empty, and no object can be deleted by it.
fn uid(object: &Value) -> String {
    object["metadata"]["uid"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

/// The namespace of the operator that a cluster-scoped object refers to: that of a subject, or of the Service of a webhook.
fn installed_in(object: &Value) -> Option<&str> {
    let pointers = [
        "/subjects/0/namespace",
        "/webhooks/0/clientConfig/service/namespace",
    ];
    pointers
        .iter()
        .find_map(|pointer| object.pointer(pointer)?.as_str())
}

/// The objects to look for, in the order of deletion.
fn objects_of(installation: &Installation) -> Vec<Object> {
    let Installation {
        name, namespace, ..
    } = installation;
    let of = |value| Object::of(value, name, namespace);
    let mut objects: Vec<Object> = installation.objects.iter().filter_map(of).collect();
    let lease = "coordination.k8s.io";
    objects.push(Object::created(
        lease,
        "Lease",
        namespace,
        name.clone(),
        Mark::Unlabeled,
    ));
    let secret = format!("{name}-webhook");
    objects.push(Object::created(
        "",
        "Secret",
        namespace,
        secret,
        Mark::ManagedBy,
    ));
    objects.sort_by_key(Object::place);
    objects
}

/// Reads the CRD and the objects of a kind.
pub(super) fn surveyed(
    cluster: &Cluster,
    kind: &InstalledKind,
) -> Result<SurveyedKind, UninstallError> {
    let mut surveyed = SurveyedKind {
        kind: kind.clone(),
        crd: None,
        converter: None,
        objects: vec![],
    };
    let mut resource = kind.resource.clone();
    if let Some(name) = &kind.crd {
        let object = Object::crd(name.clone());
        let Some(crd) = cluster.read(&object)? else {
            return Ok(surveyed);
        };
        surveyed.crd = Some((object, uid(&crd)));
        surveyed.converter = converter_of(&crd);
        // an older release may serve other versions
        match served_version(&crd) {
            Some(served) => resource.version = served,
            None => return Ok(surveyed),
        }
    }
    let objects = cluster
        .list(&resource, None, "")?
        .into_iter()
        .map(|object| stored(object, &resource));
    surveyed.objects = objects.collect();
    Ok(surveyed)
}

fn converter_of(crd: &Value) -> Option<(String, String)> {
    let service = crd.pointer("/spec/conversion/webhook/clientConfig/service")?;
    let text = |field: &str| service[field].as_str().map(str::to_owned);
    Some((text("namespace")?, text("name")?))
}

/// The version to read objects in: the stored one needs no conversion.
fn served_version(crd: &Value) -> Option<String> {
    let versions = crd["spec"]["versions"].as_array()?.iter();
    let mut served: Vec<_> = versions.filter(|it| it["served"] == true).collect();
    served.sort_by_key(|version| version["storage"] != true);
    Some(served.first()?["name"].as_str()?.to_owned())
}

fn stored(metadata: Metadata, resource: &ResourceType) -> Stored {
    Stored {
        object: Object::stored(resource.clone(), metadata.namespace, metadata.name),
        uid: metadata.uid,
        finalizers: metadata.finalizers,
        deleted_at: metadata.deletion_timestamp,
    }
}
