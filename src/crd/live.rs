//! A CRD as a cluster returns it: finds the fields that the API server and its clients have set, and removes them from the text. All other
//! bytes of the text stay as they are.

use std::{ops::Range, sync::Arc};

use operator_schema::pointer;
use serde_json::Value;

use super::{
    api::{Api, Enclosing},
    compose::compose,
};
use crate::diagnostic::{Code, Diagnostic, Severity};

const ANNOTATIONS: &str = "/metadata/annotations";

/// The fields that a cluster sets, in the order of the API.
const SERVER_FIELDS: [&str; 10] = [
    "/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration",
    "/metadata/creationTimestamp",
    "/metadata/deletionGracePeriodSeconds",
    "/metadata/deletionTimestamp",
    "/metadata/generation",
    "/metadata/managedFields",
    "/metadata/resourceVersion",
    "/metadata/selfLink",
    "/metadata/uid",
    "/status",
];

/// The CA certificates that a controller injects into a CRD in a cluster. A file that was never in a cluster may have them on purpose.
const CA_BUNDLE: &str = "/spec/conversion/webhook/clientConfig/caBundle";

/// The fields that a cluster has set in a CRD.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerFields {
    /// The JSON pointers of the fields.
    pub pointers: Vec<String>,
    /// The versions besides the storage version in which objects may be stored.
    pub stored: Vec<String>,
    /// Whether the text no longer has the fields.
    pub are_removed: bool,
}

impl ServerFields {
    /// Finds the fields that a cluster has set. Fields without a value, such as `creationTimestamp: null`, come from tools instead.
    pub fn of(definition: &Value) -> Self {
        let is_set = |pointer: &&str| definition.pointer(pointer).is_some_and(has_value);
        let mut pointers: Vec<&str> = SERVER_FIELDS.into_iter().filter(is_set).collect();
        if !pointers.is_empty() {
            pointers.extend(Some(CA_BUNDLE).filter(is_set));
        }
        let storage = definition["spec"]["versions"]
            .as_array()
            .into_iter()
            .flatten()
            .find(|version| version["storage"] == true)
            .map(|version| &version["name"]);
        let stored = definition["status"]["storedVersions"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|name| Some(*name) != storage);
        Self {
            pointers: pointers.into_iter().map(str::to_owned).collect(),
            stored: stored
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect(),
            are_removed: false,
        }
    }

