use std::collections::BTreeSet;

use super::*;
use k8s_openapi::api::rbac::v1::PolicyRule;
use serde_json::json;

use super::rule::{normalize, rule};
use crate::operator::{
    Controller,
    example::{MEMCACHED, ZONE, operator},
};

fn resource(group: &str, kind: &str, plural: &str, namespaced: bool) -> ResourceType {
    ResourceType {
        group: group.to_owned(),
        version: "v1".to_owned(),
        kind: kind.to_owned(),
        plural: plural.to_owned(),
        namespaced,
    }
}

fn memcached() -> Operator<'static> {
    operator(MEMCACHED)
}

fn memcached_and_zone(namespaces: &str) -> Operator<'static> {
    operator(&format!("namespaces = {namespaces}\n{MEMCACHED}{ZONE}"))
}

/// The memcached operator with these keys in the table `[deployment]`.
fn deployed(settings: &str) -> Operator<'static> {
    operator(&format!("[deployment]\n{settings}\n{MEMCACHED}"))
}

const WEBHOOK: &str = "webhooks = [\"validate\"]";

/// The value of the first object of a role.
fn object(operator: &Operator<'_>, role: &Role) -> Option<Value> {
    let mut objects = manifests(operator).objects.into_iter();
    let object = objects.find(|object| object.role == *role)?;
    Some(object.value)
}

#[test]
fn a_read_grants_its_verbs() {
    let reads = "reads = [{ kind = \"v1/Secret\", verbs = [\"get\"] }]";
    let grants = grant::grants(&operator(&format!("{MEMCACHED}{reads}")));
    let verbs = grants.values().flatten().find_map(|rule| {
        let is_meant = rule.resources.as_ref()?.contains(&"secrets".to_owned());
        is_meant.then_some(rule.verbs.clone())
    });
    assert_eq!(verbs, Some(vec!["get".to_owned()]));
}

fn files(operator: &Operator<'_>) -> BTreeMap<String, String> {
    let (mut manifests, mut samples) = (manifests(operator), Samples::default());
    for Controller { resource, .. } in &operator.controllers {
        let sample = (resource.kind == "Memcached").then(|| {
            json!({
                "apiVersion": "cache.example.com/v1alpha1",
                "kind": "Memcached",
                "metadata": {"name": "memcached-sample"},
                "spec": {
                    "image": "on",
                    "args": [
                        "y", "no", "~", "", "=", "<<", "0o7", "010", "0x1f", "1_000", "12:30:45", "1e3",
                        ".inf", "2020-01-01", "- a", "a: b", "# c", "two\nlines\n", " padded ",
                    ],
                    "replicas": 1,
                },
            })
        });
        samples.add(resource, sample);
    }
    manifests.objects.extend(samples.objects());
    let files = crate::package::kustomize::files(operator, manifests, &BTreeSet::new());
    files.into_iter().collect()
}

/// The grace period of the pod with these arguments, this SHUTDOWN_TIMEOUT, and perhaps a webhook.
fn grace(args: &[&str], variable: Option<&str>, has_webhooks: bool) -> Value {
    let variable = variable.map(|it| format!("env.SHUTDOWN_TIMEOUT = \"{it}\""));
    let variable = variable.unwrap_or_default();
    let webhook = if has_webhooks { WEBHOOK } else { "" };
    let deployment = format!("[deployment]\nargs = {args:?}\n{variable}");
    let operator = operator(&format!("{deployment}\n{MEMCACHED}{webhook}"));
    let deployment = object(&operator, &Role::Deployment).unwrap();
    deployment["spec"]["template"]["spec"]["terminationGracePeriodSeconds"].clone()
}

#[test]
fn a_pod_has_the_time_that_it_needs_to_end() {
    let cases: [(&[&str], _, _, _); 11] = [
        (&[], None, false, json!(null)),
        (&[], None, true, json!(40)),
        (&["--shutdown-timeout=2m"], None, false, json!(130)),
        (
            &["--log=debug", "--shutdown-timeout", "90s", "--x"],
            None,
            true,
            json!(110),
        ),
        (&[], Some("1h"), false, json!(3610)),
        (&["--shutdown-timeout=5s"], None, false, json!(null)),
        (&["--shutdown-timeout=5s"], None, true, json!(null)),
        (&["--renew-deadline=40s"], None, true, json!(70)),
        // values that the operator cannot parse, and another flag with the same prefix
        (&["--shutdown-timeout=long"], None, true, json!(40)),
        (&["--shutdown-timeout"], None, false, json!(null)),
        (
            &["--shutdown-timeout-of-mine", "99s"],
            None,
            false,
            json!(null),
        ),
    ];
    for (args, variable, has_webhooks, expected) in cases {
        let found = grace(args, variable, has_webhooks);
        assert_eq!(found, expected, "{args:?} {variable:?} {has_webhooks}");
    }
}

