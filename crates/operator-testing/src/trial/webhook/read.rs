//! The user reads the sample in each served version of a kind that a webhook converts.

use serde_json::Value;

use super::user::User;
use crate::install::documents;
use crate::{Error, Server};

impl User {
    /// Reads the objects of the sample in each version, until no webhook fails. The operator may have deleted them.
    pub async fn read_in_each_version(
        &mut self,
        server: &Server,
        sample: &str,
    ) -> Result<(), String> {
        let objects = documents(sample).map_err(|error| format!("the sample: {error}"))?;
        for object in objects {
            for version in converted_versions(server, &object).await {
                let mut object = object.clone();
                object["apiVersion"] = version.as_str().into();
                let path = server.path_of(&mut object).await;
                let path = path.map_err(|error| format!("the sample in {version}: {error}"))?;
                let read = async || read(server, &path).await;
                self.insist(server, &format!("reading of the sample in {version}"), read)
                    .await?;
            }
        }
        Ok(())
    }
}

/// The served versions of the kind of an object, if a webhook converts them.
async fn converted_versions(server: &Server, object: &Value) -> Vec<String> {
    let api_version = object["apiVersion"].as_str().unwrap_or_default();
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    let objects = server.objects().await;
    let crd = objects.values().find(|it| {
        let spec = &it["spec"];
        it["kind"] == "CustomResourceDefinition"
            && spec["group"] == group
            && spec["names"]["kind"] == object["kind"]
            && spec["conversion"]["strategy"] == "Webhook"
    });
    crd.and_then(|crd| crd["spec"]["versions"].as_array())
        .into_iter()
        .flatten()
        .filter(|version| version["served"] == true)
        .filter_map(|version| version["name"].as_str())
        .map(|name| format!("{group}/{name}"))
        .collect()
}

async fn read(server: &Server, path: &str) -> crate::Result<()> {
    let request = http::Request::get(path)
        .body(Vec::new())
        .map_err(|error| Error::Document("usable name", error.to_string()))?;
    match server.own_client().request::<Value>(request).await {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        answer => {
            answer?;
            Ok(())
        }
    }
}
