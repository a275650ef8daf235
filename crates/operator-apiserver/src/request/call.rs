//! A parsed request: its path, query, headers and body.

use std::cell::RefCell;
use std::collections::BTreeMap;

use bytes::Bytes;
use http::request::Parts;
use serde_json::Value;

use crate::decode::body;
use crate::model::{Failure, Kind, Result};

/// One request.
pub(crate) struct Call {
    pub method: http::Method,
    pub path: String,
    pub query: BTreeMap<String, String>,
    /// The media type of the body, without parameters.
    pub content_type: String,
    pub accept: String,
    pub agent: String,
    /// The impersonated user; `None` is the administrator.
    pub user: Option<User>,
    pub body: Bytes,
    /// The warnings in the headers of the response.
    pub warnings: RefCell<Vec<String>>,
}

/// An [impersonated] user.
///
/// [impersonated]: https://kubernetes.io/docs/reference/access-authn-authz/user-impersonation/
#[derive(Clone, Debug)]
pub(crate) struct User {
    pub name: String,
    pub groups: Vec<String>,
}

/// The target of a path.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Target {
    Resource(ResourcePath),
    /// `/version`, `/apis/apps`, and the like.
    Other(String),
}

/// `/apis/GROUP/VERSION/namespaces/NAMESPACE/PLURAL/NAME/SUBRESOURCE`; missing parts are empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResourcePath {
    /// The group; empty for the core group.
    pub group: String,
    /// The version, such as `v1`.
    pub version: String,
    /// The plural name of the kind, such as `pods`.
    pub plural: String,
    /// The namespace of the objects.
    pub namespace: String,
    /// The name of the object.
    pub name: String,
    /// The subresource, such as `status`.
    pub subresource: Option<String>,
}

/// The failure for a body with a media type that the kind does not support.
fn unsupported(kind: &Kind) -> Failure {
    const ACCEPTED: [&str; 3] = [
        "application/json",
        "application/yaml",
        "application/vnd.kubernetes.protobuf",
    ];
    Failure::unsupported_media_type(match kind.custom {
        Some(_) => &ACCEPTED[..2],
        None => &ACCEPTED,
    })
}

impl Call {
    pub fn read(parts: &Parts, body: Bytes) -> Self {
        let header = |name: &str| {
            parts
                .headers
                .get(name)
                .and_then(|value| value.to_str().ok())
                .unwrap_or_default()
                .to_owned()
        };
        let given = parts.uri.query().unwrap_or_default();
        let mut query = BTreeMap::new();
        for (name, text) in form_urlencoded::parse(given.as_bytes()).into_owned() {
            // The first of several values counts.
            query.entry(name).or_insert(text);
        }
        let path = match watched(parts.uri.path()) {
            Some((path, name)) => {
                query.insert("watch".into(), "true".into());
                if let Some(name) = name {
                    query.insert("fieldSelector".into(), format!("metadata.name={name}"));
                }
                path
            }
            None => parts.uri.path().to_owned(),
        };
        let content_type = header("content-type");
        let content_type = content_type.split(';').next().unwrap_or_default().trim();
        Self {
            method: parts.method.clone(),
            path,
            query,
            content_type: content_type.to_ascii_lowercase(),
            accept: header("accept"),
            agent: header("user-agent"),
            user: User::read(&parts.headers),
            body,
            warnings: RefCell::default(),
        }
    }

    /// A request that a component of the cluster makes itself, such as a controller.
    pub fn own(agent: &str, method: http::Method, path: String, body: &Value) -> Self {
        Self {
            method,
            path,
            query: BTreeMap::new(),
            content_type: "application/json".to_owned(),
            accept: String::new(),
            agent: agent.to_owned(),
            user: None,
            body: body.to_string().into(),
            warnings: RefCell::default(),
        }
    }

    pub fn warn(&self, text: &str) {
        let mut warnings = self.warnings.borrow_mut();
        if !warnings.iter().any(|known| known == text) {
            warnings.push(text.to_owned());
        }
    }

    pub fn param(&self, name: &str) -> &str {
        self.query.get(name).map(String::as_str).unwrap_or_default()
    }

    /// Whether the query has an option whose value is not false.
    pub fn flag(&self, name: &str) -> bool {
        self.query
            .get(name)
            .is_some_and(|text| text != "0" && !text.eq_ignore_ascii_case("false"))
    }

    pub fn is_dry_run(&self) -> bool {
        self.param("dryRun") == "All"
    }

    pub fn verb(&self, path: &ResourcePath) -> &'static str {
        verb(&self.method, self.flag("watch"), path)
    }

    /// The body of a create or update.
    pub fn object(&self, kind: &Kind) -> Result<Value> {
        match self.content_type.as_str() {
            "" | "application/json" => body::object(kind, &self.body),
            "application/yaml" => body::yaml(&self.body),
            _ => Err(unsupported(kind)),
        }
    }

    /// The body of a deletion.
    pub fn options(&self, kind: &Kind) -> Result<Value> {
        match self.content_type.as_str() {
            "" | "application/json" => body::options(&self.body),
            "application/yaml" => body::yaml(&self.body),
            _ => Err(unsupported(kind)),
        }
    }

    /// The name of the field manager: the one in the query, or that of the program.
    pub fn manager(&self) -> String {
        match self.param("fieldManager") {
            "" => match self.agent.split('/').next().unwrap_or_default() {
                "" => "unknown".to_owned(),
                agent => agent.chars().take(128).collect(),
            },
            given => given.to_owned(),
        }
    }
}

