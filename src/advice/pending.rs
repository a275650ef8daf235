//! Reports what the user has to change in a controller, because it does not match `operator.toml`.

use std::ops::Range;

use super::{ineffective_keys, missing_file, pending_webhooks, rules};
use crate::{
    diagnostic::{Code, Failure, Location, Report, Severity},
    disk,
    operator::{Controller, Operator},
    plan::{Action, Owner, Plan},
    scaffold::{Cleanup, Interface},
    user_code::{self, ControllerImpl, Part, Resource},
    workspace::open::OpenProject,
};

/// The changes that the user has to make to controllers, webhooks and `operator.toml`. They are reported until the user has made them.
pub fn reports(open: &OpenProject, plan: &Plan) -> Result<Vec<Report>, Failure> {
    let mut reports = vec![];
    let operator = open.operator()?;
    for described in &operator.controllers {
        let path = described.path();
        let mut changes = plan.changes.iter();
        if changes.any(|change| change.path == path && change.action == Action::Create) {
            reports.extend(undeclared_child(&operator, described, &path));
            continue;
        }
        let Some(text) = disk::read(&open.root, &path)? else {
            if !missing_file::exists(open, &path)? {
                let purpose = format!("has {}", label(described));
                let subject = described.subject();
                reports.push(missing_file::report(open, subject, &path, &purpose, ""));
            }
            continue;
        };
        if let Some(written) =
            user_code::controller(&text, &described.scaffold.interface.controller_trait)
        {
            let file = File {
                open,
                operator: &operator,
                described,
                interface: &described.scaffold.interface,
                path: &path,
                text: &text,
            };
            reports.extend(file.cleanup(&written));
            reports.extend(file.parents(&written));
            reports.extend(file.resource(&written));
        }
    }
    reports.extend(pending_webhooks::reports(open, plan)?);
    reports.extend(rules::reports(open));
    reports.extend(ineffective_keys::reports(open));
    Ok(reports)
}

/// Reports that the example of a new controller has a child that `owns` does not name, so that its tests fail.
fn undeclared_child(operator: &Operator<'_>, described: &Controller, path: &str) -> Option<Report> {
    let kind = described.kind.filter(|_| described.is_own())?;
    let api = operator[kind].crd;
    let child = (described.scaffold.example_child)(api)?;
    let is_owned = described.owns.iter().any(|it| it.related.entry == child);
    (!is_owned).then(|| {
        report(
            described,
            format!("the example in {path} applies {child}, which is not in `owns`"),
            None,
            format!("add \"{child}\" to `owns` in operator.toml, or change the controller to apply only children that are in `owns`"),
        )
    })
}

/// Names a controller in a message: `the controller of Widget`, or `the controller pod-printer`.
fn label(described: &Controller) -> String {
    match &described.name {
        None => format!("the controller of {}", described.resource.kind),
        Some(name) => format!("the controller {name}"),
    }
}

/// The file of a controller, and what `operator.toml` describes.
struct File<'a> {
    open: &'a OpenProject,
    operator: &'a Operator<'a>,
    described: &'a Controller,
    interface: &'static Interface,
    path: &'a str,
    text: &'a str,
}

