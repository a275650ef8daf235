//! `src/controllers/mod.rs`: what each controller watches, as `operator.toml` has it.

use crate::{
    crd::Api,
    project::{Kind, Project, ResourceError, ResourceType, resolve},
    rustfmt::{bracketed, literal, skip},
};

/// The kinds that a controller has to do with.
pub struct Watched {
    /// With the verbs of each.
    pub owns: Vec<(ResourceType, Vec<&'static str>)>,
    pub watches: Vec<ResourceType>,
    /// With the verbs of each.
    pub reads: Vec<(ResourceType, Vec<&'static str>)>,
    /// Those that may remain after a deletion.
    pub keeps: Vec<ResourceType>,
}

impl Watched {
    pub fn of(kind: &Kind, apis: &[Api]) -> Result<Self, ResourceError> {
        let all = |names: &[String]| {
            names
                .iter()
                .map(|name| resolve(name, apis))
                .collect::<Result<Vec<_>, _>>()
        };
        let reads = kind.reads.iter().map(|read| {
            let verbs = read.verbs.iter().map(|verb| verb.name());
            Ok((resolve(&read.kind, apis)?, verbs.collect()))
        });
        let child_verbs = kind
            .scaffold
            .map_or(&[][..], |scaffold| scaffold.child_verbs);
        Ok(Self {
            owns: all(&kind.owns)?
                .into_iter()
                .map(|owned| (owned, child_verbs.to_vec()))
                .collect(),
            watches: all(&kind.watches)?,
            reads: reads.collect::<Result<_, _>>()?,
            keeps: all(&kind.keeps)?,
        })
    }
}

/// The functions of the registry:
///
/// ```text
/// pub fn all() -> Controllers {
///     let mut all = Controllers::new();
///     all = all.add(memcached::setup, memcached_watches);
///     all
/// }
///
/// fn memcached_watches(mut watches: Watches) -> Watches {
///     watches = watches.owns("apps", "v1", "Deployment", "deployments");
///     watches
/// }
/// ```
pub fn functions(project: &Project) -> Result<String, ResourceError> {
    let (mut adds, mut watches) = (String::new(), String::new());
    for (kind, _) in project.kinds() {
        let Some(scaffold) = kind.scaffold else {
            continue;
        };
        let module = kind.module_name();
        let function = format!("{}_watches", module.trim_end_matches('_'));
        adds += &bracketed(
            4,
            &format!("all = all.{}", scaffold.register),
            ['(', ')'],
            &[format!("{module}::setup"), function.clone()],
            ";",
        );
        let calls = calls(&Watched::of(kind, &project.apis)?);
        let binding = if calls.is_empty() {
            "watches"
        } else {
            "mut watches"
        };
        let text =
            format!("fn {function}({binding}: Watches) -> Watches {{\n{calls}    watches\n}}\n");
        watches += &format!("\n{}{text}", skip(&text));
    }
    let body = match adds.as_str() {
        "" => "    Controllers::new()\n".to_owned(),
        adds => format!("    let mut all = Controllers::new();\n{adds}    all\n"),
    };
    Ok(format!(
        "pub fn all() -> Controllers {{\n{body}}}\n{watches}"
    ))
}

fn calls(watched: &Watched) -> String {
    let mut calls = String::new();
    let owns = watched.owns.iter().map(|(owned, _)| owned).collect();
    for (method, types) in [
        ("owns", owns),
        ("watches", watched.watches.iter().collect()),
    ] {
        let types: Vec<&ResourceType> = types;
        for found in types {
            let scope = if found.namespaced { "" } else { "_cluster" };
            let words = [&found.group, &found.version, &found.kind, &found.plural]
                .map(|word| literal(word));
            calls += &bracketed(
                4,
                &format!("watches = watches.{method}{scope}"),
                ['(', ')'],
                &words,
                ";",
            );
        }
    }
    calls
}
