//! StatefulSets.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::replicated::lasting;
use super::{of_workload, rollout};
use crate::kinds::claim;
use crate::kinds::pod::{self, set_workload_defaults};
use crate::kinds::resource::STATEFUL_SETS;
use crate::kinds::rule::field::{
    invalid, is_empty, is_same, label, list, non_negative, only, text, without,
};
use crate::kinds::rule::selector::{self, Unreadable, Words};
use crate::kinds::rule::status;
use crate::kinds::strategy::{Controller, Strategy};
use crate::kinds::value::{items, set_if_empty, set_if_null};
use crate::model::Cause;
use crate::model::name::bad_label;

pub(crate) const STATEFUL_SET: Strategy = Strategy {
    set_defaults,
    bad_name: bad_label,
    after_admission: |set| drop_alpha_fields(&Value::Null, set),
    prepare_for_update: |_, live, set| drop_alpha_fields(live, set),
    validate: check,
    validates_updates_as_new: false,
    has_scale: true,
    cells: cells!(workload::stateful_set),
    ..of_workload(STATEFUL_SETS, Controller::StatefulSet)
};

const CHANGE: &str = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";

/// The fields of a spec that may change.
const MUTABLE: [&str; 7] = [
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
];

fn check(live: Option<&Value>, object: &Value, causes: &mut Vec<Cause>) {
    let spec = &object["spec"];
    policies(spec, causes);
    if live.is_none() {
        for (at, template) in list(spec, "volumeClaimTemplates").iter().enumerate() {
            let path = format!("spec.volumeClaimTemplates[{at}].spec");
            claim::spec(&template["spec"], &path, causes);
        }
    }
    non_negative("spec", spec, &["replicas", "minReadySeconds"], causes);
    non_negative("spec.ordinals", &spec["ordinals"], &["start"], causes);
    let service = text(spec, "serviceName");
    if live.is_none() && !service.is_empty() {
        label("spec.serviceName", service, causes);
    }
    let words = Words {
        empty: Some("statefulset"),
        unreadable: Unreadable::Shown,
    };
    if selector::check(spec, &words, causes) {
        selector::matches(spec, causes);
        let template = as_made(spec);
        pod::template(&template, "spec.template", causes);
        // the real server validates the metadata twice
        pod::metadata(&template, "spec.template", causes);
    }
    lasting(spec, "StatefulSet", causes);
    if let Some(live) = live {
        if !is_same(&without(&live["spec"], &MUTABLE), &without(spec, &MUTABLE)) {
            causes.push(Cause::forbidden("spec", CHANGE));
        }
        status::check(&status::STATEFUL_SET, live, object, causes);
    }
}

/// The template as the controller completes it for pods: without the host names, which it generates, and with a volume for each claim.
fn as_made(spec: &Value) -> Cow<'_, Value> {
    let template = &spec["template"];
    let claims = list(spec, "volumeClaimTemplates");
    let pod = &template["spec"];
    let is_named = !is_empty(&pod["hostname"]) || !is_empty(&pod["subdomain"]);
    if claims.is_empty() && !is_named {
        return Cow::Borrowed(template);
    }
    let mut pod = without(pod, &["hostname", "subdomain"]);
    if !claims.is_empty() {
        let names = claims.iter().map(|it| &it["metadata"]["name"]);
        let names: Vec<&Value> = names.fold(Vec::new(), |mut names, name| {
            if !names.contains(&name) {
                names.push(name);
            }
            names
        });
        let of_claims = names
            .iter()
            .map(|name| json!({"name": name, "persistentVolumeClaim": {"claimName": name}}));
        let others = list(&pod, "volumes")
            .iter()
            .filter(|volume| !names.contains(&&volume["name"]));
        let volumes: Vec<Value> = of_claims.chain(others.cloned()).collect();
        pod["volumes"] = volumes.into();
    }
    let mut template = template.clone();
    template["spec"] = pod;
    Cow::Owned(template)
}

fn policies(spec: &Value, causes: &mut Vec<Cause>) {
    let policy = &spec["podManagementPolicy"];
    if !["OrderedReady", "Parallel"]
        .iter()
        .any(|known| policy == known)
    {
        let why = "must be 'OrderedReady' or 'Parallel'";
        causes.push(invalid("spec.podManagementPolicy", policy, why));
    }
    let strategy = &spec["updateStrategy"];
    let rolling = &strategy["rollingUpdate"];
    let shown = match rolling {
        Value::Null => Value::Null,
        found => json!({
            "Partition": found.get("partition").unwrap_or(&json!(0)),
            "MaxUnavailable": found["maxUnavailable"],
        }),
    };
    match strategy["type"].as_str() {
        Some("OnDelete") if !rolling.is_null() => {
            let why = "only allowed for updateStrategy 'RollingUpdate'";
            causes.push(invalid("spec.updateStrategy.rollingUpdate", shown, why));
        }
        Some("OnDelete") => {}
        Some("RollingUpdate") => rollout::of_stateful_set(rolling, causes),
        _ => {
            let shown = json!({"Type": strategy["type"], "RollingUpdate": shown});
            let why = "must be 'RollingUpdate' or 'OnDelete'";
            causes.push(invalid("spec.updateStrategy", shown, why));
        }
    }
    let retention = &spec["persistentVolumeClaimRetentionPolicy"];
    for field in ["whenDeleted", "whenScaled"] {
        let path = format!("spec.persistentVolumeClaimRetentionPolicy.{field}");
        if !retention.is_null() {
            only(&path, &retention[field], &["Retain", "Delete"], causes);
        }
    }
}

fn set_defaults(set: &mut Value) {
    let Some(spec) = set_workload_defaults(set) else {
        return;
    };
    let defaults = [
        ("podManagementPolicy", json!("OrderedReady")),
        ("replicas", json!(1)),
        ("revisionHistoryLimit", json!(10)),
    ];
    set_if_empty(spec, &defaults);
    let retention = [
        ("whenDeleted", json!("Retain")),
        ("whenScaled", json!("Retain")),
    ];
    set_if_empty(
        &mut spec["persistentVolumeClaimRetentionPolicy"],
        &retention,
    );
    let strategy = &mut spec["updateStrategy"];
    set_if_empty(strategy, &[("type", json!("RollingUpdate"))]);
    if strategy["type"] == "RollingUpdate" {
        set_if_null(&mut strategy["rollingUpdate"]["partition"], 0);
    }
    for claim in items(spec, "volumeClaimTemplates") {
        claim["apiVersion"] = "v1".into();
        claim["kind"] = "PersistentVolumeClaim".into();
        claim::set_defaults(claim);
    }
}

/// Drops fields that are not enabled by default, unless they were stored before.
fn drop_alpha_fields(live: &Value, set: &mut Value) {
    const FIELD: &str = "/spec/updateStrategy/rollingUpdate";
    let has_it = |set: &Value| {
        set.pointer(FIELD)
            .is_some_and(|it| !it["maxUnavailable"].is_null())
    };
    let rolling = set.pointer_mut(FIELD).and_then(Value::as_object_mut);
    if !has_it(live)
        && let Some(rolling) = rolling
    {
        rolling.shift_remove("maxUnavailable");
    }
}