impl File<'_> {
    fn label(&self) -> String {
        label(self.described)
    }

    /// Reports a `type Resource` that does not match `kind` or `cache` in `operator.toml`.
    fn resource(&self, controller: &ControllerImpl) -> Option<Report> {
        let resource = controller.resource.as_ref()?;
        self.kind(controller, resource)
            .or_else(|| self.cache(resource))
    }

    /// Reports the type of another kind or version.
    fn kind(&self, controller: &ControllerImpl, resource: &Resource) -> Option<Report> {
        let found = self.operator.kind_of_type(&resource.path)?;
        let wanted = &self.described.resource;
        let is_version = self.described.is_own() || found.version == wanted.version;
        if (&found.group, &found.kind) == (&wanted.group, &wanted.kind) && is_version {
            return None;
        }
        let label = self.label();
        let type_ = if self.described.watches_metadata {
            format!(
                "kube::core::PartialObjectMeta<{}>",
                self.described.type_path()
            )
        } else {
            self.described.type_path()
        };
        let (message, other) = if self.described.is_own() {
            (format!("{label} reconciles {found}"), String::new())
        } else {
            (
                format!("operator.toml has `kind = \"{wanted}\"`, but {label} reconciles {found}"),
                format!(", or `kind = \"{found}\"` in operator.toml"),
            )
        };
        let finalizer = controller.finalizer.as_ref();
        let finalizer = finalizer.and_then(|finalizer| finalizer.value.as_ref());
        let finalizer = finalizer.map(|finalizer| {
            format!("; before that, remove the finalizer {finalizer} from all objects of {found}, because they cannot be deleted with it")
        });
        Some(self.report(
            message,
            resource.range.clone(),
            format!(
                "write `type Resource = {type_};` and adapt the code that uses it{other}{}",
                finalizer.unwrap_or_default()
            ),
        ))
    }

    /// Reports a type with whole objects if the cache has only metadata, or the reverse.
    fn cache(&self, resource: &Resource) -> Option<Report> {
        self.described.name.as_ref()?;
        let resource = &resource.range;
        let type_ = &self.text[resource.clone()];
        let has_metadata = type_.contains("PartialObjectMeta");
        let label = self.label();
        match (self.described.watches_metadata, has_metadata) {
            (true, true) | (false, false) => None,
            (true, false) => Some(self.report(
                format!("operator.toml has `cache = \"metadata\"`, but {label} watches whole objects"),
                resource.clone(),
                format!("write `type Resource = kube::core::PartialObjectMeta<{type_}>;`, or remove `cache`"),
            )),
            (false, true) => Some(self.report(
                format!("{label} watches metadata only, but operator.toml has no `cache = \"metadata\"` for it"),
                resource.clone(),
                "add `cache = \"metadata\"` to its table in operator.toml".into(),
            )),
        }
    }

    /// Reports code that does not match `cleanup` in `operator.toml`.
    fn cleanup(&self, controller: &ControllerImpl) -> Option<Report> {
        let method = match self.interface.cleanup {
            Cleanup::Required => return None,
            Cleanup::Method(code) => self.interface.controller_trait.cleanup.zip(Some(code)),
            Cleanup::Finalizer => None,
        };
        let (label, path) = (self.label(), self.path);
        let finalizer = controller.finalizer.as_ref();
        let finalizer = finalizer.map(|finalizer| &finalizer.part);
        let mut parts = vec![("FINALIZER".to_owned(), finalizer)];
        parts.extend(method.map(|(name, _)| (format!("`{name}`"), controller.cleanup.as_ref())));
        let name = self.described.finalizer(&self.open.config.name);
        if self.described.cleanup {
            let lacks = parts.iter().filter(|(_, part)| part.is_none());
            let lacks: Vec<&str> = lacks.map(|(name, _)| name.as_str()).collect();
            if lacks.is_empty() {
                return None;
            }
            let mut code = vec![];
            if controller.finalizer.is_none() {
                code.push(format!(
                    "    const FINALIZER: Option<&'static str> = Some({name:?});\n"
                ));
            }
            if let Some((_, text)) = method.filter(|_| controller.cleanup.is_none()) {
                code.push(text(&controller.arguments));
            }
            let message = format!(
                "operator.toml has `cleanup = true`, but {label} lacks {}",
                lacks.join(" and ")
            );
            return Some(self.report(message, controller.header.clone(), paste(&code)));
        }
        let present: Vec<(&str, &Part)> = parts
            .iter()
            .filter_map(|(name, part)| Some((name.as_str(), (*part)?)))
            .collect();
        let (_, first) = present.first()?;
        let names: Vec<&str> = present.iter().map(|(name, _)| *name).collect();
        let names = names.join(" and ");
        let lines: Vec<String> = present.iter().map(|(_, part)| lines(part)).collect();
        let after = match controller
            .finalizer
            .as_ref()
            .map(|finalizer| finalizer.value.as_ref())
        {
            None => String::new(),
            Some(Some(value)) if *value == name && self.described.is_own() => {
                "; the operator then removes the finalizer from the objects that have it".into()
            }
            Some(Some(value)) if *value == name => format!(
                "; to let the operator remove the finalizer from the objects that have it, add a rule with the verb \"patch\" for {} to `rules`",
                self.described.resource.name()
            ),
            Some(value) => {
                let value = value.map(|value| format!(" {value}")).unwrap_or_default();
                format!(
                    "; also remove the finalizer{value} from all objects, because they cannot be deleted with it"
                )
            }
        };
        Some(self.report(
            format!("{label} has {names}, but operator.toml has no `cleanup = true` for it"),
            first.name.clone(),
            format!(
                "to keep it, add `cleanup = true` to {} in operator.toml; otherwise remove {} of {path}{after}",
                if self.described.is_own() {
                    "the kind"
                } else {
                    "its table"
                },
                lines.join(" and ")
            ),
        ))
    }

    /// Reports code that does not match `watches` in `operator.toml`.
    fn parents(&self, controller: &ControllerImpl) -> Option<Report> {
        // a user who has adopted this file writes the watches in it
        let registry = self.open.lock.files.get("src/controllers/mod.rs");
        if registry.is_some_and(|entry| entry.owner == Owner::User) || controller.has_related {
            return None;
        }
        let kind = self
            .described
            .name
            .as_ref()
            .unwrap_or(&self.described.resource.kind);
        match (self.described.watches.as_slice(), &controller.parents) {
            ([], None) | ([_, ..], Some(_)) => None,
            ([], Some(parents)) => Some(self.report(
                format!(
                    "nothing calls `parents`, because operator.toml has no `watches` for {kind}"
                ),
                parents.name.clone(),
                format!(
                    "add the kinds to watch to `watches`, or remove {} of {}",
                    lines(parents),
                    self.path
                ),
            )),
            (watches, None) => {
                let watches: Vec<&str> = watches.iter().map(|it| it.entry.as_str()).collect();
                let watches = watches.join(", ");
                let Some(parents) = self.interface.parents else {
                    let interface = self.interface.controller_trait.interface;
                    return Some(self.report(
                        format!("operator.toml has `watches` for {kind}, but a change of {watches} calls no function of `{interface}`"),
                        controller.header.clone(),
                        "remove `watches`; to read these objects, add them to `reads`".into(),
                    ));
                };
                Some(self.report(
                    format!("operator.toml has `watches` for {kind}, but its controller lacks `parents`, so a change of {watches} reconciles nothing"),
                    controller.header.clone(),
                    paste(&[parents(self.described.scope())]),
                ))
            }
        }
    }

    fn report(&self, message: String, range: Range<usize>, help: String) -> Report {
        let location = Location::new(self.path, 1, self.text, range);
        report(self.described, message, Some(location), help)
    }
}

fn paste(code: &[String]) -> String {
    let code = code.join("\n");
    format!("add this to the `impl` block:\n\n{}", code.trim_end())
}

/// Formats the lines of a part: `line 7` or `lines 7 to 9`.
fn lines(part: &Part) -> String {
    match (part.lines.start(), part.lines.end()) {
        (start, end) if start == end => format!("line {start}"),
        (start, end) => format!("lines {start} to {end}"),
    }
}

fn report(
    described: &Controller,
    message: String,
    location: Option<Location>,
    help: String,
) -> Report {
    Report {
        severity: Severity::Warning,
        code: Some(Code::ControllerDiffers),
        subject: Some(described.subject()),
        message,
        location,
        instead: None,
        help: Some(help),
    }
}
