//! `tests/faults.rs`: tests the whole operator with each sample, under every fault, without its lease, and with its permissions.

use serde::Serialize;
use serde_json::json;

use super::{
    generated_test::Typed,
    layout::{ensured_crds, policy_rule},
    registry::Watched,
};
use crate::{
    crd::Api,
    manifests::{self, WATCHED},
    project::{Namespaces, Project, ResourceError, ResourceType},
    rustfmt::{CALL_WIDTH, bracketed, let_literal, literal, skip},
    scaffold::Scaffold,
    template::fill,
};

#[derive(Serialize)]
struct Context<'a> {
    name: &'a str,
    /// The kinds that the operator reconciles, as a statement.
    kinds: String,
    /// The kinds whose controllers delete undesired children, as a statement; empty if there are none.
    pruned: String,
    /// Whether the operator watches only some namespaces.
    namespaces: bool,
    /// Whether a kind with a sample has a provider.
    has_providers: bool,
    tests: Vec<Test>,
    /// The declarations in `operator.toml`, as a statement.
    declared: String,
    /// The statement that defines the permissions that may be unused: the rules of `operator.toml`, and statuses that no example writes.
    rules: String,
}

#[derive(Serialize)]
struct Test {
    /// The snake case name of the kind.
    name: String,
    /// The statements that define the sample, and its expected error if there is one.
    sample: String,
    /// The attribute for each function that rustfmt must skip.
    skip_faults: &'static str,
    skip_conforms: &'static str,
    /// The statements that define the resources whose objects may remain, and those of children that are not updated.
    kept: String,
    waiting: String,
    /// The trial with the sample and these resources, as an expression.
    followed: String,
    /// The call that adds the sample to a trial.
    add: &'static str,
    /// Whether the calls of its provider get faults.
    has_provider: bool,
    skip_provider: &'static str,
}

/// `None` if no kind has a sample.
pub fn text<'a>(
    project: &Project,
    typed: impl Iterator<Item = &'a Typed>,
) -> Result<Option<String>, ResourceError> {
    let typed: Vec<&Typed> = typed.collect();
    let tests: Vec<Test> = typed
        .iter()
        .filter_map(|typed| {
            let sample = typed.sample.as_ref()?;
            let name = typed.module.trim_end_matches('_').to_owned();
            let add = match typed.fails {
                None => "sample_file(sample)",
                Some(_) => "sample_file_that_fails(sample, error)",
            };
            Some(Test {
                skip_faults: skip(&format!("fn {name}_survives_every_fault() {{\n")),
                skip_provider: skip(&format!("fn {name}_survives_every_provider_fault() {{\n")),
                has_provider: typed.has_provider && typed.fails.is_none(),
                skip_conforms: skip(&format!("fn {name}_conforms() {{\n")),
                kept: list("kept", &typed.keeps),
                waiting: list("waiting", &typed.waiting),
                followed: {
                    let keeps = (!typed.keeps.is_empty()).then_some("keeps(&kept)");
                    let waits =
                        (!typed.waiting.is_empty()).then_some("waits_for_deletion(&waiting)");
                    chain([Some(add), keeps, waits].into_iter().flatten())
                },
                name,
                sample: let_literal("sample", &format!("manifests/samples/{sample}"))
                    + &typed
                        .fails
                        .as_ref()
                        .map(|error| let_literal("error", error))
                        .unwrap_or_default(),
                add,
            })
        })
        .collect();
    let kinds = project.state.kinds.iter();
    let constant = |name: &str, counts: fn(&Scaffold) -> bool| {
        let kinds = kinds
            .clone()
            .filter(|kind| kind.scaffold.is_some_and(counts));
        let names: Vec<String> = kinds
            .map(|kind| format!("{:?}", kind.full_name()))
            .collect();
        let head = format!("const {name}: [&str; {}] = ", names.len());
        match names.is_empty() {
            true => String::new(),
            false => bracketed(0, &head, ['[', ']'], &names, ";"),
        }
    };
    let rules = kinds
        .clone()
        .filter(|kind| kind.has_controller())
        .flat_map(|kind| &kind.rules);
    let unused = typed.iter().filter_map(|typed| typed.unused.clone());
    // The CRDs are installed before the operator starts, so it only gets them.
    let crds: Vec<String> = ensured_crds(project).map(Api::name).collect();
    let crds = (!crds.is_empty()).then(|| manifests::crd_rules(&crds));
    let crds = crds.into_iter().flatten().map(|mut rule| {
        rule.verbs.retain(|verb| verb != "get");
        rule
    });
    let rules: Vec<String> = rules
        .map(policy_rule)
        .chain(unused)
        .chain(crds)
        .map(|rule| literal(&json!(rule).to_string()))
        .collect();
    let context = Context {
        name: &project.state.name,
        kinds: constant("KINDS", |_| true),
        pruned: constant("PRUNED", |scaffold| scaffold.prunes),
        has_providers: tests.iter().any(|test| test.has_provider),
        namespaces: !matches!(project.state.namespaces, Namespaces::All),
        declared: bracketed(4, "let declared = ", ['[', ']'], &declared(project)?, ";"),
        rules: bracketed(4, "let unchecked = ", ['[', ']'], &rules, ";"),
        tests,
    };
    Ok((!context.tests.is_empty()).then(|| fill("tests/faults.rs.j2", &context)))
}

