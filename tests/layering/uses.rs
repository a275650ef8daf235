//! Finds which file of a crate uses which: a file uses the files that define what its paths name, through all re-exports.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use syn::{Item, UseTree, visit::Visit};

/// A module, by the names that lead to it from the root of its crate.
type Module = Vec<String>;

/// The names in a module.
#[derive(Default)]
struct Scope {
    file: PathBuf,
    /// What it defines, without modules.
    items: BTreeSet<String>,
    /// What it imports, by the name that it has here.
    imports: BTreeMap<String, Module>,
    globs: Vec<Module>,
    /// The paths that its code has.
    paths: BTreeSet<Module>,
}

/// The files of a crate, and for each the others that it uses, with what it uses of them. Tests are left out.
pub struct Uses(pub BTreeMap<PathBuf, BTreeMap<PathBuf, BTreeSet<String>>>);

impl Uses {
    /// `src` is the folder of the crate's sources, with a `lib.rs`.
    pub fn of(src: &Path) -> Self {
        let mut scopes = BTreeMap::new();
        read(src, &src.join("lib.rs"), vec![], &mut scopes);
        let mut uses = BTreeMap::new();
        for (module, scope) in &scopes {
            let used: &mut BTreeMap<PathBuf, BTreeSet<String>> =
                uses.entry(scope.file.clone()).or_default();
            let imported = scope.imports.values().chain(&scope.globs);
            let named = scope.paths.iter().map(|path| absolute(module, path));
            for path in imported.cloned().chain(named) {
                if let Some((file, name)) = found(&scopes, &path, 0)
                    && !is_around(&file, &scope.file)
                {
                    used.entry(file).or_default().insert(name);
                }
            }
        }
        Self(uses)
    }

    /// The groups of files in which each file uses each other one, directly or through others.
    pub fn circles(&self) -> Vec<BTreeSet<PathBuf>> {
        let reached: BTreeMap<_, _> = self
            .0
            .keys()
            .map(|file| (file, self.reached(file)))
            .collect();
        let mut circles: Vec<BTreeSet<PathBuf>> = vec![];
        for (file, below) in &reached {
            let is_back = |other: &&PathBuf| reached[other].contains(*file);
            let circle: BTreeSet<_> = below.iter().filter(is_back).cloned().collect();
            if circle.contains(*file) && !circles.contains(&circle) {
                circles.push(circle);
            }
        }
        circles
    }

    fn reached(&self, file: &Path) -> BTreeSet<PathBuf> {
        let (mut reached, mut left) = (BTreeSet::new(), vec![file]);
        while let Some(next) = left.pop() {
            let new = self.0[next].keys();
            left.extend(
                new.filter(|it| reached.insert((*it).clone()))
                    .map(PathBuf::as_path),
            );
        }
        reached
    }
}

/// Reads a module and those below it. `folder` is where its submodules are.
fn read(folder: &Path, file: &Path, module: Module, scopes: &mut BTreeMap<Module, Scope>) {
    let text =
        fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let items = syn::parse_file(&text).unwrap().items;
    collect(folder, file, module, items, scopes);
}

fn collect(
    folder: &Path,
    file: &Path,
    module: Module,
    items: Vec<Item>,
    scopes: &mut BTreeMap<Module, Scope>,
) {
    let mut scope = Scope {
        file: file.to_owned(),
        ..Scope::default()
    };
    for item in items {
        let attributes = match &item {
            Item::Mod(item) => &item.attrs,
            Item::Fn(item) => &item.attrs,
            Item::Use(item) => &item.attrs,
            _ => &vec![],
        };
        let is_test =
            |it: &syn::Attribute| it.path().is_ident("cfg") && quoted(it).contains("test");
        if attributes.iter().any(is_test) {
            continue;
        }
        match item {
            Item::Use(item) => imports(&item.tree, &module, &mut vec![], &mut scope),
            Item::Mod(item) => {
                let name = item.ident.to_string();
                let below = [module.clone(), vec![name.clone()]].concat();
                let folder = folder.join(&name);
                match item.content {
                    Some((_, items)) => collect(&folder, file, below, items, scopes),
                    None => {
                        let files = [folder.with_extension("rs"), folder.join("mod.rs")];
                        let file = files.into_iter().find(|it| it.exists());
                        read(
                            &folder,
                            &file.unwrap_or_else(|| panic!("no file of {name}")),
                            below,
                            scopes,
                        );
                    }
                }
            }
            item => {
                scope.items.extend(name(&item));
                Paths(&mut scope.paths).visit_item(&item);
            }
        }
    }
    scopes.insert(module, scope);
}

