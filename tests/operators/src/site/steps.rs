//! The correct steps: a ConfigMap and a Deployment are owned; a record, which is not, lasts until the cleanup.

use std::collections::BTreeMap;

use k8s_openapi::{
    api::{
        apps::v1::{Deployment, DeploymentSpec},
        core::v1::{ConfigMap, Container, PodSpec, PodTemplateSpec, Secret},
    },
    apimachinery::pkg::apis::meta::v1::LabelSelector,
};
use kube::{Api, ResourceExt, api::ObjectMeta};
use operator_runtime::{Action, Condition, Context, Result};

use crate::api::site::v1::{Site, SiteStatus};

/// Names the site of a record, by its uid.
const SITE: &str = "web.example.com/site";

pub async fn reconcile(site: &Site, cx: &Context) -> Result<Action> {
    let done = children(site, cx).await;
    let written = cx.update_status(site, &status(site, &done)?).await;
    done?;
    written?;
    Ok(Action::await_change())
}

pub async fn cleanup(site: &Site, cx: &Context) -> Result<()> {
    let api = config_maps(site, cx);
    let name = record_name(site);
    match api.get_opt(&name).await? {
        Some(record) if is_record_of(site, &record) => {}
        _ => return Ok(()),
    }
    match api.delete(&name, &Default::default()).await {
        Err(kube::Error::Api(refused)) if refused.code == 404 => Ok(()),
        deleted => Ok(deleted.map(drop)?),
    }
}

pub async fn children(site: &Site, cx: &Context) -> Result<Deployment> {
    let certificate = certificate(site, cx).await?;
    record(site, cx).await?;
    cx.apply(&config_map(site, cx, certificate)).await?;
    cx.apply(&deployment(site, cx)).await
}

pub async fn certificate(site: &Site, cx: &Context) -> Result<Option<Secret>> {
    let secrets = Api::<Secret>::namespaced(cx.client(), &namespace(site));
    Ok(secrets.get_opt(&site.spec.secret_name).await?)
}

/// Makes the record, unless there is one.
pub async fn record(site: &Site, cx: &Context) -> Result<()> {
    let api = config_maps(site, cx);
    let name = record_name(site);
    match api.get_opt(&name).await? {
        Some(found) if is_record_of(site, &found) => Ok(()),
        Some(_) => Err(anyhow::anyhow!("ConfigMap {name} is the record of another").into()),
        None => {
            let uid = site.uid().unwrap_or_default();
            let record = ConfigMap {
                metadata: ObjectMeta {
                    name: Some(name),
                    labels: Some(BTreeMap::from([(SITE.into(), uid)])),
                    ..Default::default()
                },
                ..Default::default()
            };
            api.create(&Default::default(), &record).await?;
            Ok(())
        }
    }
}

pub fn config_map(site: &Site, cx: &Context, certificate: Option<Secret>) -> ConfigMap {
    let certificate = match certificate {
        Some(_) => "present",
        None => "missing",
    };
    ConfigMap {
        metadata: cx.child_metadata(site, format!("{}-config", site.name_any())),
        data: Some(BTreeMap::from([
            ("host".into(), site.spec.host.clone()),
            ("certificate".into(), certificate.into()),
        ])),
        ..Default::default()
    }
}

pub fn deployment(site: &Site, cx: &Context) -> Deployment {
    let metadata = cx.child_metadata(site, site.name_any());
    let labels = BTreeMap::from([("site".to_owned(), site.name_any())]);
    let container = Container {
        name: "web".into(),
        image: Some(site.spec.image.clone()),
        ..Default::default()
    };
    Deployment {
        metadata,
        spec: Some(DeploymentSpec {
            replicas: Some(site.spec.replicas()),
            selector: LabelSelector {
                match_labels: Some(labels.clone()),
                ..Default::default()
            },
            template: PodTemplateSpec {
                metadata: Some(ObjectMeta {
                    labels: Some(labels),
                    ..Default::default()
                }),
                spec: Some(PodSpec {
                    containers: vec![container],
                    ..Default::default()
                }),
            },
            ..Default::default()
        }),
        ..Default::default()
    }
}

/// The status after the children were applied, or were not.
pub fn status(site: &Site, done: &Result<Deployment>) -> Result<SiteStatus> {
    let condition = match done {
        Ok(deployment) if is_up(deployment) => Condition::new("Ready", true, "Up", "it runs"),
        Ok(_) => Condition::new("Ready", false, "Starting", "its pods are not all ready"),
        Err(error) => Condition::new("Ready", false, "Failed", error.summary()),
    };
    conditioned(site, condition)
}

pub fn observed(site: &Site) -> Option<i64> {
    site.status.as_ref().and_then(|it| it.observed_generation)
}

pub fn conditioned(site: &Site, condition: Condition) -> Result<SiteStatus> {
    let mut status = site.status.clone().unwrap_or_default();
    status.observed_generation = site.metadata.generation;
    let conditions = status.conditions.get_or_insert_default();
    condition.set_in(conditions, site.metadata.generation)?;
    Ok(status)
}

fn is_up(deployment: &Deployment) -> bool {
    let wanted = deployment.spec.as_ref().and_then(|spec| spec.replicas);
    let status = deployment.status.clone().unwrap_or_default();
    status.observed_generation >= deployment.metadata.generation
        && status.updated_replicas.unwrap_or(0) >= wanted.unwrap_or(1)
        && status.ready_replicas.unwrap_or(0) >= wanted.unwrap_or(1)
}

pub fn config_maps(site: &Site, cx: &Context) -> Api<ConfigMap> {
    Api::namespaced(cx.client(), &namespace(site))
}

pub fn record_name(site: &Site) -> String {
    format!("{}-record", site.name_any())
}

fn is_record_of(site: &Site, record: &ConfigMap) -> bool {
    record.labels().get(SITE) == site.metadata.uid.as_ref()
}

fn namespace(site: &Site) -> String {
    site.namespace().unwrap_or_default()
}
