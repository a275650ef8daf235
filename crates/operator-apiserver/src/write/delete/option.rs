//! The options of a deletion.

use serde_json::{Value, json};

use crate::kinds::rule::field::unsupported;
use crate::kinds::strategy;
use crate::kinds::strategy::Dependents;
use crate::model::json::items;
use crate::model::{Cause, Failure, Result};
use crate::request::{Call, Request};
use crate::{decode, go};

/// The names of the policies, as messages list them.
const POLICIES: [&str; 4] = ["Foreground", "Background", "Orphan", "nil"];

/// [DeleteOptions], from the body or the query.
///
/// [DeleteOptions]: https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/delete-options/
#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    pub propagation: Option<Propagation>,
    /// Whether dependents are orphaned by default, as those of Jobs and ReplicationControllers are.
    pub orphans: bool,
    /// Whether `orphanDependents` is given as false.
    pub refuses_orphans: bool,
    pub grace: Option<i64>,
    pub dry_run: bool,
    pub uid: Option<String>,
    pub resource_version: Option<String>,
}

/// How to handle the dependents of the object.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Propagation {
    Background,
    Foreground,
    Orphan,
}

impl Options {
    /// The options to delete an object immediately, unless it has finalizers.
    pub fn now() -> Self {
        Self {
            grace: Some(0),
            ..Self::default()
        }
    }

    /// Reads the options of a request. Also returns them as they were sent.
    pub fn read(request: &Request<'_>) -> Result<(Self, Value)> {
        let call = request.call;
        // a body replaces the whole query
        let mut sent = if call.body.is_empty() {
            of_query(call)?
        } else {
            call.options(request.kind)?
        };
        decode::options(&mut sent).map_err(|wrong| Failure::bad_request(wrong.decoded))?;
        check_options(&sent)?;
        Ok((Self::of(request, &sent)?, sent))
    }

    /// Reads options whose fields have the right types.
    pub fn of(request: &Request<'_>, sent: &Value) -> Result<Self> {
        let propagation = match sent["propagationPolicy"].as_str().unwrap_or_default() {
            "" if sent["orphanDependents"] == true => Some(Propagation::Orphan),
            "" if sent["orphanDependents"] == false => Some(Propagation::Background),
            "" => None,
            "Background" => Some(Propagation::Background),
            "Foreground" => Some(Propagation::Foreground),
            "Orphan" => Some(Propagation::Orphan),
            other => {
                let cause = unsupported("propagationPolicy", format!("{other:?}"), &POLICIES);
                return Err(Failure::invalid_options("DeleteOptions", vec![cause]));
            }
        };
        let warning = strategy(request.kind).deletion_warning;
        if let Some(warning) = warning.filter(|_| propagation.is_none()) {
            request.call.warn(warning);
        }
        let precondition = |name: &str| sent["preconditions"][name].as_str().map(str::to_owned);
        Ok(Self {
            propagation,
            orphans: strategy(request.kind).dependents == Dependents::Orphaned,
            refuses_orphans: sent["orphanDependents"] == false,
            grace: sent["gracePeriodSeconds"].as_i64(),
            dry_run: sent["dryRun"][0] == "All",
            uid: precondition("uid"),
            resource_version: precondition("resourceVersion"),
        })
    }
}

/// Reads the options in the query.
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

fn check_options(sent: &Value) -> Result<()> {
    let kind = sent["kind"].as_str().unwrap_or_default();
    if !matches!(kind, "" | "DeleteOptions") {
        let version = sent["apiVersion"].as_str().unwrap_or_default();
        return Err(Failure::bad_request(format!(
            "no kind {kind:?} is registered for version {version:?} in scheme \"pkg/runtime/scheme.go:111\""
        )));
    }
    let dry_run = &sent["dryRun"];
    let mut wanted = items(dry_run);
    if wanted.any(|it| it != "All") {
        let cause = unsupported("dryRun", dry_run, &["All"]);
        return Err(Failure::invalid_options("DeleteOptions", vec![cause]));
    }
    let policy = &sent["propagationPolicy"];
    if policy == "" {
        let cause = unsupported("propagationPolicy", policy, &POLICIES);
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
