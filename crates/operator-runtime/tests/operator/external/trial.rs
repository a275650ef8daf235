//! Faults in every call of a provider and in every request, for each identity.

use super::*;

async fn operator(client: Client, outcomes: Outcomes) -> anyhow::Result<()> {
    let world = World::clone(&outcomes.shared());
    let faults = outcomes.shared::<ProviderFaults>();
    let controllers = controllers(world, ExternalOptions::default());
    let around = AroundCalls::new(move |call, effect| {
        faults.around(call.object(), call.method, effect, |fault| {
            anyhow::anyhow!(fault).into()
        })
    });
    Operator::new(OPERATOR, Settings::for_tests(), client)
        .register(controllers)
        .provide(around)
        .on_reconciled(move |it| {
            outcomes.report(it.group, it.kind, it.namespace, it.name, it.result);
        })
        .run()
        .await?;
    Ok(())
}

fn assert_survives(way: &str, labels: &str) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("external-{way}"));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(
        folder.join("crds.yaml"),
        include_str!("../../support/crds.yaml"),
    )
    .unwrap();
    let list = "resources: [crds.yaml]\n";
    std::fs::write(folder.join("kustomization.yaml"), list).unwrap();
    let sample = format!(
        "{{apiVersion: test.example.com/v1, kind: Widget, metadata: {{name: a, labels: {{{labels}}}}}, spec: {{way: {way}, size: 1}}}}"
    );
    Trial::new(folder, "")
        .sample(&sample)
        .assert_survives_provider_faults(operator);
}

#[test]
fn a_thing_with_a_name_survives_every_fault() {
    assert_survives("name", "");
}

#[test]
fn a_thing_with_a_token_survives_every_fault() {
    assert_survives("token", "");
}

#[test]
fn a_thing_that_is_looked_up_survives_every_fault() {
    assert_survives("lookup", "");
}

#[test]
fn a_thing_that_nobody_finds_survives_every_fault_with_a_person() {
    assert_survives("assigned", "");
}

#[test]
fn a_retained_thing_survives_every_fault() {
    assert_survives("token", "keep: Retain");
}
