//! `tests/generated.rs`: tests that the types match the specs, and that the samples are valid.

use serde::Serialize;

use crate::template::fill;
use crate::{
    project::Project,
    rustfmt::{bracketed, include_str, let_literal, literal, skip},
};

#[derive(Serialize)]
struct Context {
    name: String,
    crate_name: String,
    tests: Vec<Test>,
    /// The statement with the arguments of the Deployment; empty if there are none, or if only the cluster knows one.
    arguments: String,
}

#[derive(Serialize)]
struct Test {
    /// The name of the function.
    name: String,
    module: String,
    version: String,
    /// The root type, under another name if its own is too long for a call.
    import: String,
    statements: String,
    /// The attribute for a function that rustfmt must skip.
    skip: &'static str,
}

/// A root type with a longer name is imported as `Kind`.
const LONG_NAME: usize = 40;

/// A version of a kind, for the test.
pub struct Typed {
    pub module: String,
    pub version: String,
    pub root: String,
    pub spec: String,
    pub sample: Option<String>,
}

pub fn text<'a>(project: &Project, typed: impl Iterator<Item = &'a Typed>) -> String {
    let tests = typed
        .map(|typed| {
            let name = format!(
                "{}_{}_matches_its_crd",
                typed.module.trim_end_matches('_'),
                typed.version
            );
            let statements = statements(typed);
            Test {
                skip: skip(&format!("fn {name}() {{\n{statements}")),
                name,
                module: typed.module.clone(),
                version: typed.version.clone(),
                import: match name_in_test(typed) {
                    "Kind" if typed.root != "Kind" => format!("{} as Kind", typed.root),
                    root => root.to_owned(),
                },
                statements,
            }
        })
        .collect();
    fill(
        "tests/generated.rs.j2",
        &Context {
            name: project.state.name.clone(),
            crate_name: project.state.name.replace('-', "_"),
            tests,
            arguments: arguments(&project.state.deployment.args),
        },
    )
}

fn arguments(args: &[String]) -> String {
    // of a variable: <https://kubernetes.io/docs/tasks/inject-data-application/define-command-argument-container/>
    if args.is_empty() || args.iter().any(|argument| argument.contains("$(")) {
        return String::new();
    }
    let args: Vec<String> = args.iter().map(|argument| literal(argument)).collect();
    bracketed(4, "let arguments = ", ['[', ']'], &args, ";")
}

fn name_in_test(typed: &Typed) -> &str {
    match typed.root.len() > LONG_NAME {
        true => "Kind",
        false => &typed.root,
    }
}

fn statements(typed: &Typed) -> String {
    let assert = |what: &str, arguments: &[&str]| {
        let head = format!("operator_testing::{what}::<{}>", name_in_test(typed));
        let arguments: Vec<String> = arguments.iter().map(|&name| name.to_owned()).collect();
        bracketed(4, &head, ['(', ')'], &arguments, ";")
    };
    let mut text = include_str("spec", &format!("../{}", typed.spec));
    text += &assert("assert_is_spec", &["spec"]);
    if let Some(sample) = &typed.sample {
        text += &let_literal("sample", &format!("manifests/samples/{sample}"));
        text += &assert("assert_sample_is_valid", &["spec", "sample"]);
    }
    text
}
