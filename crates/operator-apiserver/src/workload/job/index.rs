//! The indexes of an indexed Job.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value;

use crate::model::json::number;
use crate::workload::field::{annotation, is_active};

/// The annotation and label with the index of a pod.
pub(super) const INDEX: &str = "batch.kubernetes.io/job-completion-index";

/// The succeeded and the active indexes.
pub(super) struct Indexes {
    succeeded: BTreeSet<i64>,
    active: BTreeSet<i64>,
    total: i64,
}

impl Indexes {
    /// The indexes of an indexed Job.
    pub fn of(job: &Value, pods: &[Value]) -> Option<Self> {
        if job["spec"]["completionMode"] != "Indexed" {
            return None;
        }
        let total = number(&job["spec"]["completions"]);
        let index = |pod: &Value| annotation(pod, INDEX).parse().ok();
        let mut succeeded: BTreeSet<i64> = job["status"]["completedIndexes"]
            .as_str()
            .map(read)
            .unwrap_or_default();
        let done = pods
            .iter()
            .filter(|pod| pod["status"]["phase"] == "Succeeded");
        succeeded.extend(done.filter_map(index));
        succeeded.retain(|index| *index < total);
        let active = pods.iter().filter(|pod| is_active(pod));
        Some(Self {
            active: active.filter_map(index).collect(),
            succeeded,
            total,
        })
    }

    pub fn count(&self) -> i64 {
        i64::try_from(self.succeeded.len()).unwrap_or(i64::MAX)
    }

    /// The indexes that have not succeeded and have no active pod, in order.
    pub fn pending(&self) -> impl Iterator<Item = i64> {
        let is_taken = |index: &i64| self.succeeded.contains(index) || self.active.contains(index);
        (0..self.total).filter(move |index| !is_taken(index))
    }
}

/// Parses indexes: `0-2,5`.
fn read(text: &str) -> BTreeSet<i64> {
    text.split(',')
        .filter_map(|range| {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            Some(first.parse::<i64>().ok()?..=last.parse().ok()?)
        })
        .flatten()
        .collect()
}

impl fmt::Display for Indexes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut indexes = self.succeeded.iter().copied().peekable();
        let mut separator = "";
        while let Some(first) = indexes.next() {
            let mut last = first;
            while let Some(next) = indexes.next_if_eq(&(last + 1)) {
                last = next;
            }
            // only three or more consecutive indexes are written with a dash
            match last - first {
                0 => write!(f, "{separator}{first}")?,
                1 => write!(f, "{separator}{first},{last}")?,
                _ => write!(f, "{separator}{first}-{last}")?,
            }
            separator = ",";
        }
        Ok(())
    }
}
