//! Creates projects, in memory and in a folder, from CRDs as JSON.

use std::{fs, path::Path};

use cargo_operator::{
    config::ConfigFile,
    crd::{self, Api},
    operator::resolve,
    plan::Tree,
    render::{self, UserFiles},
    rust::version_module,
    scaffold::Scaffold,
};
use serde_json::Value;

/// Reads CRDs, all of which must be valid.
pub fn apis(definitions: &[Value]) -> Vec<Api> {
    let read = |definition: &Value| {
        // JSON, because serde_yaml writes `kind: On` without quotes
        let text = definition.to_string();
        crd::read("kind.yaml", &text)
            .unwrap_or_else(|errors| panic!("{errors:?}: {text}"))
            .remove(0)
    };
    definitions.iter().map(read).collect()
}

/// What is chosen for a kind: the scaffold, and whether it has a finalizer.
pub type Chosen = (&'static str, bool);

/// The scaffolds by their names.
pub fn scaffolds() -> Vec<&'static str> {
    Scaffold::all().map(|scaffold| scaffold.name).collect()
}

/// All files of a project with a controller for each kind, with what is `chosen` for its index.
pub fn tree(name: &str, apis: &[Api], schema: &str, chosen: impl Fn(usize) -> Chosen) -> Tree {
    let mut config = format!(
        "format = 1\nname = {name:?}\nruntime = {{ path = {:?} }}\ntool = \"0.1.0\"\nnamespaces = \"all\"\n",
        env!("CARGO_MANIFEST_DIR")
    );
    for (at, api) in apis.iter().enumerate() {
        let (scaffold, cleanup) = chosen(at);
        let scaffold = Scaffold::named(scaffold).unwrap();
        config += &format!(
            "\n[[kind]]\nkind = {:?}\ngroup = {:?}\ncrd = \"crds/{}.yaml\"\nversions = [{:?}]\nscaffold = {:?}\nschema = {schema:?}\ncleanup = {cleanup}\nowns = {:?}\n",
            api.names.kind,
            api.group,
            api.name(),
            api.storage_version().name,
            scaffold.name,
            (scaffold.example_child)(api).as_slice(),
        );
    }
    let config = ConfigFile::read(&config).unwrap().config;
    let operator = resolve(&config, apis, |_| false).unwrap();
    render::render(&operator, &UserFiles::default()).tree
}

/// Writes the files of a project.
pub fn write(folder: &Path, tree: &Tree, apis: &[Api]) {
    let _ = fs::remove_dir_all(folder);
    for (path, file) in &tree.0 {
        let to = folder.join(path);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::write(to, &file.text).unwrap();
    }
    for api in apis {
        let spec = folder.join(format!("crds/{}.yaml", api.name()));
        fs::create_dir_all(spec.parent().unwrap()).unwrap();
        fs::write(spec, &api.text).unwrap();
    }
    crate::cargo::share(folder);
    // not by a flag for the compiler, which would apply to the dependencies as well, and compile them again
    let manifest = folder.join("Cargo.toml");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, text + "\n[lints.rust]\nwarnings = \"deny\"\n").unwrap();
}

/// Runs the tests of a project, except for the trials.
pub fn test(folder: &Path) {
    let status = crate::cargo::command()
        .args([
            "test",
            "--quiet",
            "--offline",
            "--test",
            "all",
            "--",
            "--skip",
            "faults::",
        ])
        .current_dir(folder)
        // the target folder of the tests, where most dependencies are already compiled
        .env(
            "CARGO_TARGET_DIR",
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(".."),
        )
        .status()
        .unwrap();
    assert!(status.success(), "{}: see above", folder.display());
}

/// The paths and texts of all Rust files of a project.
pub fn rust(tree: &Tree) -> impl Iterator<Item = (&str, &str)> {
    tree.0
        .iter()
        .filter(|(path, _)| path.ends_with(".rs"))
        .map(|(path, file)| (path.as_str(), file.text.as_str()))
}

/// The path of the types of a kind.
pub fn types_path(module: &str, api: &Api) -> String {
    format!(
        "src/api/{module}/{}.rs",
        version_module(&api.storage_version().name)
    )
}
