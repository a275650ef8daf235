//! The rules between a version and the hub, as a builder.

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::declared::Declared;
use super::function::{self, Function, Supply};
use super::path::Path;
use super::side::{Side, Sided};
use super::values::Values;
use crate::Result;

/// A version that is not the hub, and the rules between it and the hub.
///
/// A rule says where a value goes and what becomes of it, in both directions; its first path is in the spoke, the second one in the hub.
/// The order of the rules does not matter, except that a rule replaces an earlier [`only_in_hub`](Self::only_in_hub) or
/// [`only_in_spoke`](Self::only_in_spoke) of its paths. Fields without a rule are copied unchanged, even if no schema has them.
///
/// Paths are written `spec.size`, in the items of a list `spec.pools[].size`, in the values of a map `spec.labels{}.size`. The brackets
/// contain the keys of the list if its type is `map`: `spec.pools[name].size`, `spec.ports[port,protocol].size`. In a name, `\` escapes
/// the characters `.`, `[`, `{` and `\`.
pub struct Spoke {
    pub(super) versions: Sided<String>,
    pub(super) rules: Vec<Rule>,
    /// Fields for which the other side has no place.
    pub(super) only: Sided<Vec<Path>>,
    /// Defaults that the other side does not have.
    pub(super) defaults: Sided<Vec<(Path, Value)>>,
    /// Fields that may be `null`, but not on the other side.
    pub(super) nulls: Sided<Vec<Path>>,
    /// Functions for the values of fields that are absent after all other rules.
    pub(super) supplies: Sided<Vec<(Path, Supply)>>,
    /// Fields that are not kept: lossy and normalised ones.
    pub(super) lossy: Sided<Vec<Path>>,
    /// Fields that must not be kept.
    pub(super) sensitive: Sided<Vec<Path>>,
    pub(super) declared: Vec<Declared>,
    /// What is wrong with the rules.
    pub(super) problems: Vec<String>,
}

/// Values that have another place on the other side, or are written differently there.
pub(super) struct Rule {
    pub paths: Sided<Vec<Path>>,
    /// For each side, the function that converts to it; `None` if the values are the same on both sides.
    pub functions: Option<Sided<Function>>,
}

/// The functions that convert a field, one for each direction. Most answers in the generated `src/api/<kind>/conversion.rs` are of this
/// type.
pub struct Both<F, G> {
    /// From the spoke to the hub.
    pub to_hub: F,
    /// From the hub to the spoke.
    pub to_spoke: G,
}

impl Spoke {
    /// Creates a version, such as `v1`, which is the same as the hub until there are rules.
    pub fn new(version: &str) -> Self {
        Self {
            versions: Sided {
                spoke: version.to_owned(),
                hub: String::new(),
            },
            rules: Vec::new(),
            only: Sided::default(),
            defaults: Sided::default(),
            nulls: Sided::default(),
            supplies: Sided {
                spoke: Vec::new(),
                hub: Vec::new(),
            },
            lossy: Sided::default(),
            sensitive: Sided::default(),
            declared: Vec::new(),
            problems: Vec::new(),
        }
    }

    /// Moves a field or a whole object that has another name or another parent in the hub. Missing parents are created; the former parents
    /// stay, even if they are empty then.
    pub fn moved(self, spoke: &str, hub: &str) -> Self {
        self.rule(&[spoke], &[hub], None)
    }

    /// Converts a single value in the spoke to a list in the hub, and back. The spoke gets the first item.
    pub fn list_of_one(self, spoke: &str, hub: &str) -> Self {
        let functions = Sided {
            spoke: function::first_item(),
            hub: function::list_of_one(),
        };
        self.rule(&[spoke], &[hub], Some(functions))
    }

    /// Converts a list in the spoke to a single value in the hub, and back. The hub gets the first item.
    pub fn one_of_list(self, spoke: &str, hub: &str) -> Self {
        let functions = Sided {
            spoke: function::list_of_one(),
            hub: function::first_item(),
        };
        self.rule(&[spoke], &[hub], Some(functions))
    }

    /// Converts a field of which the other version lacks some values, or writes them differently.
    pub fn values(self, spoke: &str, hub: &str, values: Values) -> Self {
        let functions = Sided {
            spoke: function::to_spoke(values.clone()),
            hub: function::to_hub(values),
        };
        self.rule(&[spoke], &[hub], Some(functions))
    }

    /// Declares a field that the hub has no place for. It is kept in the annotation of the object in the hub.
    pub fn only_in_spoke(self, path: &str) -> Self {
        self.only(Side::Spoke, path)
    }

    /// Declares a field that the spoke has no place for. It is kept in the annotation of the object in the spoke.
    pub fn only_in_hub(self, path: &str) -> Self {
        self.only(Side::Hub, path)
    }

    /// Declares a default that only the hub has: if the field is absent in the spoke, it has this value in the hub, and the other way
    /// round.
    pub fn default_in_hub(self, path: &str, value: impl Into<Value>) -> Self {
        self.default(Side::Hub, path, value.into())
    }

    /// Declares a default that only the spoke has: if the field is absent in the hub, it has this value in the spoke, and the other way
    /// round.
    pub fn default_in_spoke(self, path: &str, value: impl Into<Value>) -> Self {
        self.default(Side::Spoke, path, value.into())
    }

    /// Declares a field that may be `null` in the spoke, but not in the hub, where it is then absent.
    pub fn null_only_in_spoke(self, path: &str) -> Self {
        self.null(Side::Spoke, path)
    }

