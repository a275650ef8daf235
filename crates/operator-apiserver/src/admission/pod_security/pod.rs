//! A pod or a pod template as the checks see it, and the reasons why it is not admitted.

use serde_json::Value;

use crate::model::json::entries;

/// The reason why a pod is not admitted.
pub(crate) struct Refusal {
    reason: &'static str,
    detail: String,
}

pub(crate) fn details(refusals: &[Refusal]) -> String {
    let one = |it: &Refusal| format!("{} ({})", it.reason, it.detail);
    refusals.iter().map(one).collect::<Vec<_>>().join(", ")
}

pub(crate) fn reasons(refusals: &[Refusal]) -> String {
    let reasons: Vec<&str> = refusals.iter().map(|it| it.reason).collect();
    reasons.join(", ")
}

pub(crate) fn refusal(reason: &'static str, detail: String) -> Option<Refusal> {
    Some(Refusal { reason, detail })
}

/// A pod or a pod template.
pub(crate) struct Pod<'a> {
    pub metadata: &'a Value,
    pub spec: &'a Value,
}

impl<'a> Pod<'a> {
    pub fn new(metadata: &'a Value, spec: &'a Value) -> Self {
        Self { metadata, spec }
    }

    pub fn is_windows(&self) -> bool {
        self.spec["os"]["name"] == "windows"
    }

    /// Whether the pod has its own user namespace, to which some checks do not apply from version 1.35 on.
    pub fn has_own_users(&self, minor: u32) -> bool {
        minor >= 35 && self.spec["hostUsers"] == false
    }

    pub fn containers(&self) -> impl Iterator<Item = &'a Value> {
        let lists = ["initContainers", "containers", "ephemeralContainers"];
        let spec = self.spec;
        lists
            .into_iter()
            .flat_map(move |list| items(&spec[list]).iter())
    }

    /// The names of the containers for which a predicate holds.
    pub fn named(&self, mut is: impl FnMut(&Value) -> bool) -> Vec<&'a str> {
        self.containers()
            .filter(|container| is(container))
            .map(|container| text(&container["name"]))
            .collect()
    }

    pub fn annotations(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        let annotations = entries(&self.metadata["annotations"]);
        annotations.map(|(name, value)| (name.as_str(), text(value)))
    }

    /// The places whose security context satisfies a predicate: `pod and containers "a", "b"`; `None` if there are none.
    pub fn violators(&self, mut sets: impl FnMut(&Value) -> bool) -> Option<String> {
        let mut violators = Vec::new();
        if sets(&self.spec["securityContext"]) {
            violators.push("pod".to_owned());
        }
        let names = self.named(|container| sets(&container["securityContext"]));
        if !names.is_empty() {
            violators.push(containers(&names));
        }
        (!violators.is_empty()).then(|| violators.join(" and "))
    }
}

pub(crate) fn items(list: &Value) -> &[Value] {
    list.as_array().map_or(&[], Vec::as_slice)
}

pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// `"a", "b"`
pub(crate) fn quoted<T: AsRef<str>>(items: impl IntoIterator<Item = T>) -> String {
    items
        .into_iter()
        .map(|item| format!("\"{}\"", item.as_ref()))
        .collect::<Vec<_>>()
        .join(", ")
}

/// `container "a"`, `containers "a", "b"`
pub(crate) fn containers(names: &[&str]) -> String {
    format!(
        "{} {}",
        plural(names.len(), "container", "containers"),
        quoted(names)
    )
}

pub(crate) fn plural(count: usize, one: &'static str, many: &'static str) -> &'static str {
    if count == 1 { one } else { many }
}
