//! Responses other than objects: tables, aggregated discovery, OpenAPI schemas. The tests also pass on a real server.

use std::time::Duration;

use futures::{AsyncBufReadExt, TryStreamExt};
use http::Request;
use operator_testing::Server;
use serde_json::{Value, json};

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";
const OTHER_TABLE: &str = "application/json;as=Table;v=v9;g=meta.k8s.io";

fn get(path: &str, accept: &str) -> Request<Vec<u8>> {
    let request = Request::get(path).header("accept", accept);
    request.body(Vec::new()).unwrap()
}

async fn ask(server: &Server, path: &str, accept: &str) -> Value {
    match server.client().request(get(path, accept)).await {
        Ok(answer) => answer,
        Err(kube::Error::Api(status)) => json!({"code": status.code, "message": status.message}),
        Err(other) => panic!("{other}"),
    }
}

/// A kind with columns, and an object of it.
async fn server() -> Server {
    let server = Server::start().await.unwrap();
    server.install(WIDGETS).await.unwrap();
    server.install(WIDGET).await.unwrap();
    server
}

const WIDGETS: &str = r"
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.forms.example.com}
spec:
  group: forms.example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets, shortNames: [wd]}
  versions:
    - name: v1
      served: true
      storage: true
      subresources:
        scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}
      additionalPrinterColumns:
        - {name: Color, type: string, jsonPath: .spec.color, description: Its color.}
        - {name: Size, type: integer, jsonPath: .spec.size, format: int32, priority: 1}
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              properties:
                color: {type: string}
                size: {x-kubernetes-int-or-string: true}
                replicas: {type: integer}
                template: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}
";

const WIDGET: &str = r"
apiVersion: forms.example.com/v1
kind: Widget
metadata: {name: one}
spec: {color: red, size: 3, replicas: 2}
";

fn widgets(server: &Server) -> String {
    format!(
        "/apis/forms.example.com/v1/namespaces/{}/widgets",
        server.namespace()
    )
}

#[tokio::test]
async fn a_table_has_the_columns_of_the_crd() {
    let server = server().await;
    let table = ask(&server, &widgets(&server), TABLE).await;
    assert_eq!(table["kind"], "Table");
    assert_eq!(
        table["columnDefinitions"][1],
        json!({"name": "Color", "type": "string", "format": "", "description": "Its color.", "priority": 0})
    );
    assert_eq!(
        table["columnDefinitions"][2],
        json!({"name": "Size", "type": "integer", "format": "int32", "description": "Custom resource definition column (in JSONPath format): .spec.size", "priority": 1})
    );
    assert_eq!(table["rows"][0]["cells"], json!(["one", "red", 3]));
    let object = &table["rows"][0]["object"];
    assert_eq!(object["kind"], "PartialObjectMetadata");
    assert_eq!(object["metadata"]["name"], "one");
    assert_eq!(object["spec"], Value::Null);
}

#[tokio::test]
async fn rows_include_the_objects_that_the_query_requests() {
    let server = server().await;
    let path = widgets(&server);
    let whole = ask(&server, &format!("{path}?includeObject=Object"), TABLE).await;
    assert_eq!(whole["rows"][0]["object"]["spec"]["color"], "red");
    let none = ask(&server, &format!("{path}/one?includeObject=None"), TABLE).await;
    assert_eq!(
        none["rows"][0],
        json!({"cells": ["one", "red", 3], "object": null})
    );
    let metadata = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
    let metadata = ask(&server, &format!("{path}/one"), metadata).await;
    assert_eq!(metadata["kind"], "PartialObjectMetadata");
    let wrong = ask(&server, &format!("{path}?includeObject=All"), TABLE).await;
    assert_eq!(
        wrong,
        json!({"code": 400, "message": "Unable to convert to Table as requested: includeObject: Invalid value: \"All\": must be 'Metadata', 'Object', 'None', or empty"})
    );
}

