//! The files of the conversions of a project.

use heck::ToUpperCamelCase;
use serde::Serialize;

use super::{
    answer::{Answer, Declaration, Versions},
    only::{FieldWithoutTarget, KeptField, kept, unplaced},
    statement::{statements, uses_empty, uses_values},
};
use crate::{
    config::Kind,
    conversion::Question,
    crd::Api,
    operator::{Conversions, Operator},
    plan::{Owner, Tree},
    rust::{
        code::{import, indented, joined, list, literal, untouched},
        version_module,
    },
    template::fill,
    types::KindFacts,
};

/// A kind whose versions are converted.
#[derive(Clone, Debug, Serialize)]
pub struct Converted {
    pub module: String,
    /// The path of the CRD's file.
    pub crd: String,
    /// The user's file.
    pub path: String,
    pub kind: String,
    /// `KIND.GROUP`.
    pub full_name: String,
    pub hub: String,
    pub spokes: Vec<SpokeAnswers>,
}

/// The answers about a version and the hub.
#[derive(Clone, Debug, Serialize)]
pub struct SpokeAnswers {
    pub version: String,
    /// The name of the function.
    pub function: String,
    /// The name of the struct.
    pub name: String,
    pub answers: Vec<Answer>,
    /// Sensitive fields that the other version has no place for.
    #[serde(skip)]
    pub unplaced: Vec<FieldWithoutTarget>,
    /// The fields whose values are kept, for each of the two versions that has any.
    #[serde(skip)]
    pub kept: Vec<KeptField>,
    #[serde(skip)]
    statements: String,
}

#[derive(Serialize)]
struct VersionsContext<'a> {
    kind: &'a str,
    hub: &'a str,
    imports: String,
    /// The statements of `conversion`.
    conversion: String,
    spokes: Vec<SpokeContext<'a>>,
    uses_empty: bool,
}

#[derive(Serialize)]
struct SpokeContext<'a> {
    version: &'a str,
    function: &'a str,
    name: &'a str,
    statements: &'a str,
    fields: String,
}

#[derive(Serialize)]
struct AnswersContext<'a> {
    kind: &'a str,
    hub: &'a str,
    imports: String,
    spokes: &'a [SpokeAnswers],
}

/// The path of the tool's file of a kind with conversions.
pub fn versions_path(module: &str) -> String {
    format!("src/api/{module}/versions.rs")
}

/// Adds the files of a kind with conversions. `facts` are those of its versions, by name.
pub fn conversion_files(
    tree: &mut Tree,
    kind: &Kind,
    api: &Api,
    conversions: &Conversions<'_>,
    facts: &[(String, KindFacts)],
) -> Converted {
    let facts = |name: &str| {
        let (_, facts) = facts
            .iter()
            .find(|(version, _)| version == name)
            .expect("conversions are of versions with types");
        facts
    };
    let module_of = |name: &str| format!("super::{}", version_module(name));
    let hub = conversions.hub;
    let questions = conversions.spokes.iter();
    let questions = questions.flat_map(|spoke| &spoke.derivation.questions);
    let suggested = questions.filter(|it| matches!(it, Question::Renamed(_)));
    let declaration = if kind.renames.is_empty() && suggested.count() < 2 {
        Declaration::Key
    } else {
        Declaration::Entry
    };
    let spokes = conversions.spokes.iter().map(|spoke| {
        let version = spoke.version;
        let versions = Versions {
            api,
            crd: &kind.crd,
            spoke: version,
            hub,
            facts: [facts(&version.name), facts(&hub.name)],
            modules: [module_of(&version.name), module_of(&hub.name)],
            declaration,
        };
        let answers = versions.answers(&spoke.derivation.questions);
        SpokeAnswers {
            version: version.name.clone(),
            function: version_module(&version.name),
            name: format!("{}Answers", version.name.to_upper_camel_case()),
            statements: statements(&spoke.derivation, &answers),
            answers,
            unplaced: unplaced(spoke, conversions),
            kept: kept(spoke, conversions),
        }
    });
    let module = kind.module_name();
    let converted = Converted {
        path: format!("src/api/{module}/conversion.rs"),
        crd: kind.crd.clone(),
        kind: kind.kind.clone(),
        full_name: kind.full_name(),
        hub: hub.name.clone(),
        spokes: spokes.collect(),
        module,
    };
    let text = versions_file(api, conversions, &converted);
    tree.insert(versions_path(&converted.module), Owner::Tool, text);
    if !converted.spokes.is_empty() {
        tree.insert_skeleton(converted.path.as_str(), answers_file(&converted));
    }
    converted
}

