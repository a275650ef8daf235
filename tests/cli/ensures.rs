//! `ensure-crds`: the operator applies its own CRDs, and has the permissions for it.

use std::fs;

use serde_json::Value;

use super::support::{edit, files, folder, ok};

#[test]
fn an_operator_that_ensures_its_crds_has_them_and_the_permissions() {
    let folder = folder();
    ok(folder.path(), "init p --crd widget.yaml");
    let p = folder.path().join("p");
    ok(&p, "add-crd ../clusters.yaml");
    let without = files(&p);
    let crds = "src/controllers/crds.json";
    let role = "manifests/rbac/crds.yaml";
    assert!(!without.contains_key(crds) && !without.contains_key(role));
    edit(&p.join("operator.toml"), |text| {
        text.replace(
            "namespaces = \"all\"\n",
            "namespaces = \"own\"\nensure-crds = true\n",
        )
    });
    ok(&p, "regenerate");
    ok(&p, "regenerate --check");
    let made = files(&p);
    let registry = &made["src/controllers/mod.rs"];
    let all = "pub fn all() -> Controllers {
    controllers()
        .ensure_crds(env!(\"CARGO_PKG_VERSION\"), include_str!(\"crds.json\"))
}

#[rustfmt::skip]
#[allow(clippy::pedantic)]
fn controllers() -> Controllers {
";
    assert!(registry.contains(all), "{registry}");
    let ensured: Vec<Value> = serde_json::from_str(&made[crds]).unwrap();
    let names = ensured.iter().map(|crd| crd["metadata"]["name"].as_str());
    let names: Vec<&str> = names.map(Option::unwrap).collect();
    assert_eq!(names.len(), 3, "{names:?}");
    for (crd, name) in ensured.iter().zip(&names) {
        let text = fs::read_to_string(p.join(format!("crds/{name}.yaml"))).unwrap();
        let spec: Value = serde_yaml::from_str(&text).unwrap();
        assert_eq!(crd["spec"], spec["spec"]);
    }
    // CRDs are cluster-scoped, so this is a ClusterRole, although the operator watches only its own namespace.
    let role = &made[role];
    assert!(role.contains("kind: ClusterRole\n"), "{role}");
    let mut named: Vec<String> = names.iter().map(|name| format!("  - {name}\n")).collect();
    named.sort();
    let named = format!(
        "  resourceNames:\n{}  resources:\n  - customresourcedefinitions\n  verbs:\n  - get\n  - patch\n",
        named.concat()
    );
    assert!(role.contains(&named), "{role}");
    let unnamed = "  resources:\n  - customresourcedefinitions\n  verbs:\n  - create\n";
    assert!(role.contains(unnamed), "{role}");

    edit(&p.join("operator.toml"), |text| {
        text.replace(
            "namespaces = \"own\"\nensure-crds = true\n",
            "namespaces = \"all\"\n",
        )
    });
    ok(&p, "regenerate");
    let mut after = files(&p);
    let mut without = without;
    for lists in [&mut after, &mut without] {
        lists.retain(|path, _| !path.starts_with(".operator/") && path != "operator.lock");
    }
    assert!(after == without, "{:?}", after.keys());
}

#[test]
fn only_the_crds_of_kinds_with_controllers_are_ensured() {
    let folder = folder();
    ok(folder.path(), "init p --crd widget.yaml");
    let p = folder.path().join("p");
    edit(&p.join("operator.toml"), |text| {
        text.replace("scaffold = \"reconciler\"\n", "")
            .replace("owns = [\"apps/v1/Deployment\"]\n", "")
            .replace(
                "namespaces = \"all\"\n",
                "namespaces = \"all\"\nensure-crds = true\n",
            )
    });
    ok(&p, "regenerate");
    let made = files(&p);
    assert!(!made.contains_key("src/controllers/crds.json"));
    assert!(!made.contains_key("manifests/rbac/crds.yaml"));
}
