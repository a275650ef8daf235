//! The hash that identifies the content of files.

use sha2::{Digest, Sha256};

/// The SHA-256 of a text, as 64 hexadecimal digits.
pub fn sha256(text: &[u8]) -> String {
    let digest = Sha256::digest(text);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
