//! Adds kinds and controllers to an open project, for `init`, `add-crd` and `add-controller`.

use heck::ToKebabCase;

use super::{
    kind_error::KindError,
    kinds::{self, Cache, KindArgs, STARTER, ScaffoldArg},
    open::OpenProject,
};
use crate::{
    config::{Kind, NamedController, WatchedCache},
    crd::{self, Api},
    diagnostic::Failure,
    disk,
    operator::watched,
    rust::module_name,
    scaffold::ExistingScaffold,
};

/// A controller to be added.
pub struct NewController<'a> {
    /// The kind, as in `owns`.
    pub kind: &'a str,
    /// The name; by default, that of the kind.
    pub name: Option<&'a str>,
    pub scaffold: ExistingScaffold,
    /// What it caches; by default, a reconciler caches the metadata of a built-in kind, and all others cache objects.
    pub cache: Option<Cache>,
    pub cleanup: bool,
}

/// The default name of a controller: that of its kind, such as `replica-set`.
pub fn controller_name(kind: &str) -> String {
    kind.rsplit('/').next().unwrap_or_default().to_kebab_case()
}

impl OpenProject {
    /// Adds kinds. If a kind already exists, its CRD is replaced. Returns the number of new kinds.
    pub fn add(&mut self, crds: Vec<Api>, chosen: &KindArgs) -> Result<usize, Failure> {
        chosen.check_cache()?;
        let mut added = 0;
        let new = |api: &Api| !self.apis.iter().any(|known| known.name() == api.name());
        let new = crds.iter().filter(|api| new(api)).count();
        if chosen.module.is_some() && new > 1 {
            return Err(KindError::ManyNames(new).into());
        }
        for api in crds {
            self.new_crds.push(api.name());
            let kinds = &self.config.kinds;
            match kinds
                .iter()
                .position(|kind| kind.kind == api.names.kind && kind.group == api.group)
            {
                Some(index) => {
                    let kind = &kinds[index];
                    let crd = &kind.crd;
                    let text = disk::read(&self.root, crd)?.unwrap_or_default();
                    if api.source.path == STARTER {
                        return Err(KindError::Starts(kind.full_name()).into());
                    }
                    if self.is_edited(&self.apis[index])? && self.apis[index].text != api.text {
                        return Err(KindError::CrdEdited(crd.clone()).into());
                    }
                    if crd::has_other_content(&text) {
                        return Err(KindError::MoreInFile(crd.clone()).into());
                    }
                    check_present(kind, chosen)?;
                    self.apis[index] = api;
                    self.follow_versions(index, &chosen.versions)?;
                }
                None => {
                    let kind = kinds::kind(&api, chosen, kinds)?;
                    let present = disk::read(&self.root, &kind.crd)?;
                    let is_ours = kinds.iter().any(|other| other.crd == kind.crd);
                    if !is_ours && present.is_some_and(|present| present != api.text) {
                        return Err(KindError::CrdExists(kind.crd).into());
                    }
                    let version = kind.versions.first().map_or("", String::as_str);
                    let watched = format!("{}/{version}/{}", kind.group, kind.kind);
                    self.config.add_kind(kind);
                    self.apis.push(api);
                    added += 1;
                    if chosen.style() == ScaffoldArg::Existing {
                        self.add_controller(NewController {
                            kind: &watched,
                            name: chosen.module.as_deref(),
                            scaffold: ExistingScaffold::Controller,
                            cache: chosen.cache,
                            cleanup: chosen.cleanup,
                        })?;
                    }
                }
            }
        }
        self.config.check()?;
        Ok(added)
    }

    /// Adds a controller of a kind that exists without the operator. Returns its name.
    pub fn add_controller(&mut self, new: NewController<'_>) -> Result<String, Failure> {
        let config = &self.config;
        let kinds = config.kinds.iter().zip(&self.apis);
        let resource = watched(new.kind, kinds)?;
        let name = match new.name {
            Some(name) => name.to_owned(),
            None => controller_name(&resource.kind),
        };
        let named = config.controllers.iter().find(|it| it.name == name);
        let own = config
            .kinds
            .iter()
            .find(|kind| kind.has_controller() && kind.module_name() == module_name(&name));
        let taken = named.map(|it| it.kind.clone());
        if let Some(kind) = taken.or(own.map(Kind::full_name)) {
            return Err(KindError::ControllerTaken(name, kind).into());
        }
        // handlers compare whole objects
        let default = match new.scaffold {
            ExistingScaffold::Controller if resource.is_builtin() => Cache::Metadata,
            _ => Cache::Objects,
        };
        let cache = new.cache.unwrap_or(default);
        self.config.add_controller(NamedController {
            name: name.clone(),
            kind: new.kind.to_owned(),
            scaffold: new.scaffold,
            cache: (cache == Cache::Metadata).then_some(WatchedCache::Metadata),
            cleanup: new.cleanup,
            ..NamedController::default()
        });
        self.config.check()?;
        Ok(name)
    }
}

/// Rejects options that change a kind of the project, because `add-crd` replaces only its CRD.
fn check_present(kind: &Kind, chosen: &KindArgs) -> Result<(), KindError> {
    let name = kind.full_name();
    match (chosen.scaffold, kind.scaffold) {
        (Some(ScaffoldArg::Existing), None) => {
            let version = kind.versions.first().map_or("", String::as_str);
            let name = format!("{}/{version}/{}", kind.group, kind.kind);
            return Err(KindError::Typed(name));
        }
        (Some(ScaffoldArg::Own(wanted)), None) => {
            return Err(KindError::TypesOnly(name, wanted.name));
        }
        (Some(style), Some(scaffold)) if style != ScaffoldArg::Own(scaffold) => {
            return Err(KindError::OtherStyle {
                kind: name,
                scaffold: scaffold.name,
                wanted: style.name(),
                controller: format!("src/controllers/{}.rs", kind.module_name()),
            });
        }
        _ => {}
    }
    let mut passed = chosen.passed();
    passed.retain(|option| !["--scaffold", "--versions"].contains(option));
    if passed.is_empty() {
        Ok(())
    } else {
        Err(KindError::Present(name, passed.join(", ")))
    }
}
