//! The places of a template: a word in the YAML of an object, whose line is replaced.

use std::cell::RefCell;

/// What takes the place of a placeholder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The namespace of the release.
    Namespace,
    /// The namespace of the present iteration; in a list, all that are watched.
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
    /// An expression.
    Scalar(&'static str),
    /// A value that is a map or a list.
    Block(&'static str),
    /// The same; the field is absent if it is empty.
    Optional(&'static str),
    /// A text; the field is absent if it is empty.
    OptionalText(&'static str),
    /// The items of a list, after others.
    Items(&'static str),
}

/// The names of placeholders: words that are valid as the name of a namespace.
pub struct Placeholders {
    prefix: String,
    /// Those that have a name.
    forms: RefCell<Vec<Form>>,
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
            forms: RefCell::default(),
        }
    }

    pub fn name(&self, form: Form) -> String {
        let mut forms = self.forms.borrow_mut();
        let index = forms.iter().position(|it| *it == form);
        let index = index.unwrap_or_else(|| {
            forms.push(form);
            forms.len() - 1
        });
        self.nth(index)
    }

    /// Always as many digits, so that none is the beginning of another.
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
        for (index, form) in self.forms.borrow().iter().enumerate() {
            let name = self.nth(index);
            if line.contains(&name) {
                line = replaced(&line, &name, *form, operator);
            }
        }
        line
    }
}

/// The line or lines that take the place of one with a placeholder.
fn replaced(line: &str, name: &str, form: Form, operator: &str) -> String {
    let indent = line.len() - line.trim_start().len();
    let (space, inner) = (&line[..indent], indent + 2);
    let key = line.trim_start().split(':').next().unwrap_or_default();
    let of = |values: &str| format!("$.Values.{values}");
    match form {
        Form::Namespace => scalar(line, name, "$.Release.Namespace"),
        Form::WatchedNamespace if line.trim_start() == format!("- {name}") => format!(
            "{space}{{{{- range $.Values.watchNamespaces }}}}\n{space}- {{{{ . | quote }}}}\n{space}{{{{- end }}}}"
        ),
        Form::WatchedNamespace => scalar(line, name, "."),
        Form::Image => scalar(line, name, &format!("include \"{operator}.image\" $")),
        Form::Scalar(expression) => line.replace(name, &format!("{{{{ {expression} }}}}")),
        Form::Labels(template) => format!(
            "{space}{key}:\n{space}  {{{{- include \"{operator}.{template}\" $ | nindent {inner} }}}}"
        ),
        Form::FurtherLabels => {
            let own = line.split_once(": ").map_or("", |(_, names)| names);
            let own = own.trim_matches(['"', '\'']).split(' ');
            let own: String = own.map(|name| format!(" \"{name}\"")).collect();
            format!(
                "{space}{{{{- omit (include \"{operator}.labels\" $ | fromYaml){own} | toYaml | nindent {indent} }}}}"
            )
        }
        Form::Block(values) => format!(
            "{space}{key}:\n{space}  {{{{- toYaml {} | nindent {inner} }}}}",
            of(values)
        ),
        Form::Optional(values) => format!(
            "{space}{{{{- with {} }}}}\n{space}{key}:\n{space}  {{{{- toYaml . | nindent {inner} }}}}\n{space}{{{{- end }}}}",
            of(values)
        ),
        Form::OptionalText(values) => format!(
            "{space}{{{{- with {} }}}}\n{space}{key}: {{{{ . | quote }}}}\n{space}{{{{- end }}}}",
            of(values)
        ),
        Form::Items(values) => format!(
            "{space}{{{{- with {} }}}}\n{space}{{{{- toYaml . | nindent {indent} }}}}\n{space}{{{{- end }}}}",
            of(values)
        ),
        Form::Budget => {
            format!("{space}{{{{- toYaml $.Values.podDisruptionBudget | nindent {indent} }}}}")
        }
        Form::Keep => format!(
            "{space}{{{{- if $.Values.crds.keep }}}}\n{space}helm.sh/resource-policy: keep\n{space}{{{{- end }}}}"
        ),
    }
}

/// A text of its own is quoted, as it might be read as a number; a part of one is not.
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
        assert_eq!(marks.name(Form::Namespace), "chart-value-x-x-000");
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
        let name = marks.name(Form::WatchedNamespace);
        let text = marks.fill(&format!("values:\n  - {name}\nnamespace: {name}\n"), "a");
        let list = "  {{- range $.Values.watchNamespaces }}\n  - {{ . | quote }}\n  {{- end }}";
        let one = "namespace: {{ . | quote }}";
        assert_eq!(text, format!("values:\n{list}\n{one}\n"));
    }

    #[test]
    fn an_objects_own_labels_are_not_repeated() {
        let marks = Placeholders::absent_from("");
        let name = marks.name(Form::FurtherLabels);
        let text = marks.fill(&format!("labels:\n  {name}: '1 b'\n"), "a");
        let include = "omit (include \"a.labels\" $ | fromYaml) \"1\" \"b\" | toYaml | nindent 2";
        assert_eq!(text, format!("labels:\n  {{{{- {include} }}}}\n"));
    }

    #[test]
    fn a_namespace_is_quoted_unless_it_is_a_part() {
        let marks = Placeholders::absent_from("");
        let name = marks.name(Form::Namespace);
        let text = marks.fill(&format!("namespace: {name}\nca: {name}/webhook\n"), "a");
        assert_eq!(
            text,
            "namespace: {{ $.Release.Namespace | quote }}\nca: {{ $.Release.Namespace }}/webhook\n"
        );
    }
}
