//! Hides what no two servers have in common: uids, versions, times, generated names, addresses and ports.
//!
//! A uid or version is replaced by a number, in the order of first appearance in the case, so that equal ones stay equal. What the case
//! itself sends stays as it is. Keys are sorted; `managedFields` too, because their order depends on the second of each write.

use serde_json::{Map, Value};

use crate::ask::Answer;
use crate::case::Step;

#[derive(Clone)]
pub struct Masks {
    namespace: String,
    /// The host of the webhooks, if the test serves some.
    pub hooks: Option<String>,
    /// What the case sends, before anything is filled in.
    sent: String,
    uids: Vec<String>,
    versions: Vec<String>,
    /// Versions of lists in pages.
    pages: Vec<String>,
    names: Vec<String>,
}

/// How the version of a list is compared, which depends on the request.
#[derive(Clone, Copy, PartialEq)]
enum ListVersion {
    /// Not at all: other cases change the newest version.
    Newest,
    /// It is the same on all pages.
    Page,
    /// It is the one that the request names.
    Exact,
}

impl Masks {
    pub fn new(namespace: String, sent: String) -> Self {
        let (uids, versions, pages, names) = Default::default();
        Self {
            namespace,
            hooks: None,
            sent,
            uids,
            versions,
            pages,
            names,
        }
    }

    /// The answer without what is hidden.
    pub fn hide(&mut self, step: &Step, answer: &Answer) -> Answer {
        let path = step.path();
        // Two first pages may have different versions, because other cases write in between.
        if path.contains("limit=") && !path.contains("continue=") {
            self.pages.clear();
        }
        let list = if path.contains("Match=Exact") {
            ListVersion::Exact
        } else if path.contains("limit=") || path.contains("continue=") {
            ListVersion::Page
        } else {
            ListVersion::Newest
        };
        let body = match &answer.body {
            Value::Array(events) => events
                .iter()
                .map(|event| self.object(event, list))
                .collect(),
            body => self.object(body, list),
        };
        let warnings = answer.warnings.iter().map(|text| self.text(text)).collect();
        let asked = answer.asked.iter();
        let asked = asked.map(|call| self.object(call, list)).collect();
        Answer {
            code: answer.code,
            warnings,
            body,
            asked,
        }
    }

    /// An object, a list, an event of a watch.
    fn object(&mut self, object: &Value, list: ListVersion) -> Value {
        let mut object = object.clone();
        self.learn(&object);
        let version = if object["type"] == "BOOKMARK" {
            object.pointer_mut("/object/metadata/resourceVersion")
        } else if object["items"].is_array() {
            object.pointer_mut("/metadata/resourceVersion")
        } else {
            None
        };
        if let Some(version) = version {
            let text = version.as_str().unwrap_or_default().to_owned();
            *version = match list {
                ListVersion::Newest => "<newest>".into(),
                ListVersion::Page => numbered(&mut self.pages, "page", &text).into(),
                ListVersion::Exact => numbered(&mut self.versions, "version", &text).into(),
            };
        }
        self.value("", &object)
    }

    /// Finds names that the server generated.
    fn learn(&mut self, value: &Value) {
        let field = |name: &str| {
            value["metadata"][name]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        };
        let (prefix, name) = (field("generateName"), field("name"));
        if !prefix.is_empty() && name.len() == prefix.len() + 5 && !self.names.contains(&name) {
            self.names.push(name);
        }
        value["items"]
            .as_array()
            .into_iter()
            .flatten()
            .for_each(|item| self.learn(item));
    }

    fn value(&mut self, key: &str, value: &Value) -> Value {
        match value {
            Value::Object(fields) => {
                let mut names: Vec<&String> = fields.keys().collect();
                // The administrator of a real server has a uid, from its token file.
                names.retain(|name| key != "userInfo" || *name != "uid");
                names.sort();
                let shown: Map<_, _> = names
                    .into_iter()
                    .map(|name| (self.text(name), self.value(name, &fields[name])))
                    .collect();
                let mut shown = Value::Object(shown);
                hide_downtime(&mut shown);
                shown
            }
            Value::Array(items) => {
                let mut items: Vec<Value> =
                    items.iter().map(|item| self.value(key, item)).collect();
                if key == "managedFields" {
                    items.sort_by_cached_key(Value::to_string);
                }
                items.into()
            }
            Value::Number(port)
                if ["nodePort", "healthCheckNodePort"].contains(&key)
                    && !self.sends(&port.to_string()) =>
            {
                "<port>".into()
            }
            Value::String(text) => self.field(key, text).into(),
            other => other.clone(),
        }
    }

