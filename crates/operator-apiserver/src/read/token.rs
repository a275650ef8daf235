//! The `continue` token of a [list in pages], in the format of the API server.
//!
//! [list in pages]: https://kubernetes.io/docs/reference/using-api/api-concepts/#retrieving-large-results-sets-in-chunks

use base64::alphabet::URL_SAFE;
use base64::engine::general_purpose::{GeneralPurpose, NO_PAD};
use base64::prelude::*;
use serde_json::{Value, json};

use crate::go::read_json;
use crate::model::{Failure, Key, Result};

const FORM: &str = "meta.k8s.io/v1";

/// Decodes as Go does, which ignores trailing bits.
const BASE64: GeneralPurpose =
    GeneralPurpose::new(&URL_SAFE, NO_PAD.with_decode_allow_trailing_bits(true));

/// The start of the next page.
pub(crate) struct Token {
    /// The listed version of the store; `None` for the newest.
    pub version: Option<u64>,
    start: String,
}

impl Token {
    /// The entries after a key, of a collection in one namespace, or in all namespaces if it is empty.
    pub fn after(version: u64, key: &Key, namespace: &str) -> Self {
        Self {
            version: Some(version),
            // the smallest text after the key
            start: format!("{}\0", place(key, namespace)),
        }
    }

    /// Whether the object with the key is after the previous page.
    pub fn is_before(&self, key: &Key, namespace: &str) -> bool {
        self.start <= place(key, namespace)
    }

    /// The token for the rest of the list at the newest version.
    pub fn at_newest(self) -> Self {
        Self {
            version: None,
            ..self
        }
    }

    pub fn write(&self) -> String {
        let version = self.version.map_or(json!(-1), Value::from);
        let token = json!({"v": FORM, "rv": version, "start": self.start});
        BASE64.encode(token.to_string())
    }

    /// Parses the token in a query, if there is one.
    pub fn read(text: &str) -> Result<Option<Self>> {
        if text.is_empty() {
            return Ok(None);
        }
        let wrong = |why: String| {
            let text = format!("invalid continue token: continue key is not valid: {why}");
            Failure::bad_request(text)
        };
        let bytes = BASE64.decode(text).map_err(|_| {
            let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
            let at = text
                .bytes()
                .position(|byte| !is_letter(byte))
                .unwrap_or(text.len() - 1);
            wrong(format!("illegal base64 data at input byte {at}"))
        })?;
        let token: Value = read_json(&bytes).map_err(wrong)?;
        let form = token["v"].as_str().unwrap_or_default();
        if form != FORM {
            let why = format!("server does not recognize this encoded version {form}");
            return Err(wrong(why));
        }
        let version = match token["rv"].as_i64().unwrap_or_default() {
            0 => {
                let why = format!("incorrect encoded start resourceVersion (version {FORM})");
                return Err(wrong(why));
            }
            version => version.try_into().ok(),
        };
        let start = token["start"].as_str().unwrap_or_default();
        if start.is_empty() {
            return Err(wrong(format!("encoded start key empty (version {FORM})")));
        }
        let relative = start.strip_prefix('/').unwrap_or(start);
        if relative
            .split('/')
            .any(|part| matches!(part, "" | "." | ".."))
        {
            return Err(wrong(start.to_owned()));
        }
        Ok(Some(Self {
            version,
            start: relative.to_owned(),
        }))
    }
}

/// The key of an object within a collection.
fn place(key: &Key, namespace: &str) -> String {
    match key.namespace.as_str() {
        of_key if of_key == namespace => key.name.clone(),
        of_key => format!("{of_key}/{}", key.name),
    }
}