#[test]
fn a_short_certificate_is_not_reported_before_it_could_be_renewed() {
    for (lifetime, seconds) in [
        (None, "604800"),
        (Some("168h"), "151200"),
        (Some("1h"), "900"),
    ] {
        let mut operator = operator(&format!("{MEMCACHED}{WEBHOOK}"));
        let config = operator.config.to_mut();
        config.monitoring.prometheus = true;
        let argument = lifetime.map(|it| format!("--webhook-certificate-lifetime={it}"));
        config.deployment.args.extend(argument);
        let text = object(&operator, &Role::Alerts).unwrap().to_string();
        assert!(text.contains(&format!("- time() < {seconds}\"")), "{text}");
    }
}

#[test]
fn settings_point_to_their_values() {
    let listed = operator(&format!(
        "namespaces = [\"team-a\", \"team-b\"]\n{MEMCACHED}"
    ));
    let mut settings = BTreeMap::new();
    for object in manifests(&listed).objects {
        for (setting, pointer) in object.settings {
            let value = object.value.pointer(pointer).cloned();
            settings.insert(format!("{:?} of the {:?}", setting, object.role), value);
        }
    }
    let settings: Value = json!(settings);
    assert_eq!(
        settings,
        json!({
            "Image of the Deployment": "ghcr.io/me/memcached-operator:0.1.0",
            "Replicas of the Deployment": 1,
            "Resources of the Deployment": {
                "limits": {"cpu": "500m", "ephemeral-storage": "1Gi", "memory": "128Mi"},
                "requests": {"cpu": "10m", "ephemeral-storage": "64Mi", "memory": "32Mi"},
            },
            "WatchNamespaces of the Deployment": "team-a,team-b",
        })
    );
    let settings = manifests(&memcached())
        .objects
        .into_iter()
        .find(|object| object.role == Role::Deployment)
        .unwrap()
        .settings;
    assert!(
        !settings
            .iter()
            .any(|(setting, _)| *setting == Setting::WatchNamespaces)
    );
}

/// Compares a text with the snapshot of this name in `tests/snapshots/`.
fn snapshot(name: &str, text: &str) {
    insta::with_settings!({
        snapshot_path => "../../../tests/snapshots/manifests",
        prepend_module_to_snapshot => false,
        omit_expression => true,
    }, { insta::assert_snapshot!(name, text) });
}

#[test]
fn one_namespaced_kind_watched_everywhere() {
    let files = files(&memcached());
    snapshot(
        "paths",
        &files.keys().cloned().collect::<Vec<_>>().join("\n"),
    );
    for (path, name) in [
        ("crds/kustomization.yaml", "crds"),
        ("manifests/kustomization.yaml", "base"),
        ("manifests/namespace.yaml", "namespace"),
        ("manifests/rbac/service-account.yaml", "service-account"),
        ("manifests/rbac/cluster-role.yaml", "cluster-role"),
        ("manifests/rbac/leader-election.yaml", "leader-election"),
        ("manifests/operator/deployment.yaml", "deployment"),
        ("manifests/network/policy.yaml", "network-policy"),
        ("manifests/monitoring/service.yaml", "metrics-service"),
        (
            "manifests/samples/memcacheds.cache.example.com.yaml",
            "sample",
        ),
    ] {
        snapshot(name, &files[path]);
    }
}

#[test]
fn crds_that_the_operator_applies_have_a_cluster_role_of_their_own() {
    let mut operator = memcached_and_zone("\"own\"");
    operator.config.to_mut().ensure_crds = true;
    let files = files(&operator);
    snapshot("ensured-crds", &files["manifests/rbac/crds.yaml"]);
    let base = &files["manifests/kustomization.yaml"];
    assert!(base.contains("- rbac/crds.yaml\n"), "{base}");
}

#[test]
fn listed_namespaces_get_roles_and_cluster_scoped_kinds_a_cluster_role() {
    let files = files(&memcached_and_zone("[\"blue\", \"green\"]"));
    snapshot(
        "listed-cluster-role",
        &rules_of(&files["manifests/rbac/cluster-role.yaml"]),
    );
    snapshot(
        "listed-roles",
        &rules_of(&files["manifests/rbac/role.yaml"]),
    );
    assert!(files["manifests/operator/deployment.yaml"].contains("value: blue,green"));
    assert!(files["manifests/samples/kustomization.yaml"].contains("namespace: blue"));
}

