//! The server as other programs reach it: over TLS, with the kubeconfig that it writes.

use std::time::Duration;

use futures::TryStreamExt;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{Api, ListParams, PostParams, WatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use operator_testing::ApiServer;
use operator_testing::http::{Error, Serving};

async fn config(kubeconfig: Kubeconfig) -> Config {
    Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
        .await
        .unwrap()
}

async fn client(serving: &Serving) -> Client {
    Client::try_from(config(serving.kubeconfig()).await).unwrap()
}

fn greeting() -> ConfigMap {
    serde_json::from_str(r#"{"metadata": {"name": "greeting"}}"#).unwrap()
}

#[tokio::test]
async fn a_client_trusts_the_server_by_its_kubeconfig() {
    let serving = Serving::start(ApiServer::new()).await.unwrap();
    let namespaces: Api<Namespace> = Api::all(client(&serving).await);
    assert!(namespaces.get("default").await.is_ok());
}

#[tokio::test]
async fn the_server_is_the_same_in_process_and_over_https() {
    let server = ApiServer::new();
    let serving = Serving::start(server.clone()).await.unwrap();
    let within: Api<ConfigMap> = Api::default_namespaced(Client::new(server, "default"));
    let created = within.create(&PostParams::default(), &greeting()).await;
    let without: Api<ConfigMap> = Api::default_namespaced(client(&serving).await);
    assert_eq!(without.get("greeting").await.unwrap(), created.unwrap());
}

#[tokio::test]
async fn requests_without_the_token_are_rejected() {
    let serving = Serving::start(ApiServer::new()).await.unwrap();
    let mut kubeconfig = serving.kubeconfig();
    let user = kubeconfig.auth_infos[0].auth_info.as_mut().unwrap();
    user.token = Some("guessed".to_owned().into());
    let client = Client::try_from(config(kubeconfig).await).unwrap();
    match client.apiserver_version().await {
        Err(kube::Error::Api(status)) => {
            assert_eq!((status.code, status.reason.as_str()), (401, "Unauthorized"));
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_impersonated_user_has_only_the_permissions_of_its_roles() {
    let serving = Serving::start(ApiServer::new()).await.unwrap();
    let mut kubeconfig = serving.kubeconfig();
    let user = kubeconfig.auth_infos[0].auth_info.as_mut().unwrap();
    user.impersonate = Some("jane".to_owned());
    let client = Client::try_from(config(kubeconfig).await).unwrap();
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    match maps.list(&ListParams::default()).await {
        Err(kube::Error::Api(status)) => assert_eq!(status.code, 403),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_shutdown_ends_watches_gracefully() {
    let serving = Serving::start(ApiServer::new()).await.unwrap();
    let namespaces: Api<Namespace> = Api::all(client(&serving).await);
    let events = namespaces
        .watch(&WatchParams::default(), "0")
        .await
        .unwrap();
    let events = tokio::spawn(events.try_collect::<Vec<_>>());
    tokio::time::timeout(Duration::from_millis(900), serving.shutdown())
        .await
        .expect("nobody holds it up");
    let seen = events.await.unwrap();
    let seen = seen.expect("the stream ends without an error");
    // the initial namespaces of every cluster, and the bookmark after them
    assert_eq!(seen.len(), 4 + 1);
}

#[tokio::test]
async fn a_dropped_server_refuses_connections() {
    let serving = Serving::start(ApiServer::new()).await.unwrap();
    let (client, address) = (client(&serving).await, serving.address());
    drop(serving);
    assert!(client.apiserver_version().await.is_err());
    // its port is free again
    assert!(Serving::start_at(ApiServer::new(), address).await.is_ok());
}

#[tokio::test]
async fn other_hosts_are_not_served() {
    let address = "0.0.0.0:0".parse().unwrap();
    let refused = Serving::start_at(ApiServer::new(), address).await;
    assert!(matches!(refused, Err(Error::NotLoopback(_))));
}

#[cfg(unix)]
#[tokio::test]
async fn only_the_owner_can_read_the_kubeconfig() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    let path = std::env::temp_dir().join(format!("kubeconfig-{}", std::process::id()));
    std::fs::write(&path, "of an earlier server").unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
    let serving = Serving::start(ApiServer::new()).await.unwrap();
    serving.write_kubeconfig(&path).unwrap();
    let written = Kubeconfig::read_from(&path).unwrap();
    let mode = std::fs::metadata(&path).unwrap().mode();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(mode & 0o777, 0o600);
    let client = Client::try_from(config(written).await).unwrap();
    assert!(client.apiserver_version().await.is_ok());
}
