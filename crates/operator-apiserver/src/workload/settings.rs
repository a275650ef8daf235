//! The settings of the workload controllers.

use std::time::Duration;

/// The settings of the workload controllers of a server in memory; see [`ApiServer::with_workloads`](crate::ApiServer::with_workloads).
///
/// Pods become ready after a delay; pods of Jobs succeed after another delay. The annotation `operator-testing/outcome` of a pod changes
/// this. Set it in the pod template of a workload, or on the namespace for all pods without the annotation. It has one of these values:
///
/// - `ready`: the pod runs and stays ready, even if it belongs to a Job;
/// - `not-ready`: the pod runs, but never becomes ready;
/// - `fails`: the containers exit with code 1, and are restarted according to the pod's `restartPolicy`;
/// - `unschedulable`: no node accepts the pod.
///
/// The annotation `operator-testing/delay` sets the delay of a pod, for example `500ms`, `5s` or `2m`. An image from a host under
/// `.invalid` cannot be pulled. Both annotations and the image can be changed while the pods exist.
#[derive(Clone, Debug)]
pub struct Workloads {
    pub(super) delay: Duration,
    pub(super) has_node: bool,
}

impl Default for Workloads {
    fn default() -> Self {
        Self {
            delay: Duration::from_millis(100),
            has_node: true,
        }
    }
}

impl Workloads {
    /// Sets how long a pod takes to become ready, to complete (if it belongs to a Job), and to stop, on tokio's clock. The default is 100
    /// milliseconds. Failed work is retried after this delay, then after twice the delay, and so on, up to five minutes.
    ///
    /// With a delay of zero, pods become ready at the next request or watch.
    #[must_use]
    pub fn delay(self, delay: Duration) -> Self {
        Self { delay, ..self }
    }

    /// Creates no node: pods stay `Pending` until the test writes their status.
    #[must_use]
    pub fn without_node(self) -> Self {
        Self {
            has_node: false,
            ..self
        }
    }
}

/// Parses a duration such as `500ms`, `5s`, `2m` or `1h`.
pub(super) fn duration(text: &str) -> Option<Duration> {
    let end = text.find(|letter: char| !letter.is_ascii_digit())?;
    let number: u64 = text[..end].parse().ok()?;
    Some(match &text[end..] {
        "ms" => Duration::from_millis(number),
        "s" => Duration::from_secs(number),
        "m" => Duration::from_secs(number.checked_mul(60)?),
        "h" => Duration::from_secs(number.checked_mul(3600)?),
        _ => return None,
    })
}
