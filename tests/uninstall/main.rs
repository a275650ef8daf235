//! `cargo operator uninstall` on the API server in memory: what it deletes and in which order, and what it leaves alone. Needs kubectl.

mod cluster;

use cluster::{Cluster, FINALIZER};
use serde_json::json;

/// Removes everything of the operator.
const ALL: &str = "uninstall --yes --crd widgets.example.com --delete-namespace";

const DEPLOYMENT: &str = "/apis/apps/v1/namespaces/shop/deployments/shop";
const CRD: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com";
const WIDGET: &str = "/apis/example.com/v1/namespaces/default/widgets/a";

#[test]
fn without_yes_nothing_is_changed() {
    let cluster = Cluster::new();
    cluster.create_widget("a", &[FINALIZER]);
    let run = cluster.ok("uninstall --crd widgets.example.com");
    for line in [
        "delete Widget default/a: finalizers example.com/shop\n",
        "delete CustomResourceDefinition widgets.example.com: its objects: 1, with our finalizer: 1\n",
        "delete Deployment shop/shop\n",
        "delete ServiceAccount shop/shop\n",
        "keep Namespace shop: --delete-namespace deletes it\n",
    ] {
        assert!(run.stdout.contains(line), "{line}\n{}", run.stdout);
    }
    assert_eq!(
        run.stderr,
        "nothing was deleted; the same command with `--yes` deletes\n"
    );
    assert_eq!(cluster.writes(), Vec::<String>::new());
}

#[test]
fn objects_are_deleted_first_then_crds_webhooks_the_operator_and_its_permissions() {
    let cluster = Cluster::with("add-webhook Widget --validate");
    cluster.create_widget("a", &[FINALIZER]);
    cluster.clean_up_as_the_operator();
    let run = cluster.ok(ALL);
    assert_eq!(run.stderr, "shop was uninstalled\n", "{}", run.stdout);
    let order = [
        "delete widgets default/a",
        "delete customresourcedefinitions widgets.example.com",
        "delete validatingwebhookconfigurations shop",
        "delete deployments shop/shop",
        "delete services shop/shop-webhook",
        "delete networkpolicies shop/shop",
        "delete leases shop/shop",
        "delete secrets shop/shop-webhook",
        "delete clusterrolebindings shop",
        "delete clusterroles shop",
        "delete serviceaccounts shop/shop",
        "delete namespaces shop",
    ];
    let writes = cluster.writes();
    let places = order.map(|write| {
        writes
            .iter()
            .position(|it| it == write)
            .unwrap_or_else(|| panic!("no {write} in {writes:#?}"))
    });
    assert!(places.is_sorted(), "{writes:#?}");
    assert_eq!(cluster.labeled(), Vec::<String>::new());
    let again = cluster.ok(ALL);
    assert_eq!(again.stderr, "nothing to delete\n", "{}", again.stdout);
}

#[test]
fn the_objects_of_other_operators_are_deleted_too() {
    let edit = |config| {
        format!("certificates = \"cert-manager\"\n{config}\n[monitoring]\nprometheus = true\n")
    };
    let cluster = Cluster::with_config(edit, "add-webhook Widget --validate");
    cluster.ok("uninstall --yes");
    let writes = cluster.writes();
    for write in [
        "delete certificates shop/shop-webhook",
        "delete certificates shop/shop-webhook-ca",
        "delete issuers shop/shop-webhook",
        "delete servicemonitors shop/shop",
        "delete prometheusrules shop/shop",
        "delete configmaps shop/shop-dashboard",
    ] {
        assert!(writes.iter().any(|it| it == write), "{write}: {writes:#?}");
    }
}

/// A cluster with objects that the manifests no longer contain.
fn with_stale_objects() -> Cluster {
    let edit = |config: String| {
        let namespaces = "namespaces = [\"shop\", \"default\"]";
        let config = config.replace("namespaces = \"all\"", namespaces);
        format!("{config}\n[monitoring]\nprometheus = true\nprotected = true\n")
    };
    let cluster = Cluster::with_config(edit, "add-webhook Widget --validate");
    cluster.ok("remove Widget --webhooks");
    cluster.configure(|config| {
        let config = config.replace("\"shop\", \"default\"", "\"shop\"");
        config.replace("prometheus = true\nprotected = true\n", "")
    });
    cluster.ok("regenerate");
    cluster
}

