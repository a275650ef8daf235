//! What of an installation exists in the cluster. A survey only reads.

use std::fmt;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, ServiceReference,
};
use kube::{
    api::{ApiResource, DynamicObject, PartialObjectMeta},
    core::GroupVersionKind,
};

use super::{Claim, Cluster, Installation, InstalledKind, Object, Package, UninstallError};
use crate::uninstall::object::Mark;

/// What exists.
pub struct Survey {
    pub kinds: Vec<SurveyedKind>,
    /// The objects of the manifests and of the operator, in the order of deletion, each with its uid.
    pub objects: Vec<(Object, Claim, Option<String>)>,
}

/// A kind with its objects.
pub struct SurveyedKind {
    pub kind: InstalledKind,
    /// Whether its CRD, if it is the project's own, exists.
    pub has_crd: bool,
    /// The Service whose webhook converts its objects.
    pub converter: Option<ServiceReference>,
    pub objects: Vec<Stored>,
}

/// An object of a kind of the operator.
#[derive(Clone, Debug)]
pub struct Stored {
    pub object: Object,
    pub uid: Option<String>,
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
        let Some(converter) = &kind.converter else {
            return false;
        };
        let is_converter = |(object, claim, _): &(Object, Claim, _)| {
            *claim != Claim::Other && object.is_service(&converter.namespace, &converter.name)
        };
        self.objects.iter().any(is_converter)
    }

    /// A Deployment with the name of the operator's that is not recognized as that: the operator may run.
    pub fn unknown_deployment(&self) -> Option<&Object> {
        let mut objects = self.objects.iter();
        let found =
            objects.find(|(object, claim, _)| object.is_deployment() && *claim == Claim::Other);
        found.map(|(object, ..)| object)
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
    /// Its finalizers, and since when it is being deleted; empty if it has no finalizers.
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

/// `Memcached default/a: finalizers example.com/backup`.
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
        let objects = self.objects.iter();
        objects.filter(|object| object.finalizers.iter().any(|it| ours.contains(it)))
    }

    /// Whether the user named its CRD.
    pub fn is_chosen(&self, crds: &[String]) -> bool {
        self.kind.crd.as_ref().is_some_and(|crd| crds.contains(crd))
    }
}

/// Reads what exists of an installation.
pub async fn survey(
    cluster: &Cluster,
    installation: &Installation,
) -> Result<Survey, UninstallError> {
    let mut kinds = vec![];
    for kind in &installation.kinds {
        kinds.push(surveyed(cluster, kind).await?);
    }
    let mut objects = vec![];
    for object in objects_of(installation) {
        if let Some(found) = cluster.read(&object).await? {
            let claim = object.claim(&found, &installation.name);
            let namespace = installed_in(&found);
            if let Some(found) = namespace.filter(|_| claim != Claim::Other)
                && *found != installation.namespace
            {
                return Err(UninstallError::Namespace {
                    object: object.to_string(),
                    found: found.to_owned(),
                    assumed: installation.namespace.clone(),
                });
            }
            objects.push((object, claim, found.metadata.uid));
        }
    }
    Ok(Survey { kinds, objects })
}

/// The namespace of the operator that a cluster-scoped object refers to: that of a subject, or of the Service of a webhook.
fn installed_in(object: &DynamicObject) -> Option<&str> {
    let pointers = [
        "/subjects/0/namespace",
        "/webhooks/0/clientConfig/service/namespace",
    ];
    let mut namespaces = pointers
        .iter()
        .filter_map(|pointer| object.data.pointer(pointer)?.as_str());
    namespaces.next()
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
        Mark::Unlabelled,
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

/// A kind as the cluster has it.
pub(super) async fn surveyed(
    cluster: &Cluster,
    kind: &InstalledKind,
) -> Result<SurveyedKind, UninstallError> {
    let resource = &kind.resource;
    let mut version = resource.version.clone();
    let mut has_crd = false;
    let mut converter = None;
    if let Some(name) = &kind.crd {
        let crd = cluster.crd(name).await?;
        has_crd = crd.is_some();
        converter = crd.as_ref().and_then(converter_of);
        // an older release may serve other versions
        match crd.and_then(served_version) {
            Some(served) => version = served,
            None => {
                return Ok(SurveyedKind {
                    kind: kind.clone(),
                    has_crd,
                    converter,
                    objects: vec![],
                });
            }
        }
    }
    let gvk = GroupVersionKind::gvk(&resource.group, &version, &resource.kind);
    let resource = ApiResource::from_gvk_with_plural(&gvk, &resource.plural);
    let objects = cluster.list(&resource, None).await?;
    Ok(SurveyedKind {
        kind: kind.clone(),
        has_crd,
        converter,
        objects: objects
            .into_iter()
            .map(|object| stored(object, &resource))
            .collect(),
    })
}

fn converter_of(crd: &CustomResourceDefinition) -> Option<ServiceReference> {
    let conversion = crd.spec.conversion.as_ref();
    let webhook = conversion?.webhook.as_ref()?;
    webhook.client_config.as_ref()?.service.clone()
}

/// The version to read objects in: the stored one needs no conversion.
fn served_version(crd: CustomResourceDefinition) -> Option<String> {
    let versions = crd.spec.versions.into_iter();
    let mut served: Vec<_> = versions.filter(|version| version.served).collect();
    served.sort_by_key(|version| !version.storage);
    served.into_iter().next().map(|version| version.name)
}

fn stored(object: PartialObjectMeta<DynamicObject>, resource: &ApiResource) -> Stored {
    let metadata = object.metadata;
    Stored {
        object: Object::stored(
            resource.clone(),
            metadata.namespace,
            metadata.name.unwrap_or_default(),
        ),
        uid: metadata.uid,
        finalizers: metadata.finalizers.unwrap_or_default(),
        deleted_at: metadata.deletion_timestamp.map(|time| time.0.to_string()),
    }
}
