//! Watches the files of the project.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    time::Duration,
};

use notify::{
    EventKind, RecommendedWatcher, RecursiveMode, Watcher,
    event::{Event, ModifyKind},
};
use operator_schema::dev::{FIXTURES, SAMPLES};
use tokio::{
    sync::mpsc,
    time::{Instant, timeout_at},
};

use super::{DevError, build::Build};

/// How long to wait for further changes, because editors write a file in several steps and a checkout changes many files.
const QUIET: Duration = Duration::from_millis(30);

/// The maximum time to wait while changes continue.
const LONGEST: Duration = Duration::from_millis(500);

/// The meaning of a changed file for a session.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// Source code that cargo builds.
    Code,
    /// A Cargo.toml, which determines the source files.
    Manifest,
    /// operator.toml, from which code and manifests are generated.
    Config,
    /// A file whose objects are applied to the server (a CRD, a sample, a fixture or a role), by its path in the project.
    Objects(String),
}

/// Watches files until it is dropped.
pub struct Files {
    root: PathBuf,
    target: PathBuf,
    packages: Vec<PathBuf>,
    watcher: RecommendedWatcher,
    events: mpsc::UnboundedReceiver<notify::Result<Event>>,
    /// The changes that were not returned yet.
    parts: BTreeSet<Part>,
    /// The times of the first and the last of these changes.
    times: Option<(Instant, Instant)>,
}

impl Files {
    pub fn watch(root: &Path, build: &Build) -> Result<Self, DevError> {
        let root = real(root);
        let (sender, events) = mpsc::unbounded_channel();
        let handler = move |event| drop(sender.send(event));
        let failed = |path: &Path| {
            let path = path.to_owned();
            |source| DevError::Watch { path, source }
        };
        let mut files = Self {
            watcher: notify::recommended_watcher(handler).map_err(failed(&root))?,
            target: real(&build.target),
            packages: vec![],
            root,
            events,
            parts: BTreeSet::new(),
            times: None,
        };
        files.follow(build)?;
        Ok(files)
    }

    /// Watches the packages of a build, and the other files of the project.
    pub fn follow(&mut self, build: &Build) -> Result<(), DevError> {
        self.packages = build.packages.iter().map(|path| real(path)).collect();
        let mut folders = self.packages.clone();
        folders.push(self.root.clone());
        for folder in folders {
            // build output and git's objects would be thousands of folders
            self.watch_one(&folder, RecursiveMode::NonRecursive)?;
            for path in entries(&folder) {
                if path.is_dir() && self.is_followed(&path) {
                    self.watch_one(&path, RecursiveMode::Recursive)?;
                }
            }
        }
        Ok(())
    }

    fn watch_one(&mut self, path: &Path, mode: RecursiveMode) -> Result<(), DevError> {
        self.watcher
            .watch(path, mode)
            .map_err(|source| DevError::Watch {
                path: path.to_owned(),
                source,
            })
    }

    /// Waits for a change, and then until no more changes follow for a moment. A cancelled wait loses no changes.
    pub async fn changed(&mut self) -> BTreeSet<Part> {
        loop {
            let event = match self.times {
                Some((first, last)) => {
                    let due = (last + QUIET).min(first + LONGEST);
                    timeout_at(due, self.events.recv()).await
                }
                None => Ok(self.events.recv().await),
            };
            match event {
                Ok(Some(event)) => self.handle(event),
                // unreachable: the watcher, which has the sender, lives as long as `self`
                Ok(None) => std::future::pending().await,
                Err(_quiet) => {
                    self.times = None;
                    return std::mem::take(&mut self.parts);
                }
            }
        }
    }

    /// Adds a change to those that `changed` returns.
    fn add(&mut self, part: Part) {
        self.parts.insert(part);
        let now = Instant::now();
        let first = self.times.map_or(now, |(first, _)| first);
        self.times = Some((first, now));
    }

