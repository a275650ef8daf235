//! NetworkPolicies.

use serde_json::{Value, json};

use super::strategy::Strategy;
use super::value::{items, set_if_empty, set_if_null};

pub(crate) const NETWORK_POLICY: Strategy = Strategy {
    set_defaults,
    has_generation: true,
    cells: cells!(core::network_policy),
    ..Strategy::of(("networking.k8s.io", "networkpolicies"))
};

fn set_defaults(object: &mut Value) {
    let spec = &mut object["spec"];
    for (rules, _) in [("ingress", "from"), ("egress", "to")] {
        for rule in items(spec, rules) {
            for port in items(rule, "ports") {
                set_if_empty(port, &[("protocol", json!("TCP"))]);
            }
        }
    }
    let has_egress = spec["egress"]
        .as_array()
        .is_some_and(|rules| !rules.is_empty());
    set_if_null(
        &mut spec["policyTypes"],
        if has_egress {
            json!(["Ingress", "Egress"])
        } else {
            json!(["Ingress"])
        },
    );
}
