//! `DELETE` of one object and of collections: preconditions, propagation, finalizers.

use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};

use super::kind::Kind;
use super::list::List;
use super::metadata::{self, finalizers, is_deleting, name, text};
use super::read::Reading;
use super::request::Call;
use super::status::{Cause, Failure, Result};
use super::store::Key;
use super::{Reply, Request, State, clock, crd, decode, go, namespace};

/// [DeleteOptions], from the body or the query.
///
/// [DeleteOptions]: https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/delete-options/
#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    pub propagation: Option<Propagation>,
    /// Whether dependants are left alone where nothing else is chosen, as those of Jobs and ReplicationControllers are.
    pub orphans: bool,
    /// Whether `orphanDependents` is given, and is false.
    pub spares_orphans: bool,
    pub grace: Option<i64>,
    pub dry_run: bool,
    pub uid: Option<String>,
    pub resource_version: Option<String>,
}

/// What happens to the objects that an object owns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Propagation {
    Background,
    Foreground,
    Orphan,
}

pub(crate) const FOREGROUND: &str = "foregroundDeletion";
pub(crate) const ORPHAN: &str = "orphan";

/// What became of an object.
pub(crate) struct Deleted {
    pub object: Value,
    pub is_gone: bool,
}

impl Options {
    /// Without waiting for anything but finalizers.
    pub fn now() -> Self {
        Self {
            grace: Some(0),
            ..Self::default()
        }
    }

    fn read(request: &Request<'_>) -> Result<Self> {
        let call = request.call;
        // A body stands for the whole query.
        let mut sent = match call.body.is_empty() {
            true => of_query(call)?,
            false => call.options(request.kind)?,
        };
        decode::options(&mut sent).map_err(|wrong| Failure::bad_request(wrong.decoded))?;
        check_options(&sent)?;
        let propagation = match sent["propagationPolicy"].as_str().unwrap_or_default() {
            "" if sent["orphanDependents"] == true => Some(Propagation::Orphan),
            "" if sent["orphanDependents"] == false => Some(Propagation::Background),
            "" => None,
            "Background" => Some(Propagation::Background),
            "Foreground" => Some(Propagation::Foreground),
            "Orphan" => Some(Propagation::Orphan),
            other => {
                let text = format!(
                    "Unsupported value: {other:?}: supported values: \"Foreground\", \"Background\", \"Orphan\", \"nil\""
                );
                let cause = Cause::unsupported("propagationPolicy", text);
                return Err(Failure::invalid_options("DeleteOptions", vec![cause]));
            }
        };
        let is_job = request.kind.is("batch", "jobs");
        let orphans = is_job || request.kind.is("", "replicationcontrollers");
        if propagation.is_none() && is_job {
            call.warn("child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning");
        }
        let precondition = |name: &str| sent["preconditions"][name].as_str().map(str::to_owned);
        Ok(Self {
            propagation,
            orphans,
            spares_orphans: sent["orphanDependents"] == false,
            grace: sent["gracePeriodSeconds"].as_i64(),
            dry_run: sent["dryRun"][0] == "All",
            uid: precondition("uid"),
            resource_version: precondition("resourceVersion"),
        })
    }
}

/// The options that a query has.
fn of_query(call: &Call) -> Result<Value> {
    let mut options = json!({});
    let given = |name: &str| Some(call.param(name)).filter(|text| !text.is_empty());
    if let Some(grace) = given("gracePeriodSeconds") {
        let seconds = go::parse_int(grace).map_err(Failure::bad_request)?;
        options["gracePeriodSeconds"] = seconds.into();
    }
    if given("orphanDependents").is_some() {
        options["orphanDependents"] = call.flag("orphanDependents").into();
    }
    if let Some(policy) = call.query.get("propagationPolicy") {
        options["propagationPolicy"] = policy.as_str().into();
    }
    if let Some(dry_run) = call.query.get("dryRun") {
        options["dryRun"] = json!([dry_run]);
    }
    for name in ["uid", "resourceVersion"] {
        if let Some(wanted) = given(name) {
            options["preconditions"][name] = wanted.into();
        }
    }
    Ok(options)
}