#[test]
fn stale_objects_are_found_by_their_label_and_deleted_in_order() {
    let cluster = with_stale_objects();
    let shown = cluster.ok("uninstall --stale");
    assert_eq!(cluster.writes(), Vec::<String>::new());
    let deleted = cluster.ok("uninstall --stale --yes");
    assert_eq!(
        deleted.stderr, "the stale objects of shop were deleted\n",
        "{}",
        deleted.stdout
    );
    assert_eq!(shown.stdout.replace("delete ", "deleted "), deleted.stdout);
    assert_eq!(
        cluster.writes(),
        [
            "delete validatingwebhookconfigurations shop",
            "delete services shop/shop-webhook",
            "delete clusterrolebindings shop-metrics",
            "delete clusterrolebindings shop-webhook",
            "delete rolebindings default/shop",
            "delete rolebindings shop/shop-webhook",
            "delete clusterroles shop-metrics",
            "delete clusterroles shop-metrics-reader",
            "delete clusterroles shop-webhook",
            "delete roles default/shop",
            "delete roles shop/shop-webhook",
            "delete servicemonitors shop/shop",
            "delete prometheusrules shop/shop",
            "delete configmaps shop/shop-dashboard",
        ]
    );
    assert!(cluster.exists(DEPLOYMENT) && cluster.exists(CRD));
    let again = cluster.ok("uninstall --stale --yes");
    assert_eq!(again.stderr, "nothing to delete\n", "{}", again.stdout);
    let refused = cluster.run("uninstall --stale --crd widgets.example.com");
    assert_eq!(refused.code, 2, "{}", refused.stderr);
}

#[test]
fn the_objects_of_others_are_not_stale() {
    let cluster = with_stale_objects();
    let configuration =
        "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/shop";
    cluster.mark(
        configuration,
        "labels",
        "app.kubernetes.io/managed-by",
        "Helm",
    );
    let rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
    // an operator of the same name in another namespace
    let subjects = json!([{"kind": "ServiceAccount", "name": "shop", "namespace": "other"}]);
    cluster.patch(
        &format!("{rbac}/rolebindings/shop"),
        &json!({"subjects": subjects}),
    );
    for (namespace, name) in [
        ("shop", "shop"),
        ("shop", "shop-mine"),
        ("default", "shop-dashboard"),
    ] {
        cluster.install(&format!(
            "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, namespace: {namespace}, labels: {{app.kubernetes.io/name: shop}}}}}}"
        ));
    }
    cluster.ok("uninstall --stale --yes");
    for path in [
        configuration,
        &format!("{rbac}/rolebindings/shop"),
        &format!("{rbac}/roles/shop"),
        "/api/v1/namespaces/shop/configmaps/shop",
        "/api/v1/namespaces/shop/configmaps/shop-mine",
        "/api/v1/namespaces/default/configmaps/shop-dashboard",
    ] {
        assert!(cluster.exists(path), "{path}");
    }
    assert!(!cluster.exists("/api/v1/namespaces/shop/configmaps/shop-dashboard"));
}

#[test]
fn a_stale_object_of_an_operator_in_another_namespace_stops_it() {
    let cluster = with_stale_objects();
    let refused = cluster.run("uninstall --stale --yes --namespace other");
    assert_eq!(refused.code, 2, "{}", refused.stdout);
    assert!(
        refused
            .stderr
            .contains("the same command with `--namespace shop`"),
        "{}",
        refused.stderr
    );
    assert_eq!(cluster.writes(), Vec::<String>::new());
}

#[test]
fn a_crd_is_kept_with_its_objects_unless_it_is_named() {
    let cluster = Cluster::new();
    cluster.create_widget("a", &[]);
    let run = cluster.ok("uninstall --yes");
    let kept = "keep CustomResourceDefinition widgets.example.com: its objects: 1; --crd widgets.example.com deletes it and them\n";
    assert!(run.stdout.contains(kept), "{}", run.stdout);
    for (path, is_there) in [(WIDGET, true), (CRD, true), (DEPLOYMENT, false)] {
        assert_eq!(cluster.exists(path), is_there, "{path}");
    }
    assert_eq!(cluster.ok("uninstall --yes").stderr, "nothing to delete\n");
}

