//! `types`: generates only the types of CRDs, for any crate.

use std::{
    collections::{HashMap, HashSet},
    path::PathBuf,
};

use super::resolve::Resolve;
use crate::{
    advice::by_plan::located,
    cli::output::{
        lines::FixCommand,
        view::{CommandResult, View},
    },
    crd::{Api, Version},
    diagnostic::{Exit, Failure, Report},
    disk::{self, Root},
    plan::{self, LOCK, Lock, Owner, Resolution, Tree},
    rust::{
        code::{self, untouched},
        module_name, version_module,
    },
    terminal::Terminal,
    types::{self, SchemaMode},
    workspace::{evolve::Evolution, kind_error::KindError, kinds, recover::recover},
};

/// Print the Rust types of CRDs; they need only kube, k8s-openapi (with schemars), schemars, serde and serde_json
#[derive(clap::Args)]
#[command(after_help = "Examples:
  cargo operator types certificates.yaml > src/certificate.rs
  cargo operator types crds/ --out src/api
  kubectl get crd certificates.cert-manager.io -o yaml | cargo operator types - --version v1")]
pub struct Args {
    /// Files or folders with CustomResourceDefinitions, or `-` for standard input
    #[arg(required = true, value_name = "FILE|DIR|-")]
    paths: Vec<String>,
    /// Only this kind, as KIND or KIND.GROUP
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
    /// Only this version [default: a module for each served version]
    #[arg(long, value_name = "V")]
    version: Option<String>,
    /// Where `crd()` of the types gets its schema from
    #[arg(long, value_enum, default_value = "derive", value_name = "MODE")]
    schema: SchemaMode,
    /// Write a file for each kind into this folder, instead of standard output
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    resolve: Resolve,
    #[command(flatten)]
    view: View,
}

/// The module of one kind.
struct TypesModule {
    name: String,
    group: String,
    text: String,
    /// The schema files that the text includes: the suffix of the name, which follows the name of the module, and the JSON.
    schema_files: Vec<(String, String)>,
    reports: Vec<Report>,
}

pub fn exec(args: Args, terminal: &Terminal) -> Result<Exit, Failure> {
    if args.out.is_none() && args.view != View::default() {
        return Err(KindError::NoOut.into());
    }
    let (root, _guard) = match &args.out {
        Some(folder) => {
            if disk::is_project(folder) {
                return Err(KindError::InProject(folder.display().to_string()).into());
            }
            let guard = disk::guard(&disk::parent(folder), || terminal.waiting())?;
            let root = Root::open(folder)?;
            recover(&root, args.view.recovery_mode(), terminal)?;
            (Some(root), Some(guard))
        }
        None => (None, None),
    };
    let modules = kinds::read_each(&args.paths, args.kind.as_deref(), terminal, |api| {
        Ok(module(&api, &args)?)
    })?;
    let several = modules.len() > 1;
    let count = modules.len();
    let mut names: HashMap<String, usize> = HashMap::new();
    for module in &modules {
        *names.entry(module.name.clone()).or_default() += 1;
    }
    let mut tree = Tree::default();
    let mut taken = HashSet::new();
    let mut reports = vec![];
    if several && args.out.is_none() {
        terminal.print(&untouched(""))?;
    }
    for TypesModule {
        name: of_kind,
        group,
        mut text,
        schema_files,
        reports: more_reports,
    } in modules
    {
        reports.extend(more_reports);
        let mut name = if names[&of_kind] > 1 {
            format!("{of_kind}_{}", group.replace(['.', '-'], "_"))
        } else {
            of_kind.clone()
        };
        while !taken.insert(name.clone()) {
            name.push('_');
        }
        if args.out.is_some() {
            for (end, json) in schema_files {
                if name != of_kind {
                    let included = |name: &str| format!("include_str!(\"{name}{end}\")");
                    text = text.replace(&included(&of_kind), &included(&name));
                }
                tree.insert(format!("{name}{end}"), Owner::Tool, json);
            }
            tree.insert(format!("{name}.rs"), Owner::Tool, untouched(&text));
        } else if several {
            terminal.print(&format!("\n{}", code::module(&name, &text)))?;
        } else {
            terminal.print(&untouched(&text))?;
        }
    }
    let Some(root) = &root else {
        terminal.report(&reports);
        return Ok(Exit::Clean);
    };
    let mut lock = match disk::read(root, LOCK)? {
        Some(text) => Lock::read(&text)?,
        None => Lock::default(),
    };
    let ours = disk::read_tree(root, plan::paths(&tree, &lock))?;
    // without its entry in the lock, a file that the user deleted is generated again: the command asks for it
    (lock.files).retain(|path, _| !tree.0.contains_key(path) || ours.get(path).is_some());
    let resolution = Resolution::from(args.resolve);
    resolution.check(&lock, &ours, &tree)?;
    let names: HashSet<String> = tree.0.keys().cloned().collect();
    let outcome = CommandResult {
        root,
        evolution: Evolution::default(),
        // modules from earlier calls stay
        plan: plan::plan(&lock, &ours, tree, |path| names.contains(path), &resolution),
        reports,
        standing: vec![],
        pending: vec![],
        summary: format!(
            "{}: the types of {count} kind{}",
            root.path().display(),
            if count == 1 { "" } else { "s" }
        ),
        next: "add the modules to the crate with `pub mod`".into(),
        fix: FixCommand::Types,
        warnings: 0,
    };
    args.view.finish(&outcome, terminal)
}

/// The module of one kind: the types of one version, or a module for each served version.
fn module(api: &Api, args: &Args) -> Result<TypesModule, KindError> {
    let served = |version: &&Version| version.served;
    let versions: Vec<&Version> = match &args.version {
        None => api.versions.iter().filter(served).collect(),
        Some(name) => vec![api.version(name).ok_or_else(|| KindError::Version {
            kind: api.names.kind.clone(),
            version: name.clone(),
            known: kinds::list(api.versions.iter().map(|version| version.name.as_str())),
        })?],
    };
    let name = module_name(&api.names.kind);
    let is_alone = versions.len() == 1;
    let mut diagnostics = api.warnings();
    let (mut schema_files, mut texts) = (vec![], vec![]);
    for version in versions {
        let of_version = version_module(&version.name);
        let end = if is_alone {
            ".schema.json".to_owned()
        } else {
            format!(".{of_version}.schema.json")
        };
        let module = match args.out {
            Some(_) => types::module_with_file(api, version, args.schema, &format!("{name}{end}")),
            None => types::module(api, version, args.schema),
        };
        diagnostics.extend(module.diagnostics);
        schema_files.extend(module.schema_file.map(|json| (end, json)));
        texts.push(if is_alone {
            module.text
        } else {
            code::module(&of_version, &module.text)
        });
    }
    let line = match args.out {
        Some(_) => format!(
            "// Generated by `cargo operator types` from {}.\n",
            api.name()
        ),
        None => String::new(),
    };
    Ok(TypesModule {
        name,
        group: api.group.clone(),
        text: line + &texts.join("\n"),
        schema_files,
        reports: located(api, diagnostics),
    })
}
