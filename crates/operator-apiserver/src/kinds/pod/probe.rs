//! The probes and lifecycle hooks of a container.

use serde_json::Value;

use crate::kinds::rule::field::{between, invalid, is_empty, non_negative, number, only, port};
use crate::model::Cause;

/// Checks the probes and lifecycle hooks of a container.
pub(crate) fn check(container: &Value, grace: Option<i64>, path: &str, causes: &mut Vec<Cause>) {
    for hook in ["postStart", "preStop"] {
        let action = &container["lifecycle"][hook];
        if !action.is_null() {
            handler(action, grace, &format!("{path}.lifecycle.{hook}"), causes);
        }
    }
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if !container[name].is_null() {
            probe(name, &container[name], &format!("{path}.{name}"), causes);
        }
    }
}

fn probe(name: &str, probe: &Value, path: &str, causes: &mut Vec<Cause>) {
    const COUNTS: [&str; 5] = [
        "initialDelaySeconds",
        "timeoutSeconds",
        "periodSeconds",
        "successThreshold",
        "failureThreshold",
    ];
    handler(probe, None, path, causes);
    non_negative(path, probe, &COUNTS, causes);
    let grace = probe["terminationGracePeriodSeconds"].as_i64();
    let field = format!("{path}.terminationGracePeriodSeconds");
    if let Some(seconds) = grace.filter(|seconds| *seconds <= 0) {
        causes.push(invalid(&field, seconds, "must be greater than 0"));
    }
    let successes = number(probe, "successThreshold");
    match (name, grace) {
        ("readinessProbe", Some(seconds)) => {
            let why = "must not be set for readinessProbes";
            causes.push(invalid(field, seconds, why));
        }
        ("readinessProbe", None) => {}
        _ if successes != 1 => {
            let field = format!("{path}.successThreshold");
            causes.push(invalid(field, successes, "must be 1"));
        }
        _ => {}
    }
}

/// Checks the handler of a probe or hook.
fn handler(action: &Value, grace: Option<i64>, path: &str, causes: &mut Vec<Cause>) {
    let known = ["exec", "httpGet", "tcpSocket", "grpc", "sleep"];
    let given = known.iter().filter(|name| !action[**name].is_null());
    let mut is_first = true;
    for name in given {
        let (found, path) = (&action[*name], format!("{path}.{name}"));
        if !is_first {
            let why = "may not specify more than 1 handler type";
            causes.push(Cause::forbidden(path, why));
            continue;
        }
        is_first = false;
        let at_port = format!("{path}.port");
        match *name {
            "exec" if is_empty(&found["command"]) => {
                causes.push(Cause::required(format!("{path}.command"), ""));
            }
            "httpGet" => {
                if is_empty(&found["path"]) {
                    causes.push(Cause::required(format!("{path}.path"), ""));
                }
                port(&at_port, &found["port"], causes);
                let field = format!("{path}.scheme");
                only(&field, &found["scheme"], &["HTTP", "HTTPS"], causes);
            }
            "tcpSocket" => port(&at_port, &found["port"], causes),
            "grpc" => between(&at_port, number(found, "port"), 1, 65535, causes),
            "sleep" => sleep(number(found, "seconds"), grace, &path, causes),
            _ => {}
        }
    }
    if is_first {
        causes.push(Cause::required(path, "must specify a handler type"));
    }
}

fn sleep(seconds: i64, grace: Option<i64>, path: &str, causes: &mut Vec<Cause>) {
    if let Some(grace) = grace.filter(|grace| !(0..=*grace).contains(&seconds)) {
        let why =
            format!("must be non-negative and less than terminationGracePeriodSeconds ({grace})");
        causes.push(invalid(path, seconds, why));
    }
}
