//! [Tokens of service accounts]. Their claims are correct, but they are not signed, and the server does not authenticate requests by them.
//!
//! [Tokens of service accounts]: https://kubernetes.io/docs/reference/kubernetes-api/authentication-resources/token-request-v1/

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::body::{body_kind, subresource_body};
use crate::apply::{Managers, Operation};
use crate::go::quoted;
use crate::kinds::resource::{NODES, PODS, SECRETS, SERVICE_ACCOUNTS};
use crate::model::json::list;
use crate::model::metadata::{self, name, text};
use crate::model::{Cause, Failure, Key, Kind, Result, clock, group_version};
use crate::read::Reply;
use crate::request::Request;
use crate::store::{State, Store, stored};
use crate::write::tracking::{blank, writer_of};

/// The issuer, which is also the audience of tokens for the API server.
const ISSUER: &str = "https://kubernetes.default.svc";
const SHORTEST: i64 = 600;
const LONGEST: i64 = 1 << 32;

/// Answers a TokenRequest of an account.
pub(crate) fn issue_token(state: &State, of_account: &Request<'_>) -> Result<Reply> {
    let kind = body_kind("authentication.k8s.io", "TokenRequest");
    let request = Request {
        kind: &kind,
        ..*of_account
    };
    let mut object = subresource_body(&request)?;
    let account_name = request.path.name.as_str();
    if !matches!(name(&object), "") && name(&object) != account_name {
        let text = format!(
            "Invalid value: {:?}: must match the service account name if specified",
            name(&object)
        );
        let cause = Cause::invalid("metadata.name", text);
        return Err(Failure::invalid(&kind, account_name, vec![cause]));
    }
    let Some(account) = stored::live(state, of_account)? else {
        return Err(Failure::not_found(of_account.kind, account_name));
    };
    let (wanted, uid) = (text(&object, "uid"), text(&account, "uid"));
    if !wanted.is_empty() && wanted != uid {
        let why = format!(
            "the UID in the token request ({wanted}) does not match the UID of the service account ({uid})"
        );
        return Err(Failure::precondition(&kind, account_name, &why));
    }
    let spec = &mut object["spec"];
    if spec["expirationSeconds"].is_null() {
        spec["expirationSeconds"] = 3600.into();
    }
    let writer = writer_of(&request, Operation::Update);
    let mut before = blank(&request);
    // a decoded TokenRequest always has this field, so nobody owns it
    before["spec"]["boundObjectRef"] = Value::Null;
    let managers = writer
        .update(&before, &object, &Managers::default())
        .unwrap_or_default();
    let spec = &mut object["spec"];
    if spec["audiences"].as_array().is_none_or(Vec::is_empty) {
        spec["audiences"] = json!([ISSUER]);
    }
    let seconds = spec["expirationSeconds"].as_i64().unwrap_or_default();
    let limits = match seconds {
        ..SHORTEST => Some("may not specify a duration less than 10 minutes"),
        SHORTEST..=LONGEST => None,
        _ => Some("may not specify a duration larger than 2^32 seconds"),
    };
    if let Some(why) = limits {
        let text = format!("Invalid value: {seconds}: {why}");
        let cause = Cause::invalid("spec.expirationSeconds", text);
        return Err(Failure::invalid(&kind, "", vec![cause]));
    }
    let bound = bound(&state.store, of_account, &object["spec"]["boundObjectRef"])?;
    let now = clock::now();
    let end = Timestamp::from_second(now.as_second().saturating_add(seconds));
    let mut claims = json!({
        "aud": object["spec"]["audiences"],
        "exp": now.as_second().saturating_add(seconds),
        "iat": now.as_second(),
        "iss": ISSUER,
        "jti": metadata::uid(),
        "kubernetes.io": {
            "namespace": text(&account, "namespace"),
            "serviceaccount": {"name": account_name, "uid": uid},
        },
        "nbf": now.as_second(),
        "sub": format!("system:serviceaccount:{}:{account_name}", text(&account, "namespace")),
    });
    for (kind, bound) in bound {
        claims["kubernetes.io"][kind] = json!({"name": name(&bound), "uid": text(&bound, "uid")});
    }
    let mut answer = blank(&request);
    answer["metadata"] = json!({
        "name": account_name,
        "namespace": text(&account, "namespace"),
        "uid": uid,
        "creationTimestamp": clock::text(now),
    });
    metadata::set(&mut answer, "managedFields", managers.write_or_null());
    let spec = &object["spec"];
    answer["spec"] = json!({
        "audiences": spec["audiences"],
        "expirationSeconds": seconds,
        "boundObjectRef": spec["boundObjectRef"],
    });
    answer["status"] = json!({
        "token": token(&claims),
        "expirationTimestamp": end.map_or(Value::Null, |end| clock::text(end).into()),
    });
    Ok(Reply::created(answer))
}

