//! `GET` of one object and of lists.

use std::sync::Arc;

use serde_json::{Value, json};

use super::kind::Kind;
use super::list::{Item, List};
use super::request::Call;
use super::selector::Selector;
use super::status::{Cause, Failure, Result};
use super::store::Key;
use super::{Reply, Request, State, event};

/// A part of a collection.
pub(crate) struct Page {
    pub metadata: Value,
    pub items: Vec<Item>,
}

/// How a collection is read, on which the version depends that a query without a match means.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Reading {
    /// In pages if it has a limit.
    AsAsked,
    Paged,
}

impl State {
    pub(crate) fn get(&self, request: &Request<'_>) -> Result<Reply> {
        let version = request.call.param("resourceVersion");
        if let Err(wrong) = parse_version(version) {
            return Err(Failure::internal(wrong));
        }
        let object = self.live(request)?;
        object
            .map(Reply::ok)
            .ok_or_else(|| Failure::not_found(request.kind, &request.path.name))
    }

    /// A list at the newest version, or at the one that the query wants; in pages when it has a `limit`.
    pub(crate) fn list(&self, request: &Request<'_>) -> Result<Reply> {
        let page = self.page(request, Reading::AsAsked)?;
        let list = List::new(request.kind, page.metadata, page.items);
        Ok(Reply::List(Box::new(list)))
    }

    /// The objects that a query to a collection asks for.
    pub(crate) fn page(&self, request: &Request<'_>, reading: Reading) -> Result<Page> {
        let (kind, call) = (request.kind, request.call);
        let selector = Selector::read(call, kind)?;
        let token = Continue::read(call.param("continue"))?;
        if token.is_some() && !matches!(call.param("resourceVersion"), "" | "0") {
            let text = "specifying resource version is not allowed when using continue";
            return Err(Failure::bad_request(text));
        }
        let is_paged = reading == Reading::Paged || !call.param("limit").is_empty();
        if !(is_paged && call.param("resourceVersion").is_empty()) {
            self.check_collection(kind)?;
        }
        let limit: usize = match call.param("resourceVersion") {
            // Where any version will do, the real server takes what it has at hand, which is not in pages.
            "0" => 0,
            _ => call.param("limit").parse().unwrap_or_default(),
        };
        let version = match &token {
            Some(token) => token.version,
            None => self.version_to_list(call, limit > 0 || reading == Reading::Paged)?,
        };
        if version < self.store.horizon() {
            return Err(Failure::expired(match token {
                Some(_) => "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter.".to_owned(),
                None => "The resourceVersion for the provided list is too old.".to_owned(),
            }));
        }
        let after = token.map(|token| (token.namespace, token.name));
        let mut items = Vec::new();
        let mut last = None;
        let mut remaining = 0;
        let (group, namespace) = (event::storage_group(kind), request.path.namespace.as_str());
        let past;
        let objects: Vec<(&Key, &Arc<Value>)> = if version == self.store.version() {
            self.store.of_kind(group, &kind.plural, namespace).collect()
        } else {
            past = self.store.at_version(version, group, &kind.plural);
            let is_meant = |key: &Key| namespace.is_empty() || key.namespace == namespace;
            past.iter().filter(|(key, _)| is_meant(key)).collect()
        };
        for (key, stored) in objects {
            let is_before = |(namespace, name): &(String, String)| {
                (&key.namespace, &key.name) <= (namespace, name)
            };
            if after.as_ref().is_some_and(is_before) {
                continue;
            }
            kind.check_stored(stored)?;
            let item = kind.item(stored);
            if !selector.matches(item.object()) {
                continue;
            }
            match limit > 0 && items.len() == limit {
                true => remaining += 1,
                false => {
                    items.push(item);
                    last = Some(key);
                }
            }
        }
        let mut metadata = json!({"resourceVersion": version.to_string()});
        if let (Some(last), 1..) = (last, remaining) {
            metadata["continue"] = next_page(version, last).into();
            if selector.is_empty() {
                metadata["remainingItemCount"] = remaining.into();
            }
        }
        Ok(Page { metadata, items })
    }

    fn version_to_list(&self, call: &Call, is_paged: bool) -> Result<u64> {
        let newest = self.store.version();
        let wanted = match call.param("resourceVersion") {
            "" | "0" => return Ok(newest),
            text => parse_version(text).map_err(bad_version)?,
        };
        if wanted > newest {
            return Err(too_large(wanted, newest));
        }
        match call.param("resourceVersionMatch") {
            "Exact" => Ok(wanted),
            "" if is_paged => Ok(wanted),
            _ => Ok(newest),
        }
    }
}

/// A list; only the items of custom kinds say what they are.
pub(crate) fn list(kind: &Kind, mut metadata: Value, mut items: Vec<Value>) -> Value {
    if kind.custom.is_some() {
        if metadata["continue"].is_null() {
            metadata["continue"] = "".into();
        }
    } else {
        for item in items.iter_mut().filter_map(Value::as_object_mut) {
            item.shift_remove("apiVersion");
            item.shift_remove("kind");
        }
    }
    json!({
        "kind": kind.list_kind(),
        "apiVersion": kind.api_version(),
        "metadata": metadata,
        "items": items,
    })
}

/// A version in a query, or what is wrong with it.
pub(crate) fn parse_version(text: &str) -> Result<u64, String> {
    if text.is_empty() {
        return Ok(0);
    }
    text.parse().map_err(|_| {
        format!("resourceVersion: Invalid value: {text:?}: strconv.ParseUint: parsing {text:?}: invalid syntax")
    })
}

pub(crate) fn bad_version(wrong: String) -> Failure {
    Failure::bad_request(format!("invalid resource version: {wrong}"))
}

pub(crate) fn too_large(wanted: u64, newest: u64) -> Failure {
    let cause = Cause {
        reason: "ResourceVersionTooLarge",
        message: "Too large resource version".into(),
        field: String::new(),
    };
    let text = format!("Timeout: Too large resource version: {wanted}, current: {newest}");
    Failure::timeout(text, 1).with_causes(vec![cause])
}

/// The token for what comes after a key.
fn next_page(version: u64, last: &Key) -> String {
    let token = Continue {
        version,
        namespace: last.namespace.clone(),
        name: last.name.clone(),
    };
    token.write()
}

/// Where a page ended.
struct Continue {
    version: u64,
    namespace: String,
    name: String,
}

impl Continue {
    /// Opaque to clients; hexadecimal JSON.
    fn write(&self) -> String {
        let text = json!([self.version, self.namespace, self.name]).to_string();
        text.bytes().map(|byte| format!("{byte:02x}")).collect()
    }

    fn read(text: &str) -> Result<Option<Self>> {
        if text.is_empty() {
            return Ok(None);
        }
        let wrong = |why: &str| {
            let text = format!("invalid continue token: continue key is not valid: {why}");
            Failure::bad_request(text)
        };
        let bytes = (0..text.len()).step_by(2).map(|at| {
            text.get(at..at + 2)
                .and_then(|digits| u8::from_str_radix(digits, 16).ok())
        });
        let token = bytes
            .collect::<Option<Vec<u8>>>()
            .and_then(|bytes| serde_json::from_slice::<(u64, String, String)>(&bytes).ok());
        match token {
            Some((version, namespace, name)) => Ok(Some(Self {
                version,
                namespace,
                name,
            })),
            None => Err(wrong("illegal base64 data at input byte 0")),
        }
    }
}
