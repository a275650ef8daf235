//! What `uninstall` refuses before it runs kubectl; `tests/uninstall/` has the rest.

use std::process::Command;

use super::support::project;

#[test]
fn without_kubectl_the_error_has_a_cure() {
    let folder = project();
    let output = Command::new(env!("CARGO_BIN_EXE_cargo-operator"))
        .args(["operator", "uninstall"])
        .current_dir(folder.path().join("p"))
        .env("PATH", folder.path())
        .output()
        .unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    for part in ["kubectl can't be run", "install it"] {
        assert!(stderr.contains(part), "{part}: {stderr}");
    }
}
