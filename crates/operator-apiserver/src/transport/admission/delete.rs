//! Deletions that call webhooks; those of a collection are made one after another.

use serde_json::Value;

use super::{ATTEMPTS, overtaken};
use crate::admission::webhook::question;
use crate::admission::webhook::review::Subject;
use crate::model::metadata::{name, text};
use crate::model::{Key, Result};
use crate::read::Reply;
use crate::request::{Call, ResourcePath};
use crate::store::stored;
use crate::transport::service::ApiServer;
use crate::write::delete::{
    self, Options, collection_reply, deletable, delete_shown, deletion_reply,
};

/// The parameters of a deletion.
struct Wanted {
    options: Options,
    /// The options as they were sent.
    sent: Value,
    /// The name in the review; empty for a collection.
    name: String,
}

impl ApiServer {
    pub(super) async fn admit_delete(&self, call: &mut Call, path: &ResourcePath) -> Result<Reply> {
        let (wanted, key) = self
            .locked(call, path, |_, request| {
                let (options, sent) = Options::read(request)?;
                let name = path.name.clone();
                let key = request.key(&name);
                let wanted = Wanted {
                    options,
                    sent,
                    name,
                };
                Ok((wanted, key))
            })
            .await?;
        self.admit_deletion(call, path, &key, &wanted).await
    }

    pub(super) async fn admit_delete_collection(
        &self,
        call: &mut Call,
        path: &ResourcePath,
    ) -> Result<Reply> {
        let (wanted, page, keys, kind) = self
            .locked(call, path, |state, request| {
                let (options, sent) = Options::read(request)?;
                let page = delete::collection(state, request)?;
                let keys = page.items.iter();
                let keys: Vec<Key> = keys.map(|item| request.key(name(item.object()))).collect();
                let wanted = Wanted {
                    options,
                    sent,
                    name: String::new(),
                };
                Ok((wanted, page, keys, request.kind.clone()))
            })
            .await?;
        for key in keys {
            match self.admit_deletion(call, path, &key, &wanted).await {
                // the object was deleted meanwhile
                Err(failure) if failure.code == 404 => {}
                other => drop(other?),
            }
        }
        Ok(collection_reply(&self.cluster().state.store, &kind, page))
    }

    /// Deletes one object, if all webhooks accept it. If the object changes meanwhile, preconditions are checked and webhooks called again.
    async fn admit_deletion(
        &self,
        call: &mut Call,
        path: &ResourcePath,
        key: &Key,
        wanted: &Wanted,
    ) -> Result<Reply> {
        let options = &wanted.options;
        for _ in 0..ATTEMPTS {
            let (version, question) = self
                .locked(call, path, |state, request| {
                    let live = deletable(&state.store, request.kind, key, options)?;
                    let mut sent = wanted.sent.clone();
                    sent["kind"] = "DeleteOptions".into();
                    sent["apiVersion"] = "meta.k8s.io/v1".into();
                    let subject = Subject {
                        operation: "DELETE",
                        name: wanted.name.clone(),
                        options: sent,
                        old: Some(stored::present(&state.conversions, request.kind, &live)?),
                        is_dry_run: options.dry_run,
                    };
                    let version = text(&live, "resourceVersion").to_owned();
                    Ok((version, question::question(state, request, subject)))
                })
                .await?;
            question.admit_deletion(call).await?;
            let reply = self
                .locked(call, path, |state, request| {
                    let stored = state.store.find(key);
                    let is_current = |live: &Value| text(live, "resourceVersion") == version;
                    if !stored.is_some_and(|live| is_current(&live)) {
                        return Ok(None);
                    }
                    let deleted = delete_shown(state, request.kind, key, options)?;
                    Ok(Some(deletion_reply(request, deleted, options)))
                })
                .await?;
            if let Some(reply) = reply {
                return Ok(reply);
            }
        }
        Err(overtaken())
    }
}