#[tokio::test]
async fn a_watch_sends_its_columns_once() {
    let server = server().await;
    server.install(&WIDGET.replace("one", "two")).await.unwrap();
    let path = format!("{}?watch=true&timeoutSeconds=1", widgets(&server));
    let lines = server
        .client()
        .request_stream(get(&path, TABLE))
        .await
        .unwrap();
    let lines: Vec<String> = lines.lines().try_collect().await.unwrap();
    let seen: Vec<(Value, bool)> = lines
        .iter()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|event| {
            let table = &event["object"];
            (
                table["rows"][0]["cells"][0].clone(),
                table["columnDefinitions"].is_null(),
            )
        })
        .collect();
    assert_eq!(seen, [(json!("one"), false), (json!("two"), true)]);
}

#[tokio::test]
async fn a_scale_has_its_own_columns() {
    let server = server().await;
    let table = ask(&server, &format!("{}/one/scale", widgets(&server)), TABLE).await;
    assert_eq!(
        table["rows"][0]["cells"].as_array().unwrap()[..3],
        [json!("one"), json!(2), json!(0)]
    );
    assert_eq!(table["columnDefinitions"][3]["name"], "Age");
}

#[tokio::test]
async fn the_first_supported_media_type_is_returned() {
    let server = Server::start().await.unwrap();
    let path = "/api/v1/namespaces/default";
    let plain = ask(&server, path, &format!("{OTHER_TABLE},application/json")).await;
    assert_eq!(plain["kind"], "Namespace");
    assert_eq!(ask(&server, path, OTHER_TABLE).await["code"], 406);
    let missing = ask(&server, "/api/v1/namespaces/none", TABLE).await;
    assert_eq!(missing["message"], "namespaces \"none\" not found");
}

#[tokio::test]
async fn aggregated_discovery_is_one_response() {
    let server = server().await;
    let accept =
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";
    let core = ask(&server, "/api", accept).await;
    assert_eq!(core["items"][0]["versions"][0]["version"], "v1");
    let all = ask(&server, "/apis", accept).await;
    let groups = all["items"].as_array().unwrap();
    let own = groups
        .iter()
        .find(|group| group["metadata"]["name"] == "forms.example.com")
        .unwrap();
    let kind = json!({"group": "forms.example.com", "version": "v1", "kind": "Widget"});
    let scale = json!({"group": "autoscaling", "version": "v1", "kind": "Scale"});
    assert_eq!(
        own["versions"][0]["resources"][0],
        json!({
            "resource": "widgets",
            "responseKind": kind,
            "scope": "Namespaced",
            "singularResource": "widget",
            "verbs": ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"],
            "shortNames": ["wd"],
            "subresources": [{"subresource": "scale", "responseKind": scale, "verbs": ["get", "patch", "update"]}],
        })
    );
    assert_eq!(
        ask(&server, "/apis", "application/json").await["kind"],
        "APIGroupList"
    );
}

#[tokio::test]
async fn schemas_of_crds_are_published() {
    let server = server().await;
    let path = "/openapi/v3/apis/forms.example.com/v1";
    // A real server publishes the schemas after a while.
    let document = loop {
        let answer = ask(&server, path, "application/json").await;
        match answer["code"].as_u64() {
            Some(404) => tokio::time::sleep(Duration::from_millis(100)).await,
            _ => break answer,
        }
    };
    let schema = &document["components"]["schemas"]["com.example.forms.v1.Widget"];
    let spec = &schema["properties"]["spec"]["properties"];
    assert_eq!(spec["color"], json!({"type": "string"}));
    assert_eq!(
        spec["size"]["anyOf"],
        json!([{"type": "integer"}, {"type": "string"}])
    );
    let object_meta =
        json!([{"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}]);
    assert_eq!(schema["properties"]["metadata"]["allOf"], object_meta);
    assert_eq!(
        spec["template"]["properties"]["metadata"]["allOf"],
        object_meta
    );
    let patch = &document["paths"]["/apis/forms.example.com/v1/namespaces/{namespace}/widgets/{name}"]
        ["patch"];
    let kind = json!({"group": "forms.example.com", "version": "v1", "kind": "Widget"});
    assert_eq!(patch["x-kubernetes-group-version-kind"], kind);
    let parameters = patch["parameters"].as_array().unwrap();
    assert!(
        parameters
            .iter()
            .any(|parameter| parameter["name"] == "fieldValidation")
    );
}
