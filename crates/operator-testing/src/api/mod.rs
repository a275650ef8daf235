//! The API server in memory: a tower service over one locked state. Requests are answered one at a time, and what follows from a
//! write (garbage collection, the end of a namespace) is done before its answer. Only while webhooks are asked about a request
//! (`admission`) others go on.

mod accept;
mod account_token;
mod address;
mod admission;
mod admit;
mod apply;
mod builtin;
mod cause;
mod clock;
mod crd;
mod decode;
mod defaults;
mod definition;
mod delete;
mod discovery;
mod duplicate;
mod escalation;
mod event;
mod eviction;
mod form;
mod gc;
mod go;
mod json;
mod kind;
mod label;
mod last_applied;
mod list;
mod metadata;
mod name;
mod namespace;
mod naming;
#[cfg(feature = "http")]
mod openapi;
mod options;
mod owner;
mod patch;
mod pod_admission;
mod pod_security;
mod priority;
mod protection;
mod quantity;
mod rbac;
mod read;
mod registry;
mod request;
mod review;
mod scale;
mod selector;
mod service;
mod settle;
mod status;
mod storage;
mod store;
mod strategy;
mod subresource;
#[cfg(feature = "http")]
mod table;
mod time;
mod token;
mod tracking;
mod validate;
mod watch;
mod weight;
#[cfg(feature = "http")]
mod wire;
#[cfg(feature = "workloads")]
mod workload;
mod write;
mod zero;

use std::collections::BTreeSet;

use serde_json::Value;

pub use self::definition::{Refusal, refusals};
#[cfg(feature = "http")]
pub(crate) use self::service::unauthorized;
pub use self::service::{ApiServer, Body};
#[cfg(feature = "workloads")]
pub use self::workload::Workloads;

use self::admission::{Admission, Endpoints};
use self::form::Form;
use self::kind::Kind;
use self::list::List;
use self::registry::Registry;
use self::request::{Call, ResourcePath, Target};
use self::status::{Failure, Result};
use self::store::{Key, Store};
use self::watch::Subscription;

/// The verb and the target of a request, for records; the path is empty for anything but a resource.
pub(crate) fn target(method: &http::Method, uri: &http::Uri) -> (&'static str, ResourcePath) {
    let query = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
    let is_watch = query
        .into_iter()
        .any(|(k, v)| k == "watch" && (v == "true" || v == "1"));
    let (path, is_watch) = match request::watched(uri.path()) {
        Some((path, _)) => (path, true),
        None => (uri.path().to_owned(), is_watch),
    };
    match Target::read(&path) {
        Target::Resource(path) => (request::verb(method, is_watch, &path), path),
        Target::Other(_) => ("get", ResourcePath::default()),
    }
}

/// Everything that the server knows.
#[derive(Clone)]
pub(crate) struct State {
    registry: Registry,
    store: Store,
    /// Whether owners or namespaces may have something to be cleaned up after.
    unsettled: bool,
    /// The objects at which the collector of garbage is to look.
    affected: BTreeSet<Key>,
    /// Whether names of definitions may be free or taken that were not.
    renamed: bool,
    /// Whether owners are only given by those who may.
    minds_owners: bool,
    /// The objects whose stored form has what nobody reads: see `decode::Lost`.
    untidy: BTreeSet<Key>,
    /// Where webhooks are reached.
    endpoints: Endpoints,
    /// How many addresses and ports Services were given.
    allocated: u32,
    /// The controllers of workloads, if they are switched on.
    #[cfg(feature = "workloads")]
    workloads: Option<workload::Controllers>,
}

/// A call to a resource of a known kind.
pub(crate) struct Request<'a> {
    call: &'a Call,
    path: &'a ResourcePath,
    kind: &'a Kind,
}

/// What a call is answered with, other than a [`Failure`].
pub(crate) enum Reply {
    Object { code: u16, object: Value },
    List(Box<List>),
    Text(&'static str),
    Watch(Box<Subscription>),
}

/// How far a call comes under one lock.
pub(crate) enum Served {
    Answered(Reply),
    /// Webhooks are to be asked, which is done without it.
    Asking(Admission),
}

impl Reply {
    fn ok(object: Value) -> Self {
        Self::Object { code: 200, object }
    }

    fn created(object: Value) -> Self {
        Self::Object { code: 201, object }
    }
}

impl Request<'_> {
    /// Where the object of that name is stored.
    fn key(&self, name: &str) -> Key {
        Key {
            group: event::storage_group(self.kind).to_owned(),
            plural: self.kind.plural.clone(),
            namespace: self.path.namespace.clone(),
            name: name.to_owned(),
        }
    }
}