/// The tool's file: the builder calls, and the structs of the answers.
fn versions_file(api: &Api, conversions: &Conversions<'_>, converted: &Converted) -> String {
    let has = |word: &str| {
        let mut answers = converted.spokes.iter().flat_map(|spoke| &spoke.answers);
        answers.any(|answer| answer.type_.contains(word))
    };
    let derivations = || conversions.spokes.iter().map(|spoke| &spoke.derivation);
    let uses_empty = derivations().any(uses_empty);
    let mut names = vec![];
    let optional = [
        ("Both", has("Both<")),
        ("Values", derivations().any(uses_values)),
    ];
    names.push("Conversion");
    if !converted.spokes.is_empty() {
        names.extend(["Declared", "Spoke"]);
    }
    names.extend(
        optional
            .iter()
            .filter(|(_, is_used)| *is_used)
            .map(|(name, _)| *name),
    );
    names.sort_unstable();
    let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
    let mut imports = import("operator_runtime::conversion", &names);
    if has("Result<") || uses_empty {
        imports = format!("use operator_runtime::Result;\n{imports}");
    }
    let arguments = [literal(&api.name()), literal(&converted.hub)];
    let new = |head, tail| list(head, ['(', ')'], &arguments, tail);
    let conversion = match converted.spokes.split_last() {
        None => new("Conversion::new", ""),
        Some((last, earlier)) => {
            let mut conversion = new("let conversion = Conversion::new", ";");
            for (version, path) in &conversions.sensitive {
                let arguments = [literal(version), literal(&path.to_string())];
                let head = "let conversion = conversion.sensitive";
                conversion += &list(head, ['(', ')'], &arguments, ";");
            }
            for spoke in earlier {
                conversion +=
                    &format!("let conversion = conversion.spoke({}());\n", spoke.function);
            }
            conversion + &format!("conversion.spoke({}())\n", last.function)
        }
    };
    let spokes = converted.spokes.iter().map(|spoke| SpokeContext {
        version: &spoke.version,
        function: &spoke.function,
        name: &spoke.name,
        statements: &spoke.statements,
        fields: spoke
            .answers
            .iter()
            .map(|it| {
                let head = format!("pub {}:", it.ident);
                let field = joined(&head, &format!("{},\n", it.type_));
                indented(&format!("/// {}\n{field}", it.question))
            })
            .collect(),
    });
    let context = VersionsContext {
        kind: &converted.kind,
        hub: &converted.hub,
        imports,
        conversion: indented(&conversion),
        spokes: spokes.collect(),
        uses_empty,
    };
    untouched(&fill("src/api/versions.rs.j2", &context))
}

/// The user's file, which does not compile until all questions are answered.
fn answers_file(converted: &Converted) -> String {
    let has = |word: &&str| {
        let mut answers = converted.spokes.iter().flat_map(|spoke| &spoke.answers);
        answers.any(|answer| answer.type_.starts_with(word))
    };
    let names = ["Both", "Values"].into_iter().filter(has);
    let names: Vec<String> = names.map(str::to_owned).collect();
    let imports = match names.as_slice() {
        [] => String::new(),
        names => import("operator_runtime::conversion", names) + "\n",
    };
    let structs: Vec<String> = converted.spokes.iter().map(|it| it.name.clone()).collect();
    let context = AnswersContext {
        kind: &converted.kind,
        hub: &converted.hub,
        imports: imports + &import("super", &structs),
        spokes: &converted.spokes,
    };
    fill("src/api/conversion.rs.j2", &context)
}

/// The converted kinds, each with the call that returns its conversion.
pub fn conversions(operator: &Operator<'_>) -> Vec<[String; 2]> {
    operator
        .converted()
        .map(|kind| {
            let call = format!("crate::api::{}::conversion()", kind.table.module_name());
            [literal(&kind.table.kind), call]
        })
        .collect()
}

/// The proofs of all conversions of a project; `None` if there are none. A single version has nothing to prove.
pub fn conversion_tests(crate_name: &str, converted: &[&Converted]) -> Option<String> {
    #[derive(Serialize)]
    struct Context<'a> {
        tests: Vec<Test<'a>>,
    }
    #[derive(Serialize)]
    struct Test<'a> {
        module: &'a str,
        path: String,
        crd: String,
    }
    let converted = converted.iter().filter(|kind| !kind.spokes.is_empty());
    let tests = converted.map(|Converted { module, crd, .. }| Test {
        module,
        path: format!("{crate_name}::api::{module}::conversion()"),
        crd: literal(crd),
    });
    let context = Context {
        tests: tests.collect(),
    };
    let text = || untouched(&fill("tests/all/conversions.rs.j2", &context));
    (!context.tests.is_empty()).then(text)
}
