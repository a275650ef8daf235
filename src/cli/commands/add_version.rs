//! `add-version`: adds a version to the CRD of a kind, and to its versions in `operator.toml`.
//!
//! It generates no other file: `regenerate` does, after the user has edited the version. So the copy is never recorded, and the edits do
//! not count as changes of it.

use crate::{
    cli::output::{
        lines::FixCommand,
        view::{CommandResult, View},
    },
    config::Source,
    crd::{self, NameRule, NewVersion},
    diagnostic::{Exit, Failure, Report, Severity},
    disk,
    terminal::Terminal,
    workspace::{
        evolve::Evolution,
        kind_error::KindError,
        kinds::at,
        open::{OpenProject, ProjectArgs},
    },
};

/// Add a version to the CRD of a kind, as a copy of another one
#[derive(clap::Args)]
#[command(after_help = "Examples:
  cargo operator add-version Memcached v2
  cargo operator add-version Memcached v2beta1 --from v1
  cargo operator add-version Memcached v2 --storage")]
pub struct Args {
    /// The kind, as KIND or KIND.GROUP
    kind: String,
    /// The name of the new version, such as `v2` or `v2beta1`
    version: String,
    /// The version to copy [default: the storage version]
    #[arg(long, value_name = "VERSION")]
    from: Option<String>,
    /// Store objects in the new version from now on
    #[arg(long)]
    storage: bool,
    #[command(flatten)]
    project: ProjectArgs,
    #[command(flatten)]
    view: View,
}

pub fn exec(args: Args, terminal: &Terminal) -> Result<Exit, Failure> {
    let mut open = OpenProject::at(&args.project, args.view.recovery_mode(), terminal)?;
    let index = open.add_version(
        &args.kind,
        &args.version,
        args.from.as_deref(),
        args.storage,
    )?;
    let kind = open.config.kinds[index].clone();
    let stored = args
        .storage
        .then(|| stored_at_once(&args.version, &kind.full_name()));
    let rendered = open.render(terminal)?;
    let plan = open.plan_for(rendered.tree, |_| false)?;
    let outcome = CommandResult {
        standing: vec![],
        pending: vec![],
        evolution: Evolution::default(),
        root: &open.root,
        reports: [unusual(&args.version, &kind.full_name()), stored]
            .into_iter()
            .flatten()
            .collect(),
        plan,
        summary: format!(
            "{}: version {} of {} added",
            open.config.name,
            args.version,
            kind.full_name()
        ),
        next: format!(
            "edit {} in {}, then cargo operator regenerate",
            args.version, kind.crd
        ),
        fix: FixCommand::SameCommand,
        warnings: 0,
    };
    args.view.finish(&outcome, terminal)
}

impl OpenProject {
    /// Adds a version to the CRD of a kind and to the config. Returns the index of the kind.
    fn add_version(
        &mut self,
        name: &str,
        version: &str,
        from: Option<&str>,
        storage: bool,
    ) -> Result<usize, Failure> {
        let Some(index) = self.own_kind(name)? else {
            return Err(self.unknown(name)?.into());
        };
        let kind = self.config.kinds[index].clone();
        let api = &self.apis[index];
        if kind.source() == Source::Foreign {
            return Err(KindError::ForeignVersion(kind.full_name()).into());
        }
        if !NameRule::Version.holds(version) {
            return Err(KindError::NotValid(version.to_owned(), NameRule::Version).into());
        }
        if let Some(present) = api.version(version) {
            let pointer = format!("/spec/versions/{}/name", present.index);
            let error = KindError::VersionExists(kind.full_name(), version.to_owned());
            return Err(at(api, &pointer, &error));
        }
        let first = api.storage_version();
        let from = match from {
            None => first,
            Some(from) => match api.version(from) {
                Some(from) => from,
                None => {
                    let known = api.versions.iter().map(|it| it.name.as_str());
                    let error = KindError::Version {
                        kind: kind.kind.clone(),
                        version: from.to_owned(),
                        known: crate::workspace::kinds::list(known),
                    };
                    return Err(at(api, "/spec/versions", &error));
                }
            },
        };
        let text = self.inputs.get(&kind.crd).map_or("", String::as_str);
        let new = NewVersion {
            name: version,
            from,
            storage,
        };
        let hub = first.name.clone();
        let source = from.name.clone();
        let edited = crd::add_version(api, text, new)
            .map_err(|error| at(api, "/spec/versions", &KindError::AddVersion(error)))?;
        let path = disk::shown(&self.root.join(&kind.crd));
        let api = crate::workspace::kinds::find(crd::read(&path, &edited)?, &kind)?;
        let mut versions = kind.versions.clone();
        for version in &api.versions {
            if !versions.contains(&version.name) {
                versions.push(version.name.clone());
            }
        }
        self.apis[index] = api;
        self.edited_crds.insert(kind.crd.clone(), edited);
        self.config.set_versions(index, versions);
        if kind.hub.is_none() {
            self.config.set_hub(index, &hub);
        }
        self.config.copy_renames(index, &source, version);
        self.config.check()?;
        Ok(index)
    }
}

/// Warns that objects are stored in the new version from its first release on, which prevents a rollback.
fn stored_at_once(version: &str, kind: &str) -> Report {
    Report {
        severity: Severity::Warning,
        code: None,
        subject: Some(kind.to_owned()),
        message: format!("objects are stored in {version} from its first release on"),
        location: None,
        instead: Some("a running release that does not know the version cannot read them, so it cannot be rolled back to".into()),
        help: Some(format!(
            "if a release is running, store objects in {version} only in the release after the next one"
        )),
    }
}

/// Warns about a name that Kubernetes accepts, but does not order by its number:
/// <https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/#version-priority>
fn unusual(version: &str, kind: &str) -> Option<Report> {
    let number = |text: &str| -> Option<usize> {
        let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        (digits > 0 && !text.starts_with('0')).then_some(digits)
    };
    let is_usual = || {
        let major = version.strip_prefix('v')?;
        let rest = &major[number(major)?..];
        let minor = rest.strip_prefix("alpha").or(rest.strip_prefix("beta"));
        let is_whole = match minor {
            None => rest.is_empty(),
            Some(minor) => number(minor) == Some(minor.len()),
        };
        is_whole.then_some(())
    };
    is_usual().is_none().then(|| Report {
        severity: Severity::Warning,
        code: None,
        subject: Some(kind.to_owned()),
        message: format!("`{version}` is not a usual name of a version"),
        location: None,
        instead: Some("kubectl prefers all versions with a usual name".into()),
        help: Some("use a name such as v2, v2beta1 or v2alpha1".into()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_that_kubernetes_does_not_order_by_number_are_unusual() {
        for (version, is_unusual) in [
            ("v2", false),
            ("v10beta2", false),
            ("v1alpha10", false),
            ("v0", true),
            ("v2rc1", true),
            ("v1beta", true),
            ("v1beta01", true),
            ("beta1", true),
            ("v1.2", true),
        ] {
            assert_eq!(
                unusual(version, "Widget").is_some(),
                is_unusual,
                "{version}"
            );
        }
    }
}
