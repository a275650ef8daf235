//! `types`: generates only the types of CRDs, for any crate.

use std::{
    collections::{HashMap, HashSet},
    path::PathBuf,
};

use super::{
    Exit,
    evolve::Evolution,
    failure::Failure,
    kinds::{self, KindError},
    planning::placed,
    recover::recover,
    resolve::Resolve,
    view::{Cure, Outcome, View},
};
use crate::{
    crd::{Api, Version},
    diagnostic::Report,
    disk,
    plan::{self, LOCK, Resolution, Tree},
    project::{Lock, Owner},
    rust::{module_name, version_module},
    rustfmt,
    terminal::Terminal,
    types::{self, SchemaMode},
};

/// Prints the Rust types of definitions, self-contained: they need kube, k8s-openapi (schemars), schemars, serde and serde_json
#[derive(clap::Args)]
#[command(after_help = "Examples:
  cargo operator types certificates.yaml > src/certificate.rs
  cargo operator types crds/ --out src/api
  kubectl get crd certificates.cert-manager.io -o yaml | cargo operator types - --version v1")]
pub struct Args {
    /// Files or folders with CustomResourceDefinitions, or `-`
    #[arg(required = true, value_name = "FILE|DIR|-")]
    paths: Vec<String>,
    /// One kind alone, as KIND or KIND.GROUP
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
    /// One version alone; without it the served versions come as modules of their names
    #[arg(long, value_name = "V")]
    version: Option<String>,
    /// How `crd()` of the types comes about
    #[arg(long, value_enum, default_value = "derive", value_name = "MODE")]
    schema: SchemaMode,
    /// Writes a file for each kind into this folder, in place of standard output
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    resolve: Resolve,
    #[command(flatten)]
    view: View,
}

/// The module of one kind.
struct Made {
    name: String,
    group: String,
    text: String,
    reports: Vec<Report>,
    /// The kind, if `text` is not laid out to stand in a module.
    flat: Option<Api>,
}

pub fn exec(args: Args, terminal: &Terminal) -> Result<Exit, Failure> {
    if args.out.is_none() && args.view != View::default() {
        return Err(KindError::NoOut.into());
    }
    let _guard = match &args.out {
        Some(folder) => {
            if disk::is_project(folder) {
                return Err(KindError::InProject(folder.display().to_string()).into());
            }
            let guard = disk::guard(&disk::parent(folder))?;
            recover(folder, args.view.recovery_mode(), terminal)?;
            Some(guard)
        }
        None => None,
    };
    let mut is_first = true;
    let made = kinds::read_each(&args.paths, args.kind.as_deref(), terminal, |api| {
        let definition = api.name();
        let line = match args.out {
            Some(_) => format!("// Made by `cargo operator types` from {definition}.\n"),
            None => String::new(),
        };
        let name = module_name(&api.names.kind);
        let group = api.group.clone();
        // a second kind to print makes all of them modules
        let is_flat = std::mem::take(&mut is_first) || args.out.is_some();
        // as long as it is: a text that grew has room for more, and all of them are held until the last is made
        let (text, reports) = match is_flat {
            true => module(&api, &args)?,
            false => rustfmt::nested(|| module(&api, &args))?,
        };
        let text = line + &text;
        Ok(Made {
            name,
            group,
            text,
            reports,
            flat: (is_flat && args.out.is_none()).then_some(api),
        })
    })?;
    let several = made.len() > 1;
    let count = made.len();
    let mut names: HashMap<String, usize> = HashMap::new();
    for made in &made {
        *names.entry(made.name.clone()).or_default() += 1;
    }
    let mut tree = Tree::default();
    let mut taken = HashSet::new();
    let mut reports = vec![];
    let mut has_wide = false;
    for Made {
        name,
        group,
        text,
        reports: more_reports,
        flat,
    } in made
    {
        reports.extend(more_reports);
        let mut name = if names[&name] > 1 {
            format!("{name}_{}", group.replace(['.', '-'], "_"))
        } else {
            name
        };
        while !taken.insert(name.clone()) {
            name.push('_');
        }
        if args.out.is_some() {
            has_wide |= rustfmt::is_wide(&text);
            tree.insert(format!("{name}.rs"), Owner::Tool, text);
        } else if several {
            let text = match &flat {
                Some(api) => rustfmt::nested(|| module(api, &args))?.0,
                None => text,
            };
            terminal.print(&rustfmt::wrapped(&name, &text))?;
        } else {
            terminal.print(&text)?;
        }
    }
    let Some(folder) = &args.out else {
        terminal.report(&reports);
        return Ok(Exit::Clean);
    };
    let mut lock = match disk::read(folder, LOCK)? {
        Some(text) => Lock::read(&text)?,
        None => Lock::default(),
    };
    let ours = disk::read_tree(folder, plan::paths(&tree, &lock))?;
    // a file that was deleted is asked for by the very command
    (lock.files).retain(|path, _| !tree.0.contains_key(path) || ours.get(path).is_some());
    let resolution = Resolution::from(args.resolve);
    resolution.check(&lock, &ours, &tree)?;
    let names: HashSet<String> = tree.0.keys().cloned().collect();
    let outcome = Outcome {
        root: folder,
        evolution: Evolution::default(),
        // kinds of earlier calls stay
        plan: plan::plan(&lock, &ours, tree, |path| names.contains(path), &resolution),
        reports,
        standing: vec![],
        pending: vec![],
        summary: format!(
            "{}: the types of {count} kind{}",
            folder.display(),
            if count == 1 { "" } else { "s" }
        ),
        next: match has_wide {
            false => "add the modules to the crate with `pub mod`".into(),
            true => "add the modules to the crate with `#[rustfmt::skip] pub mod`, because names are too long for rustfmt".into(),
        },
        cure: Cure::Types,
        warnings: 0,
    };
    args.view.finish(&outcome, terminal)
}

/// The text for one kind: one version's types, or a module for each served version.
fn module(api: &Api, args: &Args) -> Result<(String, Vec<Report>), KindError> {
    let mut diagnostics = vec![];
    let mut render = |version: &Version| {
        let module = types::module(api, version, args.schema);
        diagnostics.extend(module.diagnostics);
        module.text
    };
    if let Some(name) = &args.version {
        let version = api.version(name).ok_or_else(|| KindError::Version {
            kind: api.names.kind.clone(),
            version: name.clone(),
            known: kinds::list(api.versions.iter().map(|version| version.name.as_str())),
        })?;
        let text = render(version);
        return Ok((text, placed(api, diagnostics)));
    }
    let served: Vec<&Version> = api
        .versions
        .iter()
        .filter(|version| version.served)
        .collect();
    let text = match served.as_slice() {
        [version] => render(version),
        versions => {
            let mut text = String::new();
            for version in versions {
                if !text.is_empty() {
                    text.push('\n');
                }
                text += &rustfmt::module(&version_module(&version.name), || render(version));
            }
            text
        }
    };
    Ok((text, placed(api, diagnostics)))
}
