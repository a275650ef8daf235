//! The outcome of a pod, from annotations; see [`Workloads`](crate::workload::Workloads).

use std::time::Duration;

use serde_json::Value;

use super::step::MissingReference;
use crate::kinds::resource::NAMESPACES;
use crate::model::Key;
use crate::model::json::list;
use crate::model::metadata::text;
use crate::workload::controllers::Controllers;
use crate::workload::field::annotation;
use crate::workload::settings::duration;

const OUTCOME: &str = "operator-testing/outcome";
const DELAY: &str = "operator-testing/delay";

/// How the containers of a pod behave.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Outcome {
    /// No annotation: the pod becomes ready, and completes after a delay unless its `restartPolicy` is `Always`.
    Usual,
    Ready,
    NotReady,
    Fails,
    Unschedulable,
    Unpullable,
}

/// What happens to a pod on its node.
#[derive(Debug)]
pub(super) struct PodPlan {
    pub outcome: Outcome,
    pub delay: Duration,
    /// The reason why a pod on a node has not started.
    pub missing: Option<MissingReference>,
}

impl Controllers<'_> {
    /// The plan of a pod, from its annotations, or else those of its namespace.
    pub(super) fn plan_of(&self, pod: &Value) -> PodPlan {
        let namespace = Key::new(NAMESPACES, "", text(pod, "namespace"));
        let namespace = self.state.store.find(&namespace);
        let value = |name: &str| -> String {
            let own = annotation(pod, name);
            let common = namespace
                .as_ref()
                .map(|namespace| annotation(namespace, name));
            match own {
                "" => common.unwrap_or_default().to_owned(),
                own => own.to_owned(),
            }
        };
        let mut images = ["initContainers", "containers"]
            .into_iter()
            .flat_map(|field| list(&pod["spec"], field));
        let outcome = match value(OUTCOME).as_str() {
            _ if images.any(|container| is_invalid(&container["image"])) => Outcome::Unpullable,
            "ready" => Outcome::Ready,
            "not-ready" => Outcome::NotReady,
            "fails" => Outcome::Fails,
            "unschedulable" => Outcome::Unschedulable,
            _ => Outcome::Usual,
        };
        PodPlan {
            outcome,
            delay: duration(&value(DELAY)).unwrap_or(self.memory.settings.delay),
            missing: if pod["status"]["phase"] == "Pending" {
                self.missing_reference(pod)
            } else {
                None
            },
        }
    }
}

/// Whether an image is from a host that cannot exist, according to [RFC 6761].
///
/// [RFC 6761]: https://www.rfc-editor.org/rfc/rfc6761#section-6.4
fn is_invalid(image: &Value) -> bool {
    let image = image.as_str().unwrap_or_default();
    let host = image.split_once('/').map_or("", |(host, _)| host);
    let host = host.split_once(':').map_or(host, |(host, _)| host);
    host.ends_with(".invalid")
}