#[test]
fn what_is_stuck_is_listed_and_the_operator_stays() {
    let cluster = Cluster::new();
    cluster.create_widget("a", &[FINALIZER, "example.com/backup"]);
    cluster.clean_up_as_the_operator();
    let stuck = cluster.run(&format!("{ALL} --timeout 4s"));
    assert_eq!(stuck.code, 1, "{}", stuck.stderr);
    let line = "Widget default/a: finalizers example.com/backup, being deleted since 20";
    assert!(stuck.stderr.contains(line), "{}", stuck.stderr);
    assert!(!stuck.stdout.contains("deleted"), "{}", stuck.stdout);
    assert!(cluster.exists(DEPLOYMENT) && cluster.exists(CRD));
    assert_eq!(cluster.writes(), ["delete widgets default/a"]);
    cluster.remove_finalizers("a");
    cluster.ok(ALL);
    assert!(!cluster.exists(DEPLOYMENT) && !cluster.exists(CRD));
}

#[test]
fn objects_that_would_keep_a_finalizer_of_the_operator_stop_it() {
    let cluster = Cluster::new();
    cluster.create_widget("a", &[FINALIZER]);
    let shown = cluster.ok("uninstall");
    assert!(!shown.stderr.contains("`--yes`"), "{}", shown.stderr);
    let refused = cluster.run("uninstall --yes");
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    for part in [
        "Widget default/a: finalizers example.com/shop",
        "--crd widgets.example.com",
        "--abandon-finalizers",
    ] {
        assert!(refused.stderr.contains(part), "{part}: {}", refused.stderr);
    }
    assert_eq!(cluster.writes(), Vec::<String>::new());
    cluster.ok("uninstall --yes --abandon-finalizers");
    assert!(cluster.exists(WIDGET) && !cluster.exists(DEPLOYMENT));
}

#[test]
fn objects_that_the_operator_converts_stop_it_unless_they_are_deleted_too() {
    let cluster = Cluster::with("add-webhook Widget --validate");
    let configurations = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
    cluster.delete(&format!("{configurations}/shop"));
    cluster.create_widget("a", &[]);
    let service = json!({"namespace": "shop", "name": "shop-webhook", "path": "/convert"});
    let webhook = json!({"clientConfig": {"service": service}, "conversionReviewVersions": ["v1"]});
    let conversion = json!({"strategy": "Webhook", "webhook": webhook});
    cluster.patch(CRD, &json!({"spec": {"conversion": conversion}}));
    let refused = cluster.run("uninstall --yes --abandon-finalizers");
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    for part in [
        "objects of widgets.example.com, which the operator converts: 1",
        "--crd widgets.example.com",
        "kubectl patch crd widgets.example.com",
    ] {
        assert!(refused.stderr.contains(part), "{part}: {}", refused.stderr);
    }
    assert_eq!(cluster.writes(), Vec::<String>::new());
    // the help recommends this change
    let none = json!({"strategy": "None", "webhook": null});
    cluster.patch(CRD, &json!({"spec": {"conversion": none}}));
    cluster.ok("uninstall --yes");
    assert!(cluster.exists(WIDGET) && !cluster.exists(DEPLOYMENT));
}

#[test]
fn a_namespace_with_a_kind_of_another_version_is_kept() {
    let cluster = Cluster::new();
    cluster.install(
        "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: gadgets, singular: gadget, kind: Gadget, listKind: GadgetList}
  versions:
  - name: v1alpha1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
",
    );
    cluster.install(
        "{apiVersion: example.com/v1alpha1, kind: Gadget, metadata: {name: mine, namespace: shop}}",
    );
    let run = cluster.ok("uninstall --yes --delete-namespace");
    assert!(run.stderr.contains("it has Gadget mine"), "{}", run.stderr);
    assert!(cluster.exists("/api/v1/namespaces/shop"));
}

#[test]
fn an_operator_that_something_installs_again_keeps_its_roles() {
    let cluster = Cluster::new();
    cluster.replace_before_deletion(DEPLOYMENT);
    let run = cluster.run("uninstall --yes");
    assert_eq!(run.code, 1, "{}", run.stderr);
    let words = "Deployment shop/shop was deleted, and created again";
    assert!(run.stderr.contains(words), "{}", run.stderr);
    assert!(!run.stdout.contains("deleted Deployment"), "{}", run.stdout);
    assert!(cluster.exists("/api/v1/namespaces/shop/serviceaccounts/shop"));
}

