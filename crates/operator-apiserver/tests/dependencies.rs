//! The dependencies of the crate without features.

use std::process::Command;

#[test]
fn values_need_no_runtime_and_no_http() {
    let tree = Command::new(env!("CARGO"))
        .args([
            "tree",
            "--package",
            "operator-apiserver",
            "--edges",
            "normal",
        ])
        .args([
            "--no-default-features",
            "--prefix",
            "none",
            "--format",
            "{p}",
        ])
        .args(["--offline", "--locked"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let lines = String::from_utf8(tree.stdout).unwrap();
    let errors = String::from_utf8_lossy(&tree.stderr);
    assert!(tree.status.success(), "{errors}");
    let names: Vec<&str> = lines
        .lines()
        .filter_map(|line| line.split(' ').next())
        .collect();
    assert!(names.contains(&"operator-schema"), "{names:?}");
    for heavy in [
        "http",
        "hyper",
        "k8s-openapi",
        "kube",
        "tokio",
        "tower",
        "yaml_serde",
    ] {
        assert!(!names.contains(&heavy), "{heavy} is among {names:?}");
    }
}
