//! Services.

use serde_json::Value;

use super::super::name;
use super::super::status::Cause;
use super::{is_empty, list, not_one_of, text};

pub(super) fn check(object: &Value, causes: &mut Vec<Cause>) {
    let spec = &object["spec"];
    let ports = list(spec, "ports");
    let needs_ports = spec["type"] != "ExternalName" && spec["clusterIP"] != "None";
    if ports.is_empty() && needs_ports {
        causes.push(Cause::required("spec.ports", ""));
    }
    let mut names: Vec<&str> = Vec::new();
    for (at, port) in ports.iter().enumerate() {
        let path = format!("spec.ports[{at}]");
        let found = text(port, "name");
        let field = format!("{path}.name");
        if found.is_empty() && ports.len() > 1 {
            causes.push(Cause::required(&field, ""));
        } else if !found.is_empty() {
            for wrong in name::bad_label(found) {
                causes.push(Cause::invalid(
                    &field,
                    format!("Invalid value: {found:?}: {wrong}"),
                ));
            }
            if names.contains(&found) {
                causes.push(Cause::duplicate(&field, found));
            }
        }
        names.push(found);
        for number in ["port", "targetPort"] {
            let found = &port[number];
            if found
                .as_i64()
                .is_some_and(|number| !(1..=65535).contains(&number))
            {
                let text =
                    format!("Invalid value: {found}: must be between 1 and 65535, inclusive");
                causes.push(Cause::invalid(format!("{path}.{number}"), text));
            }
        }
        not_one_of(
            &format!("{path}.protocol"),
            &port["protocol"],
            &["SCTP", "TCP", "UDP"],
            causes,
        );
    }
    let known = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
    not_one_of("spec.type", &spec["type"], &known, causes);
    if spec["type"] == "ExternalName" && is_empty(&spec["externalName"]) {
        causes.push(Cause::required("spec.externalName", ""));
    }
    not_one_of(
        "spec.sessionAffinity",
        &spec["sessionAffinity"],
        &["ClientIP", "None"],
        causes,
    );
}
