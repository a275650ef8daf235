//! Placeholders: words in the YAML of an object, whose lines are replaced to get a template.

use std::cell::RefCell;

/// The part of a template that replaces a placeholder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replacement {
    /// The namespace of the release.
    Namespace,
    /// The namespace of the current iteration; in a list, all watched namespaces.
    WatchedNamespace,
    /// The labels of objects, or of pods, by the name of their template.
    Labels(&'static str),
    /// The labels of objects, without those whose names are its value, separated by spaces: they are the object's own.
    FurtherLabels,
    /// The reference of the image.
    Image,
    /// A key that keeps an object when the chart is uninstalled.
    Keep,
    /// The field of a disruption budget.
    Budget,
    /// A failure if the value `env` repeats a name, or has one of those that are its value, separated by spaces: the chart sets these.
    UniqueVariables,
    /// An expression.
    Scalar(&'static str),
    /// A value that is a map or a list; the field is absent if it is empty.
    Optional(&'static str),
    /// A text; the field is absent if it is empty.
    OptionalText(&'static str),
    /// The items of a list, after others.
    Items(&'static str),
}

/// The names of placeholders: words that are valid as the name of a namespace.
pub struct Placeholders {
    prefix: String,
    /// The replacements that have a name, which contains their index.
    replacements: RefCell<Vec<Replacement>>,
}

impl Placeholders {
    /// Placeholders that a text does not contain.
    pub fn absent_from(text: &str) -> Self {
        let mut prefix = "chart-value".to_owned();
        while text.contains(&prefix) {
            prefix.push_str("-x");
        }
        Self {
            prefix,
            replacements: RefCell::default(),
        }
    }

    pub fn name(&self, replacement: Replacement) -> String {
        let mut replacements = self.replacements.borrow_mut();
        let index = replacements.iter().position(|it| *it == replacement);
        let index = index.unwrap_or_else(|| {
            replacements.push(replacement);
            replacements.len() - 1
        });
        self.nth(index)
    }

    /// The name with this index. All have the same length, so that none is a prefix of another.
    fn nth(&self, index: usize) -> String {
        format!("{}-{index:03}", self.prefix)
    }

    /// Turns a YAML text into a template of the operator with this name.
    pub fn fill(&self, text: &str, operator: &str) -> String {
        let escaped = text.replace("{{", "{{ \"{{\" }}");
        let mut filled = String::with_capacity(escaped.len());
        for line in escaped.lines() {
            filled.push_str(&self.filled(line, operator));
            filled.push('\n');
        }
        filled
    }

    fn filled(&self, line: &str, operator: &str) -> String {
        let mut line = line.to_owned();
        for (index, replacement) in self.replacements.borrow().iter().enumerate() {
            let name = self.nth(index);
            if line.contains(&name) {
                line = replaced(&line, &name, *replacement, operator);
            }
        }
        line
    }
}

/// The lines that replace a line with a placeholder.
fn replaced(line: &str, name: &str, replacement: Replacement, operator: &str) -> String {
    let indent = line.len() - line.trim_start().len();
    let (space, inner) = (&line[..indent], indent + 2);
    let key = line.trim_start().split(':').next().unwrap_or_default();
    let of = |values: &str| format!("$.Values.{values}");
    match replacement {
        Replacement::Namespace => scalar(line, name, "$.Release.Namespace"),
        Replacement::WatchedNamespace if line.trim_start() == format!("- {name}") => format!(
            "{space}{{{{- range $.Values.watchNamespaces }}}}\n{space}- {{{{ . | quote }}}}\n{space}{{{{- end }}}}"
        ),
        Replacement::WatchedNamespace => scalar(line, name, "."),
        Replacement::Image => scalar(line, name, &format!("include \"{operator}.image\" $")),
        Replacement::Scalar(expression) => line.replace(name, &format!("{{{{ {expression} }}}}")),
        Replacement::Labels(template) => format!(
            "{space}{key}:\n{space}  {{{{- include \"{operator}.{template}\" $ | nindent {inner} }}}}"
        ),
        Replacement::FurtherLabels => format!(
            "{space}{{{{- omit (include \"{operator}.labels\" $ | fromYaml){} | toYaml | nindent {indent} }}}}",
            quoted_names(line)
        ),
        Replacement::UniqueVariables => format!(
            "{space}{{{{- include \"{operator}.uniqueVariables\" (dict \"env\" $.Values.env \"reserved\" (list{})) }}}}",
            quoted_names(line)
        ),
        Replacement::Optional(values) => format!(
            "{space}{{{{- with {} }}}}\n{space}{key}:\n{space}  {{{{- toYaml . | nindent {inner} }}}}\n{space}{{{{- end }}}}",
            of(values)
        ),
        Replacement::OptionalText(values) => format!(
            "{space}{{{{- with {} }}}}\n{space}{key}: {{{{ . | quote }}}}\n{space}{{{{- end }}}}",
            of(values)
        ),
        Replacement::Items(values) => format!(
            "{space}{{{{- with {} }}}}\n{space}{{{{- toYaml . | nindent {indent} }}}}\n{space}{{{{- end }}}}",
            of(values)
        ),
        Replacement::Budget => {
            format!("{space}{{{{- toYaml $.Values.podDisruptionBudget | nindent {indent} }}}}")
        }
        Replacement::Keep => format!(
            "{space}{{{{- if $.Values.crds.keep }}}}\n{space}helm.sh/resource-policy: keep\n{space}{{{{- end }}}}"
        ),
    }
}

/// The names that are the value of a line, each as an argument of a function.
fn quoted_names(line: &str) -> String {
    let names = line.split_once(": ").map_or("", |(_, names)| names);
    let names = names.trim_matches(['"', '\'']).split_whitespace();
    names.map(|name| format!(" \"{name}\"")).collect()
}

/// Replaces a placeholder in a text. A whole value is quoted, because YAML might read it as a number; a part of a value is not.
fn scalar(line: &str, name: &str, expression: &str) -> String {
    let is_whole = line.ends_with(&format!(": {name}")) || line.ends_with(&format!("- {name}"));
    let quote = if is_whole { " | quote" } else { "" };
    line.replace(name, &format!("{{{{ {expression}{quote} }}}}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_absent_from_the_users_text() {
        let marks = Placeholders::absent_from("a chart-value and chart-value-x");
        assert_eq!(marks.name(Replacement::Namespace), "chart-value-x-x-000");
    }

    #[test]
    fn a_text_that_looks_like_a_template_stays_text() {
        let marks = Placeholders::absent_from("");
        let text = marks.fill("pattern: '^{{.*}}$'\n", "a");
        assert_eq!(text, "pattern: '^{{ \"{{\" }}.*}}$'\n");
    }

    #[test]
    fn a_list_has_all_watched_namespaces() {
        let marks = Placeholders::absent_from("");
        let name = marks.name(Replacement::WatchedNamespace);
        let text = marks.fill(&format!("values:\n  - {name}\nnamespace: {name}\n"), "a");
        let list = "  {{- range $.Values.watchNamespaces }}\n  - {{ . | quote }}\n  {{- end }}";
        let one = "namespace: {{ . | quote }}";
        assert_eq!(text, format!("values:\n{list}\n{one}\n"));
    }

    #[test]
    fn an_objects_own_labels_are_not_repeated() {
        let marks = Placeholders::absent_from("");
        let name = marks.name(Replacement::FurtherLabels);
        let text = marks.fill(&format!("labels:\n  {name}: '1 b'\n"), "a");
        let include = "omit (include \"a.labels\" $ | fromYaml) \"1\" \"b\" | toYaml | nindent 2";
        assert_eq!(text, format!("labels:\n  {{{{- {include} }}}}\n"));
    }

    #[test]
    fn a_namespace_is_quoted_unless_it_is_a_part() {
        let marks = Placeholders::absent_from("");
        let name = marks.name(Replacement::Namespace);
        let text = marks.fill(&format!("namespace: {name}\nca: {name}/webhook\n"), "a");
        assert_eq!(
            text,
            "namespace: {{ $.Release.Namespace | quote }}\nca: {{ $.Release.Namespace }}/webhook\n"
        );
    }
}
