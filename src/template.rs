//! The templates, which are embedded in the binary, each under the path of its output.

use std::sync::LazyLock;

use serde::Serialize;
use tera::{Context, Tera};

macro_rules! templates {
    ($($path:literal),* $(,)?) => {
        /// The templates, by their paths under `templates/`.
        const TEMPLATES: &[(&str, &str)] = &[$(($path, include_str!(concat!("../templates/", $path)))),*];
    };
}

templates! {
    ".dockerignore",
    ".gitattributes.j2",
    ".github/workflows/ci-cluster.yaml.j2",
    ".github/workflows/ci.yaml.j2",
    ".github/workflows/release.yaml.j2",
    ".gitignore",
    ".vscode/launch.json.j2",
    "overlays/example/kustomization.yaml.j2",
    "AGENTS.md.j2",
    "Cargo.lock",
    "Cargo.toml.j2",
    "Dockerfile.dockerignore",
    "Dockerfile.j2",
    "README.md.j2",
    "charts/.helmignore",
    "charts/NOTES.txt",
    "charts/_helpers.tpl",
    "crds/starter.yaml.j2",
    "deny.toml.j2",
    "src/api/conversion.rs.j2",
    "src/api/mod.rs.j2",
    "src/api/versions.rs.j2",
    "src/controllers/child/config_map.rs.j2",
    "src/controllers/child/deployment.rs.j2",
    "src/controllers/config_map.rs.j2",
    "src/controllers/declarative_config_map.rs.j2",
    "src/controllers/declarative_deployment.rs.j2",
    "src/controllers/deployment.rs.j2",
    "src/controllers/existing.rs.j2",
    "src/controllers/existing_handlers.rs.j2",
    "src/controllers/external_remote.rs.j2",
    "src/controllers/handlers_events.rs.j2",
    "src/controllers/mod.rs.j2",
    "src/lib.rs.j2",
    "src/main.rs.j2",
    "src/webhooks/mod.rs.j2",
    "src/webhooks/webhook.rs.j2",
    "tests/all/config_map.rs.j2",
    "tests/all/conversions.rs.j2",
    "tests/all/deployment.rs.j2",
    "tests/all/events.rs.j2",
    "tests/all/existing.rs.j2",
    "tests/all/existing_handlers.rs.j2",
    "tests/all/faults.rs.j2",
    "tests/all/generated.rs.j2",
    "tests/all/main.rs.j2",
    "tests/all/remote.rs.j2",
    "tests/all/support/external.rs",
    "tests/all/support/mod.rs.j2",
    "tests/all/webhook.rs.j2",
    "tests/dev.rs",
}

static TERA: LazyLock<Tera> = LazyLock::new(|| {
    let mut tera = Tera::new();
    tera.autoescape_on(Vec::<&str>::new());
    let filled = TEMPLATES.iter().filter(|(path, _)| path.ends_with(".j2"));
    tera.add_raw_templates(filled.copied())
        .expect("a test loads every template");
    tera
});

/// Renders the template `path` with the values of `context`. The result ends with one line feed.
pub fn fill(path: &str, context: &impl Serialize) -> String {
    let context = Context::from_serialize(context).expect("the contexts are structs");
    let text = TERA
        .render(path, &context)
        .unwrap_or_else(|error| panic!("the template {path}: {error}"));
    format!("{}\n", text.trim_end())
}

/// Returns the text of a template that has no placeholders.
pub fn plain(path: &str) -> &'static str {
    TEMPLATES
        .iter()
        .find(|(name, _)| *name == path)
        .map(|(_, text)| text)
        .expect("the table has it")
}

/// Renders a starter CRD with replicas, an image, conditions, scale and printer columns. The names must be valid.
pub fn starter(
    kind: &str,
    singular: &str,
    plural: &str,
    group: &str,
    version: &str,
    scope: &str,
) -> String {
    #[derive(Serialize)]
    struct Starter<'a> {
        kind: &'a str,
        singular: &'a str,
        plural: &'a str,
        group: &'a str,
        version: &'a str,
        scope: &'a str,
    }
    fill(
        "crds/starter.yaml.j2",
        &Starter {
            kind,
            singular,
            plural,
            group,
            version,
            scope,
        },
    )
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use super::*;

    fn files(folder: &Path, paths: &mut BTreeSet<String>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                files(&path, paths);
            } else {
                let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("templates");
                paths.insert(path.strip_prefix(root).unwrap().display().to_string());
            }
        }
    }

    #[test]
    fn the_table_and_the_folder_agree() {
        let mut paths = BTreeSet::new();
        files(
            &Path::new(env!("CARGO_MANIFEST_DIR")).join("templates"),
            &mut paths,
        );
        assert_eq!(
            TEMPLATES
                .iter()
                .map(|(path, _)| (*path).to_owned())
                .collect::<BTreeSet<_>>(),
            paths
        );
    }
}