    fn field(&mut self, key: &str, text: &str) -> String {
        let is_sent = match key {
            "resourceVersion" => self.sends(&format!("resourceVersion: '{text}'")),
            _ => self.sends(text),
        };
        if text.is_empty() || text.starts_with('<') || is_sent {
            return self.text(text);
        }
        match key {
            "resourceVersion" => numbered(&mut self.versions, "version", text),
            "caBundle" => "<bundle>".to_owned(),
            "continue" => "<continue>".to_owned(),
            "clusterIP" | "clusterIPs" if text != "None" => "<address>".to_owned(),
            "serverAddress" => "<address>".to_owned(),
            "token" if text.starts_with("eyJ") => "<token>".to_owned(),
            _ if is_time(text) => "<time>".to_owned(),
            _ => self.text(text),
        }
    }

    fn sends(&self, text: &str) -> bool {
        self.sent.contains(text)
    }

    /// Hides the uids, names and versions in a text.
    fn text(&mut self, text: &str) -> String {
        let mut text = text.replace(&self.namespace, "${ns}");
        if let Some(hooks) = &self.hooks {
            text = text.replace(hooks, "<hooks>");
        }
        for (at, name) in self.names.iter().enumerate() {
            text = text.replace(name.as_str(), &format!("<name {}>", at + 1));
        }
        let is_about_versions = [
            "resource version",
            "The resourceVersion for",
            "the ResourceVersion in",
        ]
        .iter()
        .any(|words| text.contains(words));
        let shown = |masks: &Self, text: &str| {
            if is_about_versions {
                masks.without_numbers(text)
            } else {
                text.to_owned()
            }
        };
        text = without_address(self.without_stamps(text));
        let mut hidden = String::new();
        while let Some((start, uid)) = find_uid(&text) {
            hidden += &shown(self, &text[..start]);
            hidden += &if self.sends(&uid) {
                uid
            } else {
                numbered(&mut self.uids, "uid", &uid)
            };
            text = text.split_off(start + 36);
        }
        hidden + &shown(self, &text)
    }

    /// A message that quotes an object, without its times and its version.
    fn without_stamps(&self, mut text: String) -> String {
        // the quotes may be escaped
        for before in [r#"\"resourceVersion\":\""#, r#""resourceVersion":""#] {
            if let Some(at) = text.find(before) {
                let start = at + before.len();
                let digits = text[start..].find(['\\', '"']).unwrap_or_default();
                text.replace_range(start..start + digits, "<version>");
            }
        }
        while let Some(at) = text.as_bytes().windows(20).position(|window| {
            window.is_ascii()
                && is_time(&String::from_utf8_lossy(window))
                && !self.sends(&String::from_utf8_lossy(window))
        }) {
            text.replace_range(at..at + 20, "<time>");
        }
        text
    }

    /// A message about versions, without those that the case does not send.
    fn without_numbers(&self, text: &str) -> String {
        let mut parts = Vec::new();
        for part in text.split_inclusive(|letter: char| !letter.is_ascii_digit()) {
            let number = part.trim_end_matches(|letter: char| !letter.is_ascii_digit());
            let is_hidden = !number.is_empty() && !self.sends(&format!("ersion={number}"));
            parts.push(if is_hidden {
                part.replacen(number, "<version>", 1)
            } else {
                part.to_owned()
            });
        }
        parts.concat()
    }
}

/// Hides how long to wait for a watch cache that cannot start, which grows with the time since its start.
fn hide_downtime(status: &mut Value) {
    let message = status["message"].as_str().unwrap_or_default();
    if message.starts_with("storage is (re)initializing")
        && let Some(seconds) = status.pointer_mut("/details/retryAfterSeconds")
    {
        *seconds = "<seconds>".into();
    }
}

/// A message about the address or the port of a Service, without these.
fn without_address(mut text: String) -> String {
    const ADDRESS: &str = "IPAddress.networking.k8s.io \"";
    if let Some(at) = text.find(ADDRESS) {
        let start = at + ADDRESS.len();
        let length = text[start..].find('"').unwrap_or_default();
        text.replace_range(start..start + length, "<address>");
    }
    if text.starts_with("duplicate nodePort: ") {
        text.retain(|letter| !letter.is_ascii_digit());
    }
    text
}

fn numbered(seen: &mut Vec<String>, what: &str, text: &str) -> String {
    let at = seen
        .iter()
        .position(|known| known == text)
        .unwrap_or_else(|| {
            seen.push(text.to_owned());
            seen.len() - 1
        });
    format!("<{what} {}>", at + 1)
}

fn is_time(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() >= 20
        && bytes[4] == b'-'
        && bytes[10] == b'T'
        && bytes[13] == b':'
        && bytes.ends_with(b"Z")
}

fn find_uid(text: &str) -> Option<(usize, String)> {
    let fits = |window: &[u8]| {
        window.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
    };
    let start = text.as_bytes().windows(36).position(fits)?;
    Some((start, text[start..start + 36].to_owned()))
}