/// The calls on a trial, as the value of a variable.
fn chain<'a>(calls: impl Iterator<Item = &'a str>) -> String {
    let calls: Vec<String> = calls.map(|call| format!(".{call}")).collect();
    let inline = format!("trial(){}", calls.concat());
    match inline.len() <= CALL_WIDTH {
        true => inline,
        false => format!("trial()\n        {}", calls.join("\n        ")),
    }
}

/// The statement that defines some names; empty if there are none.
fn list(variable: &str, names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| literal(name)).collect();
    match names.is_empty() {
        true => String::new(),
        false => bracketed(4, &format!("let {variable} = "), ['[', ']'], &names, ";"),
    }
}

/// The watched namespaces, as a statement of the test support; empty if all are watched.
pub fn watched_namespaces(namespaces: &Namespaces) -> String {
    let names = match namespaces {
        Namespaces::All => return String::new(),
        Namespaces::Own => vec!["NAME".to_owned()],
        Namespaces::Listed(names) => names.iter().map(|name| literal(name)).collect(),
    };
    let head = format!("pub const NAMESPACES: [&str; {}] = ", names.len());
    bracketed(0, &head, ['[', ']'], &names, ";")
}

/// Each entry of `owns`, `watches` and `reads`, as a JSON literal.
fn declared(project: &Project) -> Result<Vec<String>, ResourceError> {
    let mut declared = vec![];
    for (kind, _) in project.kinds().filter(|(kind, _)| kind.has_controller()) {
        let Watched {
            owns,
            watches,
            reads,
            keeps: _,
        } = Watched::of(kind, &project.apis)?;
        let mut declare = |key: &str, entry: &str, resource: &ResourceType, verbs: &[&str]| {
            let text = json!({
                "kind": kind.kind, "key": key, "entry": entry,
                "group": resource.group, "resource": resource.plural, "verbs": verbs,
            });
            declared.push(literal(&text.to_string()));
        };
        for (entry, (resource, verbs)) in kind.owns.iter().zip(&owns) {
            declare("owns", &entry.kind, resource, verbs);
        }
        for (entry, resource) in kind.watches.iter().zip(&watches) {
            declare("watches", entry, resource, WATCHED);
        }
        for (entry, (resource, verbs)) in kind.reads.iter().zip(&reads) {
            declare("reads", &entry.kind, resource, verbs);
        }
    }
    Ok(declared)
}
