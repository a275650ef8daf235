//! Writes of a scale that call webhooks. The webhooks get the scale and may change it; then its replicas are written to the object.

use super::write::options;
use super::{ATTEMPTS, overtaken};
use crate::admission::webhook::question;
use crate::admission::webhook::review::Subject;
use crate::model::Result;
use crate::read::Reply;
use crate::request::{Call, ResourcePath};
use crate::serve::scale::{propose_scale, scale_kind, scale_of, scale_reply, scaled_object};
use crate::store::conversion::unanswered;
use crate::transport::service::ApiServer;
use crate::write::check::check_prepared;
use crate::write::commit::{self, is_current};

impl ApiServer {
    pub(super) async fn admit_scale(
        &self,
        call: &mut Call,
        path: &ResourcePath,
        verb: &str,
    ) -> Result<Reply> {
        for _ in 0..ATTEMPTS {
            let (draft, mut question, shown) = self
                .locked(call, path, |state, request| {
                    let draft = propose_scale(state, request, verb)?;
                    let (before, after) = draft.shown(request.kind)?;
                    let subject = Subject {
                        operation: "UPDATE",
                        name: path.name.clone(),
                        options: options(request.call, "UPDATE"),
                        old: Some(before),
                        is_dry_run: request.call.is_dry_run(),
                    };
                    let question = question::question(state, request, subject);
                    Ok((draft, question.of_kind(&scale_kind(request.kind)), after))
                })
                .await?;
            let mutated = question.mutate(call, shown).await?;
            let mut checking = Some((draft, mutated));
            let (checked, scale) = self
                .locked(call, path, |state, request| {
                    // This stage needs no conversion, so it runs once.
                    let (mut draft, mutated) = checking.take().ok_or_else(unanswered)?;
                    if mutated.dropped.is_some() {
                        draft.scale = mutated.object;
                    }
                    let prepared = scaled_object(request, draft)?;
                    let checked = check_prepared(state, request, prepared)?;
                    let scale = scale_of(request.kind, &checked.object)?;
                    Ok((checked, scale))
                })
                .await?;
            question.validate(call, &scale).await?;
            let reply = self
                .locked(call, path, |state, request| {
                    if !is_current(&state.store, request, &checked) {
                        return Ok(None);
                    }
                    let reply = commit::commit(state, request, checked.clone())?;
                    scale_reply(request.kind, reply).map(Some)
                })
                .await?;
            if let Some(reply) = reply {
                return Ok(reply);
            }
        }
        Err(overtaken())
    }
}
