//! A layer in the client that records each request and its status code, for any server.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use http::{HeaderValue, Response, header};
use tower::{Layer, Service};

use crate::lock;
use operator_apiserver::target;

/// The resources that an operator also writes when it has nothing to reconcile.
pub(crate) const EVENTS_AND_LEASES: [&str; 2] = ["events", "leases"];

/// A recorded request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Request {
    /// The `User-Agent`; `operator-testing` for a client that sends none.
    pub agent: String,
    /// The user: the name that was passed to `client_as`, or empty for the administrator.
    pub user: String,
    /// The verb as in [RBAC rules]: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`.
    ///
    /// [RBAC rules]: https://kubernetes.io/docs/reference/access-authn-authz/authorization/#determine-the-request-verb
    pub verb: &'static str,
    /// The API group; empty for the core group.
    pub group: String,
    /// The plural, for example `deployments`; for paths without a resource, the path.
    pub resource: String,
    /// The subresource, such as `status` or `scale`; may be empty.
    pub subresource: String,
    /// The namespace; empty for cluster-scoped objects, and for lists and watches of all namespaces.
    pub namespace: String,
    /// The name of the object; empty for lists, watches of several objects, and creations.
    pub name: String,
    /// The HTTP status code of the response.
    pub code: u16,
}

impl Request {
    /// Describes an HTTP request, for programs that put their own layer in front of a server. Its code is 0, because there is no response
    /// yet.
    pub fn of<B>(request: &http::Request<B>) -> Self {
        let header = |name: &str| {
            request
                .headers()
                .get(name)
                .and_then(|value| value.to_str().ok())
                .unwrap_or_default()
                .to_owned()
        };
        let (verb, path) = target(request.method(), request.uri());
        let resource = if path.plural.is_empty() {
            request.uri().path().to_owned()
        } else {
            path.plural
        };
        Self {
            agent: header("user-agent"),
            user: header("impersonate-user"),
            verb,
            group: path.group,
            resource,
            subresource: path.subresource.unwrap_or_default(),
            namespace: path.namespace,
            name: path.name,
            code: 0,
        }
    }

    /// What to add to `operator.toml` so that the operator may make the request. Tests run in the folder of the project.
    pub(crate) fn permission(&self) -> String {
        let project = std::fs::read_to_string("operator.toml").unwrap_or_default();
        let resource = match self.subresource.as_str() {
            "" => self.resource.clone(),
            subresource => format!("{}/{subresource}", self.resource),
        };
        let (group, verb) = (&self.group, self.verb);
        format!(
            "under {} in operator.toml, add the kind to owns, watches or reads, or add `rules = [{{ apiGroups = [{group:?}], resources = [{resource:?}], verbs = [{verb:?}] }}]`; then run `cargo operator regenerate`",
            tables(&project)
        )
    }

    /// Whether it is a write, successful or not.
    pub fn is_write(&self) -> bool {
        !matches!(self.verb, "get" | "list" | "watch" | "")
    }

    /// Whether it is a write of something other than events and leases.
    pub(crate) fn is_work(&self) -> bool {
        self.is_write() && !EVENTS_AND_LEASES.contains(&self.resource.as_str())
    }

    /// Whether it has the same verb on the same resource, for any object.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        let what = |request: &Self| {
            let Self {
                verb,
                group,
                resource,
                subresource,
                ..
            } = request.clone();
            (verb, group, resource, subresource)
        };
        what(self) == what(other)
    }
}

impl fmt::Display for Request {
    /// Formats the request, for example `patch memcacheds/status default/sample` or `list memcacheds in default`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { verb, resource, .. } = self;
        write!(f, "{verb} {resource}")?;
        if !self.subresource.is_empty() {
            write!(f, "/{}", self.subresource)?;
        }
        match (self.namespace.as_str(), self.name.as_str()) {
            ("", "") => Ok(()),
            ("", name) => write!(f, " {name}"),
            (namespace, "") => write!(f, " in {namespace}"),
            (namespace, name) => write!(f, " {namespace}/{name}"),
        }
    }
}

/// The tables of `operator.toml` that grant permissions, of those that the project has.
fn tables(project: &str) -> String {
    const TABLES: [&str; 2] = ["[[kind]]", "[[controller]]"];
    let is_present = |table: &&str| project.lines().any(|line| line.trim() == *table);
    let present: Vec<&str> = TABLES.into_iter().filter(is_present).collect();
    match present.as_slice() {
        [] => TABLES.join(" or "),
        present => present.join(" or "),
    }
}

/// The recorded requests of a server.
#[derive(Clone, Debug, Default)]
pub(crate) struct Record {
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Record {
    pub fn requests(&self) -> Vec<Request> {
        lock(&self.requests).clone()
    }

    fn push(&self, request: Request) {
        lock(&self.requests).push(request);
    }

    /// Creates the layer for the clients of `user`, which is empty for the administrator.
    pub fn layer(&self, user: &str) -> RecordLayer {
        RecordLayer {
            record: self.clone(),
            user: user.to_owned(),
        }
    }
}

/// The layer that sets the user and records the requests.
#[derive(Clone)]
pub(crate) struct RecordLayer {
    record: Record,
    user: String,
}

impl<S> Layer<S> for RecordLayer {
    type Service = Recorded<S>;

    fn layer(&self, inner: S) -> Recorded<S> {
        Recorded {
            inner,
            layer: self.clone(),
        }
    }
}

/// A service behind a [`RecordLayer`].
#[derive(Clone)]
pub(crate) struct Recorded<S> {
    inner: S,
    layer: RecordLayer,
}

impl<S, A, B> Service<http::Request<A>> for Recorded<S>
where
    S: Service<http::Request<A>, Response = Response<B>>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: http::Request<A>) -> Self::Future {
        let headers = request.headers_mut();
        if !headers.contains_key(header::USER_AGENT) {
            let agent = HeaderValue::from_static(env!("CARGO_PKG_NAME"));
            headers.insert(header::USER_AGENT, agent);
        }
        if !self.layer.user.is_empty()
            && let Ok(user) = HeaderValue::from_str(&self.layer.user)
        {
            headers.insert("impersonate-user", user);
        }
        let mut recorded = Request::of(&request);
        let record = self.layer.record.clone();
        let answer = self.inner.call(request);
        Box::pin(async move {
            let response = answer.await?;
            recorded.code = response.status().as_u16();
            record.push(recorded);
            Ok(response)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::tables;

    #[test]
    fn the_help_names_the_tables_that_the_project_has() {
        assert_eq!(
            tables("[[controller]]\nkind = \"v1/Pod\"\n"),
            "[[controller]]"
        );
        assert_eq!(tables("[[kind]]\n[[kind.rules]]\n"), "[[kind]]");
        let both = "[[kind]] or [[controller]]";
        assert_eq!(tables("[[controller]]\n[[kind]]\n"), both);
        assert_eq!(tables(""), both);
    }
}
