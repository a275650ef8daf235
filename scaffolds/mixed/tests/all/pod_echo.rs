//! The controller calls its service, which a test replaces.

use std::{
    io::{self, Write},
    sync::{Arc, Mutex},
};

use anyhow::Result;
use k8s_openapi::api::core::v1::Pod;
use kube::{Api, api::PostParams};
use mixed::echo::Echo;
use operator_runtime::Settings;
use operator_testing::{Server, sample_file};

use crate::support;

/// An output that is kept in memory.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Vec<u8>>>);

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn pod_echo_writes_a_line_for_each_pod() -> Result<()> {
    let server = Server::start().await?;
    server.install_kustomization("manifests").await?;
    let user = format!("system:serviceaccount:{0}:{0}", support::NAME);
    let client = server.client_as(&user);
    let output = Memory::default();
    let operator = support::operator(client, Settings::for_tests(), server.outcomes()).await?;
    let operator = operator.provide(Echo::new("test", output.clone()));
    server.run(operator.run());

    let pods: Api<Pod> = Api::namespaced(server.client(), "default");
    let pod: Pod = sample_file("manifests/samples/pods.yaml")?;
    pods.create(&PostParams::default(), &pod).await?;
    server
        .eventually("the line is written", async || {
            let text = String::from_utf8(output.0.lock().unwrap().clone()).unwrap();
            text.lines()
                .any(|line| line == "test default/pod-sample")
                .then_some(())
        })
        .await;
    Ok(())
}
