//! The user's cluster: the requests of an uninstallation, each made by the user's kubectl, with errors that name the request.
//!
//! Requests for objects name their path, so that they depend neither on what kubectl remembers of the cluster nor on its formats.

use std::{
    io::Write,
    process::{Command, Output, Stdio},
};

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::{Object, UninstallError, object::collection};
use crate::operator::ResourceType;

/// The maximum number of objects in a page of a list.
const PAGE: u32 = 500;

/// The prefix of kubectl's own errors, which those of the server and of the connection do not have.
const ERROR_PREFIX: &str = "error: ";

/// An API server, with the permissions of the user.
pub struct Cluster {
    /// The URL of the API server.
    pub server: String,
    /// The context of the kubeconfig.
    pub context: String,
}

#[derive(Deserialize)]
struct Item {
    metadata: Metadata,
}

/// The fields of an object's metadata that matter here.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Metadata {
    pub name: String,
    pub namespace: Option<String>,
    pub uid: String,
    #[serde(default)]
    pub finalizers: Vec<String>,
    pub deletion_timestamp: Option<String>,
}

#[derive(Deserialize)]
struct List {
    #[serde(default)]
    metadata: ListMetadata,
    items: Vec<Item>,
}

#[derive(Default, Deserialize)]
struct ListMetadata {
    #[serde(default, rename = "continue")]
    token: String,
}

impl Cluster {
    /// The cluster of a context, or of the current one, if its API server answers.
    pub fn connect(context: Option<&str>) -> Result<Self, UninstallError> {
        let viewed = kubectl(&["config", "view", "--output=json"], "")?;
        if !viewed.status.success() {
            let text = printed(&viewed);
            let why = text.strip_prefix(ERROR_PREFIX).unwrap_or(&text);
            return Err(UninstallError::Kubeconfig(why.to_owned()));
        }
        let config: Value = serde_json::from_slice(&viewed.stdout)
            .map_err(|error| UninstallError::Kubeconfig(error.to_string()))?;
        let cluster = Self::of(&config, context)?;
        let version = cluster.get::<Value>("get /version".to_owned(), "/version");
        // every user may read the version, so a refusal means that no other request would succeed
        let why = match version {
            Ok(Some(_)) => return Ok(cluster),
            Ok(None) => "it is not an API server".to_owned(),
            Err(UninstallError::Refused { message, .. }) => message,
            Err(error) => return Err(error),
        };
        Err(cluster.unreachable(why))
    }

    /// The cluster of a context in a kubeconfig.
    fn of(config: &Value, context: Option<&str>) -> Result<Self, UninstallError> {
        let named = |field: &str, name: &str| {
            let entries = config[field].as_array().into_iter().flatten();
            entries.clone().find(|entry| entry["name"] == name)
        };
        let Some(chosen) = context
            .or(config["current-context"].as_str())
            .filter(|name| !name.is_empty())
        else {
            return Err(UninstallError::Kubeconfig(
                "it has no current context".to_owned(),
            ));
        };
        let Some(context) = named("contexts", chosen) else {
            let known = config["contexts"].as_array().into_iter().flatten();
            let known: Vec<&str> = known.filter_map(|it| it["name"].as_str()).collect();
            return Err(UninstallError::Context {
                name: chosen.to_owned(),
                known: match known.as_slice() {
                    [] => "none".to_owned(),
                    known => known.join(", "),
                },
            });
        };
        let cluster = context["context"]["cluster"]
            .as_str()
            .and_then(|name| named("clusters", name));
        match cluster.and_then(|cluster| cluster["cluster"]["server"].as_str()) {
            Some(server) => Ok(Self {
                server: server.trim_end_matches('/').to_owned(),
                context: chosen.to_owned(),
            }),
            None => Err(UninstallError::Kubeconfig(format!(
                "the context `{chosen}` has no cluster"
            ))),
        }
    }

    /// An object, if it exists and its kind is served.
    pub(super) fn read(&self, object: &Object) -> Result<Option<Value>, UninstallError> {
        self.get(format!("get {object}"), &object.path())
    }

    /// Deletes the object with this uid. The propagation policy decides about its dependents.
    pub(super) fn delete(
        &self,
        object: &Object,
        uid: &str,
        policy: &str,
    ) -> Result<(), UninstallError> {
        let options = json!({
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": {"uid": uid},
            "propagationPolicy": policy,
        });
        let arguments = ["delete", "--raw", &object.path(), "--filename=-"];
        self.run(format!("delete {object}"), &arguments, &options.to_string())?;
        Ok(())
    }

