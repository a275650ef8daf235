//! A machine whose id is lost: nothing is created again before a person has decided. And many machines of a cloud that limits its calls.

use std::{
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

use anyhow::Result;
use kube::{
    Api,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use mixed::{
    api::machine::v1::{Machine, MachineSpec},
    controllers::machine::Cloud,
};
use operator_runtime::Settings;
use operator_testing::{Server, condition};
use serde_json::{Value, json};

use crate::support;

/// A server, the operator, and a cloud that loses its answers.
async fn start() -> Result<(Server, Arc<Cloud>, Api<Machine>)> {
    let server = support::start().await?;
    let cloud = support::shared(&server).get::<Cloud>();
    cloud.loses_answers.store(true, Relaxed);
    let machines = Api::all(server.client());
    let machine = Machine::new("web", MachineSpec { cores: 2 });
    machines.create(&PostParams::default(), &machine).await?;
    synced(&server, &machines, "CreationUncertain").await;
    cloud.loses_answers.store(false, Relaxed);
    Ok((server, cloud, machines))
}

async fn synced(server: &Server, machines: &Api<Machine>, reason: &str) -> Machine {
    let what = format!("the reason of Synced is {reason}");
    server
        .eventually(&what, async || {
            let machine = machines.get("web").await.ok()?;
            let conditions = machine.status.as_ref()?.conditions.as_ref()?;
            let mut synced = conditions.iter().filter(|it| it.type_ == "Synced");
            (synced.next()?.reason == reason).then_some(machine)
        })
        .await
}

async fn annotate(machines: &Api<Machine>, annotations: Value) -> Result<()> {
    let patch = Patch::Merge(json!({"metadata": {"annotations": annotations}}));
    let parameters = PatchParams::default();
    machines.patch("web", &parameters, &patch).await?;
    Ok(())
}

fn ids(cloud: &Cloud) -> Vec<String> {
    cloud.machines().keys().cloned().collect()
}

#[tokio::test]
async fn machine_gets_its_id_from_a_person() -> Result<()> {
    let (server, cloud, machines) = start().await?;
    annotate(&machines, json!({"mixed/external-id": "i-0001"})).await?;
    let machine = synced(&server, &machines, "Synced").await;
    let id = machine.status.and_then(|status| status.id);
    assert_eq!(id.as_deref(), Some("i-0001"));
    assert_eq!(ids(&cloud), ["i-0001"]);
    Ok(())
}

#[tokio::test]
async fn machine_is_created_again_when_a_person_says_that_there_is_none() -> Result<()> {
    let (server, cloud, machines) = start().await?;
    cloud.machines().clear();
    annotate(&machines, json!({"mixed/creation-started": null})).await?;
    synced(&server, &machines, "Synced").await;
    assert_eq!(ids(&cloud), ["i-0001"]);
    Ok(())
}

#[tokio::test]
async fn machine_that_may_exist_keeps_its_object() -> Result<()> {
    let (server, cloud, machines) = start().await?;
    machines.delete("web", &DeleteParams::default()).await?;
    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    assert!(machines.get_opt("web").await?.is_some());
    annotate(&machines, json!({"mixed/external-id": "i-0001"})).await?;
    server
        .eventually("the object is deleted", async || {
            machines.get_opt("web").await.ok()?.is_none().then_some(())
        })
        .await;
    assert_eq!(ids(&cloud), [""; 0]);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn machines_become_ready_in_a_cloud_that_permits_five_calls_a_second() -> Result<()> {
    let server = Server::in_memory();
    server.install_kustomization("manifests").await?;
    let machines: Api<Machine> = Api::all(server.client());
    for number in 0..14 {
        let machine = Machine::new(&format!("web-{number}"), MachineSpec { cores: 2 });
        machines.create(&PostParams::default(), &machine).await?;
    }
    let cloud = support::shared(&server).get::<Cloud>();
    cloud.limit.get_or_init(|| 5);
    // the operator finds all machines when it starts, and begins with a burst of ten calls
    let client = server.client_as(&format!("system:serviceaccount:{0}:{0}", support::NAME));
    let operator = support::operator(client, Settings::for_tests(), server.outcomes()).await?;
    server.run(operator.run());
    tokio::time::sleep(Duration::from_secs(60)).await;
    for machine in machines.list(&Default::default()).await? {
        let name = machine.metadata.name.clone().unwrap_or_default();
        assert_eq!(
            condition(&machine, "Ready").as_deref(),
            Some("True"),
            "{name}"
        );
    }
    let refused = cloud.refused.load(Relaxed);
    assert!((1..14).contains(&refused), "{refused} calls were refused");
    Ok(())
}
