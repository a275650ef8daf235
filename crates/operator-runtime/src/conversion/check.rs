//! Finds what is wrong with the rules of a spoke, before any object is converted.

use serde_json::Value;

use super::path::Path;
use super::side::Side;
use super::spoke::Spoke;

impl Spoke {
    /// Sets the version of the hub, which only the whole conversion knows, and records the problems of the spoke.
    pub(super) fn complete(&mut self, hub: &str) {
        self.versions.hub = hub.to_owned();
        if self.versions.spoke == hub {
            self.problems
                .push("the hub cannot be a spoke of itself".into());
        }
        for declared in std::mem::take(&mut self.declared) {
            match (Path::read(declared.field()), self.side(declared.example())) {
                (Ok(path), Some(side)) if declared.is_lossy() => self.lossy.of_mut(side).push(path),
                (Ok(_), Some(_)) => {}
                (Err(problem), _) => self
                    .problems
                    .push(format!("path {:?}: {problem}", declared.field())),
                (_, None) => self.problems.push(format!(
                    "the example of the {} field {} has the apiVersion of neither {} nor {hub}",
                    declared.kind(),
                    declared.field(),
                    self.versions.spoke,
                )),
            }
            self.declared.push(declared);
        }
        for side in [Side::Spoke, Side::Hub] {
            self.check_duplicates(side);
        }
        self.check_wildcards();
    }

    /// The side of an object, by the version in its `apiVersion`.
    fn side(&self, object: &Value) -> Option<Side> {
        let api_version = object.get("apiVersion")?.as_str()?;
        let version = api_version.rsplit('/').next()?;
        let sides = [Side::Spoke, Side::Hub];
        sides
            .into_iter()
            .find(|side| self.versions.of(*side) == version)
    }

    fn check_duplicates(&mut self, side: Side) {
        let rules = self.rules.iter().flat_map(|rule| rule.paths.of(side));
        let mut paths: Vec<&Path> = rules.chain(self.only.of(side)).collect();
        paths.sort_by_key(|path| path.to_string());
        let pairs = paths.windows(2).filter(|pair| pair[0] == pair[1]);
        let version = self.versions.of(side);
        let problems: Vec<String> = pairs
            .map(|pair| format!("two rules are about {} of {version}", pair[0]))
            .collect();
        self.problems.extend(problems);
    }

    fn check_wildcards(&mut self) {
        for rule in &self.rules {
            let mut paths = rule.paths.spoke.iter().chain(&rule.paths.hub);
            let Some(first) = paths.next() else {
                self.problems.push("a rule has no paths".into());
                continue;
            };
            if let Some(other) = paths.find(|path| !path.wildcards().eq(first.wildcards())) {
                self.problems.push(format!(
                    "{first} and {other} do not have the same `[]` and `{{}}` in the same order"
                ));
            }
        }
    }

    /// Records a sensitive field of a side, and a problem if it would have to be kept in an annotation.
    pub(super) fn check_sensitive(&mut self, side: Side, sensitive: &Path) {
        let is_lossy = self
            .lossy
            .of(side)
            .iter()
            .any(|lossy| lossy.covers(sensitive));
        let mut only = self.only.of(side).iter();
        if let Some(only) = only.find(|only| only.overlaps(sensitive))
            && !is_lossy
        {
            self.problems.push(format!(
                "{} {sensitive} is sensitive, and {} has no place for {only}: nothing sensitive is kept in an annotation\nhelp: give it a place in {}, or declare it as lossy",
                self.versions.of(side),
                self.versions.of(side.other()),
                self.versions.of(side.other()),
            ));
        }
        self.sensitive.of_mut(side).push(sensitive.clone());
    }
}