    /// All objects of a kind, in a namespace or in all, which a label selector may limit; none if the kind is not served.
    pub(super) fn list(
        &self,
        resource: &ResourceType,
        namespace: Option<&str>,
        selector: &str,
    ) -> Result<Vec<Metadata>, UninstallError> {
        let path = collection(resource, namespace);
        let mut objects = vec![];
        let escaped =
            |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
        let all = format!("limit={PAGE}&labelSelector={}", escaped(selector));
        let mut query = all.clone();
        loop {
            let action = format!("list {}", resource.plural);
            let page = self.get::<List>(action, &format!("{path}?{query}"))?;
            let Some(page) = page else {
                return Ok(objects);
            };
            objects.extend(page.items.into_iter().map(|item| item.metadata));
            let token = page.metadata.token;
            if token.is_empty() {
                return Ok(objects);
            }
            query = format!("{all}&continue={}", escaped(&token));
        }
    }

    /// Gets a path of the API; `None` if it does not exist.
    pub(super) fn get<T: DeserializeOwned>(
        &self,
        action: String,
        path: &str,
    ) -> Result<Option<T>, UninstallError> {
        let found = self.run(action, &["get", "--raw", path], "")?;
        found.map(|text| self.parsed(&text)).transpose()
    }

    fn parsed<T: DeserializeOwned>(&self, text: &[u8]) -> Result<T, UninstallError> {
        serde_json::from_slice(text)
            .map_err(|error| self.unreachable(format!("it answers as no API server: {error}")))
    }

    /// Runs kubectl, and returns its output; `None` if the object does not exist, or is a new one with another uid.
    fn run(
        &self,
        action: String,
        arguments: &[&str],
        input: &str,
    ) -> Result<Option<Vec<u8>>, UninstallError> {
        let context = format!("--context={}", self.context);
        let output = kubectl(&[&[context.as_str()], arguments].concat(), input)?;
        if output.status.success() {
            return Ok(Some(output.stdout));
        }
        let text = printed(&output);
        match (refusal(&text), text.strip_prefix(ERROR_PREFIX)) {
            (Some(("NotFound" | "Conflict", _)), _) => Ok(None),
            (Some((reason, message)), _) => Err(refused(action, reason, message.to_owned())),
            (None, Some(message)) if message.starts_with("You must be logged in") => {
                Err(UninstallError::Unauthorized(self.server.clone()))
            }
            (None, Some(message)) => Err(refused(action, "", message.to_owned())),
            (None, None) => Err(self.unreachable(text)),
        }
    }

    fn unreachable(&self, why: String) -> UninstallError {
        UninstallError::Unreachable {
            server: self.server.clone(),
            why,
        }
    }
}

fn refused(action: String, reason: &str, message: String) -> UninstallError {
    match reason {
        "Forbidden" => UninstallError::Forbidden { action, message },
        _ if message.contains("conversion webhook") => {
            UninstallError::Conversion { action, message }
        }
        _ => UninstallError::Refused { action, message },
    }
}

/// The reason of an API server, which may be empty, and its message. kubectl prints both as they are, in every language:
/// `Error from server (NotFound): deployments.apps "shop" not found`.
fn refusal(text: &str) -> Option<(&str, &str)> {
    let (reason, message) = text.split_once("Error from server")?.1.split_once(": ")?;
    Some((reason.trim_matches([' ', '(', ')']), message))
}

/// The message that kubectl prints about a failure.
fn printed(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    text.trim().to_owned()
}

/// Runs kubectl, with its own kubeconfig.
fn kubectl(arguments: &[&str], input: &str) -> Result<Output, UninstallError> {
    let child = Command::new("kubectl")
        .args(arguments)
        // the user's preferences may ask before each deletion
        .env("KUBECTL_KUBERC", "false")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = child.map_err(UninstallError::Kubectl)?;
    if let Some(mut stdin) = child.stdin.take() {
        // if kubectl has ended without reading it, it prints why
        let _unread = stdin.write_all(input.as_bytes());
    }
    child.wait_with_output().map_err(UninstallError::Kubectl)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_of_a_refusal_is_read() {
        for (text, read) in [
            ("Error from server (NotFound): no x", ("NotFound", "no x")),
            (
                "Error from server: conversion webhook for x failed: EOF",
                ("", "conversion webhook for x failed: EOF"),
            ),
            (
                "Warning: old\nError from server (Forbidden): a: b",
                ("Forbidden", "a: b"),
            ),
        ] {
            assert_eq!(refusal(text), Some(read), "{text}");
        }
        assert_eq!(refusal("Unable to connect to the server: EOF"), None);
    }
}
