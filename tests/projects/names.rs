//! Kinds with a name that a template uses for something else: no name of the kind conflicts with one of the template.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use cargo_operator::crd::Api;
use proc_macro2::{TokenStream, TokenTree};
use serde_json::{Value, json};

use crate::project::{apis, rust, scaffolds, test, tree, types_path, write};

/// What a kind has beside its name, so that all branches of all templates are rendered.
#[derive(Clone, Copy, Debug)]
struct Body {
    scaffold: &'static str,
    replicas: bool,
    conditions: bool,
    status: bool,
}

/// With replicas, conditions and a status.
const BODIES: [[bool; 3]; 5] = [
    [true, true, true],
    [true, false, true],
    [false, true, true],
    [false, false, true],
    [false, false, false],
];

fn bodies() -> impl Iterator<Item = Body> {
    scaffolds().into_iter().flat_map(|scaffold| {
        BODIES.map(|[replicas, conditions, status]| Body {
            scaffold,
            replicas,
            conditions,
            status,
        })
    })
}

/// The CRD of a kind.
fn definition(kind: &str, plural: &str, body: Body) -> Value {
    let condition = json!({
        "type": "object",
        "required": ["lastTransitionTime", "message", "reason", "status", "type"],
        "properties": {
            "lastTransitionTime": {"type": "string", "format": "date-time"}, "message": {"type": "string"},
            "observedGeneration": {"type": "integer", "format": "int64"}, "reason": {"type": "string"},
            "status": {"type": "string"}, "type": {"type": "string"},
        },
    });
    let mut spec = json!({"type": "object", "properties": {"mode": {"type": "string", "enum": ["a", "b"], "default": "a"}}});
    let mut status = json!({"type": "object", "properties": {"observedGeneration": {"type": "integer", "format": "int64"}}});
    let mut version = json!({"name": "v1", "served": true, "storage": true, "subresources": {}});
    if body.replicas {
        spec["properties"]["replicas"] =
            json!({"type": "integer", "format": "int32", "minimum": 0});
        spec["properties"]["image"] = json!({"type": "string"});
        status["properties"]["replicas"] = json!({"type": "integer", "format": "int32"});
        status["properties"]["selector"] = json!({"type": "string"});
        version["subresources"]["scale"] = json!({
            "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas",
            "labelSelectorPath": ".status.selector",
        });
    }
    if body.conditions {
        status["properties"]["conditions"] = json!({"type": "array", "items": condition});
    }
    let mut root = json!({"type": "object", "properties": {"spec": spec}});
    if body.status {
        root["properties"]["status"] = status;
        version["subresources"]["status"] = json!({});
    }
    version["schema"] = json!({"openAPIV3Schema": root});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.example.com")},
        "spec": {
            "group": "example.com",
            "names": {"kind": kind, "plural": plural},
            "scope": "Namespaced",
            "versions": [version],
        },
    })
}

/// The identifiers of a text that an item of the same name could hide: not those after a dot, and those after `::` only in imports.
fn words(text: &str) -> Vec<String> {
    let tokens: TokenStream = text.parse().expect("it is Rust");
    let mut words = vec![];
    collect(tokens, &mut false, &mut words);
    words
}

fn collect(tokens: TokenStream, in_use: &mut bool, words: &mut Vec<String>) {
    let mut before = [' '; 2];
    for token in tokens {
        match token {
            TokenTree::Ident(ident) => {
                let is_member = before[1] == '.' && before[0] != '.';
                let is_path = before == [':', ':'] && !*in_use;
                *in_use |= ident == "use";
                if !is_member && !is_path {
                    words.push(ident.to_string());
                }
                before = [' '; 2];
            }
            TokenTree::Punct(punct) => {
                *in_use &= punct.as_char() != ';';
                before = [before[1], punct.as_char()];
            }
            TokenTree::Group(group) => {
                collect(group.stream(), &mut in_use.clone(), words);
                before = [' '; 2];
            }
            TokenTree::Literal(_) => before = [' '; 2],
        }
    }
}

/// The files of the kinds of a project, by their paths.
fn files(apis: &[Api], scaffold: &'static str) -> BTreeMap<String, String> {
    let tree = tree("zyzzyva-operator", apis, "embed", |at| {
        (scaffold, at % 2 == 0)
    });
    rust(&tree)
        .map(|(path, text)| (path.to_owned(), text.to_owned()))
        .collect()
}

/// The names of a kind in its project.
struct Named {
    module: String,
    /// The type, as its controller and test call it.
    root: String,
    var: String,
    /// Empty without a test.
    objects: String,
}

