//! `sample`: prints objects of a kind that its schema accepts.

use std::slice;

use clap::ValueEnum;
use serde_json::{Value, json};

use crate::{
    advice::by_plan::located,
    crd::{Api, Version},
    diagnostic::{Exit, Failure},
    render::{self, NoSample},
    terminal::Terminal,
    workspace::{kind_error::KindError, kinds},
};

/// Print a sample of each kind, or arbitrary valid objects that cover every field, enum value and limit
#[derive(clap::Args)]
#[command(after_help = "Examples:
  cargo operator sample certificates.yaml | kubectl create --dry-run=server -f -
  cargo operator sample crds/ --kind Certificate --version v1 --count 50 --seed 7 --format json")]
pub struct Args {
    /// Files or folders with CustomResourceDefinitions, or `-` for standard input
    #[arg(required = true, value_name = "FILE|DIR|-")]
    paths: Vec<String>,
    /// Only this kind, as KIND or KIND.GROUP
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
    /// The version of the objects [default: the storage version]
    #[arg(long, value_name = "V")]
    version: Option<String>,
    /// Print this number of arbitrary objects of each kind, instead of the sample that a project has in manifests/samples
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    count: Option<u32>,
    /// The seed of the arbitrary objects; the same seed gives the same objects
    #[arg(long, value_name = "S", default_value_t = 0, requires = "count")]
    seed: u64,
    /// The format of the objects; several objects in JSON are a List
    #[arg(long, value_enum, default_value_t = Format::Yaml, value_name = "FORMAT")]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Yaml,
    Json,
}

pub fn exec(args: Args, terminal: &Terminal) -> Result<Exit, Failure> {
    let objects = kinds::read_each(&args.paths, args.kind.as_deref(), terminal, |api| {
        Ok(objects(&api, &args, terminal)?)
    })?;
    let objects: Vec<Value> = objects.into_iter().flatten().collect();
    let text = match (args.format, objects.as_slice()) {
        (Format::Yaml, objects) => yaml(objects),
        (Format::Json, [object]) => format!("{object:#}\n"),
        (Format::Json, objects) => {
            let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
            format!("{list:#}\n")
        }
    };
    terminal.print(&text)?;
    Ok(Exit::Clean)
}

fn objects(api: &Api, args: &Args, terminal: &Terminal) -> Result<Vec<Value>, KindError> {
    let version = match &args.version {
        None => api.storage_version(),
        Some(name) => api.version(name).ok_or_else(|| KindError::Version {
            kind: api.names.kind.clone(),
            version: name.clone(),
            known: kinds::list(api.versions.iter().map(|version| version.name.as_str())),
        })?,
    };
    // Also called for arbitrary objects, because it explains why there is none.
    let sample = render::sample(api, version).map_err(|none| no_object(api, version, &none))?;
    let unchecked = render::unevaluated_rules(version, &sample);
    terminal.report(&located(api, unchecked));
    Ok(match args.count {
        None => vec![sample],
        Some(count) => {
            let count = usize::try_from(count).unwrap_or(usize::MAX);
            render::objects(api, version, args.seed, count)
        }
    })
}

fn no_object(api: &Api, version: &Version, none: &NoSample) -> KindError {
    let closest = yaml(slice::from_ref(&none.closest));
    let closest: String = closest.lines().map(|line| format!("\n  {line}")).collect();
    KindError::NoObject {
        location: format!("{}:{}", api.source.path, api.source.line),
        kind: api.name(),
        version: version.name.clone(),
        why: none.why(),
        closest: format!("{closest}\nwhich violates{}", none.list()),
    }
}

/// Formats documents that YAML 1.1 and 1.2 read in the same way.
fn yaml(objects: &[Value]) -> String {
    let document = |object| {
        let text = serde_saphyr::to_string(object);
        let text = text.expect("the keys of JSON are strings, and its numbers finite");
        text.trim_end().to_owned() + "\n"
    };
    let documents: Vec<String> = objects.iter().map(document).collect();
    documents.join("---\n")
}
