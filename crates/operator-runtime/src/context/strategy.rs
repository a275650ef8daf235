//! Children that are not written by server-side apply: created, and replaced, recreated or left as they are.

use kube::api::PostParams;
use serde_json::Value;

use super::{
    Context,
    apply::{ATTEMPTS, Written, is_being_deleted, is_conflict},
    child::{Child, Uncontrolled},
    ownership,
    record::{Annotations, fields, hash, is_untouched, replacement},
};
use crate::{Result, setup::UpdateStrategy};

impl Context {
    pub(super) async fn update_child(
        &self,
        child: &Child<'_>,
        strategy: UpdateStrategy,
        uncontrolled: Uncontrolled,
        mut known: Option<Value>,
    ) -> Result<Written> {
        let Child {
            owned, kind, key, ..
        } = child;
        // Whoever takes an object over has to write it.
        let uncontrolled = match strategy {
            UpdateStrategy::Replace => uncontrolled,
            _ => Uncontrolled::Refuse,
        };
        let mut attempts = 0;
        loop {
            let is_known = known.is_some();
            attempts += 1;
            let sent = match known.take() {
                None => {
                    self.check_owner().await?;
                    self.send_create(child).await
                }
                Some(live) => {
                    self.check_control(&owned.kind, &key.name, &live, uncontrolled)?;
                    let leaves = |waits| {
                        Ok(Written {
                            live: live.clone(),
                            waits,
                        })
                    };
                    if is_being_deleted(&live) {
                        return leaves(true);
                    }
                    if strategy == UpdateStrategy::CreateOnly || !self.would_change(child, &live) {
                        return leaves(false);
                    }
                    match strategy {
                        UpdateStrategy::Recreate => {
                            let deleted = self.send_delete(owned, kind, key, &live, true).await;
                            match deleted {
                                Ok(true) => continue,
                                Ok(false) => return leaves(true),
                                Err(error) => Err(error),
                            }
                        }
                        UpdateStrategy::Replace => self.send_replace(child, &live).await,
                        _ => return leaves(true),
                    }
                }
            };
            let error = match sent {
                Ok(live) => return Ok(Written { live, waits: false }),
                Err(error) => error,
            };
            if is_conflict(&error) && attempts < ATTEMPTS {
                known = self.live(owned, kind, key).await?;
                continue;
            }
            if !is_known {
                self.check_name(child, uncontrolled, &error).await?;
            }
            return Err(error.into());
        }
    }

    /// Whether a write would change the child: another content is desired than was sent, or another has changed a field that was sent.
    fn would_change(&self, child: &Child<'_>, live: &Value) -> bool {
        let annotations = Annotations::of(self.operator());
        match live["metadata"]["annotations"][&annotations.hash].as_str() {
            Some(recorded) => {
                recorded != hash(&child.desired)
                    || !is_untouched(
                        &child.desired,
                        ownership::updated(live, self.operator()),
                        live,
                    )
            }
            // it was written before its kind had this strategy
            None => ownership::owned(live, self.operator())
                .is_none_or(|owned| !ownership::is_same(&child.desired, owned, live)),
        }
    }

    /// The child with what is recorded on it.
    fn recorded(&self, child: &Child<'_>) -> Value {
        let annotations = Annotations::of(self.operator());
        let mut body = child.desired.clone();
        body["metadata"]["annotations"][annotations.hash] = hash(&child.desired).into();
        if child.owned.update == UpdateStrategy::Replace {
            let sent = fields(&child.desired).to_string();
            body["metadata"]["annotations"][annotations.fields] = sent.into();
        }
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
        let annotation = Annotations::of(self.operator()).fields;
        let sent = live["metadata"]["annotations"][annotation].as_str();
        let sent = sent.and_then(|sent| serde_json::from_str(sent).ok());
        let mut body = replacement(live, &self.recorded(child), &sent.unwrap_or(Value::Null));
        if let Some(metadata) = body["metadata"].as_object_mut() {
            // the cache does not have those of others, and what is absent stays
            metadata.remove("managedFields");
        }
        let request = child.kind.requests(child.key.namespace.as_deref());
        let body = body.to_string().into_bytes();
        let request = request.replace(&child.key.name, &self.as_manager(), body);
        self.send(child, request).await
    }

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
            field_manager: Some(self.operator().to_owned()),
            ..PostParams::default()
        }
    }
}
