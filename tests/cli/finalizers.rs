//! Finalizers that remain on objects when their controller leaves the project, or the project gets another name.

use std::{fs, path::Path};

use super::support::{WIDGET, edit, folder, ok, project, run};

const CODE: &str = "abandoned-finalizers";

fn assert_reported(p: &Path, args: &str, message: &str) {
    let run = ok(p, args);
    assert!(run.stderr.contains(CODE), "{args}: {}", run.stderr);
    assert!(run.stderr.contains(message), "{args}: {}", run.stderr);
}

fn assert_not_reported(p: &Path, args: &str) {
    let run = ok(p, args);
    assert!(!run.stderr.contains(CODE), "{args}: {}", run.stderr);
}

fn set(p: &Path, from: &str, to: &str) {
    edit(&p.join("operator.toml"), |text| {
        assert!(text.contains(from), "{text}");
        text.replace(from, to)
    });
}

#[test]
fn a_controller_that_is_renamed_or_removed_by_hand_leaves_its_finalizer() {
    let folder = folder();
    ok(folder.path(), "init p --controller v1/Pod --cleanup");
    let p = folder.path().join("p");
    ok(&p, "add-controller v1/Node");
    const MESSAGE: &str = "the controller in src/controllers/pod.rs is removed; objects that have its finalizer p/pod cannot be deleted until";
    set(&p, "name = \"pod\"", "name = \"pods\"");
    assert_eq!(run(&p, "regenerate --check").code, 1);
    assert_reported(&p, "regenerate --dry-run", MESSAGE);
    assert_reported(&p, "regenerate --dry-run", "--> src/controllers/pod.rs:");
    assert_reported(&p, "regenerate", MESSAGE);
    assert_not_reported(&p, "regenerate");
    // the new controller, whose finalizer is not a literal, and whose file was edited
    edit(&p.join("src/controllers/pods.rs"), |text| {
        text.replace("Some(\"p/pods\")", "Some(NAME)") + "const NAME: &str = \"x/y\";\n"
    });
    let table = "\n[[controller]]\nname = \"pods\"\nkind = \"v1/Pod\"\ncache = \"metadata\"\ncleanup = true\n";
    set(&p, table, "");
    assert_reported(
        &p,
        "regenerate",
        "objects that have its finalizer FINALIZER cannot",
    );
    assert_not_reported(&p, "remove node");
}

#[test]
fn the_finalizer_of_a_moved_file_is_kept_and_that_of_a_deleted_file_is_known() {
    let folder = folder();
    ok(folder.path(), "init p --controller v1/Pod --cleanup");
    let p = folder.path().join("p");
    let controllers = p.join("src/controllers");
    fs::rename(controllers.join("pod.rs"), controllers.join("pods.rs")).unwrap();
    set(&p, "name = \"pod\"", "name = \"pods\"");
    assert_not_reported(&p, "regenerate");
    fs::remove_file(controllers.join("pods.rs")).unwrap();
    set(&p, "name = \"pods\"", "name = \"watcher\"");
    assert_reported(
        &p,
        "regenerate",
        "warning[abandoned-finalizers]: p: src/controllers/pods.rs was deleted and its controller is removed; objects that have its finalizer p/pod cannot",
    );
    assert_not_reported(&p, "regenerate");
}

#[test]
fn a_kind_that_loses_its_controller_leaves_its_finalizer() {
    let folder = folder();
    ok(folder.path(), "init p --crd widget.yaml --cleanup");
    let p = folder.path().join("p");
    // the finalizer does not depend on the module of the controller
    set(&p, "versions =", "as = \"gadget\"\nversions =");
    assert_not_reported(&p, "regenerate");
    set(&p, "scaffold = \"reconciler\"\ncleanup = true\n", "");
    let message = "src/controllers/gadget.rs is removed; objects that have its finalizer example.com/p cannot";
    assert_reported(&p, "regenerate --dry-run", message);
    assert_reported(
        &p,
        "regenerate --dry-run",
        "deploy the operator with this controller but without its FINALIZER",
    );
    assert_reported(&p, "remove Widget", message);

    // another kind of the group has a finalizer of the same name
    let p = folder.path().join("r");
    let gadget = WIDGET
        .replace("Widget", "Gadget")
        .replace("widget", "gadget");
    fs::write(folder.path().join("gadget.yaml"), gadget).unwrap();
    ok(folder.path(), "init r --crd widget.yaml --cleanup");
    ok(&p, "add-crd ../gadget.yaml --cleanup");
    assert_reported(
        &p,
        "remove Gadget",
        "objects that have its finalizer example.com/r cannot",
    );

    // a provider always has a finalizer
    let p = folder.path().join("q");
    ok(
        folder.path(),
        "init q --crd widget.yaml --scaffold external",
    );
    assert_reported(
        &p,
        "remove Widget",
        "first delete the objects with the operator that still has this controller",
    );
}

#[test]
fn a_project_with_another_name_keeps_its_finalizers() {
    let folder = project();
    let p = folder.path().join("p");
    ok(&p, "add-controller v1/Pod --cleanup");
    ok(&p, "add-controller v1/Node");
    set(&p, "name = \"p\"", "name = \"shop\"");
    let run = ok(&p, "regenerate");
    assert_eq!(
        run.stderr.matches("note[abandoned").count(),
        1,
        "{}",
        run.stderr
    );
    for part in [
        "note[abandoned-finalizers]: shop: FINALIZER in src/controllers/pod.rs contains the former name",
        "with another FINALIZER, such as shop/pod, the operator no longer removes p/pod",
    ] {
        assert!(run.stderr.contains(part), "{part}: {}", run.stderr);
    }
    assert_not_reported(&p, "regenerate");
}