    /// Whether a place is in one of the fields.
    pub fn contain(&self, place: &str) -> bool {
        self.pointers.iter().any(|pointer| {
            let rest = place.strip_prefix(pointer.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }

    /// The note about the removed fields.
    pub fn diagnostic(&self) -> Option<Diagnostic> {
        let first = self.pointers.first().filter(|_| self.are_removed)?;
        let names: Vec<String> = self.pointers.iter().map(|it| name(it)).collect();
        let mut message = format!("left out what a cluster has set: {}", names.join(", "));
        let mut help = None;
        if !self.stored.is_empty() {
            let stored = self.stored.join(", ");
            message += &format!("; objects there may be stored as {stored}, too");
            help = Some(format!(
                "keep {stored} in `spec.versions` until the objects are migrated to the storage version"
            ));
        }
        Some(Diagnostic {
            code: Code::ServerFields,
            severity: Severity::Note,
            pointer: first.clone(),
            message,
            instead: None,
            help,
        })
    }
}

fn has_value(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => items.iter().any(has_value),
        Value::Object(fields) => fields.values().any(has_value),
        Value::Bool(_) | Value::Number(_) => true,
    }
}

/// `metadata.uid`, or `metadata.annotations[example.com/name]`.
fn name(pointer: &str) -> String {
    match pointer.strip_prefix(ANNOTATIONS) {
        Some(key) => format!(
            "metadata.annotations[{}]",
            pointer::unescape(key.trim_start_matches('/'))
        ),
        None => pointer.trim_start_matches('/').replace('/', "."),
    }
}

impl Api {
    /// The CRD without the fields that a cluster has set. Its locations still refer to the text from which it was read.
    #[must_use]
    pub fn without_server_fields(mut self) -> Self {
        if self.server_fields.pointers.is_empty() {
            return self;
        }
        let composed = compose(&self.text).expect("it was read from such a text");
        let mut value = composed.value;
        let mut removed = self.server_fields.pointers.clone();
        for pointer in &mut removed {
            remove(&mut value, pointer);
            if pointer.starts_with(ANNOTATIONS)
                && value.pointer(ANNOTATIONS).is_some_and(|it| !has_value(it))
            {
                remove(&mut value, ANNOTATIONS);
                *pointer = ANNOTATIONS.to_owned();
            }
        }
        let is_own = self.source.enclosing.is_none();
        let cut = composed
            .positions
            .filter(|_| is_own)
            .map(|it| without(&self.text, it.places(&self.text, &removed)));
        // if a line also has other fields, the whole text is written again
        let is_expected = |text: &String| compose(text).is_ok_and(|it| it.value == value);
        let text = cut.filter(is_expected).unwrap_or_else(|| {
            serde_saphyr::to_string(&value).expect("a JSON value can be written as YAML")
        });
        let text = std::mem::replace(&mut self.text, text);
        self.source.enclosing.get_or_insert_with(|| Enclosing {
            text: Arc::from(text),
            line: self.source.line,
            pointer: String::new(),
        });
        let fields = &self.server_fields;
        self.refused.retain(|(place, _)| !fields.contain(place));
        self.server_fields.are_removed = true;
        self
    }
}

fn remove(value: &mut Value, pointer: &str) {
    let (parent, key) = pointer.rsplit_once('/').unwrap_or_default();
    if let Some(Value::Object(fields)) = value.pointer_mut(parent) {
        fields.shift_remove(&*pointer::unescape(key));
    }
}

/// Removes the lines of fields from a text. `keys` are the places of their keys.
fn without(text: &str, keys: Vec<Range<usize>>) -> String {
    let mut entries: Vec<Range<usize>> = keys.iter().map(|key| entry(text, key.start)).collect();
    entries.sort_by_key(|entry| entry.start);
    let mut rest = String::new();
    let mut at = 0;
    for entry in entries {
        rest += &text[at..entry.start.max(at)];
        at = entry.end.max(at);
    }
    rest + &text[at..]
}

/// The lines of a field: the line of its key, and the lines of its value.
fn entry(text: &str, key: usize) -> Range<usize> {
    let start = text[..key].rfind('\n').map_or(0, |end| end + 1);
    let column = key - start;
    let mut lines = text[start..].split_inclusive('\n');
    let mut end = start + lines.next().map_or(0, str::len);
    let mut at = end;
    for line in lines {
        at += line.len();
        let content = line.trim_start_matches(' ');
        let indent = line.len() - content.len();
        // the items of a list may be as far to the left as its key
        let is_item = content.starts_with("- ") || content.trim_end() == "-";
        match content.trim().is_empty() {
            true => {}
            false if indent > column || indent == column && is_item => end = at,
            false => break,
        }
    }
    start..end
}

#[cfg(test)]
mod tests {
    use crate::crd::read;

    const BEFORE: &str =
        "# ours\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n";
    const REST: &str = "spec:\n  group: example.com # of all\n  scope: Namespaced\n\n  names: {kind: Widget, plural: widgets}\n  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]\n";

    fn removed(text: &str) -> (String, String) {
        let api = read("x.yaml", text).unwrap().remove(0);
        let api = api.without_server_fields();
        assert!(api.refused.is_empty(), "{:?}", api.refused);
        let note = api.server_fields.diagnostic().map(|it| it.message);
        (api.text, note.unwrap_or_default())
    }

    #[test]
    fn what_a_cluster_has_set_is_removed_with_its_lines() {
        let text = format!(
            "{BEFORE}metadata:\n  annotations:\n    kubectl.kubernetes.io/last-applied-configuration: |\n      {{\"a\":\n\n      1}}\n  creationTimestamp: \"2024-01-01T00:00:00Z\"\n  # who\n  name: widgets.example.com\n  managedFields:\n  - manager: kubectl\n    operation: Update\n  resourceVersion: \"12\"\n  uid: 0b1c # of the cluster\n{REST}  conversion: {{strategy: None}}\nstatus:\n  storedVersions:\n  - v1alpha1\n  - v1\n"
        );
        let expected = format!(
            "{BEFORE}metadata:\n  # who\n  name: widgets.example.com\n{REST}  conversion: {{strategy: None}}\n"
        );
        let note = "left out what a cluster has set: metadata.annotations[kubectl.kubernetes.io/last-applied-configuration], metadata.creationTimestamp, metadata.managedFields, metadata.resourceVersion, metadata.uid, status; objects there may be stored as v1alpha1, too";
        assert_eq!(removed(&text), (expected, note.to_owned()));
    }

    #[test]
    fn other_annotations_are_kept_and_an_injected_certificate_is_removed() {
        let webhook = |ca: &str| {
            format!(
                "  conversion:\n    strategy: Webhook\n    webhook:\n      clientConfig:\n{ca}        service: {{name: a, namespace: b}}\n      conversionReviewVersions: [v1]\n"
            )
        };
        let text = |last: &str, ca: &str| {
            format!(
                "{BEFORE}metadata:\n  annotations:\n    a: b\n{last}  name: widgets.example.com\n{REST}{}",
                webhook(ca)
            )
        };
        let (last, ca) = (
            "    kubectl.kubernetes.io/last-applied-configuration: '{}\n\n      '\n",
            "        caBundle: YQ==\n",
        );
        assert_eq!(removed(&text(last, ca)).0, text("", ""));
        // without another field of a cluster, the certificate is the user's
        assert_eq!(removed(&text("", ca)), (text("", ca), String::new()));
    }

    #[test]
    fn fields_without_a_value_are_kept() {
        let text = format!(
            "{BEFORE}metadata:\n  creationTimestamp: null\n  name: widgets.example.com\n{REST}status: {{acceptedNames: {{kind: '', plural: ''}}, conditions: [], storedVersions: []}}\n"
        );
        assert_eq!(removed(&text), (text, String::new()));
    }

    #[test]
    fn flow_mappings_lists_and_json_are_written_without_the_fields() {
        let flow = format!("{BEFORE}metadata: {{name: widgets.example.com, uid: a}}\n{REST}");
        let plain = format!("{BEFORE}metadata: {{name: widgets.example.com}}\n{REST}");
        let json = |text: &str| crate::crd::values(text).next().unwrap().unwrap();
        let list = format!("{{\"kind\": \"List\", \"items\": [{}]}}", json(&flow));
        for text in [flow.clone(), json(&flow).to_string(), list] {
            let (text, note) = removed(&text);
            assert_eq!(json(&text), json(&plain), "{text}");
            assert_eq!(note, "left out what a cluster has set: metadata.uid");
        }
    }
}