impl State {
    pub(crate) fn delete(&mut self, request: &Request<'_>) -> Result<Reply> {
        let options = Options::read(request)?;
        let (kind, name) = (request.kind, &request.path.name);
        let deleted = self.delete_one(kind, &request.key(name), &options)?;
        if !deleted.is_gone && options.spares_orphans {
            let object = kind.present(&deleted.object);
            return Ok(Reply::Object { code: 202, object });
        }
        if !deleted.is_gone || returns_object(kind) {
            return Ok(Reply::ok(kind.present(&deleted.object)));
        }
        let mut details = json!({"name": name});
        if !kind.group.is_empty() {
            details["group"] = kind.group.as_str().into();
        }
        details["kind"] = kind.plural.as_str().into();
        details["uid"] = text(&deleted.object, "uid").into();
        Ok(Reply::ok(json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Success",
            "details": details,
        })))
    }

    pub(crate) fn delete_collection(&mut self, request: &Request<'_>) -> Result<Reply> {
        let options = Options::read(request)?;
        // Without a limit too the real server reads a collection in pages, though to the last one.
        let mut page = self.page(request, Reading::Paged)?;
        for item in &page.items {
            let key = request.key(name(item.object()));
            if self.store.find(&key).is_some() {
                self.delete_one(request.kind, &key, &options)?;
            }
        }
        page.metadata["resourceVersion"] = self.store.version().to_string().into();
        // Those of a collection are shown as they were.
        let list = List::new(request.kind, page.metadata, page.items);
        Ok(Reply::ok(list.into_value()))
    }

    /// Removes an object, or marks it as being deleted when something holds it.
    pub(crate) fn delete_one(
        &mut self,
        kind: &Kind,
        key: &Key,
        options: &Options,
    ) -> Result<Deleted> {
        let Some(live) = self.store.find(key) else {
            return Err(Failure::not_found(kind, &key.name));
        };
        kind.check_stored(&live)?;
        match kind.is("", "namespaces") || crd::is_definition(kind) {
            true => check_store_preconditions(kind, &live, options)?,
            false => check_preconditions(kind, &live, options)?,
        }
        if kind.is("", "namespaces") && namespace::is_immortal(&key.name) {
            let text = format!(
                "namespaces {:?} is forbidden: this namespace may not be deleted",
                key.name
            );
            return Err(Failure::forbidden(kind, &key.name, text));
        }
        let mut object = Value::clone(&live);
        let is_chosen = finalizers(&object)
            .iter()
            .any(|name| [FOREGROUND, ORPHAN].contains(name));
        let usual = (options.orphans && !is_chosen).then_some(Propagation::Orphan);
        match is_event(kind) {
            // Nothing ever waits for what they own.
            true => propagate(&mut object, Some(Propagation::Background)),
            false => propagate(&mut object, options.propagation.or(usual)),
        }
        if kind.is("", "namespaces") {
            namespace::terminate(&mut object);
        }
        if crd::is_definition(kind) {
            crd::terminate(&mut object);
        }
        let grace = grace(kind, &object, options);
        let is_held = !finalizers(&object).is_empty() || self.holds(kind, &object);
        if !is_held && grace == 0 {
            if kind.is("", "pods") {
                mark(&mut object, grace);
                // Watches see a pod marked before it is gone.
                if !options.dry_run && !is_deleting(&live) {
                    self.put(key.clone(), object.clone())?;
                }
            }
            if !options.dry_run
                && let Some(last) = self.remove(key)
            {
                object["metadata"]["resourceVersion"] = last["metadata"]["resourceVersion"].clone();
            }
            return Ok(Deleted {
                object,
                is_gone: true,
            });
        }
        if is_deleting(&object) {
            if kind.is("", "pods") {
                shorten(&mut object, options.grace);
            }
        } else {
            match kind.is("", "namespaces") || crd::is_definition(kind) {
                true => metadata::set(&mut object, "deletionTimestamp", metadata::now()),
                false => mark(&mut object, grace),
            }
        }
        if object != *live && !options.dry_run {
            let marked = kind.to_storage(kind.present(&object));
            object = Value::clone(&*self.put(key.clone(), marked)?);
            self.unsettled = true;
        }
        Ok(Deleted {
            object,
            is_gone: false,
        })
    }

    /// Whether something else than `metadata.finalizers` keeps an object that is being deleted.
    pub(crate) fn holds(&self, kind: &Kind, object: &Value) -> bool {
        kind.is("", "namespaces")
            && object["spec"]["finalizers"]
                .as_array()
                .is_some_and(|list| !list.is_empty())
    }
}

/// Marks an object as being deleted in so many seconds.
fn mark(object: &mut Value, grace: i64) {
    if !is_deleting(object)
        && let Some(generation) = object["metadata"]["generation"].as_i64()
    {
        metadata::set(object, "generation", generation + 1);
    }
    metadata::set(object, "deletionTimestamp", metadata::after(grace));
    metadata::set(object, "deletionGracePeriodSeconds", grace);
}

/// Writes the choice of propagation into the finalizers, where the garbage collector finds it.
fn propagate(object: &mut Value, propagation: Option<Propagation>) {
    let Some(propagation) = propagation else {
        return;
    };
    let chosen = match propagation {
        Propagation::Background => None,
        Propagation::Foreground => Some(FOREGROUND),
        Propagation::Orphan => Some(ORPHAN),
    };
    let has = finalizers(object);
    let is_there = |name: &str| has.contains(&name) == (chosen == Some(name));
    if is_there(FOREGROUND) && is_there(ORPHAN) {
        return;
    }
    let others = has
        .into_iter()
        .filter(|name| ![FOREGROUND, ORPHAN].contains(name));
    let names: Vec<String> = others.chain(chosen).map(str::to_owned).collect();
    let value = if names.is_empty() {
        Value::Null
    } else {
        names.into()
    };
    metadata::set(object, "finalizers", value);
}

