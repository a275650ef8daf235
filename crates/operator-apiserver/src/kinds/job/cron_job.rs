//! CronJobs.

use serde_json::{Value, json};

use super::{check as job, schedule, set_job_template_defaults};
use crate::kinds::pod::drop_signals;
use crate::kinds::resource::CRON_JOBS;
use crate::kinds::rule::field::{invalid, is_empty, non_negative, one_of, text};
use crate::kinds::strategy::{Controller, Strategy};
use crate::kinds::value::set_if_empty;
use crate::kinds::workload::of_workload;
use crate::model::{Cause, metadata};

pub(crate) const CRON_JOB: Strategy = Strategy {
    set_defaults,
    drop_disabled_fields: |_, cron| {
        drop_signals(cron.pointer_mut("/spec/jobTemplate/spec/template/spec"));
    },
    validate: check,
    validates_updates_as_new: false,
    compares_metadata: |subresource| subresource != Some("status"),
    template: Some("/spec/jobTemplate/spec/template"),
    cells: cells!(workload::cron_job),
    ..of_workload(CRON_JOBS, Controller::CronJob)
};

fn check(live: Option<&Value>, object: &Value, causes: &mut Vec<Cause>) {
    let spec = &object["spec"];
    let had_zone = live.is_some_and(|live| text(&live["spec"], "schedule").contains("TZ"));
    let (found, field) = (text(spec, "schedule"), "spec.schedule");
    if found.is_empty() {
        causes.push(Cause::required(field, ""));
    } else {
        if let Some(why) = schedule::fault(found) {
            causes.push(invalid(field, format!("{found:?}"), why));
        }
        if found.contains("TZ") && !had_zone {
            let why = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead";
            causes.push(invalid(field, format!("{found:?}"), why));
        } else if found.contains("TZ") && !spec["timeZone"].is_null() {
            let why = "cannot use both timeZone field and TZ or CRON_TZ in schedule";
            causes.push(invalid(field, format!("{found:?}"), why));
        }
    }
    non_negative("spec", spec, &["startingDeadlineSeconds"], causes);
    let is_new = live.is_none_or(|live| live["spec"]["timeZone"] != spec["timeZone"]);
    if is_new && !spec["timeZone"].is_null() {
        zone(&spec["timeZone"], causes);
    }
    let known = ["Allow", "Forbid", "Replace"];
    let field = "spec.concurrencyPolicy";
    one_of(field, &spec["concurrencyPolicy"], &known, causes);
    job::of_cron(&spec["jobTemplate"], "spec.jobTemplate", causes);
    let limits = ["successfulJobsHistoryLimit", "failedJobsHistoryLimit"];
    non_negative("spec", spec, &limits, causes);
    let name = metadata::name(object);
    if live.is_none() && name.len() > 52 {
        let why = "must be no more than 52 characters";
        causes.push(invalid("metadata.name", format!("{name:?}"), why));
    }
}

/// Checks the format of a time zone; whether the zone exists is not known here.
fn zone(found: &Value, causes: &mut Vec<Cause>) {
    const FIELD: &str = "spec.timeZone";
    if is_empty(found) {
        let why = "timeZone must be nil or non-empty string";
        causes.push(invalid(FIELD, found, why));
        return;
    }
    let name = found.as_str().unwrap_or_default();
    let fits = |c: char| c.is_ascii_alphanumeric() || ".-_+".contains(c);
    let is_part = |part: &str| {
        let is_path = matches!(part, "." | "..") || part.starts_with('-');
        (1..=14).contains(&part.len()) && !is_path && part.chars().all(fits)
    };
    if !name.split('/').all(is_part) {
        causes.push(invalid(FIELD, found, format!("unknown time zone {name}")));
    } else if name.eq_ignore_ascii_case("Local") {
        let why =
            "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones";
        causes.push(invalid(FIELD, found, why));
    }
}

fn set_defaults(cron: &mut Value) {
    let spec = &mut cron["spec"];
    if !spec.is_object() {
        return;
    }
    set_job_template_defaults(&mut spec["jobTemplate"]["spec"]);
    let defaults = [
        ("concurrencyPolicy", json!("Allow")),
        ("suspend", json!(false)),
        ("successfulJobsHistoryLimit", json!(3)),
        ("failedJobsHistoryLimit", json!(1)),
    ];
    set_if_empty(spec, &defaults);
}
