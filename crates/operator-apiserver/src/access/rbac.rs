//! [Authorization] of impersonated users by the Roles, ClusterRoles and bindings in the store. The administrator may do anything.
//!
//! [Authorization]: https://kubernetes.io/docs/reference/access-authn-authz/rbac/

use serde_json::Value;

use crate::kinds::resource::{
    CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, NAMESPACES, ROLE_BINDINGS, ROLES, Resource,
};
use crate::model::json::items;
use crate::model::{Failure, Key, Kind, Result};
use crate::request::{Call, Request, ResourcePath, User};
use crate::store::Store;

/// The attributes of a request for authorization.
#[derive(Clone, Debug)]
pub(crate) enum Attempt<'a> {
    Resource {
        verb: &'a str,
        path: &'a ResourcePath,
    },
    Path {
        verb: &'a str,
        path: &'a str,
    },
}

/// Rejects a request that the caller is not permitted to make.
pub(crate) fn authorize(store: &Store, call: &Call, verb: &str, path: &ResourcePath) -> Result<()> {
    let Some(user) = &call.user else {
        return Ok(());
    };
    let mut path = path.clone();
    if (&*path.group, &*path.plural) == NAMESPACES && !path.name.is_empty() {
        // RBAC treats a Namespace as an object in the namespace of its name.
        path.namespace.clone_from(&path.name);
    }
    if path.name.is_empty() && matches!(verb, "list" | "watch") {
        // A list or watch of one name is authorized like a request for that name.
        let name = call
            .param("fieldSelector")
            .split(',')
            .find_map(|term| term.strip_prefix("metadata.name="));
        name.unwrap_or_default()
            .trim_start_matches('=')
            .clone_into(&mut path.name);
    }
    if allows(store, user, &Attempt::Resource { verb, path: &path }) {
        Ok(())
    } else {
        Err(refusal(user, verb, &path))
    }
}

/// Rejects a request to a path that is not a resource, such as `/version`, if the caller is not permitted to make it.
pub(crate) fn authorize_path(store: &Store, call: &Call) -> Result<()> {
    let Some(user) = &call.user else {
        return Ok(());
    };
    let verb = call.method.as_str().to_lowercase();
    if allows(
        store,
        user,
        &Attempt::Path {
            verb: &verb,
            path: &call.path,
        },
    ) {
        Ok(())
    } else {
        Err(Failure::forbidden_path(format!(
            "forbidden: User {:?} cannot {verb} path {:?}",
            user.name, call.path
        )))
    }
}

/// An apply that creates an object also needs the permission `create`.
pub(crate) fn authorize_create_on_apply(store: &Store, request: &Request<'_>) -> Result<()> {
    let path = ResourcePath {
        name: String::new(),
        ..request.path.clone()
    };
    let Some(user) = &request.call.user else {
        return Ok(());
    };
    if allows(
        store,
        user,
        &Attempt::Resource {
            verb: "create",
            path: &path,
        },
    ) {
        Ok(())
    } else {
        Err(refusal(user, "create", request.path))
    }
}

/// Whether a user has a permission for a resource.
pub(crate) fn may(store: &Store, user: &User, verb: &str, path: &ResourcePath) -> bool {
    allows(store, user, &Attempt::Resource { verb, path })
}

/// Whether a rule that is bound to the user permits the request.
pub(crate) fn allows(store: &Store, user: &User, attempt: &Attempt<'_>) -> bool {
    reason(store, user, attempt).is_some()
}

/// The reason why the user has the permission; empty for an administrator.
pub(crate) fn reason(store: &Store, user: &User, attempt: &Attempt<'_>) -> Option<String> {
    if user.groups.iter().any(|group| group == "system:masters") {
        return Some(String::new());
    }
    let namespace = match attempt {
        Attempt::Resource { path, .. } => path.namespace.as_str(),
        Attempt::Path { .. } => "",
    };
    let cluster = store.of_kind(CLUSTER_ROLE_BINDINGS, "");
    let mut bindings: Vec<(&Value, &str)> = cluster.map(|(_, binding)| (&**binding, "")).collect();
    if !namespace.is_empty() {
        let local = store.of_kind(ROLE_BINDINGS, namespace);
        bindings.extend(local.map(|(_, binding)| (&**binding, namespace)));
    }
    bindings.into_iter().find_map(|(binding, namespace)| {
        let subject =
            items(&binding["subjects"]).find(|subject| is_subject(subject, user, namespace))?;
        let rules = rules(store, binding, namespace);
        let covers = rules.iter().any(|rule| covers(rule, attempt));
        covers.then(|| describe(binding, subject, namespace))
    })
}

