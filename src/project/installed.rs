//! Finds the source of this program's installation in the record that `cargo install` keeps.
//!
//! In: the text of `.crates2.json`, the program's file name and version. Out: the source from which a generated CI can install it; `None`
//! for a local folder or a private registry. No I/O.

use serde::Deserialize;
use std::collections::BTreeMap;

use super::{ToolSource, check::is_plain};

/// The keys are `NAME VERSION (KIND+URL)`, as cargo writes a package's id
/// (<https://doc.rust-lang.org/cargo/reference/pkgid-spec.html>).
#[derive(Deserialize)]
struct Record {
    installs: BTreeMap<String, Installed>,
}

#[derive(Deserialize)]
struct Installed {
    bins: Vec<String>,
}

/// Cargo's names for crates.io, by git and by HTTP.
const CRATES_IO: [&str; 2] = [
    "registry+https://github.com/rust-lang/crates.io-index",
    "sparse+https://index.crates.io/",
];

/// The source of the `program` in this version; [`ToolSource::None`] if it is unknown, or if others cannot install from it.
pub fn tool_source(record: Option<&str>, program: &str, version: &str) -> ToolSource {
    let record = record.and_then(|text| serde_json::from_str::<Record>(text).ok());
    let installs = record.map_or_else(BTreeMap::new, |record| record.installs);
    let of_program = installs
        .iter()
        .filter(|(_, it)| it.bins.iter().any(|bin| bin == program));
    let mut sources = of_program.filter_map(|(id, _)| {
        let (package, source) = id.split_once(" (")?;
        let is_this = package.split_once(' ') == Some((env!("CARGO_PKG_NAME"), version));
        is_this.then(|| source.trim_end_matches(')'))
    });
    sources.next().map_or(ToolSource::None, of_id)
}

fn of_id(id: &str) -> ToolSource {
    if CRATES_IO.contains(&id) {
        return ToolSource::Registry;
    }
    let git = id.strip_prefix("git+").and_then(|id| id.rsplit_once('#'));
    git.and_then(|(url, rev)| of_git(url, rev))
        .unwrap_or(ToolSource::None)
}

/// A repository on another host, without the credentials of this machine.
fn of_git(url: &str, rev: &str) -> Option<ToolSource> {
    // the branch or tag is what the revision was
    let url = url.split_once('?').map_or(url, |(url, _)| url);
    let (scheme, rest) = url.split_once("://")?;
    let (login, place) = match rest.split_once('@') {
        Some((login, place)) if !login.contains('/') => (Some(login), place),
        _ => (None, rest),
    };
    let url = match (scheme, login) {
        ("https" | "http", _) => format!("{scheme}://{place}"),
        // the user's name is the same for everybody
        ("ssh", Some(login)) if !login.contains(':') => format!("ssh://{login}@{place}"),
        ("ssh", None) => url.to_owned(),
        _ => return None,
    };
    let is_revision = rev.len() >= 7 && rev.bytes().all(|b| b.is_ascii_hexdigit());
    (is_revision && is_plain(&url)).then(|| ToolSource::Git {
        url,
        rev: rev.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const REV: &str = "0123456789abcdef0123456789abcdef01234567";

    fn source(id: &str) -> ToolSource {
        let record = format!(
            r#"{{"installs": {{
                "other 1.0.0 (registry+https://github.com/rust-lang/crates.io-index)": {{"bins": ["other"]}},
                "cargo-operator 0.1.0 ({id})": {{"version_req": null, "bins": ["cargo-operator"], "profile": "release"}}
            }}, "v": 1}}"#
        );
        tool_source(Some(&record), "cargo-operator", "0.1.0")
    }

    fn git(url: &str) -> ToolSource {
        ToolSource::Git {
            url: url.into(),
            rev: REV.into(),
        }
    }

    #[test]
    fn public_sources_are_recognized() {
        for registry in CRATES_IO {
            assert_eq!(source(registry), ToolSource::Registry);
        }
        for (url, expected) in [
            ("https://example.com/me/tool", "https://example.com/me/tool"),
            (
                "https://example.com/me/tool.git?branch=main",
                "https://example.com/me/tool.git",
            ),
            (
                "https://me:secret@example.com/tool?tag=v1",
                "https://example.com/tool",
            ),
            (
                "ssh://git@example.com/me/tool",
                "ssh://git@example.com/me/tool",
            ),
        ] {
            assert_eq!(source(&format!("git+{url}#{REV}")), git(expected), "{url}");
        }
    }

    #[test]
    fn local_sources_are_ignored() {
        for id in [
            "path+file:///home/me/cargo-operator",
            "git+file:///home/me/cargo-operator#0123456789abcdef",
            "git+https://example.com/tool",
            "git+https://example.com/tool#main; rm",
            "git+https://example.com/a tool#0123456789abcdef",
            "git+ssh://me:secret@example.com/tool#0123456789abcdef",
            "registry+https://registry.example.com/index",
            "",
        ] {
            assert_eq!(source(id), ToolSource::None, "{id}");
        }
    }

    #[test]
    fn a_record_without_this_program_gives_no_source() {
        let record = r#"{"installs": {"cargo-operator 0.2.0 (registry+https://github.com/rust-lang/crates.io-index)": {"bins": ["cargo-operator"]}}}"#;
        let none = ToolSource::None;
        for record in [Some(record), Some("{"), Some("{}"), None] {
            assert_eq!(tool_source(record, "cargo-operator", "0.1.0"), none);
        }
        let source = tool_source(Some(record), "cargo-operator", "0.2.0");
        assert_eq!(source, ToolSource::Registry);
        assert_eq!(tool_source(Some(record), "renamed", "0.2.0"), none);
    }
}