impl State {
    fn new() -> Self {
        let mut state = Self {
            registry: Registry::default(),
            store: Store::default(),
            unsettled: false,
            affected: BTreeSet::new(),
            renamed: false,
            minds_owners: false,
            untidy: BTreeSet::new(),
            endpoints: Endpoints::default(),
            allocated: 0,
            #[cfg(feature = "workloads")]
            workloads: None,
        };
        state.found_namespaces();
        state.found_service();
        state.found_priority_classes();
        state.found_roles();
        state.store.begin();
        state
    }

    fn serve(&mut self, call: &Call, form: Result<Form>) -> Result<Served> {
        self.settled(|state| match Target::read(&call.path) {
            Target::Other(path) => state.serve_other(call, &path, form).map(Served::Answered),
            Target::Resource(path) => state.serve_resource(call, &path, form),
        })
    }

    /// Does something when all that is due by now is done, and what follows from it.
    fn settled<T>(&mut self, act: impl FnOnce(&mut Self) -> T) -> T {
        #[cfg(feature = "workloads")]
        self.advance();
        let result = act(self);
        if self.unsettled {
            self.settle_dependents();
        }
        #[cfg(feature = "workloads")]
        self.work();
        result
    }

    /// Serves a call of the cluster's own parts, which cannot wait for webhooks.
    fn serve_own(&mut self, call: &Call, path: &ResourcePath) -> Result<Reply> {
        match self.serve_resource(call, path, Ok(Form::Whole))? {
            Served::Answered(reply) => Ok(reply),
            Served::Asking(admission) => Err(admission.refused()),
        }
    }

    fn serve_resource(
        &mut self,
        call: &Call,
        path: &ResourcePath,
        form: Result<Form>,
    ) -> Result<Served> {
        let verb = call.verb(path);
        self.authorize(call, verb, path)?;
        let Some(kind) = self.registry.kind(&path.group, &path.version, &path.plural) else {
            return Err(match builtin::has_group(&path.group, &path.version) {
                true => Failure::no_such_resource(),
                false => Failure::no_such_path(),
            });
        };
        if let Some(text) = kind.custom.as_ref().and_then(|it| it.deprecation.as_ref()) {
            call.warn(text);
        }
        if kind.namespaced && path.namespace.is_empty() && !matches!(verb, "list" | "watch")
            || !kind.namespaced && !path.namespace.is_empty()
        {
            return Err(match (path.name.as_str(), &kind.custom) {
                ("", None) => Failure::method_not_allowed(),
                (_, None) => Failure::no_such_resource(),
                _ => Failure::no_such_path(),
            });
        }
        kind.check_method(verb, path)?;
        form?;
        options::check(call, verb)?;
        let request = Request {
            call,
            path,
            kind: &kind,
        };
        if let Some(webhook) = self.webhook_for(&request, verb)? {
            return Admission::begin(&request, verb, webhook).map(Served::Asking);
        }
        let reply = match path.subresource.as_deref() {
            Some(subresource) => self.serve_subresource(&request, subresource, verb),
            None => match review::answer(self, &request) {
                Some(answer) => answer,
                None => self.serve_object(&request, verb),
            },
        };
        reply.map(Served::Answered)
    }

    fn serve_object(&mut self, request: &Request<'_>, verb: &str) -> Result<Reply> {
        match verb {
            "get" => self.get(request),
            "list" => self.list(request),
            "watch" => self.watch(request),
            "create" | "update" | "patch" => self.write_object(request, verb),
            "delete" => self.delete(request),
            "deletecollection" => self.delete_collection(request),
            _ => Err(Failure::method_not_allowed()),
        }
    }

    /// Stores an object, and does what follows at once.
    fn put(&mut self, key: Key, object: Value) -> Result<std::sync::Arc<Value>> {
        let before = self.store.find(&key);
        self.untidy.remove(&key);
        let stored = self.store.put(key.clone(), object);
        if gc::concerns(before.as_deref(), &stored) {
            self.unsettled = true;
            self.affect(&key, before.as_deref(), Some(&stored));
        }
        self.after_put(&key, &stored);
        #[cfg(feature = "workloads")]
        self.notice(&key, &stored);
        Ok(stored)
    }

    /// Removes an object, and does what follows at once.
    fn remove(&mut self, key: &Key) -> Option<std::sync::Arc<Value>> {
        let last = self.store.remove(key)?;
        self.untidy.remove(key);
        self.unsettled = true;
        self.affect(key, Some(&last), None);
        self.after_remove(key);
        #[cfg(feature = "workloads")]
        self.notice(key, &last);
        Some(last)
    }
}
