//! Adds a version to the text of a CRD, as a copy of another version. All other bytes stay as they are, with comments and order.

use std::ops::Range;

use super::api::{Api, Version};
use crate::diagnostic::Explain;

/// The version to add.
#[derive(Clone, Copy, Debug)]
pub struct NewVersion<'a> {
    pub name: &'a str,
    /// The version whose schema, columns and subresources it gets.
    pub from: &'a Version,
    /// Whether it becomes the storage version.
    pub storage: bool,
}

/// Why the text of a CRD cannot be edited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddVersionError {
    #[error("the CRD is JSON or an item of a list, which is not edited in place")]
    Enclosed,
    #[error("`spec.versions` is not a list with an item for each version, each on its own lines")]
    Flow,
}

impl Explain for AddVersionError {
    fn help(&self) -> String {
        match self {
            Self::Enclosed => {
                "write the CRD as a YAML document of its own: `kubectl create --dry-run=client -o yaml -f FILE` prints one"
            }
            Self::Flow => {
                "write each version as `- name: v1` with its fields on lines of their own"
            }
        }
        .into()
    }
}

/// Returns the text of the file with the new version after the last one. `text` is the whole file from which the CRD was read.
pub fn add_version(api: &Api, text: &str, new: NewVersion<'_>) -> Result<String, AddVersionError> {
    if api.source.enclosing.is_some() {
        return Err(AddVersionError::Enclosed);
    }
    let document = Document {
        api,
        text: &api.text,
    };
    let start = offset(text, api.source.line);
    let last = api.versions.len() - 1;
    let copied = document.item(new.from.index)?;
    let end = document.item(last)?.end;
    let mut item = document.copy(copied.clone(), new)?;
    if !document.text[..end].ends_with('\n') {
        item = format!("\n{}", item.trim_end_matches(['\r', '\n']));
    }
    let mut edits = vec![(end..end, item)];
    let storage = api.versions.iter().filter(|it| it.storage && new.storage);
    for version in storage {
        let value = document.scalar(version.index, "storage");
        edits.extend(value.map(|range| (range, "false".to_owned())));
    }
    let edited = replaced(document.text, edits);
    let after = start + document.text.len();
    Ok(format!("{}{edited}{}", &text[..start], &text[after..]))
}

/// The offset in bytes of a line. The first line has the number 1, and starts after a byte order mark.
fn offset(text: &str, line: usize) -> usize {
    let lines = text.split_inclusive('\n').take(line - 1);
    let start = lines.map(str::len).sum();
    match (start, text.strip_prefix('\u{feff}')) {
        (0, Some(rest)) => text.len() - rest.len(),
        _ => start,
    }
}

/// Replaces ranges that do not overlap.
fn replaced(text: &str, mut edits: Vec<(Range<usize>, String)>) -> String {
    edits.sort_by_key(|(range, _)| range.start);
    let mut result = String::new();
    let mut done = 0;
    for (range, new) in edits {
        result += &text[done..range.start];
        result += &new;
        done = range.end;
    }
    result + &text[done..]
}

/// The text of a CRD, with the places of its fields.
struct Document<'a> {
    api: &'a Api,
    text: &'a str,
}

impl Document<'_> {
    fn place(&self, pointer: &str) -> Range<usize> {
        let mut places = self.api.source.positions.places(self.text, &[pointer]);
        places.remove(0)
    }

    /// The lines of a version, without comments and blank lines after it.
    fn item(&self, index: usize) -> Result<Range<usize>, AddVersionError> {
        let content = self.place(&format!("/spec/versions/{index}")).start;
        let lines = self.lines();
        let mut at = lines.partition_point(|line| line.start <= content) - 1;
        // the dash may be on a line before the first field
        while at > 0 && !self.text[lines[at].clone()].trim_start().starts_with('-') {
            at -= 1;
        }
        let first = &lines[at];
        let column = indent(&self.text[first.clone()]);
        if first.start <= self.place("/spec/versions").start {
            return Err(AddVersionError::Flow);
        }
        let mut end = first.end;
        for line in &lines[at + 1..] {
            let text = self.text[line.clone()].trim();
            let is_inside = indent(&self.text[line.clone()]) > column;
            match (text.is_empty(), is_inside) {
                (true, _) => {}
                (false, true) => end = line.end,
                (false, false) if text.starts_with('#') => {}
                (false, false) => break,
            }
        }
        Ok(first.start..end)
    }

    /// The ranges of all lines, with their ends.
    fn lines(&self) -> Vec<Range<usize>> {
        let mut start = 0;
        let lines = self.text.split_inclusive('\n').map(|line| {
            let range = start..start + line.len();
            start = range.end;
            range
        });
        lines.collect()
    }

    /// The range of the value of a version's field, if that is a scalar on the line of its key.
    fn scalar(&self, index: usize, key: &str) -> Option<Range<usize>> {
        let version = format!("/spec/versions/{index}");
        let field = self.place(&format!("{version}/{key}"));
        let text = &self.text[field.clone()];
        let rest = text.trim_start_matches(['"', '\'']).strip_prefix(key)?;
        let rest = rest.trim_start_matches(['"', '\'']).trim_start();
        let value = rest.strip_prefix(':')?.trim_start();
        (!value.is_empty()).then(|| field.end - value.len()..field.end)
    }

    /// Copies the lines of a version for the new one: with the new name, served, and not deprecated.
    fn copy(&self, lines: Range<usize>, new: NewVersion<'_>) -> Result<String, AddVersionError> {
        let index = new.from.index;
        let name = self.scalar(index, "name").ok_or(AddVersionError::Flow)?;
        let mut edits = vec![(name.clone(), scalar(new.name))];
        match (self.scalar(index, "storage"), new.storage) {
            (Some(value), storage) => edits.push((value, storage.to_string())),
            (None, false) => {}
            (None, true) => {
                let key = self.place(&format!("/spec/versions/{index}/name")).start;
                let line = self.text[..key].rfind('\n').map_or(0, |end| end + 1);
                let pad = " ".repeat(key - line);
                edits.push((name.end..name.end, format!("\n{pad}storage: true")));
            }
        }
        if let Some(value) = self.scalar(index, "served") {
            edits.push((value, "true".into()));
        }
        for key in ["deprecated", "deprecationWarning"] {
            let Some(value) = self.scalar(index, key) else {
                continue;
            };
            let all = self.lines();
            let line = all.iter().find(|line| line.contains(&value.start));
            let is_alone = |line: &&Range<usize>| {
                let text = self.text[(*line).clone()].trim_start();
                text.starts_with(key) && line.end >= value.end
            };
            edits.extend(
                line.filter(is_alone)
                    .map(|line| (line.clone(), String::new())),
            );
        }
        let edits = edits
            .into_iter()
            .map(|(range, new)| (range.start - lines.start..range.end - lines.start, new));
        Ok(replaced(&self.text[lines.clone()], edits.collect()))
    }
}