#[test]
fn a_crd_that_something_installs_again_keeps_the_operator() {
    let cluster = Cluster::new();
    cluster.replace_before_deletion(CRD);
    let run = cluster.run(ALL);
    assert_eq!(run.code, 1, "{}", run.stderr);
    let words = "CustomResourceDefinition widgets.example.com was deleted, and created again";
    assert!(run.stderr.contains(words), "{}", run.stderr);
    assert!(cluster.exists(CRD) && cluster.exists(DEPLOYMENT));
}

#[test]
fn the_objects_of_several_pages_are_counted() {
    let cluster = Cluster::new();
    for number in 0..501 {
        cluster.create_widget(&format!("a{number}"), &[]);
    }
    let run = cluster.ok("uninstall");
    assert!(run.stdout.contains("its objects: 501;"), "{}", run.stdout);
}

#[test]
fn finalizers_on_kinds_of_others_are_reported_and_stay() {
    let cluster = Cluster::with("add-controller v1/ConfigMap --as stamps --cleanup");
    cluster.install(
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default, finalizers: [shop/stamps]}}",
    );
    let refused = cluster.run(ALL);
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    let line = "ConfigMap default/a: finalizers shop/stamps";
    assert!(refused.stderr.contains(line), "{}", refused.stderr);
    assert_eq!(cluster.writes(), Vec::<String>::new());
    cluster.ok(&format!("{ALL} --abandon-finalizers"));
    assert!(cluster.exists("/api/v1/namespaces/default/configmaps/a"));
}

#[test]
fn an_object_without_the_label_is_skipped() {
    let cluster = Cluster::new();
    let service = "/api/v1/namespaces/shop/services/shop-metrics";
    cluster.mark(service, "labels", "app.kubernetes.io/name", "other");
    let run = cluster.ok(ALL);
    let line = "skip Service shop/shop-metrics: it lacks the label app.kubernetes.io/name=shop\n";
    assert!(run.stdout.contains(line), "{}", run.stdout);
    let note = "Namespace shop is kept, because it has Service shop-metrics";
    assert!(run.stderr.contains(note), "{}", run.stderr);
    assert!(cluster.exists(service) && !cluster.exists(DEPLOYMENT));
}

#[test]
fn a_deployment_without_the_label_keeps_its_roles() {
    let cluster = Cluster::new();
    cluster.mark(DEPLOYMENT, "labels", "app.kubernetes.io/name", "other");
    for (args, code) in [(ALL, 1), ("uninstall", 0)] {
        let run = cluster.run(args);
        assert_eq!(run.code, code, "{}", run.stderr);
        for part in ["Deployment shop/shop lacks the label", "kubectl label"] {
            assert!(run.stderr.contains(part), "{part}: {}", run.stderr);
        }
        assert!(!run.stderr.contains("`--yes`"), "{}", run.stderr);
    }
    assert_eq!(cluster.writes(), Vec::<String>::new());
}

#[test]
fn a_release_of_helm_is_left_to_helm_except_for_chosen_crds() {
    let cluster = Cluster::new();
    cluster.create_widget("a", &[FINALIZER]);
    cluster.clean_up_as_the_operator();
    cluster.mark(DEPLOYMENT, "labels", "app.kubernetes.io/managed-by", "Helm");
    cluster.mark(
        DEPLOYMENT,
        "annotations",
        "meta.helm.sh/release-name",
        "store",
    );
    for args in ["uninstall", "uninstall --abandon-finalizers"] {
        let shown = cluster.ok(args);
        assert!(!shown.stderr.contains("`--yes`"), "{}", shown.stderr);
        let is_over = args.ends_with("finalizers");
        assert_eq!(shown.stderr.contains("next: helm"), is_over, "{args}");
        let recommends = shown.stderr.contains("`--abandon-finalizers`");
        assert_eq!(recommends, !is_over, "{}", shown.stderr);
    }
    let refused = cluster.run("uninstall --yes");
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    assert!(!refused.stderr.contains("next:"), "{}", refused.stderr);
    let run = cluster.ok(ALL);
    assert!(
        run.stderr
            .contains("next: helm uninstall store --namespace shop"),
        "{}",
        run.stderr
    );
    assert!(!cluster.exists(CRD) && cluster.exists(DEPLOYMENT));
    assert_eq!(
        cluster.writes(),
        [
            "delete widgets default/a",
            "delete customresourcedefinitions widgets.example.com"
        ]
    );
}