fn named(files: &BTreeMap<String, String>) -> Named {
    let module = files
        .keys()
        .filter_map(|path| path.strip_prefix("src/controllers/"))
        .find(|path| *path != "mod.rs")
        .and_then(|path| path.strip_suffix(".rs"))
        .expect("the kind has a controller")
        .to_owned();
    let controller = &files[&format!("src/controllers/{module}.rs")];
    let between = |text: &str, from: &str, to: &str| {
        let (_, rest) = text.split_once(from)?;
        let (text, _) = rest.split_once(to)?;
        Some(text.to_owned())
    };
    let root = between(controller, "type Resource = ", ";").expect("it has a kind");
    let test = files
        .get(&format!("tests/all/{module}.rs"))
        .map_or("", String::as_str);
    // handlers take calls, and not objects
    let of_sample = || {
        let (before, _) = test.split_once(&format!(": {root} = sample_file("))?;
        Some(before.rsplit_once("let ")?.1.to_owned())
    };
    let var = between(controller, "fn reconcile(&self, ", ": Arc<")
        .or_else(|| between(controller, "fn desired(&self, ", ": &"))
        .or_else(|| between(controller, "fn identity(&self, ", ": &"))
        .or_else(of_sample)
        .expect("it has a method or a test with an object");
    let objects = test.lines().find_map(|line| {
        let (name, _) = line
            .trim()
            .strip_prefix("let ")?
            .split_once(&format!(": Api<{root}> ="))?;
        Some(name.to_owned())
    });
    Named {
        root,
        var,
        objects: objects.unwrap_or_default(),
        module,
    }
}

/// The files of a kind whose name is in no template. So their words are those of the templates.
fn reference(body: Body) -> BTreeMap<String, String> {
    files(
        &apis(&[definition("Zyzzyva", "zyzzyvas", body)]),
        body.scaffold,
    )
}

/// Words of the prelude, of macros and derives, and of files that all projects have; no template need name them.
const RISKY: [&str; 43] = [
    "Self",
    "Result",
    "Fn",
    "Drop",
    "Copy",
    "Sized",
    "Extend",
    "Iterator",
    "ToOwned",
    "AsRef",
    "TryFrom",
    "Unpin",
    "Error",
    "Secret",
    "Type",
    "Impl",
    "Mod",
    "Fault",
    "Faults",
    "Test",
    "Tests",
    "Main",
    "Lib",
    "Api",
    "Kube",
    "Serde",
    "Std",
    "Core",
    "Json",
    "Schemars",
    "Value",
    "List",
    "Node",
    "Job",
    "Event",
    "Service",
    "Ingress",
    "Namespace",
    "T",
    "D",
    "S",
    "Object",
    "Objects",
];

/// A kind and its plural for each word that could become one.
fn kinds() -> BTreeSet<(String, String)> {
    let mut all = BTreeSet::new();
    for body in bodies() {
        for (path, text) in reference(body) {
            all.extend(words(&text));
            // a kind has files of its own name beside those of the project
            all.extend(path.trim_end_matches(".rs").split('/').map(str::to_owned));
        }
    }
    all.extend(RISKY.map(str::to_owned));
    let mut kinds = BTreeSet::new();
    for word in all {
        let camel: String = word
            .split('_')
            .filter(|part| !part.is_empty())
            .map(|part| part[..1].to_uppercase() + &part[1..])
            .collect();
        let is_kind = camel.len() <= 40
            && camel.starts_with(|c: char| c.is_ascii_alphabetic())
            && camel.bytes().all(|b| b.is_ascii_alphanumeric())
            && !camel.contains("Zyzzyva");
        if !is_kind {
            continue;
        }
        let lower = camel.to_lowercase();
        // as a kind, and as the plural of one
        kinds.insert((camel.clone(), format!("{lower}s")));
        if let Some(singular) = camel.strip_suffix('s').filter(|it| it.len() > 1) {
            kinds.insert((singular.to_owned(), lower));
        }
    }
    kinds
}

/// Replaces the names of a kind in its files by those of the reference. The words must then be those of the reference: a name that the
/// template also uses would be replaced there, too.
#[test]
fn no_name_of_a_kind_conflicts_with_a_template() {
    let kinds = kinds();
    let faults: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = bodies()
            .map(|body| {
                scope.spawn({
                    let kinds = &kinds;
                    move || clashes(kinds, body)
                })
            })
            .collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().expect("it does not panic"))
            .collect()
    });
    eprintln!("{} kinds", kinds.len());
    assert!(
        faults.is_empty(),
        "{} faults: {:#?}",
        faults.len(),
        &faults[..faults.len().min(40)]
    );
}

