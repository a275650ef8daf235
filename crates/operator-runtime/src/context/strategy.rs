//! Writes children without server-side apply: creates them, and replaces, recreates or keeps existing ones.

use kube::api::PostParams;
use serde_json::Value;

use super::{
    Context,
    apply::{ATTEMPTS, Written, is_being_deleted, is_conflict},
    child::Child,
    ownership,
    record::{Managed, annotation, hash, is_contained, is_untouched, replacement},
};
use crate::{
    Result,
    error::{Error, is_gone},
    setup::UpdateStrategy,
};

impl Context {
    /// Creates the child, or does with the existing one what the strategy requires; not for [`UpdateStrategy::Apply`].
    pub(super) async fn update_child(
        &self,
        child: &Child<'_>,
        strategy: UpdateStrategy,
        mut known: Option<Value>,
    ) -> Result<Written> {
        let Child {
            owned, kind, key, ..
        } = child;
        let mut attempts = 0;
        // the cache lacks the managed fields of others, which decide what a replacement keeps
        let mut is_cached = true;
        loop {
            let is_known = known.is_some();
            attempts += 1;
            let sent = match known.take() {
                None => {
                    self.check_owner().await?;
                    self.send_create(child).await
                }
                Some(live) => {
                    self.check_control(&owned.kind, &key.name, &live, child.uncontrolled)?;
                    let unchanged = |waits| {
                        Ok(Written {
                            live: live.clone(),
                            waits,
                        })
                    };
                    if is_being_deleted(&live) {
                        return unchanged(true);
                    }
                    if strategy == UpdateStrategy::CreateOnly || !self.would_change(child, &live) {
                        return unchanged(false);
                    }
                    match strategy {
                        UpdateStrategy::Recreate => match self.recreate(child, &live).await {
                            // `known` is `None` now, so the next attempt creates the child
                            Ok(true) => continue,
                            Ok(false) => return unchanged(true),
                            Err(error) => Err(error),
                        },
                        UpdateStrategy::Replace if is_cached => {
                            known = self.live(owned, kind, key).await?;
                            is_cached = false;
                            continue;
                        }
                        UpdateStrategy::Replace => self.send_replace(child, &live).await,
                        _ => return unchanged(true),
                    }
                }
            };
            let error = match sent {
                Ok(live) => {
                    if strategy != UpdateStrategy::CreateOnly && self.would_change(child, &live) {
                        return Err(Error::Unsettled {
                            kind: owned.kind.to_string(),
                            name: key.name.clone(),
                        });
                    }
                    return Ok(Written { live, waits: false });
                }
                Err(error) => error,
            };
            // it was deleted meanwhile: the next attempt creates it
            if is_gone(&error) && is_known && attempts < ATTEMPTS {
                continue;
            }
            if is_conflict(&error) && attempts < ATTEMPTS {
                known = self.live(owned, kind, key).await?;
                is_cached = false;
                continue;
            }
            if !is_known {
                self.check_name(child, &error).await?;
            }
            return Err(error.into());
        }
    }

    /// Whether a write would change the child: the desired content differs from the sent content, or somebody else has changed a sent
    /// field.
    fn would_change(&self, child: &Child<'_>, live: &Value) -> bool {
        let recorded = &live["metadata"]["annotations"][annotation(self.operator())];
        if child.recorded.is_some() && child.recorded == recorded.as_str().map(str::to_owned) {
            // the user's code returned the child that it observed, perhaps with changes
            return !is_contained(&child.desired, live);
        }
        match recorded.as_str() {
            Some(recorded) => {
                let owned = ownership::owned_by_any_write(live, self.field_manager());
                recorded != hash(&child.desired)
                    || !is_untouched(&child.desired, owned.as_ref(), live)
            }
            // it was applied, before its kind got this strategy
            None => ownership::owned(live, self.field_manager())
                .is_none_or(|owned| !ownership::is_same(&child.desired, owned, live)),
        }
    }

    /// Deletes the child, if a dry run shows that the API server accepts the desired one. Returns whether the child was deleted
    /// immediately.
    async fn recreate(&self, child: &Child<'_>, live: &Value) -> Result<bool, kube::Error> {
        let Child {
            owned, kind, key, ..
        } = child;
        let parameters = PostParams {
            dry_run: true,
            ..self.as_manager()
        };
        let request = kind.requests(key.namespace.as_deref());
        let request = request
            .create(&parameters, self.recorded(child).to_string().into_bytes())
            .map_err(kube::Error::BuildRequest)?;
        match self.controller.client.request::<Value>(request).await {
            Ok(_) => {}
            // it is valid: only its name is in use, by the child itself
            Err(error) if is_conflict(&error) => {}
            Err(error) => return Err(error),
        }
        self.send_delete(owned, kind, key, live, true).await
    }

    /// The desired child, with the annotation of its hash.
    fn recorded(&self, child: &Child<'_>) -> Value {
        let mut body = child.desired.clone();
        body["metadata"]["annotations"][annotation(self.operator())] = hash(&child.desired).into();
        body
    }

    async fn send_create(&self, child: &Child<'_>) -> Result<Value, kube::Error> {
        let body = match child.owned.update {
            UpdateStrategy::CreateOnly => child.desired.to_string(),
            _ => self.recorded(child).to_string(),
        };
        let request = child.kind.requests(child.key.namespace.as_deref());
        let request = request.create(&self.as_manager(), body.into_bytes());
        self.send(child, request).await
    }

    async fn send_replace(&self, child: &Child<'_>, live: &Value) -> Result<Value, kube::Error> {
        let owned = ownership::owned_by_any_write(live, self.field_manager());
        let all = ownership::owned_by_any_manager(live);
        let managed = Managed {
            ours: owned.as_ref(),
            all: all.as_ref(),
        };
        let body = replacement(live, &self.recorded(child), managed);
        let request = child.kind.requests(child.key.namespace.as_deref());
        let body = body.to_string().into_bytes();
        let request = request.replace(&child.key.name, &self.as_manager(), body);
        self.send(child, request).await
    }

    /// Sends a request that writes the child, and records the result in the cache.
    async fn send(
        &self,
        child: &Child<'_>,
        request: Result<http::Request<Vec<u8>>, kube::core::request::Error>,
    ) -> Result<Value, kube::Error> {
        let Child { owned, key, .. } = child;
        let namespace = key.namespace.as_deref();
        let sent = owned.children.before_write(namespace, &key.name);
        let request = request.map_err(kube::Error::BuildRequest)?;
        let written = self.controller.client.request::<Value>(request).await;
        match &written {
            Ok(written) => owned.children.record(sent, written),
            Err(_) => owned.children.invalidate(namespace, &key.name),
        }
        written
    }

    fn as_manager(&self) -> PostParams {
        PostParams {
            field_manager: Some(self.field_manager().to_owned()),
            ..PostParams::default()
        }
    }
}
