//! Trials of operators with webhooks: a correct one survives all faults, and the bugs of broken ones are found.

mod operator;

use std::path::Path;

use operator_testing::Trial;

use self::operator::{AfterRefusal, start, start_with_certificates};

const MANIFESTS: &str = include_str!("manifests.yaml");

const SAMPLE: &str =
    "{apiVersion: test.example.com/v1, kind: Widget, metadata: {name: a}, spec: {way: any}}";

fn trial_of(name: &str, manifests: &str) -> Trial {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("webhooks-{name}"));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("all.yaml"), manifests).unwrap();
    let list = "resources: [all.yaml]\n";
    std::fs::write(folder.join("kustomization.yaml"), list).unwrap();
    Trial::new(folder, "system:serviceaccount:default:shop").sample(SAMPLE)
}

fn trial(name: &str) -> Trial {
    trial_of(name, MANIFESTS)
}

#[test]
fn an_operator_that_retries_survives_every_webhook_fault() {
    trial("good").assert_survives_webhook_faults(start(AfterRefusal::Retry));
}

#[test]
#[should_panic(expected = "the operator's patch configmaps default/a: refused")]
fn an_operator_that_gives_up_after_a_refusal_is_found() {
    trial("gives-up").assert_survives_webhook_faults(start(AfterRefusal::GiveUp));
}

#[test]
#[should_panic(expected = "the operator ended: its write was refused")]
fn an_operator_that_exits_after_a_refusal_is_found() {
    trial("exits").assert_survives_webhook_faults(start(AfterRefusal::Exit));
}

#[test]
#[should_panic(expected = "by its event Panicked")]
fn an_operator_that_panics_after_a_refusal_is_found() {
    trial("panics").assert_survives_webhook_faults(start(AfterRefusal::Panic));
}

#[test]
#[should_panic(
    expected = "/mutate: CREATE Widget default/a, would have changed the object\n  help: set `failure-policy = \"fail\"`"
)]
fn a_webhook_whose_failures_are_ignored_although_it_matters_is_found() {
    let manifests = MANIFESTS.replace("failurePolicy: Fail", "failurePolicy: Ignore");
    trial_of("ignores", &manifests).assert_survives_webhook_faults(start(AfterRefusal::Retry));
}

#[test]
#[should_panic(expected = "configures no webhooks")]
fn manifests_without_webhooks_are_found() {
    trial_of("none", "").assert_survives_webhook_faults(start(AfterRefusal::Retry));
}

#[test]
fn an_operator_with_webhooks_converges_after_faults_in_its_requests() {
    trial("converges").assert_converges(start(AfterRefusal::Retry));
}

#[test]
fn an_operator_with_webhooks_conforms() {
    trial("conforms").assert_conforms(start(AfterRefusal::Retry));
}

#[test]
fn the_permissions_of_an_operator_with_webhooks_are_needed() {
    let operator = start_with_certificates();
    // certificates are renewed after months, which no trial waits for
    let renewal = r#"{"apiGroups": [""], "resources": ["secrets"], "verbs": ["patch"]}"#;
    trial("permissions").assert_permissions_are_needed(&[renewal], operator);
}
