//! The admission plugin [OwnerReferencesPermissionEnforcement], which some clusters enable, such as OpenShift. To change the owners of an
//! object, the user must be permitted to delete the object. To set `blockOwnerDeletion`, the user must be permitted to update the
//! finalizers of the owner.
//!
//! [OwnerReferencesPermissionEnforcement]: https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#ownerreferencespermissionenforcement

use serde_json::Value;

use super::rbac;
use crate::model::metadata::name;
use crate::model::{Failure, Result};
use crate::request::{Request, ResourcePath};
use crate::store::State;

/// Rejects owners that the caller may not set; `live` is the object before the change, if it exists.
pub(crate) fn check_owners(
    state: &State,
    request: &Request<'_>,
    live: Option<&Value>,
    object: &Value,
) -> Result<()> {
    let user = request.call.user.as_ref();
    let Some(user) = user.filter(|_| state.settings.enforces_owner_references) else {
        return Ok(());
    };
    let before = live.map_or(&[][..], owners);
    if owners(object) == before {
        return Ok(());
    }
    let refuse = |why: String| {
        let resource = request.kind.qualified();
        let message = format!("{resource} {:?} is forbidden: {why}", name(object));
        Failure::forbidden(request.kind, name(object), message)
    };
    let path = ResourcePath {
        name: name(object).to_owned(),
        ..request.path.clone()
    };
    if live.is_some() && !rbac::may(&state.store, user, "delete", &path) {
        let why = "cannot set an ownerRef on a resource you can't delete: , <nil>";
        return Err(refuse(why.to_owned()));
    }
    let blocks = |owner: &&Value| owner["blockOwnerDeletion"] == true;
    let is_new = |owner: &&Value| {
        let mut known = before.iter().filter(blocks);
        !known.any(|known| known["uid"] == owner["uid"])
    };
    for owner in owners(object).iter().filter(blocks).filter(is_new) {
        let text = |field: &str| owner[field].as_str().unwrap_or_default();
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        let Some(found) = state.registry.by_kind(api_version, kind) else {
            return Err(refuse(format!(
                "cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion {api_version} Kind {kind}: no matches for kind {kind:?} in version {api_version:?}"
            )));
        };
        let finalizers = ResourcePath {
            group: found.group.clone(),
            version: found.version.clone(),
            plural: found.plural.clone(),
            namespace: if found.namespaced {
                request.path.namespace.clone()
            } else {
                String::new()
            },
            name: text("name").to_owned(),
            subresource: Some("finalizers".to_owned()),
        };
        if !rbac::may(&state.store, user, "update", &finalizers) {
            let why = "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: , <nil>";
            return Err(refuse(why.to_owned()));
        }
    }
    Ok(())
}

fn owners(object: &Value) -> &[Value] {
    object["metadata"]["ownerReferences"]
        .as_array()
        .map_or(&[], Vec::as_slice)
}
