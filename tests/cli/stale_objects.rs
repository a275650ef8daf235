//! Objects that leave the manifests, but stay in clusters.

use std::fs;

use super::support::{edit, files, folder, ok};

const STALE: &str = "manifests/stale.md";

const REPORT: &str = "\
warning[stale-objects]: p: the manifests no longer contain objects, which stay in clusters until somebody deletes them
                        before you apply the manifests:
                        kubectl delete --ignore-not-found validatingwebhookconfigurations.admissionregistration.k8s.io/p
                        after the new pods are ready:
                        kubectl delete --ignore-not-found --namespace=p services/p-webhook
                        kubectl delete --ignore-not-found clusterrolebindings.rbac.authorization.k8s.io/p-webhook
                        kubectl delete --ignore-not-found --namespace=p rolebindings.rbac.authorization.k8s.io/p-webhook
                        kubectl delete --ignore-not-found clusterroles.rbac.authorization.k8s.io/p-webhook
                        kubectl delete --ignore-not-found --namespace=p roles.rbac.authorization.k8s.io/p-webhook
";

const FILE: &str = "\
# Objects that the manifests no longer contain

Applying the manifests does not delete them. Remove a line when no cluster has the object any more, or remove this file;
`cargo operator` rewrites it when objects leave the manifests or return, and keeps only the commands.

Run before you apply the manifests:

```sh
kubectl delete --ignore-not-found validatingwebhookconfigurations.admissionregistration.k8s.io/p
```

Run after the new pods are ready:

```sh
kubectl delete --ignore-not-found --namespace=p services/p-webhook
kubectl delete --ignore-not-found clusterrolebindings.rbac.authorization.k8s.io/p-webhook
kubectl delete --ignore-not-found --namespace=p rolebindings.rbac.authorization.k8s.io/p-webhook
kubectl delete --ignore-not-found clusterroles.rbac.authorization.k8s.io/p-webhook
kubectl delete --ignore-not-found --namespace=p roles.rbac.authorization.k8s.io/p-webhook
```
";

/// A project with an image, validation, monitoring, and roles in one namespace.
fn released() -> tempfile::TempDir {
    let folder = folder();
    ok(folder.path(), "init p --crd widget.yaml");
    let p = folder.path().join("p");
    edit(&p.join("operator.toml"), |text| {
        text.replace("namespaces = \"all\"", "namespaces = [\"red\", \"blue\"]")
            + "\n[monitoring]\nprometheus = true\n"
    });
    ok(&p, "add-webhook Widget --validate");
    ok(&p, "gen-manifests --image registry.example.com/p:1");
    folder
}

#[test]
fn what_leaves_the_manifests_is_reported_once_and_listed_until_the_user_removes_it() {
    let folder = released();
    let p = folder.path().join("p");
    assert!(!p.join(STALE).exists());
    let check = ok(&p, "remove Widget --webhooks --dry-run").stderr;
    assert!(check.contains(REPORT), "{check}");
    assert!(!p.join(STALE).exists());
    let removed = ok(&p, "remove Widget --webhooks").stderr;
    assert!(removed.contains(REPORT), "{removed}");
    assert_eq!(fs::read_to_string(p.join(STALE)).unwrap(), FILE);
    // a kustomization takes the list for no manifest
    assert!(
        !fs::read_to_string(p.join("manifests/kustomization.yaml"))
            .unwrap()
            .contains("stale")
    );
    let again = ok(&p, "regenerate").stderr;
    assert!(!again.contains("stale-objects"), "{again}");
    edit(&p.join("operator.toml"), |text| {
        text.replace("\"red\", ", "")
    });
    let roles = ok(&p, "regenerate").stderr;
    for line in ["--namespace=red rolebindings", "--namespace=red roles"] {
        assert!(roles.contains(line), "{line}: {roles}");
    }
    assert!(!roles.contains("validatingwebhook"), "{roles}");
    edit(&p.join(STALE), |text| {
        let lines = text.split_inclusive('\n');
        lines
            .filter(|line| !line.contains("validatingwebhook"))
            .collect()
    });
    let before = files(&p);
    ok(&p, "regenerate --check");
    ok(&p, "regenerate");
    assert_eq!(files(&p), before);
}

#[test]
fn what_returns_to_the_manifests_is_no_longer_listed() {
    let folder = released();
    let p = folder.path().join("p");
    ok(&p, "remove Widget --webhooks");
    edit(&p.join("operator.toml"), |text| {
        text.replace("prometheus = true", "prometheus = false")
    });
    ok(&p, "regenerate");
    let listed = [
        "validatingwebhookconfigurations",
        "servicemonitors",
        "configmaps",
    ];
    let list = fs::read_to_string(p.join(STALE)).unwrap();
    assert!(listed.iter().all(|kind| list.contains(kind)), "{list}");
    let back = ok(&p, "add-webhook Widget --validate").stderr;
    assert!(!back.contains("stale-objects"), "{back}");
    let list = fs::read_to_string(p.join(STALE)).unwrap();
    assert!(
        !list.contains("validatingwebhook") && list.contains("configmaps/p-dashboard"),
        "{list}"
    );
    edit(&p.join("operator.toml"), |text| {
        text.replace("prometheus = false", "prometheus = true")
    });
    let back = ok(&p, "regenerate").stdout;
    assert!(back.contains("remove manifests/stale.md"), "{back}");
    assert!(!p.join(STALE).exists());
}

#[test]
fn a_renamed_operator_leaves_all_of_its_objects_but_no_namespace() {
    let folder = released();
    let p = folder.path().join("p");
    edit(&p.join("operator.toml"), |text| {
        text.replacen("name = \"p\"", "name = \"q\"", 1)
    });
    let renamed = ok(&p, "regenerate").stderr;
    let (first, rest) = renamed.split_once("after the new pods are ready").unwrap();
    assert!(
        first.contains("--namespace=p deployments.apps/p\n"),
        "{renamed}"
    );
    assert!(
        rest.contains("--namespace=p serviceaccounts/p\n"),
        "{renamed}"
    );
    assert!(!renamed.contains("namespaces/p"), "{renamed}");
}

#[test]
fn a_project_without_an_image_was_never_installed() {
    let folder = folder();
    ok(folder.path(), "init p --crd widget.yaml");
    let p = folder.path().join("p");
    ok(&p, "add-webhook Widget --validate");
    let removed = ok(&p, "remove Widget --webhooks").stderr;
    assert!(
        !removed.contains("stale-objects") && !p.join(STALE).exists(),
        "{removed}"
    );
}

#[test]
fn a_manifest_becomes_no_other_command() {
    let folder = released();
    let p = folder.path().join("p");
    edit(&p.join("manifests/monitoring/dashboard.yaml"), |text| {
        text.replace("name: p-dashboard", "name: p; reboot")
            + "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: mine}}\n"
    });
    let reset = ok(&p, "regenerate --reset manifests/monitoring/dashboard.yaml").stderr;
    assert!(
        reset.contains("configmaps/mine\n") && !reset.contains("reboot"),
        "{reset}"
    );
}
