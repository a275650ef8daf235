//! The style `declarative` with objects that are no children: related ones, which it reads, and existing ones, which it adopts.

use std::collections::BTreeMap;

use k8s_openapi::{
    ByteString,
    api::core::v1::{ConfigMap, Secret},
};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, ObjectMeta, Patch, PatchParams, PostParams},
};
use operator_runtime::{
    Controllers, Declarative, Desired, Observed, RelatedObject, Result, Settings, Setup, Watches,
};
use operator_testing::Server;
use serde_json::json;

use crate::support::*;

/// Copies the length of the password in the Secret that `way` names into a ConfigMap, which it adopts.
struct Lengths;

impl Declarative for Lengths {
    type Resource = Widget;

    fn related(&self, widget: &Widget) -> Vec<RelatedObject> {
        let secret = widget.spec.way.clone();
        secret
            .map(RelatedObject::new::<Secret>)
            .into_iter()
            .collect()
    }

    fn desired(&self, widget: &Widget, observed: &Observed) -> Result<Desired<Widget>> {
        let name = widget.spec.way.as_deref().unwrap_or_default();
        let Some(secret) = observed.related::<Secret>(name)? else {
            return Ok(Desired::new());
        };
        let length = secret.data.unwrap_or_default()["password"].0.len();
        Ok(Desired::new().adopt(ConfigMap {
            metadata: observed.child_metadata(widget, widget.name_any()),
            data: Some([("length".to_owned(), length.to_string())].into()),
            ..ConfigMap::default()
        }))
    }
}

async fn start(server: &Server, watches: impl FnOnce(Watches) -> Watches) -> Running {
    let setup = async |_: Setup| Ok(Lengths);
    let controllers = Controllers::new().add_declarative(setup, watches);
    Running::start(server.client(), Settings::for_tests(), controllers).await
}

async fn until_length(server: &Server, name: &str, length: Option<&str>) -> Option<ConfigMap> {
    let maps: Api<ConfigMap> = Api::default_namespaced(server.client());
    let described = format!("the length is {length:?}");
    server
        .eventually(&described, async || {
            let map = maps.get_opt(name).await.unwrap();
            let data: Option<&BTreeMap<_, _>> = map.as_ref().and_then(|map| map.data.as_ref());
            let shown = data.and_then(|data| data.get("length"));
            (shown.map(String::as_str) == length).then_some(map)
        })
        .await
}

#[tokio::test]
async fn a_related_object_is_read_and_its_changes_reconcile_the_parents_that_name_it() {
    let server = server().await;
    let _running = start(&server, |watches| {
        watches.owns::<ConfigMap>().watches::<Secret>()
    })
    .await;
    create(&server, "a", "credentials").await;
    create(&server, "b", "others").await;
    until_quiet(&server).await;
    until_length(&server, "a", None).await;

    let secrets: Api<Secret> = Api::default_namespaced(server.client());
    let metadata = ObjectMeta {
        name: Some("credentials".into()),
        ..ObjectMeta::default()
    };
    let secret = Secret {
        metadata,
        data: Some([("password".to_owned(), ByteString(b"abc".to_vec()))].into()),
        ..Secret::default()
    };
    secrets
        .create(&PostParams::default(), &secret)
        .await
        .unwrap();
    until_length(&server, "a", Some("3")).await;
    let before = server.requests().len();
    let patch = Patch::Merge(json!({ "stringData": { "password": "abcde" } }));
    secrets
        .patch("credentials", &PatchParams::default(), &patch)
        .await
        .unwrap();
    until_length(&server, "a", Some("5")).await;
    until_quiet(&server).await;
    let reads = server.requests()[before..]
        .iter()
        .filter(|it| it.verb == "get" && it.resource == "secrets" && it.name == "others")
        .count();
    assert_eq!(reads, 0, "b is left alone");
    secrets
        .delete("credentials", &DeleteParams::default())
        .await
        .unwrap();
    until_length(&server, "a", None).await;
}

#[tokio::test]
async fn a_related_kind_that_is_not_watched_is_an_error() {
    let server = server().await;
    let _running = start(&server, |watches| watches.owns::<ConfigMap>()).await;
    create(&server, "a", "credentials").await;
    let note = event(&server, "a", "UndeclaredChild").await;
    assert!(
        note.starts_with("v1/Secret is not in `watches` of Widget.test.example.com\nhelp: add"),
        "{note}"
    );
}

#[tokio::test]
async fn an_object_that_nobody_controls_is_adopted_and_that_of_another_is_not() {
    let server = server().await;
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "s", "namespace": "default" },
        "stringData": { "password": "abc" },
    });
    server.install(&secret.to_string()).await.unwrap();
    let secrets: Api<Secret> = Api::default_namespaced(server.client());
    let uid = secrets.get("s").await.unwrap().uid();
    let owner = json!({
        "apiVersion": "v1", "kind": "Secret", "name": "s", "uid": uid, "controller": true,
    });
    for (name, owners) in [("a", json!([])), ("b", json!([owner]))] {
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "name": name, "namespace": "default", "ownerReferences": owners },
            "data": { "theirs": "1" },
        });
        server.install(&map.to_string()).await.unwrap();
    }
    let _running = start(&server, |watches| {
        watches.owns::<ConfigMap>().watches::<Secret>()
    })
    .await;
    let widget = create(&server, "a", "s").await;
    create(&server, "b", "s").await;
    let adopted = until_length(&server, "a", Some("3")).await.unwrap();
    assert_eq!(adopted.owner_references()[0].uid, widget.uid().unwrap());
    assert_eq!(adopted.data.unwrap()["theirs"], "1");
    event(&server, "b", "ChildTaken").await;
}
