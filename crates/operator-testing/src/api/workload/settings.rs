//! What a test decides about workloads.

use std::time::Duration;

/// How workloads fare on a server in memory; see [`ApiServer::with_workloads`](crate::ApiServer::with_workloads).
///
/// Pods become ready after a delay, and those of Jobs succeed after another. An object can say otherwise: the annotation
/// `operator-testing/outcome` of a pod (so, of the template of its workload) or else of its namespace is one of
///
/// - `ready`: it runs and is ready, even where it would be over after a time;
/// - `not-ready`: it runs, and never becomes ready;
/// - `fails`: its containers end with code 1, and start again where the pod's `restartPolicy` says so;
/// - `unschedulable`: there is no node for it.
///
/// `operator-testing/delay`, such as `500ms`, `5s` or `2m`, is the delay of a pod. An image from a host under `.invalid` cannot be pulled,
/// here as anywhere. All these may be changed while pods are there.
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
    /// How long a pod needs to become ready, to be done with what it has to do, and to stop: 100 milliseconds of tokio's clock, if
    /// this is not called. What fails is tried again after this time, then after twice that, and so on, to five minutes.
    ///
    /// Without a delay, pods are ready at the next request or watch.
    #[must_use]
    pub fn delay(self, delay: Duration) -> Self {
        Self { delay, ..self }
    }

    /// Without the node that pods run on: they stay `Pending` until the test writes their status.
    #[must_use]
    pub fn without_node(self) -> Self {
        Self {
            has_node: false,
            ..self
        }
    }
}

/// A duration such as `500ms`, `5s`, `2m` or `1h`.
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