/// The rules of each role in a file, each with the namespace of the role.
fn rules_of(text: &str) -> String {
    let mut lines = Vec::new();
    for document in text.split("\n---\n") {
        let role: Value = serde_yaml::from_str(document).unwrap();
        for rule in role["rules"].as_array().into_iter().flatten() {
            let namespace = role["metadata"]["namespace"].as_str().unwrap_or("*");
            let part = |key: &str| rule.get(key).map(Value::to_string).unwrap_or_default();
            lines.push(format!(
                "{namespace}: {} {} {}",
                part("apiGroups"),
                part("resources"),
                part("verbs")
            ));
        }
    }
    lines.join("\n")
}

#[test]
fn the_own_namespace_needs_no_cluster_role() {
    let files = files(&operator(&format!("namespaces = \"own\"\n{MEMCACHED}")));
    assert!(!files.contains_key("manifests/rbac/cluster-role.yaml"));
    assert!(files["manifests/rbac/role.yaml"].contains("namespace: memcached-operator\n"));
    assert!(files["manifests/operator/deployment.yaml"].contains("name: WATCH_NAMESPACE"));
}

#[test]
fn an_empty_project_has_only_permissions_for_its_lease() {
    let files = files(&operator(""));
    assert!(!files.contains_key("manifests/rbac/cluster-role.yaml"));
    assert!(!files.contains_key("crds/kustomization.yaml"));
    assert!(!files["manifests/kustomization.yaml"].contains("../crds"));
}

#[test]
fn a_controller_of_an_existing_kind_may_only_watch_it_and_report_events() {
    let files = files(&operator(
        "[[controller]]\nname = \"pods\"\nkind = \"v1/Pod\"\ncleanup = false",
    ));
    let rules = rules_of(&files["manifests/rbac/cluster-role.yaml"]);
    assert_eq!(
        rules,
        "*: [\"\"] [\"pods\"] [\"list\",\"watch\"]\n*: [\"events.k8s.io\"] [\"events\"] [\"create\",\"patch\"]"
    );
    assert!(!files.contains_key("crds/kustomization.yaml"));
}

