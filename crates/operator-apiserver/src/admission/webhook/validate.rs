//! Calls the validating webhooks, [all at once].
//!
//! [all at once]: https://github.com/kubernetes/apiserver/blob/master/pkg/admission/plugin/webhook/validating/dispatcher.go

use futures::future::join_all;
use serde_json::Value;

use super::call::ask;
use super::hook::Hook;
use super::review::Attributes;
use crate::model::Result;

/// Calls all webhooks at once, and waits for all of them. Fails with the first denial in the order of the webhooks.
pub(crate) async fn validate(
    hooks: &[Hook],
    attributes: &Attributes,
    object: Option<&Value>,
    warnings: &mut Vec<String>,
) -> Result<()> {
    let mut selected = Vec::new();
    for hook in hooks {
        if let Some(view) = hook.selected(attributes, object).await? {
            selected.push((hook, view));
        }
    }
    let asked = selected
        .iter()
        .map(|(hook, view)| ask(hook, &view.attributes, view.object(), false));
    let mut result = Ok(());
    for verdict in join_all(asked).await {
        let refused = match verdict {
            Ok(None) => Ok(()),
            Ok(Some(verdict)) => {
                warnings.extend(verdict.warnings);
                verdict.outcome.map(|_| ())
            }
            Err(failure) => Err(failure),
        };
        result = result.and(refused);
    }
    result
}