fn quoted(attribute: &syn::Attribute) -> String {
    match &attribute.meta {
        syn::Meta::List(list) => list.tokens.to_string(),
        _ => String::new(),
    }
}

fn name(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(it) => &it.ident,
        Item::Enum(it) => &it.ident,
        Item::Fn(it) => &it.sig.ident,
        Item::Macro(it) => it.ident.as_ref()?,
        Item::Static(it) => &it.ident,
        Item::Struct(it) => &it.ident,
        Item::Trait(it) => &it.ident,
        Item::Type(it) => &it.ident,
        _ => return None,
    };
    Some(name.to_string())
}

fn imports(tree: &UseTree, module: &Module, before: &mut Module, scope: &mut Scope) {
    let mut named = |path: &Module, name: String| {
        let path = if path.last().is_some_and(|last| last == "self") {
            &path[..path.len() - 1]
        } else {
            path
        };
        scope.imports.insert(name, absolute(module, path));
    };
    match tree {
        UseTree::Path(path) => {
            before.push(path.ident.to_string());
            imports(&path.tree, module, before, scope);
            before.pop();
        }
        UseTree::Name(name) if name.ident == "self" => {
            named(before, before.last().cloned().unwrap_or_default());
        }
        UseTree::Name(name) => {
            named(
                &[&before[..], &[name.ident.to_string()]].concat(),
                name.ident.to_string(),
            );
        }
        UseTree::Rename(rename) => {
            named(
                &[&before[..], &[rename.ident.to_string()]].concat(),
                rename.rename.to_string(),
            );
        }
        UseTree::Glob(_) => scope.globs.push(absolute(module, before)),
        UseTree::Group(group) => {
            group
                .items
                .iter()
                .for_each(|it| imports(it, module, before, scope));
        }
    }
}

struct Paths<'p>(&'p mut BTreeSet<Module>);

impl Visit<'_> for Paths<'_> {
    fn visit_path(&mut self, path: &syn::Path) {
        self.0.insert(
            path.segments
                .iter()
                .map(|it| it.ident.to_string())
                .collect(),
        );
        syn::visit::visit_path(self, path);
    }
}

/// A path from the root of the crate.
fn absolute(module: &[String], path: &[String]) -> Module {
    match path.first().map(String::as_str) {
        Some("crate") => path[1..].to_vec(),
        Some("self") => [module, &path[1..]].concat(),
        Some("super") => absolute(
            &module[..module.len().saturating_sub(1)],
            &with_self(&path[1..]),
        ),
        _ => [module, path].concat(),
    }
}

fn with_self(path: &[String]) -> Module {
    match path.first().map(String::as_str) {
        Some("super") => path.to_vec(),
        _ => [&["self".to_owned()], path].concat(),
    }
}

/// Whether a file is the other one, or that of a surrounding module. A use of it does not count, because a module and its parts are one.
fn is_around(file: &Path, other: &Path) -> bool {
    let is_root = |it: &std::ffi::OsStr| it == "mod.rs" || it == "lib.rs";
    let folder = if file.file_name().is_some_and(is_root) {
        file.with_file_name("")
    } else {
        file.with_extension("")
    };
    file == other || other.starts_with(folder)
}

/// The file that defines what a path names, and the name there; `None` for a name of another crate.
fn found(
    scopes: &BTreeMap<Module, Scope>,
    path: &[String],
    depth: usize,
) -> Option<(PathBuf, String)> {
    // the module that the path enters, and what it names there
    let length = (0..path.len())
        .rev()
        .find(|length| scopes.contains_key(&path[..*length]))?;
    if depth > 20 || scopes.contains_key(path) {
        return None;
    }
    let (scope, name) = (&scopes[&path[..length]], &path[length]);
    if scope.items.contains(name) {
        return Some((scope.file.clone(), name.clone()));
    }
    if let Some(import) = scope.imports.get(name) {
        let path = [import.as_slice(), &path[length + 1..]].concat();
        return found(scopes, &path, depth + 1);
    }
    scope.globs.iter().find_map(|glob| {
        found(
            scopes,
            &[glob.as_slice(), &path[length..]].concat(),
            depth + 1,
        )
    })
}
