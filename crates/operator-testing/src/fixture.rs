//! Files with objects for tests: a sample, which is one object, and fixtures, to which samples refer.

use std::path::{Path, PathBuf};

use operator_schema::Schema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::install::documents;
use crate::kustomization::read;
use crate::project::schema_problems;
use crate::{Error, Result, Server, sample};

/// Reads the object in a YAML file, for example a sample of `manifests/samples/`.
///
/// # Errors
/// If the file cannot be read, does not have exactly one object, or the object is not a `K`; the error has the path of the file.
pub fn sample_file<K: DeserializeOwned>(path: impl AsRef<Path>) -> Result<K> {
    let path = path.as_ref();
    let text = sample_text(path)?;
    sample(&text).map_err(|error| error.in_file(path))
}

/// Reads a file that has one object, as text.
pub(crate) fn sample_text(path: &Path) -> Result<String> {
    let text = read(path)?;
    one_object(&text).map_err(|error| error.in_file(path))?;
    Ok(text)
}

/// Parses a text that has one object.
pub(crate) fn one_object(yaml: &str) -> Result<Value> {
    let mut objects = documents(yaml)?;
    match (objects.len(), objects.pop()) {
        (1, Some(object)) => Ok(object),
        (count, _) => Err(Error::NotOneObject(count)),
    }
}

impl Server {
    /// Applies all objects in the `.yaml` and `.yml` files of a folder, like [`install`](Self::install): objects to which samples refer,
    /// such as Secrets. A missing folder counts as empty.
    ///
    /// # Errors
    /// The errors of [`install`](Self::install), with the path of the file.
    pub async fn install_fixtures(&self, folder: impl AsRef<Path>) -> Result<()> {
        self.install_fixtures_in(folder, self.namespace()).await
    }

    /// Like [`install_fixtures`](Self::install_fixtures), but creates objects without a namespace in `namespace`, which should be a
    /// namespace that the operator watches.
    ///
    /// # Errors
    /// The errors of [`install`](Self::install), with the path of the file.
    pub async fn install_fixtures_in(
        &self,
        folder: impl AsRef<Path>,
        namespace: &str,
    ) -> Result<()> {
        let mut objects = objects(folder.as_ref())?;
        for (_, object) in &mut objects {
            // `path_of` removes the namespace of a cluster-scoped object again
            if object["metadata"]["namespace"].is_null() && object["metadata"].is_object() {
                object["metadata"]["namespace"] = namespace.into();
            }
        }
        self.apply_files(objects).await
    }
}

/// The objects in the files of a folder, each with its file, sorted by file name.
pub(crate) fn objects(folder: &Path) -> Result<Vec<(PathBuf, Value)>> {
    let failed = |source| Error::File {
        path: folder.to_owned(),
        source,
    };
    if !folder.exists() {
        return Ok(vec![]);
    }
    let mut paths = vec![];
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path
            .extension()
            .is_some_and(|it| it == "yaml" || it == "yml")
        {
            paths.push(path);
        }
    }
    paths.sort();
    let mut objects = vec![];
    for path in paths {
        let of_file = documents(&read(&path)?).map_err(|error| error.in_file(&path))?;
        objects.extend(of_file.into_iter().map(|object| (path.clone(), object)));
    }
    Ok(objects)
}

/// Validates the objects in a folder of fixtures against the CRDs in another folder, which is `crds/` in a project. Objects of other kinds
/// are accepted.
///
/// # Panics
///
/// If an object is invalid, with the violations of each file.
pub fn assert_fixtures_are_valid(folder: impl AsRef<Path>, crds: impl AsRef<Path>) {
    let of_folder = |it: &Path| objects(it).unwrap_or_else(|error| panic!("{error}"));
    let objects = of_folder(folder.as_ref());
    let crds: Vec<Value> = of_folder(crds.as_ref())
        .into_iter()
        .map(|(_, crd)| crd)
        .collect();
    let mut wrong = vec![];
    for (path, object) in &objects {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let place = format!(
            "{}: {} {name}",
            path.display(),
            object["kind"].as_str().unwrap_or_default()
        );
        match violations(&crds, object) {
            Ok(violations) => {
                wrong.extend(violations.into_iter().map(|it| format!("{place}: {it}")));
            }
            Err(why) => wrong.push(format!("{place}: {why}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The violations of an object by the schema of its kind; none if no CRD defines the kind.
fn violations(crds: &[Value], object: &Value) -> Result<Vec<String>, String> {
    let api_version = object["apiVersion"].as_str().unwrap_or_default();
    let Some((group, version)) = api_version.split_once('/') else {
        return Ok(vec![]);
    };
    let Some(spec) = crds
        .iter()
        .map(|crd| &crd["spec"])
        .find(|spec| spec["group"] == *group && spec["names"]["kind"] == object["kind"])
    else {
        return Ok(vec![]);
    };
    let mut versions = spec["versions"].as_array().into_iter().flatten();
    let Some(version_entry) = versions.find(|version_entry| version_entry["name"] == *version)
    else {
        return Err(format!("its CRD has no version {version}"));
    };
    let schema = Schema::deserialize(&version_entry["schema"]["openAPIV3Schema"]);
    let schema = schema.map_err(|error| format!("its schema: {error}"))?;
    Ok(schema_problems(&schema, object))
}