/// The rules of the role to which a binding refers.
pub(crate) fn rules(store: &Store, binding: &Value, namespace: &str) -> Vec<Value> {
    let role = &binding["roleRef"];
    let (resource, namespace) = role_resource(role, namespace);
    let name = role["name"].as_str().unwrap_or_default();
    let Some(role) = store.find(&Key::new(resource, namespace, name)) else {
        return Vec::new();
    };
    let selectors = role["aggregationRule"]["clusterRoleSelectors"].as_array();
    let mut rules = role["rules"].as_array().cloned().unwrap_or_default();
    for selector in selectors.into_iter().flatten() {
        for (_, other) in store.of_kind(CLUSTER_ROLES, "") {
            let labels = &other["metadata"]["labels"];
            let wanted = selector["matchLabels"].as_object();
            if wanted.is_some_and(|wanted| wanted.iter().all(|(k, v)| labels[k.as_str()] == *v)) {
                rules.extend(other["rules"].as_array().cloned().unwrap_or_default());
            }
        }
    }
    rules
}

/// The kind and namespace of the role to which a binding in a namespace refers.
pub(crate) fn role_resource<'a>(role: &Value, namespace: &'a str) -> (Resource, &'a str) {
    match role["kind"].as_str() {
        Some("Role") => (ROLES, namespace),
        _ => (CLUSTER_ROLES, ""),
    }
}

/// Formats the binding that grants a permission as the real server does.
fn describe(binding: &Value, subject: &Value, namespace: &str) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let in_namespace = |name: String, namespace: &str| match namespace {
        "" => name,
        namespace => format!("{name}/{namespace}"),
    };
    let kind = if namespace.is_empty() {
        "ClusterRoleBinding"
    } else {
        "RoleBinding"
    };
    let name = in_namespace(text(&binding["metadata"]["name"]), namespace);
    let role = &binding["roleRef"];
    let subject_name = match text(&subject["namespace"]).as_str() {
        "" => text(&subject["name"]),
        namespace => format!("{}/{namespace}", text(&subject["name"])),
    };
    format!(
        "RBAC: allowed by {kind} {name:?} of {} {:?} to {} {subject_name:?}",
        text(&role["kind"]),
        text(&role["name"]),
        text(&subject["kind"]),
    )
}

/// Whether a subject of a binding is the user. A ServiceAccount without a namespace is in that of the binding.
fn is_subject(subject: &Value, user: &User, binding_namespace: &str) -> bool {
    let name = subject["name"].as_str().unwrap_or_default();
    match subject["kind"].as_str() {
        Some("User") => user.name == name,
        Some("Group") => user.groups.iter().any(|group| group == name),
        Some("ServiceAccount") => {
            let namespace = subject["namespace"].as_str().unwrap_or(binding_namespace);
            user.name == format!("system:serviceaccount:{namespace}:{name}")
        }
        _ => false,
    }
}

/// Whether a rule permits a request.
fn covers(rule: &Value, attempt: &Attempt<'_>) -> bool {
    let list =
        |field: &str| -> Vec<&str> { items(&rule[field]).filter_map(Value::as_str).collect() };
    let has = |field: &str, wanted: &str| {
        list(field)
            .iter()
            .any(|found| *found == "*" || *found == wanted)
    };
    match attempt {
        Attempt::Path { verb, path } => {
            has("verbs", verb)
                && list("nonResourceURLs")
                    .iter()
                    .any(|url| match url.strip_suffix('*') {
                        Some(prefix) => path.starts_with(prefix),
                        None => url == path,
                    })
        }
        Attempt::Resource { verb, path } => {
            let resource = with_subresource(path);
            let wildcard = path.subresource.as_ref().map(|name| format!("*/{name}"));
            let names = list("resourceNames");
            has("verbs", verb)
                && has("apiGroups", &path.group)
                && (has("resources", &resource)
                    || wildcard
                        .is_some_and(|wildcard| list("resources").contains(&wildcard.as_str())))
                && (names.is_empty() || names.contains(&path.name.as_str()))
        }
    }
}

fn with_subresource(path: &ResourcePath) -> String {
    match &path.subresource {
        Some(subresource) => format!("{}/{subresource}", path.plural),
        None => path.plural.clone(),
    }
}

/// The error `Forbidden`, with the message of the real server.
fn refusal(user: &User, verb: &str, path: &ResourcePath) -> Failure {
    let kind = Kind::named((&path.group, &path.plural));
    let name = match path.name.as_str() {
        "" => String::new(),
        name => format!(" {name:?}"),
    };
    let place = match path.namespace.as_str() {
        "" => "at the cluster scope".to_owned(),
        namespace => format!("in the namespace {namespace:?}"),
    };
    let message = format!(
        "{}{name} is forbidden: User {:?} cannot {verb} resource {:?} in API group {:?} {place}",
        kind.qualified(),
        user.name,
        with_subresource(path),
        path.group,
    );
    Failure::forbidden(&kind, &path.name, message)
}
