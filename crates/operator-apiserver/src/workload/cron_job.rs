//! CronJobs: create a Job at each scheduled time, respect the concurrency policy, and keep some finished Jobs.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::actor::{CONTROLLERS, EventText};
use super::child::copies;
use super::controllers::Controllers;
use super::field::reference;
use super::job::{has_ended, is_finished};
use super::schedule::Schedule;
use crate::kinds::resource::JOBS;
use crate::model::condition::condition;
use crate::model::json::{list, number};
use crate::model::metadata::{is_deleting, name, text};
use crate::model::{Key, Result, clock};

const COMPONENT: &str = "cronjob-controller";
const SCHEDULED: &str = "batch.kubernetes.io/cronjob-scheduled-timestamp";

/// Work that is late by more than this, because there was no request, is skipped.
const FORGOTTEN: Duration = Duration::from_secs(24 * 3600);

impl Controllers<'_> {
    pub(super) fn sync_cron_job(&mut self, key: &Key) {
        let Some(cron) = self.state.store.find(key) else {
            return;
        };
        // If an object cannot be created, an event reports it, and the next scheduled time retries.
        let _done = self.step_cron_job(key, Value::clone(&cron));
    }

    fn step_cron_job(&mut self, key: &Key, cron: Value) -> Result<()> {
        let mut jobs = copies(self.controlled(&cron, JOBS));
        jobs.sort_by_cached_key(super::field::by_age);
        let mut noted = cron.clone();
        self.note_jobs(&mut noted, &jobs);
        self.forget_jobs(&cron, &jobs);
        let result = if is_deleting(&cron) || cron["spec"]["suspend"] == true {
            Ok(())
        } else {
            self.start_job(key, &mut noted)
        };
        let status = noted["status"].take();
        self.write_status(CONTROLLERS, &cron, status)?;
        result
    }

    /// Updates the active Jobs and the time of the last success in the status.
    fn note_jobs(&mut self, cron: &mut Value, jobs: &[Value]) {
        let mut active = Vec::new();
        for known in list(&cron["status"], "active").to_vec() {
            let job = jobs
                .iter()
                .find(|job| job["metadata"]["uid"] == known["uid"]);
            let named = known["name"].as_str().unwrap_or_default();
            let event = match job {
                Some(job) if !is_finished(job) => {
                    active.push(known);
                    continue;
                }
                Some(job) => {
                    let how = if has_ended(job, "Complete") {
                        "Complete"
                    } else {
                        "Failed"
                    };
                    let message = format!("Saw completed job: {named}, condition: {how}");
                    ("SawCompletedJob", message)
                }
                None => ("MissingJob", format!("Active job went missing: {named}")),
            };
            self.record_event(COMPONENT, cron, EventText::normal(event.0, &event.1));
        }
        let status = &mut cron["status"];
        status["active"] = if active.is_empty() {
            Value::Null
        } else {
            active.into()
        };
        let ends = jobs
            .iter()
            .filter(|job| has_ended(job, "Complete"))
            .filter_map(|job| job["status"]["completionTime"].as_str());
        if let Some(last) = ends.chain(status["lastSuccessfulTime"].as_str()).max() {
            status["lastSuccessfulTime"] = last.to_owned().into();
        }
        if let Some(status) = status.as_object_mut() {
            status.retain(|_, value| !value.is_null());
        }
    }

    /// Creates the Job of the last due time, and schedules the next one.
    fn start_job(&mut self, key: &Key, cron: &mut Value) -> Result<()> {
        let spec = cron["spec"].clone();
        let written = spec["schedule"].as_str().unwrap_or_default();
        let Some(schedule) = Schedule::read(written, spec["timeZone"].as_str()) else {
            let message = format!("unparseable schedule: {written:?}");
            self.record_event(
                COMPONENT,
                cron,
                EventText::warning("UnparseableSchedule", &message),
            );
            return Ok(());
        };
        let now = clock::now();
        if let Some(next) = schedule.after(now) {
            let wait = Duration::try_from(next.duration_since(now)).unwrap_or_default();
            // delayed work runs with the clock at its due time
            let lag = Instant::now().saturating_duration_since(clock::instant());
            let skipped = if lag > FORGOTTEN { lag } else { wait };
            self.requeue_after(key, skipped.max(wait));
        }
        let read = |time: &Value| {
            time.as_str()
                .and_then(|time| time.parse::<Timestamp>().ok())
        };
        let since = read(&cron["status"]["lastScheduleTime"])
            .or_else(|| read(&cron["metadata"]["creationTimestamp"]));
        let Some(due) = since.and_then(|since| schedule.missed(since, now)) else {
            return Ok(());
        };
        let late = now.duration_since(due).as_secs();
        let allowed = spec["startingDeadlineSeconds"].as_i64();
        if allowed.is_some_and(|allowed| late > allowed) {
            let message = format!("Missed scheduled time to start a job: {due}");
            self.record_event(
                COMPONENT,
                cron,
                EventText::warning("MissSchedule", &message),
            );
            return Ok(());
        }
        let active = list(&cron["status"], "active").to_vec();
        if spec["concurrencyPolicy"] == "Forbid" && !active.is_empty() {
            let message = "Not starting job because prior execution is running and concurrency policy is Forbid";
            self.record_event(
                COMPONENT,
                cron,
                EventText::normal("JobAlreadyActive", message),
            );
            return Ok(());
        }
        if spec["concurrencyPolicy"] == "Replace" {
            for job in &active {
                self.drop_job(cron, job["name"].as_str().unwrap_or_default());
            }
            cron["status"]["active"] = json!([]);
        }
        let job = match self.make(CONTROLLERS, job(cron, due)) {
            Ok(job) => job,
            Err(failure) => {
                let message = format!("Error creating job: {}", failure.message);
                self.record_event(
                    COMPONENT,
                    cron,
                    EventText::warning("FailedCreate", &message),
                );
                return Err(failure);
            }
        };
        self.record_event(
            COMPONENT,
            cron,
            EventText::normal("SuccessfulCreate", &format!("Created job {}", name(&job))),
        );
        let mut active = list(&cron["status"], "active").to_vec();
        active.push(json!({
            "apiVersion": "batch/v1",
            "kind": "Job",
            "name": name(&job),
            "namespace": text(&job, "namespace"),
            "resourceVersion": job["metadata"]["resourceVersion"],
            "uid": job["metadata"]["uid"],
        }));
        cron["status"]["active"] = active.into();
        cron["status"]["lastScheduleTime"] = clock::text(due).into();
        Ok(())
    }

    /// Deletes the oldest finished Jobs beyond the history limits.
    fn forget_jobs(&mut self, cron: &Value, jobs: &[Value]) {
        for (how, limit) in [
            ("Complete", &cron["spec"]["successfulJobsHistoryLimit"]),
            ("Failed", &cron["spec"]["failedJobsHistoryLimit"]),
        ] {
            let ended = jobs.iter().filter(|job| condition(job, how).is_some());
            let ended: Vec<&Value> = ended.filter(|job| !is_deleting(job)).collect();
            let kept = usize::try_from(number(limit)).unwrap_or_default();
            let surplus = ended.len().saturating_sub(kept);
            for job in ended.into_iter().take(surplus) {
                self.drop_job(cron, name(job));
            }
        }
    }

    fn drop_job(&mut self, cron: &Value, job: &str) {
        let mut of = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": job}});
        of["metadata"]["namespace"] = cron["metadata"]["namespace"].clone();
        let options = json!({"propagationPolicy": "Background"});
        if self.discard(CONTROLLERS, &of, &options).is_ok() {
            self.record_event(
                COMPONENT,
                cron,
                EventText::normal("SuccessfulDelete", &format!("Deleted job {job}")),
            );
        }
    }
}

/// The Job for a scheduled time.
fn job(cron: &Value, due: Timestamp) -> Value {
    let template = &cron["spec"]["jobTemplate"];
    let mut annotations: Map<String, Value> = template["metadata"]["annotations"]
        .as_object()
        .cloned()
        .unwrap_or_default();
    annotations.insert(SCHEDULED.into(), clock::text(due).into());
    let mut metadata = json!({
        "name": format!("{}-{}", name(cron), due.as_second() / 60),
        "namespace": text(cron, "namespace"),
        "annotations": annotations,
        "ownerReferences": [reference(cron)],
    });
    let labels = &template["metadata"]["labels"];
    if labels.is_object() {
        metadata["labels"] = labels.clone();
    }
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata,
        "spec": template["spec"],
    })
}
