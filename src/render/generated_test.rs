//! `tests/all/generated.rs`: tests that the types match the CRDs, and that the samples are valid.

use serde::Serialize;

use crate::template::fill;
use crate::{
    manifests,
    operator::Operator,
    rust::code::{indented, list, literal, untouched},
};

#[derive(Serialize)]
struct Context {
    name: String,
    crate_name: String,
    tests: Vec<Test>,
    /// The statement with the arguments of the Deployment; empty if there are none, or if only the cluster knows one.
    arguments: String,
    /// Whether it is known which flags the Deployment sets.
    checks_flags: bool,
    /// The statements with all arguments, and with the names of all variables.
    set_arguments: String,
    variables: String,
}

#[derive(Serialize)]
struct Test {
    /// The name of the function.
    name: String,
    module: String,
    version: String,
    root: String,
    /// The path of the CRD, relative to the test.
    crd: String,
    /// The path of the sample; empty if there is none.
    sample: String,
}

/// A version of a kind, for the test.
pub struct VersionModule {
    pub module: String,
    pub version: String,
    pub root: String,
    pub crd: String,
    pub sample: Option<String>,
}

/// `has_options` is whether other tests use the operator's `Options`, too.
pub fn text<'a>(
    operator: &Operator<'_>,
    typed: impl Iterator<Item = &'a VersionModule>,
    has_options: bool,
) -> String {
    let tests = typed
        .map(|typed| Test {
            name: format!(
                "{}_{}_matches_its_crd",
                typed.module.trim_end_matches('_'),
                typed.version
            ),
            module: typed.module.clone(),
            version: typed.version.clone(),
            root: typed.root.clone(),
            crd: literal(&format!("../../{}", typed.crd)),
            sample: match &typed.sample {
                Some(sample) => literal(&format!("manifests/samples/{sample}")),
                None => String::new(),
            },
        })
        .collect();
    let deployment = &operator.config.deployment;
    let context = Context {
        name: operator.config.name.clone(),
        crate_name: operator.config.name.replace('-', "_"),
        tests,
        arguments: arguments(&deployment.args),
        checks_flags: has_options
            && operator.config.image.is_some()
            && deployment.env_from.is_empty(),
        set_arguments: texts("arguments", &deployment.arguments()),
        variables: texts("variables", &manifests::variables(operator)),
    };
    untouched(&fill("tests/all/generated.rs.j2", &context))
}

fn arguments(args: &[String]) -> String {
    // the kubelet expands `$(NAME)`: <https://kubernetes.io/docs/tasks/inject-data-application/define-command-argument-container/>
    if args.is_empty() || args.iter().any(|argument| argument.contains("$(")) {
        return String::new();
    }
    texts("arguments", args)
}

/// The statement that defines an array of texts.
fn texts(name: &str, texts: &[String]) -> String {
    let head = match texts {
        [] => format!("let {name}: [&str; 0] = "),
        _ => format!("let {name} = "),
    };
    let texts: Vec<String> = texts.iter().map(|text| literal(text)).collect();
    indented(&list(&head, ['[', ']'], &texts, ";"))
}