#[test]
fn an_operator_of_olm_is_left_to_olm() {
    let cluster = Cluster::new();
    cluster.mark(DEPLOYMENT, "labels", "olm.owner", "shop.v1");
    let run = cluster.ok("uninstall --yes");
    let next = "next: kubectl delete clusterserviceversion shop.v1 --namespace shop";
    assert!(run.stderr.contains(next), "{}", run.stderr);
    assert_eq!(cluster.writes(), Vec::<String>::new());
}

#[test]
fn each_failure_has_a_cure() {
    let cluster = Cluster::new();
    for (args, kubeconfig, parts) in [
        (
            "uninstall",
            "missing",
            ["no usable kubeconfig", "KUBECONFIG"],
        ),
        (
            "uninstall --context nowhere",
            "admin",
            ["no context `nowhere`", "get-contexts"],
        ),
        (
            "uninstall",
            "unreachable",
            ["can't be reached", "cluster-info"],
        ),
        (
            "uninstall",
            "nobody",
            [
                "get CustomResourceDefinition widgets.example.com",
                "a context with this permission",
            ],
        ),
        (
            "uninstall",
            "stranger",
            ["does not accept the credentials", "kubectl auth whoami"],
        ),
        (
            "uninstall",
            "broken",
            ["no usable kubeconfig", "error loading config file"],
        ),
        (
            "uninstall --yes --namespace other",
            "admin",
            ["in the namespace shop, not in other", "--namespace shop"],
        ),
        (
            "uninstall --crd gadgets.example.com",
            "admin",
            [
                "`gadgets.example.com` is not a CRD",
                "it installs widgets.example.com",
            ],
        ),
    ] {
        let run = cluster.run_as(kubeconfig, args);
        assert_eq!(run.code, 2, "{}", run.stderr);
        for part in parts {
            assert!(run.stderr.contains(part), "{part}: {}", run.stderr);
        }
    }
    assert_eq!(cluster.writes(), Vec::<String>::new());
}

#[test]
fn json_has_the_plan_and_what_was_deleted() {
    let cluster = Cluster::new();
    let run = cluster.ok("uninstall --yes --format json");
    let value: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    let deleted = value["deleted"].as_array().unwrap();
    assert!(
        deleted.contains(&"Deployment shop/shop".into()),
        "{value:#}"
    );
    assert_eq!(value["plan"][0]["act"], "keep");
    assert_eq!(value["result"], "shop was uninstalled");
}

#[test]
fn json_has_what_was_deleted_before_a_failure() {
    let cluster = Cluster::new();
    cluster.refuse("DELETE /apis/rbac.authorization.k8s.io/v1/clusterroles/shop");
    let run = cluster.run("uninstall --yes --format json");
    assert_eq!(run.code, 2, "{}", run.stderr);
    assert!(run.stderr.contains("unable to handle"), "{}", run.stderr);
    let value: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    let deleted = value["deleted"].as_array().unwrap();
    assert!(
        deleted.contains(&"Deployment shop/shop".into()),
        "{value:#}"
    );
    let message = &value["reports"][0]["message"];
    assert!(
        message
            .as_str()
            .unwrap()
            .contains("delete ClusterRole shop"),
        "{value:#}"
    );
    assert_eq!(value["result"], "the operator is not uninstalled");
}

#[test]
fn an_api_group_that_does_not_answer_stops_it_before_any_deletion() {
    let cluster = Cluster::new();
    cluster.refuse("GET /apis/policy/v1");
    let run = cluster.run("uninstall --yes --delete-namespace");
    assert_eq!(run.code, 2, "{}", run.stderr);
    for part in ["the API group `policy`", "kubectl get apiservices"] {
        assert!(run.stderr.contains(part), "{part}: {}", run.stderr);
    }
    assert_eq!(cluster.writes(), Vec::<String>::new());
    // if no namespace is deleted, the API group does not matter
    cluster.ok("uninstall --yes");
    let release = Cluster::new();
    release.mark(DEPLOYMENT, "labels", "app.kubernetes.io/managed-by", "Helm");
    release.refuse("GET /apis/policy/v1");
    release.ok("uninstall --yes --crd widgets.example.com --delete-namespace");
}

#[test]
fn a_server_that_is_not_available_is_named() {
    let cluster = Cluster::new();
    cluster.refuse("GET /version");
    let run = cluster.run("uninstall");
    assert_eq!(run.code, 2, "{}", run.stderr);
    for part in [
        "can't be reached: the server is currently unable to handle the request",
        "https://127.0.0.1",
    ] {
        assert!(run.stderr.contains(part), "{part}: {}", run.stderr);
    }
}
