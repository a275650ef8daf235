//! A kind of the server: its names, scope and verbs, and the schema of its objects.

use std::collections::BTreeMap;
use std::sync::Arc;

use operator_schema::Schema;
use serde::Deserialize;
use serde_json::Value;

#[cfg(feature = "faces")]
use super::column::PrinterColumn;

/// A kind in one version, either built in or registered by a CustomResourceDefinition.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Kind {
    pub group: String,
    pub version: String,
    pub kind: String,
    pub plural: String,
    pub singular: String,
    pub short_names: Vec<String>,
    pub categories: Vec<String>,
    pub namespaced: bool,
    pub verbs: Vec<String>,
    /// The subresources, each with its verbs.
    pub subresources: BTreeMap<String, Vec<String>>,
    /// The name of the built-in type.
    #[serde(rename = "type")]
    pub type_name: Option<String>,
    /// The version of the CustomResourceDefinition that registers the kind; `None` for built-in kinds.
    #[serde(skip)]
    pub custom: Option<Arc<Custom>>,
}

/// One served version of a CustomResourceDefinition.
#[derive(Clone, Debug)]
pub(crate) struct Custom {
    pub list_kind: String,
    /// Whether a webhook converts objects from and to this version.
    pub is_converted: bool,
    /// The warning in the response to every request for a deprecated version.
    pub deprecation: Option<String>,
    /// The schema as written, for validation, defaults and pruning.
    pub schema: Arc<Schema>,
    /// The part that all versions of the CRD share.
    pub crd: Arc<Crd>,
    pub scale: Option<Scale>,
    /// The JSON paths that field selectors may name, such as `.spec.color`.
    pub selectable_fields: Vec<String>,
    /// The columns that tables show besides the name.
    #[cfg(feature = "faces")]
    pub columns: Vec<PrinterColumn>,
}

/// One revision of a CustomResourceDefinition.
#[derive(Debug)]
pub(crate) struct Crd {
    /// The parts of the CRD whose change makes a new revision, which ends all watches of its objects.
    pub identity: Value,
    /// The version of the store in which the CRD got this revision. No watch starts before it.
    pub since: u64,
    /// The `apiVersion` in which objects are stored.
    pub storage: String,
    /// All versions by `apiVersion`, including those that are not served.
    pub versions: BTreeMap<String, VersionSchema>,
    /// The webhook that converts objects between versions.
    pub webhook: Option<Arc<ConversionWebhook>>,
}

/// The [webhook of a CRD].
///
/// [webhook of a CRD]: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/#webhook-conversion
#[derive(Debug)]
pub(crate) struct ConversionWebhook {
    pub crd: String,
    pub client_config: Value,
    /// The versions of ConversionReview that the webhook supports.
    pub review_versions: Vec<String>,
}

/// The schemas of a version of a CRD.
#[derive(Debug)]
pub(crate) struct VersionSchema {
    /// The schema as written.
    pub schema: Arc<Schema>,
    /// Objects up to this version of the store were written under a different schema.
    pub since: u64,
    /// The schema for field ownership, with the types of `apiVersion`, `kind` and `metadata`.
    pub typed: Schema,
    /// The JSON path of the replicas in the spec, if there is a scale subresource.
    pub replicas: Option<String>,
    pub has_status: bool,
}

/// The paths of a [scale subresource].
///
/// [scale subresource]: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#scale-subresource
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Scale {
    pub spec_replicas_path: String,
    pub status_replicas_path: String,
    pub label_selector_path: Option<String>,
}

impl Kind {
    /// A kind of which only the resource is known, for messages.
    pub fn named((group, plural): (&str, &str)) -> Self {
        Self {
            group: group.to_owned(),
            plural: plural.to_owned(),
            ..Self::default()
        }
    }

    /// Formats an object of the kind as Go does: `(NAMESPACE/NAME; GROUP/VERSION, Kind=KIND)`.
    pub fn printed(&self, namespace: &str, name: &str) -> String {
        let Self {
            group,
            version,
            kind,
            ..
        } = self;
        format!("({namespace}/{name}; {group}/{version}, Kind={kind})")
    }

    /// `apps/v1`, or `v1` for the core group.
    pub fn api_version(&self) -> String {
        api_version(&self.group, &self.version)
    }

    /// The resource as messages name it: `deployments.apps`, or `pods` for the core group.
    pub fn qualified(&self) -> String {
        match self.group.as_str() {
            "" => self.plural.clone(),
            group => format!("{}.{group}", self.plural),
        }
    }

    pub fn list_kind(&self) -> String {
        match &self.custom {
            Some(custom) => custom.list_kind.clone(),
            None => format!("{}List", self.kind),
        }
    }

    pub fn is(&self, (group, plural): (&str, &str)) -> bool {
        self.group == group && self.plural == plural
    }

    /// Whether the kind is Event in the group `events.k8s.io`; both groups of Events share one store.
    pub fn is_new_event(&self) -> bool {
        self.is(("events.k8s.io", "events"))
    }

    /// The group and plural.
    pub fn resource(&self) -> (&str, &str) {
        (&self.group, &self.plural)
    }

    /// The group and plural under which objects of the kind are stored.
    pub fn stored_resource(&self) -> (&str, &str) {
        (self.storage_group(), &self.plural)
    }

    /// The group under which objects of the kind are stored.
    pub fn storage_group(&self) -> &str {
        if self.is_new_event() { "" } else { &self.group }
    }

    /// Whether two kinds are of the same revision of a CRD.
    pub fn is_same_crd(&self, other: &Self) -> bool {
        let identity = |kind: &Self| {
            kind.custom
                .as_ref()
                .map(|custom| custom.crd.identity.clone())
        };
        identity(self) == identity(other)
    }

    /// Whether `status` can be written only through its subresource.
    pub fn has_status(&self) -> bool {
        self.subresources.contains_key("status")
    }

    pub fn allows(&self, subresource: Option<&str>, verb: &str) -> bool {
        match subresource {
            None => self.verbs.iter().any(|allowed| allowed == verb),
            Some(name) => self
                .subresources
                .get(name)
                .is_some_and(|verbs| verbs.iter().any(|allowed| allowed == verb)),
        }
    }
}

pub(crate) fn api_version(group: &str, version: &str) -> String {
    match group {
        "" => version.to_owned(),
        group => format!("{group}/{version}"),
    }
}

/// The group and version of an `apiVersion`.
pub(crate) fn group_version(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}

/// The [version priority], highest for the version that comes first: `v2` before `v1`, stable before `v1beta1` before `v1alpha1`, and all
/// else last.
///
/// [version priority]: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/#version-priority
pub(crate) fn version_priority(version: &str) -> (u8, u32, u32) {
    let Some(rest) = version.strip_prefix('v') else {
        return (0, 0, 0);
    };
    let stage = |name: &str, rank: u8| {
        let (major, minor) = rest.split_once(name)?;
        Some((rank, major.parse().ok()?, minor.parse().ok()?))
    };
    match rest.parse() {
        Ok(major) => (3, major, 0),
        Err(_) => stage("beta", 2)
            .or_else(|| stage("alpha", 1))
            .unwrap_or((0, 0, 0)),
    }
}