/// Only a pod that runs somewhere is given time.
fn grace(kind: &Kind, object: &Value, options: &Options) -> i64 {
    let is_running = kind.is("", "pods")
        && object["spec"]["nodeName"]
            .as_str()
            .is_some_and(|node| !node.is_empty())
        && !matches!(
            object["status"]["phase"].as_str(),
            Some("Failed" | "Succeeded")
        );
    if !is_running {
        return 0;
    }
    let own = object["spec"]["terminationGracePeriodSeconds"].as_i64();
    match options.grace.or(own).unwrap_or(30) {
        ..0 => 1,
        seconds => seconds,
    }
}

/// Gives an object that is being deleted less time, where it is asked for.
fn shorten(object: &mut Value, wanted: Option<i64>) {
    let had = object["metadata"]["deletionGracePeriodSeconds"].as_i64();
    let (Some(had), Some(wanted)) = (had, wanted.map(|it| if it < 0 { 1 } else { it })) else {
        return;
    };
    let end = text(object, "deletionTimestamp").parse::<Timestamp>();
    if wanted < had
        && let Ok(end) = end
        && let Ok(end) = Timestamp::from_second(end.as_second() - had + wanted)
    {
        metadata::set(object, "deletionTimestamp", clock::text(end));
        metadata::set(object, "deletionGracePeriodSeconds", wanted);
    }
}

fn check_options(sent: &Value) -> Result<()> {
    let kind = sent["kind"].as_str().unwrap_or_default();
    if !matches!(kind, "" | "DeleteOptions") {
        let version = sent["apiVersion"].as_str().unwrap_or_default();
        return Err(Failure::bad_request(format!(
            "no kind {kind:?} is registered for version {version:?} in scheme \"pkg/runtime/scheme.go:111\""
        )));
    }
    let dry_run = &sent["dryRun"];
    let mut wanted = dry_run.as_array().into_iter().flatten();
    if wanted.any(|it| it != "All") {
        let text = format!("Unsupported value: {dry_run}: supported values: \"All\"");
        let cause = Cause::unsupported("dryRun", text);
        return Err(Failure::invalid_options("DeleteOptions", vec![cause]));
    }
    let policy = &sent["propagationPolicy"];
    if policy == "" {
        let text = "Unsupported value: \"\": supported values: \"Foreground\", \"Background\", \"Orphan\", \"nil\"";
        let cause = Cause::unsupported("propagationPolicy", text);
        return Err(Failure::invalid_options("DeleteOptions", vec![cause]));
    }
    if policy.is_string() && sent["orphanDependents"].is_boolean() {
        let text = format!(
            "Invalid value: {policy}: orphanDependents and deletionPropagation cannot be both set"
        );
        let cause = Cause::invalid("propagationPolicy", text);
        return Err(Failure::invalid_options("DeleteOptions", vec![cause]));
    }
    Ok(())
}

/// The same of kinds that the server marks without the usual steps.
fn check_store_preconditions(kind: &Kind, live: &Value, options: &Options) -> Result<()> {
    let wanted = [
        ("UID", &options.uid, "uid"),
        (
            "ResourceVersion",
            &options.resource_version,
            "resourceVersion",
        ),
    ];
    for (what, wanted, field) in wanted {
        let has = text(live, field);
        if let Some(wanted) = wanted.as_deref().filter(|wanted| *wanted != has) {
            let why = format!(
                "Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {has}"
            );
            return Err(Failure::conflict(kind, name(live), &why));
        }
    }
    Ok(())
}

fn check_preconditions(kind: &Kind, live: &Value, options: &Options) -> Result<()> {
    let refuse = |why: String| Err(Failure::precondition(kind, name(live), &why));
    if let Some(uid) = &options.uid
        && uid != text(live, "uid")
    {
        return refuse(format!(
            "the UID in the precondition ({uid}) does not match the UID in record ({}). The object might have been deleted and then recreated",
            text(live, "uid")
        ));
    }
    if let Some(version) = &options.resource_version
        && version != text(live, "resourceVersion")
    {
        return refuse(format!(
            "the ResourceVersion in the precondition ({version}) does not match the ResourceVersion in record ({}). The object might have been modified",
            text(live, "resourceVersion")
        ));
    }
    Ok(())
}

fn is_event(kind: &Kind) -> bool {
    kind.is("", "events") || kind.is("events.k8s.io", "events")
}

/// The built-in kinds that answer with the deleted object instead of a Status.
fn returns_object(kind: &Kind) -> bool {
    match kind.group.as_str() {
        "" => [
            "namespaces",
            "persistentvolumeclaims",
            "persistentvolumes",
            "pods",
            "podtemplates",
            "resourcequotas",
            "serviceaccounts",
            "services",
        ]
        .contains(&kind.plural.as_str()),
        "storage.k8s.io" => kind.plural != "csistoragecapacities",
        "resource.k8s.io" => true,
        _ => false,
    }
}
