//! Kinds that are answered instead of being stored: [access reviews], which are evaluated with the stored roles, and reviews of users and
//! tokens.
//!
//! [access reviews]: https://kubernetes.io/docs/reference/access-authn-authz/authorization/#checking-api-access

use serde_json::{Value, json};

use super::account_token;
use crate::access::rbac::{self, Attempt};
use crate::apply::{Managers, Operation};
use crate::decode;
use crate::kinds::resource::{
    ACCESS_REVIEWS, LOCAL_ACCESS_REVIEWS, SELF_ACCESS_REVIEWS, SELF_REVIEWS, TOKEN_REVIEWS,
};
use crate::model::json::items;
use crate::model::{Failure, Result, metadata};
use crate::read::Reply;
use crate::request::{Request, ResourcePath, User};
use crate::store::State;
use crate::write::tracking::{blank, writer_of};

/// The response, if the kind is a review.
pub(crate) fn answer(state: &State, request: &Request<'_>) -> Option<Result<Reply>> {
    let kind = request.kind;
    if kind.verbs.iter().any(|verb| verb == "get") {
        return None;
    }
    Some(match kind.resource() {
        SELF_ACCESS_REVIEWS | ACCESS_REVIEWS | LOCAL_ACCESS_REVIEWS => {
            access_review(state, request)
        }
        SELF_REVIEWS => self_review(request),
        TOKEN_REVIEWS => token_review(state, request),
        _ => Err(Failure::not_implemented(kind.qualified())),
    })
}

/// Answers a SelfSubjectReview with the user of the caller.
fn self_review(request: &Request<'_>) -> Result<Reply> {
    let mut review = request.call.object(request.kind)?;
    decode::identify(request.kind, &mut review)?;
    let asking = request.call.user.as_ref();
    let user = asking.cloned().unwrap_or_else(User::administrator);
    let mut answer = blank(request);
    metadata::set(&mut answer, "creationTimestamp", metadata::now());
    answer["status"] = json!({"userInfo": {"username": user.name, "groups": user.groups}});
    Ok(Reply::created(answer))
}

/// Sets the field managers of a review.
fn set_managers(request: &Request<'_>, review: &mut Value) {
    let managers =
        writer_of(request, Operation::Update).update(&blank(request), review, &Managers::default());
    let managers = managers.unwrap_or_default().write_or_null();
    metadata::set(review, "managedFields", managers);
}

/// Answers a TokenReview with the user of the token.
fn token_review(state: &State, request: &Request<'_>) -> Result<Reply> {
    let mut review = request.call.object(request.kind)?;
    decode::identify(request.kind, &mut review)?;
    if review["spec"]["token"].as_str().is_none_or(str::is_empty) {
        let text = "token is required for TokenReview in authentication";
        return Err(Failure::bad_request(text));
    }
    set_managers(request, &mut review);
    review["status"] = account_token::review(&state.store, &review["spec"]);
    Ok(Reply::created(review))
}

fn access_review(state: &State, request: &Request<'_>) -> Result<Reply> {
    let mut review = request.call.object(request.kind)?;
    decode::identify(request.kind, &mut review)?;
    let spec = &review["spec"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let user = match request.kind.resource() {
        SELF_ACCESS_REVIEWS => request.call.user.clone(),
        _ => Some(User {
            name: text(&spec["user"]),
            groups: items(&spec["groups"]).map(text).collect(),
        }),
    };
    let resource = &spec["resourceAttributes"];
    let path = &spec["nonResourceAttributes"];
    let reason = user.map_or(Some(String::new()), |user| {
        if resource.is_null() {
            let (verb, path) = (text(&path["verb"]), text(&path["path"]));
            return rbac::reason(
                &state.store,
                &user,
                &Attempt::Path {
                    verb: &verb,
                    path: &path,
                },
            );
        }
        let target = ResourcePath {
            group: text(&resource["group"]),
            version: text(&resource["version"]),
            plural: text(&resource["resource"]),
            namespace: text(&resource["namespace"]),
            name: text(&resource["name"]),
            subresource: Some(text(&resource["subresource"])).filter(|name| !name.is_empty()),
        };
        rbac::reason(
            &state.store,
            &user,
            &Attempt::Resource {
                verb: &text(&resource["verb"]),
                path: &target,
            },
        )
    });
    set_managers(request, &mut review);
    review["status"] = json!({"allowed": reason.is_some()});
    if let Some(reason) = reason.filter(|reason| !reason.is_empty()) {
        review["status"]["reason"] = reason.into();
    }
    Ok(Reply::created(review))
}