/// The number of blanks at the beginning of a line.
fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// A name as a YAML scalar, with quotes if it is not like `v1`: YAML 1.1 reads a name such as `on` as a boolean.
fn scalar(name: &str) -> String {
    let is_usual = name.starts_with('v') && name[1..].starts_with(|it: char| it.is_ascii_digit());
    if is_usual {
        name.to_owned()
    } else {
        format!("{name:?}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crd::read;

    const HEAD: &str = "# ours\n---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: widgets.example.com\nspec:\n  group: example.com\n";
    const TAIL: &str =
        "  # who it is\n  scope: Namespaced\n  names: {kind: Widget, plural: widgets}\n";

    fn check(versions: &str, name: &str, storage: bool, expected: &str) {
        let text = format!("{HEAD}{versions}{TAIL}");
        let api = read("crd.yaml", &text).unwrap().remove(0);
        let new = NewVersion {
            name,
            from: &api.versions[0],
            storage,
        };
        let edited = add_version(&api, &text, new).unwrap();
        assert_eq!(edited, format!("{HEAD}{expected}{TAIL}"));
        let api = read("crd.yaml", &edited).unwrap().remove(0);
        assert!(api.version(name).unwrap().served);
        assert_eq!(api.storage_version().name == name, storage);
    }

    #[test]
    fn a_version_is_copied_with_its_comments_after_the_last_one() {
        let schema = "    schema:\n      openAPIV3Schema:\n        type: object # all\n        description: |\n          Of v1\n\n          # a heading\n";
        let v1 = format!(
            "  versions:\n  # the first\n  - name: v1 # stable\n    served: true\n    storage: true\n{schema}"
        );
        let v2 = format!("  - name: v2 # stable\n    served: true\n    storage: false\n{schema}");
        check(&format!("{v1}\n"), "v2", false, &format!("{v1}{v2}\n"));
        let moved = v1.replace("storage: true", "storage: false");
        let v2 = v2.replace("storage: false", "storage: true");
        check(&v1, "v2", true, &format!("{moved}{v2}"));
    }

    #[test]
    fn lists_without_indentation_quotes_and_any_order_of_fields_are_kept() {
        let schema = "  schema: {openAPIV3Schema: {type: object}}\n";
        let v1 = format!(
            "  versions:\n  -\n    'storage': true\n    served: false\n    \"name\": \"v1\"\n    deprecated: true\n    deprecationWarning: gone soon\n  {schema}"
        );
        let v2 = format!("  - name: v2\n    served: true\n    storage: false\n  {schema}");
        let moved = v1.replace("true\n    served", "false\n    served");
        let on =
            format!("  -\n    'storage': true\n    served: true\n    \"name\": \"on\"\n  {schema}");
        check(
            &format!("{v1}{v2}"),
            "on",
            true,
            &format!("{moved}{v2}{on}"),
        );
    }

    #[test]
    fn flow_lists_and_json_are_refused() {
        let flow = format!(
            "{HEAD}  versions: [{{name: v1, served: true, storage: true, schema: {{openAPIV3Schema: {{type: object}}}}}}]\n{TAIL}"
        );
        let json = read("x", &flow).unwrap()[0].definition().to_string();
        for (text, expected) in [
            (flow, AddVersionError::Flow),
            (json, AddVersionError::Enclosed),
        ] {
            let api = read("crd.yaml", &text).unwrap().remove(0);
            let new = NewVersion {
                name: "v2",
                from: &api.versions[0],
                storage: false,
            };
            assert_eq!(add_version(&api, &text, new), Err(expected));
        }
    }
}
