//! `tests/faults.rs`: the whole operator with each sample, under every fault, without its lease, and with its rights.

use serde::Serialize;
use serde_json::json;

use super::{generated_test::Typed, layout::policy_rule, template::fill};
use crate::{
    project::{Namespaces, Project},
    rustfmt::{bracketed, include_str, literal, skip},
};

#[derive(Serialize)]
struct Context<'a> {
    name: &'a str,
    crate_name: String,
    /// Those that the operator reconciles, as a statement.
    kinds: String,
    /// Those that are watched, as a statement; empty where all are.
    namespaces: String,
    tests: Vec<Test>,
    /// The statement that has the first sample.
    first: String,
    /// The statement that has the rights that nothing need use: the rules of `operator.toml`, and statuses that no example writes.
    rules: String,
}

#[derive(Serialize)]
struct Test {
    /// Of the kind.
    name: String,
    /// The statement that has the sample.
    sample: String,
    /// Above a function that rustfmt passes over.
    skip: &'static str,
}

/// `None` where no kind has a sample.
pub fn text<'a>(project: &Project, typed: impl Iterator<Item = &'a Typed>) -> Option<String> {
    let typed: Vec<&Typed> = typed.collect();
    let tests: Vec<Test> = typed
        .iter()
        .filter_map(|typed| {
            let sample = typed.sample.as_ref()?;
            let name = typed.module.trim_end_matches('_').to_owned();
            Some(Test {
                skip: skip(&format!("fn {name}_survives_every_fault() {{\n")),
                name,
                sample: include_str("sample", &format!("../manifests/samples/{sample}")),
            })
        })
        .collect();
    let namespaces = match &project.state.namespaces {
        Namespaces::All => vec![],
        Namespaces::Own => vec!["NAME".to_owned()],
        Namespaces::Listed(names) => names.iter().map(|name| format!("{name:?}")).collect(),
    };
    let kinds = project.state.kinds.iter();
    let names = kinds.clone().filter(|kind| kind.scaffold.is_some());
    let names: Vec<String> = names
        .map(|kind| format!("{:?}", kind.full_name()))
        .collect();
    let rules = kinds
        .filter(|kind| kind.scaffold.is_some())
        .flat_map(|kind| &kind.rules);
    let unused = typed.iter().filter_map(|typed| typed.unused.clone());
    let rules: Vec<String> = rules
        .map(policy_rule)
        .chain(unused)
        .map(|rule| literal(&json!(rule).to_string()))
        .collect();
    let context = Context {
        name: &project.state.name,
        kinds: bracketed(
            0,
            &format!("const KINDS: [&str; {}] = ", names.len()),
            ['[', ']'],
            &names,
            ";",
        ),
        namespaces: match namespaces.len() {
            0 => String::new(),
            count => {
                let head = format!("const NAMESPACES: [&str; {count}] = ");
                bracketed(0, &head, ['[', ']'], &namespaces, ";")
            }
        },
        crate_name: project.state.name.replace('-', "_"),
        first: tests
            .first()
            .map(|test| test.sample.clone())
            .unwrap_or_default(),
        rules: bracketed(4, "let written = ", ['[', ']'], &rules, ";"),
        tests,
    };
    (!context.tests.is_empty()).then(|| fill("tests/faults.rs.j2", &context))
}