    /// Records what an event of the file system means for the session.
    fn handle(&mut self, event: notify::Result<Event>) {
        let Some(event) = event.ok().filter(|event| !event.need_rescan()) else {
            // some events were lost, because there were too many: anything may have changed
            self.add(Part::Config);
            for path in entries(&self.root.clone()) {
                self.appeared(&path);
            }
            return;
        };
        let is_change = match event.kind {
            EventKind::Access(_) => false,
            EventKind::Modify(ModifyKind::Metadata(_)) => false,
            EventKind::Any | EventKind::Create(_) | EventKind::Modify(_) => true,
            EventKind::Remove(_) | EventKind::Other => true,
        };
        for path in event.paths.iter().filter(|_| is_change) {
            let may_be_new = matches!(
                event.kind,
                EventKind::Any | EventKind::Create(_) | EventKind::Modify(ModifyKind::Name(_))
            );
            if may_be_new && path.is_dir() {
                self.appeared(path);
            } else {
                self.changed_at(path);
            }
        }
    }

    /// Handles a path that is new here, or may be: reports a file as changed; watches a folder, and does the same for its content.
    fn appeared(&mut self, path: &Path) {
        if !self.is_followed(path) {
            return;
        }
        if !path.is_dir() {
            return self.changed_at(path);
        }
        // if the folder was deleted again, so was its content
        let _watched = self.watcher.watch(path, RecursiveMode::Recursive);
        for entry in entries(path) {
            self.appeared(&entry);
        }
    }

    /// Records the change of a file, if it matters.
    fn changed_at(&mut self, path: &Path) {
        if let Some(part) = self.part(path) {
            self.add(part);
        }
    }

    /// Whether to watch a file: not if it is hidden, build output, or a temporary file of an editor.
    fn is_followed(&self, path: &Path) -> bool {
        let Some(path_inside) = self
            .packages
            .iter()
            .chain([&self.root])
            .filter_map(|folder| path.strip_prefix(folder).ok())
            .min_by_key(|path| path.as_os_str().len())
        else {
            return false;
        };
        let is_plain = |name: &str| {
            let is_trace = name.ends_with('~') || name.ends_with(".swp") || name.ends_with(".tmp");
            !name.starts_with('.') && !name.starts_with('#') && !is_trace && name != "4913"
        };
        let mut names = path_inside
            .components()
            .map(|it| it.as_os_str().to_string_lossy());
        !path.starts_with(&self.target)
            && path_inside
                .components()
                .next()
                .is_none_or(|it| it.as_os_str() != "target")
            && names.all(|name| is_plain(&name))
    }

    /// The meaning of a file for the session; `None` if it has none.
    fn part(&self, path: &Path) -> Option<Part> {
        if !self.is_followed(path) {
            return None;
        }
        if path.file_name().is_some_and(|name| name == "Cargo.toml") {
            return Some(Part::Manifest);
        }
        let Ok(inside) = path.strip_prefix(&self.root) else {
            return Some(Part::Code);
        };
        let is_below = |folder: &str| inside.starts_with(folder);
        let is_yaml = inside
            .extension()
            .is_some_and(|it| it == "yaml" || it == "yml" || it == "json");
        let is_kustomization = inside.file_stem().is_some_and(|it| it == "kustomization");
        if inside == Path::new("operator.toml") {
            Some(Part::Config)
        } else if ["crds", SAMPLES, FIXTURES, "manifests/rbac"]
            .iter()
            .any(|it| is_below(it))
        {
            let is_objects = is_yaml && !is_kustomization;
            let shown = inside.to_string_lossy().replace('\\', "/");
            is_objects.then_some(Part::Objects(shown))
        } else if ["manifests", "tests", "docs", "benches", "examples"]
            .iter()
            .any(|it| is_below(it))
            || inside
                .extension()
                .is_some_and(|it| it == "md" || it == "lock" && inside != Path::new("Cargo.lock"))
        {
            None
        } else {
            Some(Part::Code)
        }
    }
}

/// Resolves symbolic links, because some systems report changes by the real path.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// The content of a folder; empty if it is not a folder.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = folder.read_dir().into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}