/// The kinds whose files have other words than the reference.
fn clashes(kinds: &BTreeSet<(String, String)>, body: Body) -> Vec<String> {
    let mut faults = vec![];
    let reference = reference(body);
    for (kind, plural) in kinds {
        let api = apis(&[definition(kind, plural, body)]);
        let files = files(&api, body.scaffold);
        let names = named(&files);
        for (own, original) in [
            (
                format!("src/controllers/{}.rs", names.module),
                "src/controllers/zyzzyva.rs",
            ),
            (
                format!("tests/all/{}.rs", names.module),
                "tests/all/zyzzyva.rs",
            ),
        ] {
            let Some(text) = files.get(&own) else {
                faults.push(format!("{kind}: no {own}"));
                continue;
            };
            let (actual, wanted) = (renamed(words(text), &names), words(&reference[original]));
            if actual != wanted {
                let differs = actual.iter().zip(&wanted).find(|(a, b)| a != b);
                faults.push(format!("{kind} {plural} in {own}: {differs:?}"));
            }
        }
        syn::parse_file(&files[&types_path(&names.module, &api[0])]).unwrap();
    }
    faults
}

/// The words with the names of the reference in the place of a kind's own.
fn renamed(words: Vec<String>, names: &Named) -> Vec<String> {
    let words = without_alias(words);
    let at = |index: Option<usize>| {
        index
            .and_then(|index| words.get(index))
            .map_or("", String::as_str)
    };
    let renamed = words.iter().enumerate().map(|(index, word)| {
        let is_module = *word == names.module
            && ["api", "controllers"].contains(&at(index.checked_sub(1)))
            && ["crate", "zyzzyva_operator"].contains(&at(index.checked_sub(2)));
        if is_module {
            return "zyzzyva".to_owned();
        }
        for (own, original) in [
            (&names.root, "Zyzzyva"),
            (&names.var, "zyzzyva"),
            (&names.objects, "zyzzyvas"),
        ] {
            if word == own {
                return original.to_owned();
            }
        }
        if let Some(style @ ("Reconciler" | "Controller" | "Provider" | "Handlers")) =
            word.strip_prefix(&names.root)
        {
            return format!("Zyzzyva{style}");
        }
        match word.strip_prefix(names.module.trim_end_matches('_')) {
            Some(
                rest @ ("_manages_its_config_map"
                | "_manages_its_deployment"
                | "_manages_its_copy"
                | "_calls_its_handlers"),
            ) => {
                format!("zyzzyva{rest}")
            }
            _ => word.clone(),
        }
    });
    renamed.collect()
}

/// Without `Event as` in `use …::Event as EventObject`.
fn without_alias(words: Vec<String>) -> Vec<String> {
    let mut kept: Vec<String> = vec![];
    for word in words {
        match word.as_str() {
            "as" => drop(kept.pop()),
            _ => kept.push(word),
        }
    }
    kept
}

/// Compiles and tests `$NAMES` kinds, whose names are in [`RISKY`], or whose types have another name than the kind.
#[test]
fn kinds_with_risky_names_compile_and_pass_their_tests() {
    let Ok(wanted) = std::env::var("NAMES") else {
        return;
    };
    let wanted: usize = wanted.parse().unwrap();
    let mut taken = BTreeSet::new();
    let mut definitions = vec![];
    let bodies: Vec<Body> = bodies().collect();
    for (kind, plural) in kinds() {
        let body = bodies[definitions.len() % bodies.len()];
        let definition = definition(&kind, &plural, body);
        let files = files(&apis(std::slice::from_ref(&definition)), body.scaffold);
        let is_risky = RISKY.contains(&kind.as_str()) || named(&files).root != kind;
        // Two kinds of one module need `as`, and the API server accepts no singular or plural twice.
        let names = [kind.to_lowercase(), plural];
        if is_risky && !names.iter().any(|name| taken.contains(name)) {
            taken.extend(names);
            definitions.push((definition, body.scaffold));
        }
    }
    let step = definitions.len() / wanted.clamp(1, definitions.len());
    let (definitions, scaffolds): (Vec<Value>, Vec<&str>) =
        definitions.into_iter().step_by(step).take(wanted).unzip();
    let apis = apis(&definitions);
    let tree = tree("names", &apis, "embed", |at| (scaffolds[at], at % 2 == 0));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("names");
    write(&folder, &tree, &apis);
    test(&folder);
    eprintln!("{} kinds compiled and tested", apis.len());
}