#[test]
fn an_edited_finalizer_is_no_drift_but_is_known_after_the_next_change() {
    let folder = folder();
    ok(folder.path(), "init p --controller v1/Pod --cleanup");
    let p = folder.path().join("p");
    set_finalizer(&p, "pod", "p/pod", "x.io/f");
    ok(&p, "regenerate --check");
    assert_reported(
        &p,
        "remove pod --dry-run",
        "src/controllers/pod.rs is removed; objects that have its finalizer x.io/f cannot",
    );
    // a controller without a finalizer leaves nothing on objects, even if its file was deleted
    ok(&p, "add-controller v1/Node");
    for file in ["pod", "node"] {
        fs::remove_file(p.join(format!("src/controllers/{file}.rs"))).unwrap();
    }
    ok(&p, "add-controller v1/Secret");
    assert_reported(
        &p,
        "remove pod",
        "src/controllers/pod.rs was deleted and its controller is removed; objects that have its finalizer x.io/f cannot",
    );
    assert_not_reported(&p, "remove node");
}

const DEPLOY_WITHOUT: &str = "deploy the operator with this controller but without its FINALIZER";
const DEPLOY_ANOTHER: &str =
    "first deploy the operator with a controller that removes the finalizer";

fn set_finalizer(p: &Path, module: &str, before: &str, after: &str) {
    edit(&p.join(format!("src/controllers/{module}.rs")), |text| {
        assert!(text.contains(before), "{text}");
        text.replace(before, after)
    });
}

#[test]
fn only_a_finalizer_that_the_runtime_recognizes_is_removed_with_the_constant() {
    let folder = folder();
    ok(folder.path(), "init shop --crd widget.yaml --cleanup");
    let p = folder.path().join("shop");
    ok(&p, "add-controller v1/Pod --as pod-watcher --cleanup");
    let own = "\"example.com/shop\"";
    assert_reported(&p, "remove Widget --dry-run", DEPLOY_WITHOUT);
    assert_reported(&p, "remove pod-watcher --dry-run", DEPLOY_WITHOUT);
    for foreign in ["legacy.example.com/shop", "shop/widget"] {
        let foreign = format!("{foreign:?}");
        set_finalizer(&p, "widget", own, &foreign);
        assert_reported(&p, "remove Widget --dry-run", DEPLOY_ANOTHER);
        set_finalizer(&p, "widget", &foreign, own);
    }
    set_finalizer(&p, "pod_watcher", "shop/pod-watcher", "shop/pods");
    assert_reported(&p, "remove pod-watcher", DEPLOY_ANOTHER);
}

#[test]
fn a_finalizer_of_another_controller_is_the_same_only_if_both_are_literals_and_the_kind_is_the_same()
 {
    let folder = folder();
    ok(folder.path(), "init p --controller v1/Event --cleanup");
    let p = folder.path().join("p");
    ok(
        &p,
        "add-controller events.k8s.io/v1/Event --as other --cleanup",
    );
    ok(&p, "add-controller v1/Event --as third --cleanup");
    set_finalizer(&p, "event", "p/event", "x.io/f");
    set_finalizer(&p, "other", "p/other", "x.io/f");
    assert_reported(
        &p,
        "remove event --dry-run",
        "warning[abandoned-finalizers]: p: the controller in src/controllers/event.rs is removed; objects that have its finalizer x.io/f",
    );
    set_finalizer(&p, "third", "p/third", "x.io/f");
    assert_not_reported(&p, "remove event --dry-run");
    for (module, before) in [("event", "\"x.io/f\""), ("third", "\"x.io/f\"")] {
        set_finalizer(&p, module, before, "NAME");
    }
    assert_reported(
        &p,
        "remove event",
        "note[abandoned-finalizers]: p: the controller in src/controllers/event.rs is removed; unless the controller in src/controllers/third.rs has the same finalizer",
    );
}

#[test]
fn a_file_that_was_moved_explains_one_missing_file() {
    let folder = folder();
    ok(folder.path(), "init p --controller v1/Pod --cleanup");
    let p = folder.path().join("p");
    ok(&p, "add-controller v1/Node --cleanup");
    ok(&p, "add-controller v1/Secret --as keeper --cleanup");
    let controllers = p.join("src/controllers");
    fs::rename(controllers.join("pod.rs"), controllers.join("pods.rs")).unwrap();
    set(&p, "name = \"pod\"", "name = \"pods\"");
    for name in ["node", "keeper"] {
        fs::remove_file(controllers.join(format!("{name}.rs"))).unwrap();
    }
    set(
        &p,
        "\n[[controller]]\nname = \"node\"\nkind = \"v1/Node\"\ncache = \"metadata\"\ncleanup = true\n",
        "",
    );
    set(&p, "name = \"keeper\"", "name = \"guard\"");
    let run = ok(&p, "regenerate");
    for (name, is_noted) in [("pod", false), ("node", true), ("keeper", true)] {
        let note = format!("src/controllers/{name}.rs was deleted");
        assert_eq!(run.stderr.contains(&note), is_noted, "{}", run.stderr);
    }
}
