//! `tests/faults.rs`: the whole operator with each sample, under every fault.

use serde::Serialize;

use super::{generated_test::Typed, template::fill};
use crate::{
    project::{Namespaces, Project},
    rustfmt::{bracketed, include_str},
};

#[derive(Serialize)]
struct Context<'a> {
    name: &'a str,
    crate_name: String,
    /// Those that are watched, as a statement; empty where all are.
    namespaces: String,
    tests: Vec<Test>,
}

#[derive(Serialize)]
struct Test {
    /// Of the kind.
    name: String,
    /// The statement that has the sample.
    sample: String,
}

/// `None` where no kind has a sample.
pub fn text<'a>(project: &Project, typed: impl Iterator<Item = &'a Typed>) -> Option<String> {
    let tests: Vec<Test> = typed
        .filter_map(|typed| {
            let sample = typed.sample.as_ref()?;
            Some(Test {
                name: typed.module.trim_end_matches('_').to_owned(),
                sample: include_str("sample", &format!("../manifests/samples/{sample}")),
            })
        })
        .collect();
    let namespaces = match &project.state.namespaces {
        Namespaces::All => vec![],
        Namespaces::Own => vec!["NAME".to_owned()],
        Namespaces::Listed(names) => names.iter().map(|name| format!("{name:?}")).collect(),
    };
    let context = Context {
        name: &project.state.name,
        namespaces: match namespaces.len() {
            0 => String::new(),
            count => {
                let head = format!("const NAMESPACES: [&str; {count}] = ");
                bracketed(0, &head, ['[', ']'], &namespaces, ";")
            }
        },
        crate_name: project.state.name.replace('-', "_"),
        tests,
    };
    (!context.tests.is_empty()).then(|| fill("tests/faults.rs.j2", &context))
}
