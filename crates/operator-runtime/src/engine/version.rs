//! The order of [resource versions](https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions).

use kube::api::ObjectMeta;

/// The version of an object, which compares with those of the same kind. `None` if it has none, or one that is not a number.
pub(crate) fn number_of(metadata: &ObjectMeta) -> Option<u64> {
    number(metadata.resource_version.as_deref())
}

/// As [`number_of`], of the text of the version.
pub(crate) fn number(version: Option<&str>) -> Option<u64> {
    version?.parse().ok()
}