/// The target of the [old path] of a watch: the path of the list, and the name of the object, if the path has one.
///
/// [old path]: https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-uris
pub(crate) fn watched(path: &str) -> Option<(String, Option<String>)> {
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    let (at, rest) = match parts.as_slice() {
        ["api", _, "watch", rest @ ..] => (2, rest),
        ["apis", _, _, "watch", rest @ ..] => (3, rest),
        _ => return None,
    };
    let (list, name) = match rest {
        ["namespaces", _, _, name] => (&rest[..3], Some(*name)),
        ["namespaces", _, _] | [_] => (rest, None),
        [_, name] => (&rest[..1], Some(*name)),
        _ => return None,
    };
    let path = [&parts[..at], list].concat().join("/");
    Some((format!("/{path}"), name.map(str::to_owned)))
}

/// The verb in RBAC rules and request logs.
pub(crate) fn verb(method: &http::Method, is_watch: bool, path: &ResourcePath) -> &'static str {
    match method.as_str() {
        "GET" | "HEAD" if is_watch && path.name.is_empty() => "watch",
        "GET" | "HEAD" if path.name.is_empty() => "list",
        "GET" | "HEAD" => "get",
        "POST" => "create",
        "PUT" => "update",
        "PATCH" => "patch",
        "DELETE" if path.name.is_empty() => "deletecollection",
        "DELETE" => "delete",
        _ => "",
    }
}

impl User {
    /// The administrator, who makes the requests without an impersonated user.
    pub fn administrator() -> Self {
        Self {
            name: "admin".into(),
            groups: ["system:masters", "system:authenticated"]
                .map(str::to_owned)
                .to_vec(),
        }
    }

    fn read(headers: &http::HeaderMap) -> Option<Self> {
        let name = headers.get("impersonate-user")?.to_str().ok()?.to_owned();
        let mut groups: Vec<String> = headers
            .get_all("impersonate-group")
            .iter()
            .filter_map(|group| Some(group.to_str().ok()?.to_owned()))
            .collect();
        let account = name
            .strip_prefix("system:serviceaccount:")
            .and_then(|a| a.split_once(':'));
        if let (Some((namespace, _)), true) = (account, groups.is_empty()) {
            groups.push("system:serviceaccounts".into());
            groups.push(format!("system:serviceaccounts:{namespace}"));
        }
        if name != "system:anonymous" && !groups.iter().any(|g| g == "system:authenticated") {
            groups.push("system:authenticated".into());
        }
        Some(Self { name, groups })
    }
}

impl Target {
    /// Parses a path. Names in Kubernetes need no percent-encoding, so only `%3A` in names of roles is decoded.
    pub fn read(path: &str) -> Self {
        let decoded = path.replace("%3A", ":").replace("%3a", ":");
        let parts: Vec<&str> = decoded.trim_matches('/').split('/').collect();
        let (group, version, rest) = match parts.as_slice() {
            ["api", version, rest @ ..] => ("", *version, rest),
            ["apis", group, version, rest @ ..] => (*group, *version, rest),
            _ => return Self::Other(decoded),
        };
        // `/namespaces/NAME/status` is a subresource of a namespace, and not a collection in it
        let (namespace, rest) = match rest {
            ["namespaces", name, plural, rest @ ..]
                if !(matches!(*plural, "status" | "finalize") && rest.is_empty()) =>
            {
                (*name, [&[*plural], rest].concat())
            }
            rest => ("", rest.to_vec()),
        };
        let (plural, name, subresource) = match rest.as_slice() {
            [plural] => (*plural, "", None),
            [plural, name] => (*plural, *name, None),
            [plural, name, subresource @ ..] => (*plural, *name, Some(subresource.join("/"))),
            [] => return Self::Other(decoded),
        };
        Self::Resource(ResourcePath {
            group: group.to_owned(),
            version: version.to_owned(),
            plural: plural.to_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            subresource,
        })
    }
}

/// The verb and the target of a request, for logs; the path is empty if the target is not a resource.
pub fn target(method: &http::Method, uri: &http::Uri) -> (&'static str, ResourcePath) {
    let is_watch = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes())
        .into_iter()
        .any(|(k, v)| k == "watch" && (v == "true" || v == "1"));
    let (path, is_watch) = match watched(uri.path()) {
        Some((path, _)) => (path, true),
        None => (uri.path().to_owned(), is_watch),
    };
    match Target::read(&path) {
        Target::Resource(path) => (verb(method, is_watch, &path), path),
        Target::Other(_) => ("get", ResourcePath::default()),
    }
}