/// The status of a TokenReview: the user of an issued token, and its audiences among those of the review, which are the API server's if it
/// names none.
pub(super) fn review(store: &Store, spec: &Value) -> Value {
    let refused = |error: String| json!({"user": {}, "error": error});
    let invalid = "invalid bearer token";
    let Some(claims) = claims(spec["token"].as_str().unwrap_or_default()) else {
        return refused(invalid.to_owned());
    };
    let wanted = match list(spec, "audiences") {
        [] => &[Value::from(ISSUER)],
        wanted => wanted,
    };
    let own = list(&claims, "aud");
    let audiences: Vec<&Value> = wanted.iter().filter(|it| own.contains(it)).collect();
    if audiences.is_empty() {
        let (own, wanted) = (quoted_list(own), quoted_list(wanted));
        return refused(format!(
            "[{invalid}, token audiences {own} is invalid for the target audiences {wanted}]"
        ));
    }
    match owner(store, &claims) {
        Some(user) => json!({"authenticated": true, "user": user, "audiences": audiences}),
        None => refused(invalid.to_owned()),
    }
}

fn quoted_list(items: &[Value]) -> String {
    let quote = |item: &Value| quoted(item.as_str().unwrap_or_default());
    format!(
        "[{}]",
        items.iter().map(quote).collect::<Vec<_>>().join(" ")
    )
}

fn claims(token: &str) -> Option<Value> {
    let claims = URL_SAFE_NO_PAD.decode(token.split('.').nth(1)?).ok()?;
    serde_json::from_slice(&claims).ok()
}

/// The user of a token; `None` if the token has expired, or its account was deleted.
fn owner(store: &Store, claims: &Value) -> Option<Value> {
    if claims["exp"].as_i64()? <= clock::now().as_second() {
        return None;
    }
    let of_account = &claims["kubernetes.io"];
    let namespace = of_account["namespace"].as_str()?;
    let account = &of_account["serviceaccount"];
    let name = account["name"].as_str()?;
    let key = Key::new(SERVICE_ACCOUNTS, namespace, name);
    let found = store.find(&key)?;
    if account["uid"] != text(&found, "uid") {
        return None;
    }
    let id = claims["jti"].as_str()?;
    Some(json!({
        "username": claims["sub"],
        "uid": account["uid"],
        "groups": [
            "system:serviceaccounts",
            format!("system:serviceaccounts:{namespace}"),
            "system:authenticated",
        ],
        "extra": {"authentication.kubernetes.io/credential-id": [format!("JTI={id}")]},
    }))
}

/// The object to which a token is bound, and the node of a pod.
fn bound(
    store: &Store,
    request: &Request<'_>,
    reference: &Value,
) -> Result<Vec<(&'static str, Value)>> {
    let field = |name: &str| reference[name].as_str().unwrap_or_default();
    if reference.is_null() {
        return Ok(Vec::new());
    }
    let (group, version) = group_version(field("apiVersion"));
    let (resource, claim) = match (group, field("kind")) {
        ("", "Pod") => (PODS, "pod"),
        ("", "Node") => (NODES, "node"),
        ("", "Secret") => (SECRETS, "secret"),
        (_, kind) => {
            let text =
                format!("cannot bind token to object of type {group}/{version}, Kind={kind}");
            return Err(Failure::bad_request(text));
        }
    };
    let node = |name: &str| store.find(&Key::new(NODES, "", name));
    let found = match resource {
        NODES => node(field("name")),
        _ => {
            let key = Key::new(resource, &request.path.namespace, field("name"));
            store.find(&key)
        }
    };
    let missing = || Failure::not_found(&Kind::named(resource), field("name"));
    let found = found.ok_or_else(missing)?;
    let mut bound = Vec::new();
    if resource == PODS {
        let account = &request.path.name;
        if found["spec"]["serviceAccountName"] != **account {
            return Err(Failure::bad_request(format!(
                "cannot bind token for serviceaccount {account:?} to pod running with different serviceaccount name."
            )));
        }
        let name = found["spec"]["nodeName"].as_str();
        if let Some(name) = name.filter(|name| !name.is_empty()) {
            let there = node(name).map(|node| Value::clone(&node));
            let alone = || json!({"metadata": {"name": name}});
            bound.push(("node", there.unwrap_or_else(alone)));
        }
    }
    let (wanted, uid) = (field("uid"), text(&found, "uid"));
    if !wanted.is_empty() && wanted != uid {
        let why = format!(
            "the UID in the bound object reference ({wanted}) does not match the UID in record. The object might have been deleted and then recreated"
        );
        let kind = Kind::named(("", field("kind")));
        return Err(Failure::conflict(&kind, field("name"), &why));
    }
    bound.push((claim, Value::clone(&found)));
    Ok(bound)
}

/// Formats a token like a signed one.
fn token(claims: &Value) -> String {
    let header = json!({"alg": "RS256", "kid": "operator-testing"});
    let parts = [header, claims.clone()].map(|part| URL_SAFE_NO_PAD.encode(part.to_string()));
    let signature = URL_SAFE_NO_PAD.encode(metadata::uid());
    format!("{}.{signature}", parts.join("."))
}