    /// Declares a field that may be `null` in the hub, but not in the spoke, where it is then absent.
    pub fn null_only_in_hub(self, path: &str) -> Self {
        self.null(Side::Hub, path)
    }

    /// Converts a field that the two versions write differently, with a function for each direction.
    ///
    /// The functions are called for values that are present and not `null`. If a function returns `None`, the field is absent. If a
    /// function fails, the conversion of the object fails. A function is not called, and the field is absent, if its argument lacks a
    /// required field: that happens in parts of objects, which the API server converts when fields are applied in several versions.
    pub fn answer<A, B, C, D>(
        self,
        spoke: &str,
        hub: &str,
        to_hub: impl Fn(A) -> Result<B> + Send + Sync + 'static,
        to_spoke: impl Fn(C) -> Result<D> + Send + Sync + 'static,
    ) -> Self
    where
        A: DeserializeOwned,
        B: Serialize,
        C: DeserializeOwned,
        D: Serialize,
    {
        let functions = Sided {
            spoke: function::answer(to_spoke),
            hub: function::answer(to_hub),
        };
        self.rule(&[spoke], &[hub], Some(functions))
    }

    /// Converts fields that the hub splits, merges or divides differently, with a function for each direction.
    ///
    /// The functions take and return tuples of as many values as there are paths, even if there is only one; an absent field is `null`.
    /// They are called if at least one of the fields is present. In parts of objects, which the API server converts when fields are applied
    /// in several versions, even required fields may be absent: return `null` for what cannot be known.
    pub fn answer_all<A, B, C, D>(
        self,
        spoke: &[&str],
        hub: &[&str],
        to_hub: impl Fn(A) -> Result<B> + Send + Sync + 'static,
        to_spoke: impl Fn(C) -> Result<D> + Send + Sync + 'static,
    ) -> Self
    where
        A: DeserializeOwned,
        B: Serialize,
        C: DeserializeOwned,
        D: Serialize,
    {
        let functions = Sided {
            spoke: function::answer_all(spoke.len(), to_spoke),
            hub: function::answer_all(hub.len(), to_hub),
        };
        self.rule(spoke, hub, Some(functions))
    }

    /// Supplies a field that the hub requires, in objects in which it is absent after all other rules. `value` gets the whole object as the
    /// spoke has it. If only the hub has the field, [`only_in_hub`](Self::only_in_hub) is needed too.
    pub fn supply_hub<S, T>(
        self,
        path: &str,
        value: impl Fn(&S) -> Result<T> + Send + Sync + 'static,
    ) -> Self
    where
        S: DeserializeOwned,
        T: Serialize,
    {
        self.supply(Side::Hub, path, function::supply(value))
    }

    /// Supplies a field that the spoke requires, in objects in which it is absent after all other rules. `value` gets the whole object as
    /// the hub has it. If only the spoke has the field, [`only_in_spoke`](Self::only_in_spoke) is needed too.
    pub fn supply_spoke<H, T>(
        self,
        path: &str,
        value: impl Fn(&H) -> Result<T> + Send + Sync + 'static,
    ) -> Self
    where
        H: DeserializeOwned,
        T: Serialize,
    {
        self.supply(Side::Spoke, path, function::supply(value))
    }

    /// Declares what the conversion may change or refuse. Lossy and normalised fields are not kept.
    pub fn declared(mut self, declared: impl IntoIterator<Item = Declared>) -> Self {
        self.declared.extend(declared);
        self
    }

    fn rule(mut self, spoke: &[&str], hub: &[&str], functions: Option<Sided<Function>>) -> Self {
        let spoke = spoke.iter().map(|path| self.path(path)).collect();
        let hub = hub.iter().map(|path| self.path(path)).collect();
        // `path` has recorded the problem of a path that cannot be read
        if let (Some(spoke), Some(hub)) = (spoke, hub) {
            let paths: Sided<Vec<Path>> = Sided { spoke, hub };
            // generated code first declares all fields that the schema of one side lacks, which may have a place by a rule
            for side in [Side::Spoke, Side::Hub] {
                let has_place = |path: &Path| paths.of(side).contains(path);
                self.only.of_mut(side).retain(|path| !has_place(path));
            }
            self.rules.push(Rule { paths, functions });
        }
        self
    }

    fn only(mut self, side: Side, path: &str) -> Self {
        let path = self.field(path);
        self.only.of_mut(side).extend(path);
        self
    }

    fn default(mut self, side: Side, path: &str, value: Value) -> Self {
        let path = self.field(path);
        let default = path.map(|path| (path, value));
        self.defaults.of_mut(side).extend(default);
        self
    }

    fn null(mut self, side: Side, path: &str) -> Self {
        let path = self.field(path);
        self.nulls.of_mut(side).extend(path);
        self
    }

    fn supply(mut self, side: Side, path: &str, value: Supply) -> Self {
        let path = self.field(path);
        let supply = path.map(|path| (path, value));
        self.supplies.of_mut(side).extend(supply);
        self
    }

    /// Reads a path, or records what is wrong with it.
    fn path(&mut self, path: &str) -> Option<Path> {
        let read = Path::read(path);
        read.map_err(|problem| self.problems.push(format!("path {path:?}: {problem}")))
            .ok()
    }

    /// Reads a path that must end with a field.
    fn field(&mut self, text: &str) -> Option<Path> {
        let path = self.path(text)?;
        if path.field().is_none() {
            let problem =
                "only the path of a field is allowed here, without `[]` or `{}` at its end";
            self.problems.push(format!("path {text:?}: {problem}"));
            return None;
        }
        Some(path)
    }
}
