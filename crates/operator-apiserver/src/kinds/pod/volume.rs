//! The volumes of a pod.

use serde_json::Value;

use crate::kinds::rule::field::{invalid, is_empty, list, named, text};
use crate::model::Cause;

/// The sources of volumes, in the order in which the server checks them, and their required fields. For complex or rarely used sources,
/// only their presence is checked.
const SOURCES: [(&str, &[&str]); 29] = [
    ("emptyDir", &[]),
    ("hostPath", &["path"]),
    ("gitRepo", &["repository"]),
    ("gcePersistentDisk", &[]),
    ("awsElasticBlockStore", &[]),
    ("secret", &["secretName"]),
    ("nfs", &["server", "path"]),
    ("iscsi", &[]),
    ("glusterfs", &[]),
    ("flocker", &[]),
    ("persistentVolumeClaim", &["claimName"]),
    ("rbd", &[]),
    ("cinder", &[]),
    ("cephfs", &[]),
    ("quobyte", &[]),
    ("downwardAPI", &[]),
    ("fc", &[]),
    ("flexVolume", &[]),
    ("configMap", &["name"]),
    ("azureFile", &[]),
    ("vsphereVolume", &[]),
    ("photonPersistentDisk", &[]),
    ("portworxVolume", &[]),
    ("azureDisk", &[]),
    ("storageos", &[]),
    ("projected", &[]),
    ("scaleIO", &[]),
    ("csi", &["driver"]),
    ("ephemeral", &[]),
];

/// Checks volumes. Returns the names of those that containers may mount.
pub(crate) fn check<'a>(spec: &'a Value, path: &str, causes: &mut Vec<Cause>) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for (at, volume) in list(spec, "volumes").iter().enumerate() {
        let path = format!("{path}.volumes[{at}]");
        let mut wrong = Vec::new();
        source(volume, &path, &mut wrong);
        let (name, field) = (text(volume, "name"), format!("{path}.name"));
        named(&field, name, &mut wrong);
        if names.contains(&name) {
            wrong.push(Cause::duplicate(field, name));
        }
        if wrong.is_empty() {
            names.push(name);
        }
        causes.extend(wrong);
    }
    names
}

/// Checks that a volume has exactly one source, and the fields of the source.
fn source(volume: &Value, path: &str, causes: &mut Vec<Cause>) {
    let given = SOURCES.iter().filter(|(name, _)| !volume[*name].is_null());
    let mut is_first = true;
    for (name, needed) in given {
        let (source, path) = (&volume[*name], format!("{path}.{name}"));
        if is_first {
            needs(source, &path, needed, causes);
        } else {
            causes.push(Cause::forbidden(
                path,
                "may not specify more than 1 volume type",
            ));
        }
        is_first = false;
    }
    if is_first && volume["image"].is_null() {
        causes.push(Cause::required(path, "must specify a volume type"));
    }
}

/// Checks the required fields of a source, its modes and its items.
fn needs(source: &Value, path: &str, needed: &[&str], causes: &mut Vec<Cause>) {
    let missing = needed.iter().filter(|field| is_empty(&source[**field]));
    causes.extend(missing.map(|field| Cause::required(format!("{path}.{field}"), "")));
    if needed.contains(&"server") && !text(source, "path").starts_with('/') {
        let found = format!("{:?}", text(source, "path"));
        let why = "must be an absolute path";
        causes.push(invalid(format!("{path}.path"), found, why));
    }
    mode(source, path, "defaultMode", causes);
    if !matches!(needed, ["secretName" | "name"]) {
        return;
    }
    for (at, item) in list(source, "items").iter().enumerate() {
        let path = format!("{path}.items[{at}]");
        for field in ["key", "path"] {
            if is_empty(&item[field]) {
                causes.push(Cause::required(format!("{path}.{field}"), ""));
            }
        }
        mode(item, &path, "mode", causes);
    }
}

fn mode(object: &Value, path: &str, field: &str, causes: &mut Vec<Cause>) {
    let mode = object[field].as_i64().unwrap_or_default();
    if !(0..=0o777).contains(&mode) {
        let why = "must be a number between 0 and 0777 (octal), both inclusive";
        causes.push(invalid(format!("{path}.{field}"), mode, why));
    }
}
