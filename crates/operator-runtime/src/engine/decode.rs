//! Decodes the objects of a watch, or finds the field that cannot be decoded.
//!
//! In: the JSON of one object. Out: the object, or its metadata and the error. Of `managedFields` it has the parts about the status, which the
//! cache takes. An undecodable object never fails its list or watch.

use kube::{
    Resource,
    core::{DynamicResourceScope, ObjectMeta},
};
use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::{Value, json};
use std::borrow::Cow;

use crate::engine::kind::is_builtin;

/// An object of kind `K`, or the error of one that cannot be decoded.
#[derive(Clone, Debug)]
pub(crate) enum Decoded<K> {
    /// Boxed, because every stream between the watch and the cache moves it, and a kind with pod templates has tens of kilobytes.
    Good(Box<K>),
    Bad(Box<Undecodable>),
}

/// An object that does not match its type.
#[derive(Clone, Debug)]
pub(crate) struct Undecodable {
    pub metadata: ObjectMeta,
    /// The path of the field, for example `spec.replicas`.
    pub path: String,
    /// The error message.
    pub error: String,
}

impl<'de, K: Resource<DynamicType = ()> + DeserializeOwned> Deserialize<'de> for Decoded<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut object = Value::deserialize(deserializer)?;
        if is_builtin(&K::group(&())) {
            forget_managers(&mut object);
        } else {
            keep_status_managers(&mut object);
        }
        let error = match read(&object) {
            Ok(object) => return Ok(Self::Good(object)),
            Err(error) => error,
        };
        let metadata = object
            .get_mut("metadata")
            .map(Value::take)
            .unwrap_or_default();
        Ok(Self::Bad(Box::new(Undecodable {
            metadata: serde_json::from_value(metadata).map_err(serde::de::Error::custom)?,
            path: error.path().to_string(),
            error: error.inner().to_string(),
        })))
    }
}

/// Reads an object into a box. A debug build holds several copies of the object on the stack here, and none in the future that calls this.
pub(crate) fn read<K: DeserializeOwned>(
    object: &Value,
) -> Result<Box<K>, serde_path_to_error::Error<serde_json::Error>> {
    serde_path_to_error::deserialize(object).map(Box::new)
}

/// Removes `managedFields`, which are half of a small object and are not used from the cache.
pub(crate) fn forget_managers(object: &mut Value) {
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        metadata.remove("managedFields");
    }
}

/// Reduces `managedFields` to the managers of fields of the status, and to these fields.
pub(crate) fn keep_status_managers(object: &mut Value) {
    let entries = match object.pointer_mut("/metadata/managedFields") {
        Some(Value::Array(entries)) => std::mem::take(entries),
        _ => return,
    };
    let kept: Vec<Value> = entries
        .into_iter()
        .filter_map(|mut entry| {
            let fields = entry.get_mut("fieldsV1")?.get_mut("f:status")?.take();
            Some(json!({ "manager": entry["manager"], "fieldsV1": { "f:status": fields } }))
        })
        .collect();
    if kept.is_empty() {
        forget_managers(object);
    } else {
        object["metadata"]["managedFields"] = Value::Array(kept);
    }
}

/// The scope is dynamic, so that one code path watches kinds of either scope.
impl<K: Resource<DynamicType = ()>> Resource for Decoded<K> {
    type DynamicType = ();
    type Scope = DynamicResourceScope;

    fn kind((): &()) -> Cow<'_, str> {
        K::kind(&())
    }

    fn group((): &()) -> Cow<'_, str> {
        K::group(&())
    }

    fn version((): &()) -> Cow<'_, str> {
        K::version(&())
    }

    fn plural((): &()) -> Cow<'_, str> {
        K::plural(&())
    }

    fn metadata_api() -> bool {
        K::metadata_api()
    }

    fn meta(&self) -> &ObjectMeta {
        match self {
            Self::Good(object) => object.meta(),
            Self::Bad(object) => &object.metadata,
        }
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        match self {
            Self::Good(object) => object.meta_mut(),
            Self::Bad(object) => &mut object.metadata,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::Service;

    #[test]
    fn an_undecodable_object_has_the_path_of_the_error_and_its_metadata() {
        let object = json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": { "name": "a", "namespace": "b", "resourceVersion": "7", "finalizers": ["x/y"] },
            "spec": { "ports": [{ "port": 80 }, { "port": "http" }] },
        });
        let Decoded::Bad(bad) = serde_json::from_value::<Decoded<Service>>(object).unwrap() else {
            panic!("decoded");
        };
        assert_eq!(bad.path, "spec.ports[1].port");
        assert!(
            bad.error.contains("invalid type: string \"http\""),
            "{}",
            bad.error
        );
        assert_eq!(bad.metadata.name.as_deref(), Some("a"));
        assert_eq!(bad.metadata.resource_version.as_deref(), Some("7"));
        assert_eq!(
            bad.metadata.finalizers.as_deref(),
            Some(&["x/y".to_owned()][..])
        );
    }

    #[test]
    fn decoding_a_large_kind_does_not_enlarge_the_streams() {
        assert!(size_of::<Decoded<[u8; 1 << 16]>>() <= 16);
    }

    #[test]
    fn an_undecodable_object_does_not_fail_its_list() {
        let list = json!([
            { "metadata": { "name": "bad" }, "spec": 1 },
            { "metadata": { "name": "good", "managedFields": [{ "manager": "kubectl" }] } },
        ]);
        let list: Vec<Decoded<Service>> = serde_json::from_value(list).unwrap();
        assert!(matches!(&list[0], Decoded::Bad(_)));
        let Decoded::Good(good) = &list[1] else {
            panic!("not decoded")
        };
        assert_eq!(good.metadata.managed_fields, None);
    }
}