#[test]
fn permissions_follow_the_declarations() {
    let rules = |change: fn(&mut Controller)| {
        let mut operator = memcached();
        change(&mut operator.controllers[0]);
        rules_of(&files(&operator)["manifests/rbac/cluster-role.yaml"])
    };
    let all = rules(|_| ());
    assert!(all.contains("deployments"));
    let childless = rules(|it| it.owns.clear());
    assert!(!childless.contains("deployments"));
    let own = r#"["cache.example.com"] ["memcacheds"] ["get","list","watch"]"#;
    // the rule then also has `patch`, because objects of its own kind may still have the finalizer of an earlier release
    assert!(!rules(|it| it.cleanup = false).contains(own));
    let named = rules(|it| {
        it.name = Some("memcacheds".to_owned());
        it.cleanup = false;
    });
    assert!(named.contains(own));
    let statusless = rules(|it| it.has_status = false);
    assert!(!statusless.contains("memcacheds/status"));
    // the runtime reads and patches the object then
    let in_object = rules(|it| {
        (it.has_status, it.has_status_in_object) = (false, true);
        it.owns.clear();
    });
    let of_object = r#"["memcacheds"] ["get","list","patch","watch"]"#;
    assert!(in_object.contains(of_object), "{in_object}");
    assert!(!all.contains(r#""delete""#) && !all.contains(r#""*""#));
}

#[test]
fn without_an_image_there_is_no_deployment() {
    let mut operator = memcached();
    operator.config.to_mut().image = None;
    let files = files(&operator);
    assert!(!files.contains_key("manifests/operator/deployment.yaml"));
    assert!(!files["manifests/kustomization.yaml"].contains("deployment"));
}

#[test]
fn every_file_names_its_command_and_ends_in_one_newline() {
    for (path, text) in files(&memcached_and_zone("\"own\"")) {
        assert!(
            text.starts_with("# Generated by `cargo operator regenerate`"),
            "{path}"
        );
        assert!(text.ends_with('\n') && !text.ends_with("\n\n"), "{path}");
        assert!(
            !text.contains("null") && !text.contains("status:"),
            "{path}: {text}"
        );
    }
}

#[test]
fn equal_rules_become_one() {
    let once = vec![rule("", &["pods"], &["get", "list"])];
    let twice = [
        rule("", &["pods"], &["list"]),
        rule("", &["pods", "pods"], &["get", "list"]),
    ];
    assert_eq!(normalize(twice), once);
    assert_eq!(normalize(once.clone()), once);
}

#[test]
fn resources_with_the_same_verbs_share_a_rule_within_their_group() {
    let rules = [
        rule("apps", &["deployments"], &["get"]),
        rule("", &["secrets"], &["get"]),
        rule("", &["configmaps"], &["get"]),
        rule("", &["pods"], &["list"]),
    ];
    assert_eq!(
        normalize(rules),
        [
            rule("", &["configmaps", "secrets"], &["get"]),
            rule("", &["pods"], &["list"]),
            rule("apps", &["deployments"], &["get"]),
        ]
    );
}

#[test]
fn a_rule_for_names_is_absorbed_by_the_rule_for_all() {
    let named = |verbs| PolicyRule {
        resource_names: Some(vec!["ca".to_owned()]),
        ..rule("", &["secrets"], verbs)
    };
    assert_eq!(
        normalize([named(&["get", "delete"]), rule("", &["secrets"], &["get"])]),
        [named(&["delete"]), rule("", &["secrets"], &["get"])]
    );
    assert_eq!(normalize([named(&["get"])]), [named(&["get"])]);
}

#[test]
fn a_wildcard_verb_absorbs_others_and_urls_are_separate() {
    let url = PolicyRule {
        non_resource_urls: Some(vec!["/metrics".to_owned()]),
        verbs: vec!["get".to_owned()],
        ..PolicyRule::default()
    };
    assert_eq!(
        normalize([url.clone(), rule("", &["pods"], &["get", "*"])]),
        [rule("", &["pods"], &["*"]), url]
    );
}

mod webhooks;

#[test]
fn replicas_have_a_budget_and_prefer_different_nodes() {
    let of = |text| {
        manifests(&deployed(text))
            .objects
            .into_iter()
            .map(|it| (it.role, it.value))
            .collect::<BTreeMap<_, _>>()
    };
    let one = of("");
    assert!(!one.contains_key(&Role::DisruptionBudget));
    let affinity = |objects: &BTreeMap<Role, Value>| {
        let pod = &objects[&Role::Deployment]["spec"]["template"]["spec"];
        pod["affinity"].clone()
    };
    let apart = json!({"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{
        "weight": 100,
        "podAffinityTerm": {
            "labelSelector": {"matchLabels": {"app.kubernetes.io/name": "memcached-operator"}},
            "topologyKey": "kubernetes.io/hostname",
        },
    }]}});
    assert_eq!(affinity(&one), apart);

    let two = of("replicas = 2");
    assert_eq!(
        two[&Role::DisruptionBudget]["spec"]["maxUnavailable"],
        json!(1)
    );
    assert_eq!(affinity(&two), apart);

    let chosen = of(
        "replicas = 2\ndisruption-budget = { minAvailable = \"50%\" }\n\
         affinity = { nodeAffinity = {} }",
    );
    assert_eq!(
        chosen[&Role::DisruptionBudget]["spec"]["minAvailable"],
        json!("50%")
    );
    assert_eq!(affinity(&chosen), json!({"nodeAffinity": {}}));
}

#[test]
fn the_api_server_accepts_all_settings() {
    let all = deployed(include_str!("../../config/deployment/all-settings.toml"));
    let objects = manifests(&all).objects;
    for object in &objects {
        assert_eq!(
            operator_apiserver::refusals(&object.value),
            [],
            "{object:?}"
        );
        let labels = &object.value["metadata"]["labels"];
        let is_sample = matches!(object.role, Role::Sample(_));
        assert!(is_sample || labels["team"] == "printing", "{object:?}");
    }
    let deployment = objects.iter().find(|it| it.role == Role::Deployment);
    let spec = &deployment.unwrap().value["spec"];
    assert_eq!(
        spec["selector"]["matchLabels"],
        json!({"app.kubernetes.io/name": "memcached-operator"})
    );
    let pod = &spec["template"]["spec"];
    assert_eq!(
        pod["topologySpreadConstraints"][0]["labelSelector"],
        spec["selector"]
    );
    let container = &pod["containers"][0];
    assert_eq!(
        container["args"],
        json!([
            "--log-format=json",
            "--concurrency=32",
            "--paper",
            "a4",
            "--paper",
            "a3",
        ])
    );
    assert_eq!(
        container["env"],
        json!([
            {"name": "POD_LIMIT", "value": "on"},
            {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "credentials", "key": "token"}}},
        ])
    );
}
