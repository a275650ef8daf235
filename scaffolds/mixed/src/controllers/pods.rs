//! Handlers of a built-in kind: they delete each Pod with the annotation [`LIFETIME`] after that time, and know the Pods of each app.

use std::{sync::Arc, time::Duration};

use k8s_openapi::api::core::v1::Pod;
use kube::{Api, ResourceExt, api::DeleteParams};
use operator_runtime::{
    Error, Result, Setup,
    handlers::{Call, DaemonCall, Handlers, Index, Registry},
};

use crate::log::Log;

/// Milliseconds.
pub const LIFETIME: &str = "programs.example.com/lifetime";

pub async fn setup(setup: Setup) -> Result<PodHandlers> {
    Ok(PodHandlers {
        log: setup.shared(),
        by_app: Index::default(),
    })
}

pub struct PodHandlers {
    log: Arc<Log>,
    by_app: Index<String, String>,
}

impl Handlers for PodHandlers {
    type Resource = Pod;

    fn register(&self, on: &mut Registry<Self>) {
        on.index(&self.by_app, |pod| {
            let app = pod.labels().get("app")?;
            Some((app.clone(), pod.name_any()))
        });
        on.timer("count", Duration::from_millis(100), Self::count)
            .has_label("app");
        on.daemon("end", Self::end).has_annotation(LIFETIME);
    }
}

impl PodHandlers {
    async fn count(self: Arc<Self>, call: Call<Pod>) -> Result<()> {
        if let Some(app) = call.object().labels().get("app") {
            let pods = self.by_app.get(app).join(", ");
            self.log.add(format!("{app}: {pods}"));
        }
        Ok(())
    }

    /// Waits for the end of the lifetime. Ends earlier if somebody else deletes the Pod.
    async fn end(self: Arc<Self>, daemon: DaemonCall<Pod>) -> Result<()> {
        let pod = daemon.object();
        let name = pod.name_any();
        let lifetime = pod.annotations()[LIFETIME].parse();
        let lifetime = Duration::from_millis(lifetime.map_err(Error::permanent)?);
        if !daemon.sleep(lifetime).await {
            self.log.add(format!("{name} ended early"));
            return Ok(());
        }
        let namespace = pod.namespace().unwrap_or_default();
        let pods: Api<Pod> = Api::namespaced(daemon.cx().client(), &namespace);
        if let Err(error) = pods.delete(&name, &DeleteParams::default()).await
            && !matches!(&error, kube::Error::Api(status) if status.is_not_found())
        {
            return Err(error.into());
        }
        self.log.add(format!("{name} was deleted"));
        Ok(())
    }
}
