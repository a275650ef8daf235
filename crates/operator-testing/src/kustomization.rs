//! Reads the objects of a kustomization: `resources`, `patches` and `namespace`.

use std::path::{Path, PathBuf};

use json_patch::Patch;
use serde_json::Value;

use crate::install::documents;
use crate::{Error, Result};

/// The objects of a kustomization, each with its file.
pub(crate) fn kustomization(path: impl AsRef<Path>) -> Result<Vec<(PathBuf, Value)>> {
    let mut objects = Vec::new();
    read_kustomization(path.as_ref(), &mut objects)?;
    Ok(objects)
}

fn read_kustomization(folder: &Path, objects: &mut Vec<(PathBuf, Value)>) -> Result<()> {
    const IGNORED: [&str; 6] = [
        "apiVersion",
        "kind",
        "metadata",
        "labels",
        "images",
        "commonAnnotations",
    ];
    let path = if folder.is_dir() {
        ["kustomization.yaml", "kustomization.yml", "Kustomization"]
            .map(|name| folder.join(name))
            .into_iter()
            .find(|path| path.exists())
    } else {
        None
    };
    let path = path.unwrap_or_else(|| folder.to_owned());
    let text = read(&path)?;
    let kustomization: Value = serde_yaml::from_str(&text)?;
    let mut files = Vec::new();
    for (key, value) in kustomization.as_object().into_iter().flatten() {
        match key.as_str() {
            "resources" => {
                let resources = value
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter_map(Value::as_str);
                let base = path.parent().unwrap_or(Path::new("."));
                for resource in resources.map(|resource| base.join(resource)) {
                    if resource.is_dir() {
                        read_kustomization(&resource, &mut files)?;
                    } else {
                        let documents = documents(&read(&resource)?)?.into_iter();
                        files.extend(documents.map(|object| (resource.clone(), object)));
                    }
                }
            }
            "namespace" | "patches" => {}
            key if IGNORED.contains(&key) => {}
            key => {
                return Err(Error::Kustomization {
                    path,
                    key: key.to_owned(),
                });
            }
        }
    }
    for patch in kustomization["patches"].as_array().into_iter().flatten() {
        apply(patch, &mut files).map_err(|problem| Error::Patch {
            path: path.clone(),
            problem,
        })?;
    }
    if let Some(namespace) = kustomization["namespace"].as_str() {
        files
            .iter_mut()
            .for_each(|(_, object)| move_to(object, namespace));
    }
    objects.extend(files);
    Ok(())
}

/// Sets the namespace of an object (a cluster-scoped one loses it again when it is applied), and of the service accounts that bindings
/// refer to.
fn move_to(object: &mut Value, namespace: &str) {
    let kind = object["kind"].as_str().unwrap_or_default();
    if kind == "Namespace" {
        object["metadata"]["name"] = namespace.into();
        return;
    }
    if let Some(Value::Array(subjects)) = object.get_mut("subjects") {
        for subject in subjects
            .iter_mut()
            .filter(|s| s["kind"] == "ServiceAccount")
        {
            subject["namespace"] = namespace.into();
        }
    }
    object["metadata"]["namespace"] = namespace.into();
}

/// Applies an entry of `patches`: an inline JSON patch ([RFC 6902](https://www.rfc-editor.org/rfc/rfc6902)) of the objects that its target
/// selects.
fn apply(entry: &Value, files: &mut [(PathBuf, Value)]) -> Result<(), String> {
    let fields = entry.as_object().into_iter().flatten();
    let mut keys = fields.map(|(key, _)| key.as_str());
    if let Some(key) = keys.find(|key| !["patch", "target"].contains(key)) {
        return Err(format!("its key `{key}` is not supported"));
    }
    let text = entry["patch"].as_str().ok_or("it has no inline `patch`")?;
    let patch: Patch = serde_yaml::from_str(text)
        .map_err(|error| format!("only JSON patches are supported: {error}"))?;
    let target = entry["target"].as_object().ok_or("it has no `target`")?;
    let mut count = 0;
    for (_, object) in files.iter_mut() {
        if is_selected(object, target)? {
            json_patch::patch(object, &patch).map_err(|error| error.to_string())?;
            count += 1;
        }
    }
    match count {
        0 => Err(format!("no object is its target {}", entry["target"])),
        _ => Ok(()),
    }
}

fn is_selected(object: &Value, target: &serde_json::Map<String, Value>) -> Result<bool, String> {
    let api_version = object["apiVersion"].as_str().unwrap_or_default();
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    for (key, wanted) in target {
        let found = match key.as_str() {
            "group" => group,
            "version" => version,
            "kind" => object["kind"].as_str().unwrap_or_default(),
            "name" => object["metadata"]["name"].as_str().unwrap_or_default(),
            "namespace" => object["metadata"]["namespace"].as_str().unwrap_or_default(),
            key => return Err(format!("the key `{key}` of its target is not supported")),
        };
        if wanted != found {
            return Ok(false);
        }
    }
    Ok(true)
}

pub(crate) fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).map_err(|source| Error::File {
        path: path.to_owned(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read_with(patches: &Value) -> Result<Vec<(PathBuf, Value)>> {
        let folder =
            std::env::temp_dir().join(format!("kustomization-{:?}", std::thread::current().id()));
        let base = folder.join("base");
        std::fs::create_dir_all(&base).unwrap();
        let config_map =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
        std::fs::write(base.join("a.yaml"), config_map.to_string()).unwrap();
        let inner = json!({"resources": ["a.yaml"], "patches": patches});
        std::fs::write(base.join("kustomization.yaml"), inner.to_string()).unwrap();
        std::fs::write(folder.join("kustomization.yaml"), "resources: [base]").unwrap();
        let objects = kustomization(&folder);
        std::fs::remove_dir_all(&folder).unwrap();
        objects
    }

    #[test]
    fn a_json_patch_changes_the_objects_that_it_selects() {
        let patch = "- {op: add, path: /data, value: {key: value}}";
        let target = json!({"kind": "ConfigMap", "name": "a", "version": "v1"});
        let objects = read_with(&json!([{"patch": patch, "target": target}])).unwrap();
        assert_eq!(objects[0].1["data"], json!({"key": "value"}));
    }

    #[test]
    fn a_patch_that_does_nothing_or_is_not_supported_is_an_error() {
        let patch = "- {op: remove, path: /data}";
        for (entry, problem) in [
            (
                json!({"patch": patch, "target": {"kind": "Secret"}}),
                "no object is its target",
            ),
            (json!({"patch": patch, "target": {"name": "a"}}), "/data"),
            (
                json!({"patch": patch, "target": {"labelSelector": "a=b"}}),
                "`labelSelector`",
            ),
            (
                json!({"patch": "data: {a: b}", "target": {"name": "a"}}),
                "only JSON patches",
            ),
            (
                json!({"path": "p.yaml", "target": {"name": "a"}}),
                "`path` is not supported",
            ),
        ] {
            let error = read_with(&json!([entry])).unwrap_err().to_string();
            assert!(
                error.contains(problem) && error.contains("kustomization.yaml"),
                "{error}"
            );
        }
    }
}
