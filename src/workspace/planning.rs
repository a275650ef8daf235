//! Renders and plans the files of an open project.

use std::collections::BTreeSet;

use super::{
    kind_error::KindError,
    open::{CONFIG, OpenProject, mistakes},
};
use crate::{
    config::{Kind, Place, Source, is_marked},
    diagnostic::{Failure, Location, Report, Severity},
    disk,
    operator::{Operator, Subject, resolve},
    plan::{self, Entry, File, Note, Ours, Owner, Plan, Tree},
    render::{self, Rendered, SCAFFOLD_RECORDS, UserFiles, snapshot_path},
    scaffold::{ExistingScaffold, Scaffold},
    terminal::Terminal,
    uninstall::{STALE, StaleObjects},
    user_code,
};

impl OpenProject {
    /// All files that follow from the config and the CRDs.
    pub fn render(&self, terminal: &Terminal) -> Result<Rendered, Failure> {
        terminal.working("generating");
        self.check_installed()?;
        self.check_scaffolds()?;
        let user_files = UserFiles {
            removed: self.removed(),
            adopted: self.adopted(),
            omitted: self.omitted(),
        };
        Ok(render::render(&self.operator()?, &user_files))
    }

    /// The operator that the config and the CRDs describe.
    pub fn operator(&self) -> Result<Operator<'_>, Failure> {
        let was_converted = |kind: &Kind| self.was_converted(kind);
        resolve(&self.config.config, &self.apis, was_converted).map_err(|errors| {
            let text = self.inputs.get(CONFIG).map_or("", String::as_str);
            mistakes(&errors, &disk::shown(&self.root.join(CONFIG)), text)
        })
    }

    /// Rejects CRDs that the manifests install, but the API server would refuse.
    fn check_installed(&self) -> Result<(), Failure> {
        let kinds = self.config.kinds.iter().zip(&self.apis);
        let errors: Vec<_> = kinds
            .filter(|(kind, _)| kind.source() == Source::Own)
            .flat_map(|(_, api)| api.refusals())
            .collect();
        if errors.is_empty() {
            Ok(())
        } else {
            Err(errors.into())
        }
    }

    /// Rejects a scaffold for a controller that has another scaffold, because the file belongs to the user.
    fn check_scaffolds(&self) -> Result<(), Failure> {
        let kinds = self.config.kinds.iter().enumerate();
        let own = kinds.filter_map(|(index, kind)| {
            let name = |scaffold: &'static Scaffold| scaffold.name;
            let place = Place::of("kind").then(index);
            Some((
                place,
                &kind.kind,
                kind.module_name(),
                kind.scaffold?,
                name as fn(_) -> _,
            ))
        });
        let controllers = self.config.controllers.iter().enumerate();
        let named = controllers.map(|(index, it)| {
            let place = Place::of("controller").then(index);
            let name = ExistingScaffold::name_of as fn(_) -> _;
            (place, &it.name, it.module_name(), it.scaffold.own(), name)
        });
        for (place, subject, module, scaffold, name) in own.chain(named) {
            let controller = format!("src/controllers/{module}.rs");
            let (Some(seeded), Some(code)) =
                (self.seeded(&module), disk::read(&self.root, &controller)?)
            else {
                continue;
            };
            let wanted = &scaffold.interface.controller_trait;
            if scaffold == seeded || user_code::controller(&code, wanted).is_some() {
                continue;
            }
            let error = KindError::Scaffold {
                subject: subject.clone(),
                scaffold: name(scaffold),
                seeded: name(seeded),
                interface: wanted.interface,
                controller,
            };
            return Err(Failure::at(self.location(&place.then("scaffold")), &error));
        }
        Ok(())
    }

    /// The scaffold that a controller was generated from; `None` if there is none.
    fn seeded(&self, module: &str) -> Option<&'static Scaffold> {
        let is_known = |path: &str| self.lock.files.contains_key(path);
        if !is_known(&format!("src/controllers/{module}.rs")) {
            return None;
        }
        let mut others = Scaffold::all();
        let seeded = others.find(|it| is_known(&format!("{SCAFFOLD_RECORDS}{}/{module}", it.name)));
        Some(seeded.unwrap_or(Scaffold::first()))
    }

    /// The generated files that the user deleted and did not ask for again.
    fn removed(&self) -> BTreeSet<String> {
        let files = self.lock.files.iter();
        let is_removed =
            |path: &&String| !self.resolution.resets(path) && !disk::exists(&self.root, path);
        // an orphaned file was deleted while it was not generated, so it is created again
        files
            .filter(|(_, entry)| !entry.orphaned)
            .map(|(path, _)| path)
            .filter(is_removed)
            .cloned()
            .collect()
    }

    /// The generated files that the user took over, or takes over now.
    pub fn adopted(&self) -> BTreeSet<String> {
        let files = self.lock.files.iter();
        let is_adopted =
            |(path, entry): &(&String, &Entry)| entry.is_adopted() || self.resolution.adopts(path);
        files
            .filter(is_adopted)
            .map(|(path, _)| path.clone())
            .collect()
    }

    /// The snapshots of children whose controllers were generated without one, and which the user does not ask for with `--reset`.
    fn omitted(&self) -> BTreeSet<String> {
        let is_known = |path: &str| self.lock.files.contains_key(path);
        let modules = self.config.kinds.iter().map(Kind::module_name);
        modules
            .filter(|module| is_known(&format!("src/controllers/{module}.rs")))
            .map(|module| snapshot_path(&module))
            .filter(|snapshot| !is_known(snapshot) && !self.resolution.resets_itself(snapshot))
            .collect()
    }

    /// The plan that writes these files, including the config and the CRDs.
    pub fn plan(&self, tree: Tree) -> Result<Plan, Failure> {
        self.plan_for(tree, |_| true)
    }

    /// The plan for some of the files.
    pub fn plan_for(&self, tree: Tree, only: impl Fn(&str) -> bool) -> Result<Plan, Failure> {
        let ours = disk::read_tree(&self.root, self.paths(&tree))?;
        self.plan_from(&ours, tree, only)
    }

    /// The files that a plan of the tree may touch.
    pub fn paths(&self, tree: &Tree) -> Vec<String> {
        let sources = self.sources().into_iter().map(|(path, _)| path);
        plan::paths(tree, &self.lock)
            .chain(sources)
            .chain(self.old_crds.iter().cloned())
            .chain([STALE.to_owned()])
            .collect()
    }

    /// The plan for some of the files, with `ours` as the files on disk.
    fn plan_from(
        &self,
        ours: &Ours,
        tree: Tree,
        only: impl Fn(&str) -> bool,
    ) -> Result<Plan, Failure> {
        if let Some(text) = ours.get("Cargo.toml")
            && let Err(error) = text.parse::<toml_edit::DocumentMut>()
            && only("Cargo.toml")
            && !is_marked(text)
            && !self.resolution.adopts("Cargo.toml")
            && !self.resolution.resets("Cargo.toml")
            && (self.lock.files.get("Cargo.toml")).is_none_or(|entry| entry.owner != Owner::User)
        {
            let message = error.message().lines().next().unwrap_or_default();
            let help = "fix it first: cargo-operator merges its keys into it";
            let path = disk::shown(&self.root.join("Cargo.toml"));
            return Err(Failure::of(vec![Report {
                location: error.span().map(|span| Location::new(&path, 1, text, span)),
                ..Report::error(message, help)
            }]));
        }
        self.resolution.check(&self.lock, ours, &tree)?;
        let tree = self.seeds_formatted(tree, ours);
        let mut plan = plan::plan(&self.lock, ours, tree, &only, &self.resolution);
        if only("src/controllers/mod.rs") {
            self.record_controllers(&mut plan, ours)?;
        }
        // without an image, nothing is installed, and the manifests have no Deployment
        if only(STALE) && self.config.image.is_some() {
            let before = StaleObjects::read(ours.get(STALE).unwrap_or_default());
            match before.after(&plan, ours) {
                after if after == before => {}
                after if after.is_empty() => plan.add_sources(ours, vec![], &[STALE.to_owned()]),
                after => plan.add_sources(ours, vec![(STALE.to_owned(), after.text())], &[]),
            }
        }
        plan.add_sources(ours, self.sources(), &self.old_crds);
        let kept = self.kept_crds.iter().cloned();
        plan.notes.extend(kept.map(Note::Orphan));
        Ok(plan)
    }

    /// Formats the Rust files that the user will own with the user's rustfmt settings, before they are recorded.
    pub fn seeds_formatted(&self, mut tree: Tree, ours: &Ours) -> Tree {
        let is_known = |path: &str| self.lock.files.contains_key(path);
        let is_replaced = |path: &str, file: &File, ours: &str| {
            file.is_skeleton && self.lock.is_pristine(path, ours)
        };
        // a skeleton whose code is unchanged keeps its layout, whichever rustfmt is installed now
        for (path, file) in &mut tree.0 {
            if let Some(ours) = ours.get(path)
                && is_replaced(path, file, ours)
                && user_code::is_same_apart_from_layout(ours, &file.text)
            {
                file.text = ours.to_owned();
            }
        }
        let is_seed = |path: &str, file: &File| {
            // a file that the lock does not have is compared with the formatted text
            let is_asked = match ours.get(path) {
                None => self.resolution.resets(path) || !is_known(path),
                Some(ours) => !is_known(path) || is_replaced(path, file, ours) && ours != file.text,
            };
            path.ends_with(".rs") && is_asked
        };
        let mut seeds: Vec<(&str, &mut String)> = tree
            .0
            .iter_mut()
            .filter(|(path, file)| file.owner == Owner::User && is_seed(path, file))
            .map(|(path, file)| (path.as_str(), &mut file.text))
            .collect();
        let texts: Vec<_> = seeds
            .iter()
            .map(|(path, text)| (*path, text.as_str()))
            .collect();
        let formatted = disk::format_rust(&self.root, &texts);
        for ((_, text), formatted) in seeds.iter_mut().zip(formatted) {
            **text = formatted;
        }
        tree
    }

    /// The inputs that commands edit: the config and the CRDs.
    fn sources(&self) -> Vec<(String, String)> {
        let crds = self.config.kinds.iter().zip(&self.apis);
        let crds = crds
            .filter(|(_, api)| self.new_crds.contains(&api.name()))
            .map(|(kind, api)| (kind.crd.clone(), api.text.clone()));
        [(CONFIG.to_owned(), self.config.to_string())]
            .into_iter()
            .chain(crds)
            .chain(self.edited_crds.clone())
            .collect()
    }

    /// The number of warnings about the CRDs that the project installs; the user cannot fix others' CRDs.
    pub fn warnings(&self, rendered: &Rendered) -> usize {
        let is_own = |subject: Subject| match subject {
            Subject::Kind(id) => self.config.kinds[id.0].source() == Source::Own,
            Subject::Operator => false,
        };
        rendered
            .diagnostics
            .iter()
            .filter(|(about, it)| it.severity == Severity::Warning && is_own(*about))
            .count()
    }
}
