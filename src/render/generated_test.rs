//! `tests/generated.rs`: the types are those of the specs, and the samples are valid.

use serde::Serialize;

use super::template::fill;
use crate::project::Project;

#[derive(Serialize)]
struct Context {
    crate_name: String,
    tests: Vec<Test>,
}

#[derive(Serialize)]
struct Test {
    /// Of the function.
    name: String,
    spec: String,
    module: String,
    version: String,
    root: String,
    /// The sample's path below manifests/samples; empty where there is none.
    sample: String,
}

/// One kind's version, as the test sees it.
pub struct Typed {
    pub module: String,
    pub version: String,
    pub root: String,
    pub spec: String,
    pub sample: Option<String>,
}

pub fn text<'a>(project: &Project, typed: impl Iterator<Item = &'a Typed>) -> String {
    let tests = typed
        .map(|typed| Test {
            name: format!(
                "{}_{}_is_its_spec",
                typed.module.trim_end_matches('_'),
                typed.version
            ),
            spec: typed.spec.clone(),
            module: typed.module.clone(),
            version: typed.version.clone(),
            root: typed.root.clone(),
            sample: typed.sample.clone().unwrap_or_default(),
        })
        .collect();
    fill(
        "tests/generated.rs.j2",
        &Context {
            crate_name: project.state.name.replace('-', "_"),
            tests,
        },
    )
}
