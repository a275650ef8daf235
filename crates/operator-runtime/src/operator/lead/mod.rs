//! The terms of this replica as the leader: waits for the lease, runs the controllers, and releases it.
//!
//! There may be several terms, because an operator with a higher priority may pause this one. Each has its own stop token, watches, caches,
//! queues and state of objects; only what `setup` functions returned is kept, so nothing that was observed before a pause is used after it.
//! To exit instead, and be restarted as a standby, was rejected: Kubernetes counts restarts as crashes and delays each longer than the
//! last, webhooks are unavailable meanwhile, and nothing restarts an operator that another program embeds. An operator that loses its lease
//! without having released it still exits, because its requests may be in flight.

use std::sync::Arc;

use tokio::{
    task::{JoinError, JoinSet},
    time::timeout,
};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::{
    controllers::Build,
    crd::{self, Migration, OwnCrds},
    engine::{controller::Wiring, identity::Identity, watch::Source},
    error::Fatal,
    health::Role,
    leader::Election,
    metrics::Metrics,
    setup::Setup,
};

/// The CRDs that the leader ensures, and the migration of their stored objects.
pub struct Crds<'a> {
    ensured: &'a [OwnCrds],
    migration: Option<Migration>,
}

impl<'a> Crds<'a> {
    pub fn of(ensured: &'a [OwnCrds], migrated: Vec<String>, setup: &Setup) -> Self {
        let migration = (!migrated.is_empty()).then(|| Migration {
            client: setup.client.clone(),
            operator: setup.operator.clone(),
            crds: migrated,
            rate: setup.settings.migration_rate,
        });
        Self { ensured, migration }
    }
}

/// Runs the controllers while this replica holds the lease, or immediately without leader election.
pub async fn lead(
    wiring: Wiring,
    operator: &str,
    crds: Crds<'_>,
    builds: Vec<(Identity, Build)>,
) -> Result<(), Fatal> {
    let Wiring {
        client,
        settings,
        metrics,
        health,
        stop,
        ..
    } = wiring.clone();
    if !settings.leader_election {
        return work(wiring, operator, &crds, &builds).await;
    }
    let mut election = Election::new(
        client,
        operator,
        &settings,
        (health.clone(), metrics.clone()),
    );
    loop {
        health.set_role(Role::Standby);
        let Some(held) = election.acquire(&stop).await else {
            return Ok(());
        };
        let term = wiring.term();
        let (done, yielded) = (CancellationToken::new(), term.stop.clone());
        let mut keeping = JoinSet::new();
        // In a task of its own, so that no reconciler's long computation delays a renewal.
        keeping.spawn(election.keep(held, done.clone(), yielded));
        let ended = |kept: Result<Result<Election, Fatal>, JoinError>| {
            kept.unwrap_or_else(|error| Err(Fatal::Task(error.to_string())))
        };
        let worked = tokio::select! {
            worked = work(term, operator, &crds, &builds) => worked,
            Some(kept) = keeping.join_next() => return ended(kept).map(drop),
        };
        done.cancel();
        let kept = keeping.join_next().await;
        worked?;
        match kept {
            Some(kept) if !stop.is_cancelled() => election = ended(kept)?,
            _ => return Ok(()),
        }
        // another operator works now, so the state that this one reported is out of date
        health.forget_caches();
        metrics.forget_objects();
    }
}

/// Ensures the CRDs, and runs the controllers until the term is stopped. Reconciliations in flight may last until the shutdown timeout.
async fn work(
    wiring: Wiring,
    operator: &str,
    crds: &Crds<'_>,
    builds: &[(Identity, Build)],
) -> Result<(), Fatal> {
    let Wiring {
        client,
        settings,
        metrics,
        health,
        fan_out,
        caches,
        stop,
        tasks,
        ..
    } = wiring.clone();
    if !crds.ensured.is_empty() {
        health.set_role(Role::EnsuringCrds);
        let serves = settings.has_webhook_service();
        tokio::select! {
            ensured = crd::ensure(client.clone(), operator, serves, crds.ensured) => ensured?,
            () = stop.cancelled() => return Ok(()),
        }
    }
    let mut built = vec![];
    for (identity, build) in builds {
        // not in the controller's task, which starts after the role is `Working`
        health.filling(identity.to_string());
        built.push(build(identity.clone(), wiring.clone()));
    }
    // only now, because the controllers have registered the kinds that they need
    let source = Source {
        client,
        settings: settings.clone(),
    };
    let mut watches = fan_out.start(&source);
    caches.start(&source, &fan_out, &mut watches);
    let mut migrating = JoinSet::new();
    if let Some(migration) = crds.migration.clone() {
        migrating.spawn(async move { match migration.run().await {} });
    }
    let mut controllers = JoinSet::new();
    for controller in built {
        controllers.spawn(controller);
    }
    health.set_role(Role::Working);
    let _leading = Leading::new(metrics);
    let ended = async |tasks: &mut JoinSet<()>| match tasks.join_next().await {
        Some(Err(error)) => Err(Fatal::Task(error.to_string())),
        Some(Ok(())) => Ok(()),
        None => std::future::pending().await,
    };
    tokio::select! {
        () = stop.cancelled() => {}
        early = ended(&mut controllers) => {
            if !stop.is_cancelled() {
                early?;
                return Err(Fatal::Task("a controller".into()));
            }
        }
        early = ended(&mut watches) => {
            early?;
            return Err(Fatal::Task("a watch".into()));
        }
        early = ended(&mut migrating) => {
            early?;
            return Err(Fatal::Task("the migration of stored objects".into()));
        }
    }
    let drained = async { while controllers.join_next().await.is_some() {} };
    if timeout(settings.shutdown_timeout, drained).await.is_err() {
        warn!(after = ?settings.shutdown_timeout, "giving up reconciliations in flight");
        controllers.shutdown().await;
    }
    // nothing makes requests any more when the lease is released
    watches.shutdown().await;
    migrating.shutdown().await;
    tasks.abort().await;
    Ok(())
}

/// Sets the metric of the leader to 1, until it is dropped.
struct Leading(Arc<Metrics>);

impl Leading {
    fn new(metrics: Arc<Metrics>) -> Self {
        metrics.leader.set(1);
        Self(metrics)
    }
}

impl Drop for Leading {
    fn drop(&mut self) {
        self.0.leader.set(0);
    }
}

#[cfg(test)]
mod terms;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{engine::kind::GroupKind, settings::Settings};
    use futures::poll;
    use kube::{Client, client::Body};
    use std::pin::pin;

    #[tokio::test]
    async fn a_replica_is_not_ready_before_its_controllers_begin() {
        let service = tower::service_fn(async |_: http::Request<Body>| {
            std::future::pending::<Result<http::Response<Body>, std::io::Error>>().await
        });
        let client = Client::new(service, "default");
        let wiring = Wiring::for_tests(client, Settings::for_tests());
        let health = wiring.health.clone();
        let identity = Identity {
            operator: "test".into(),
            kind: GroupKind {
                group: "cache.example.com".into(),
                kind: "Memcached".into(),
            },
            name: "memcached".into(),
            is_named: false,
            shares_kind: false,
        };
        let build: Build = Box::new(|_, _| Box::pin(std::future::pending()));
        let crds = Crds {
            ensured: &[],
            migration: None,
        };
        let builds = [(identity, build)];
        let mut work = pin!(work(wiring, "test", &crds, &builds));
        assert!(poll!(&mut work).is_pending());
        assert_eq!(
            health.unready().as_deref(),
            Some("waiting for the lists of Memcached.cache.example.com")
        );
    }
}
