//! Where the crates of the runtime come from, as a dependency of cargo; and where this program was installed from, as their default.

use std::{collections::BTreeMap, fmt};

use serde::Deserialize;

use super::name::is_plain;

/// The source of `operator-runtime` and `operator-testing`, and of the tool that the generated CI installs.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "RawRuntime")]
pub enum Runtime {
    /// At least this version, from crates.io.
    Version(String),
    Git {
        url: String,
        rev: String,
    },
    /// A checkout of the tool's repository: a path relative to the project, or an absolute one.
    Path(String),
}

/// The table `runtime`, which has the keys of a dependency in Cargo.toml.
#[derive(Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "write { version = \"...\" }, { git = \"...\", rev = \"...\" } or { path = \"...\" }"
)]
struct RawRuntime {
    version: Option<String>,
    git: Option<String>,
    rev: Option<String>,
    path: Option<String>,
}

impl TryFrom<RawRuntime> for Runtime {
    type Error = &'static str;

    fn try_from(raw: RawRuntime) -> Result<Self, Self::Error> {
        match raw {
            RawRuntime {
                version: Some(version),
                git: None,
                rev: None,
                path: None,
            } => Self::version(&version),
            RawRuntime {
                version: None,
                git: Some(url),
                rev: Some(rev),
                path: None,
            } => Self::git(&url, &rev),
            RawRuntime {
                version: None,
                git: None,
                rev: None,
                path: Some(path),
            } => Ok(Self::Path(path)),
            _ => Err(
                "write { version = \"...\" }, { git = \"...\", rev = \"...\" } or { path = \"...\" }",
            ),
        }
    }
}

/// Formats the inline table in `operator.toml`.
impl fmt::Display for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(version) => write!(f, "{{ version = {version:?} }}"),
            Self::Git { url, rev } => write!(f, "{{ git = {url:?}, rev = {rev:?} }}"),
            Self::Path(path) => write!(f, "{{ path = {path:?} }}"),
        }
    }
}

impl Runtime {
    /// A version of crates.io.
    pub fn version(version: &str) -> Result<Self, &'static str> {
        match semver::VersionReq::parse(version) {
            Ok(_) => Ok(Self::Version(version.to_owned())),
            Err(_) => {
                Err("the version of the runtime is not a version of a crate, such as \"0.1.0\"")
            }
        }
    }

    /// A revision of a git repository, at an address that cargo reads and that has no secret.
    pub fn git(url: &str, rev: &str) -> Result<Self, &'static str> {
        let (scheme, rest) = url.split_once("://").unwrap_or_default();
        let login = rest.split('/').next().and_then(|host| host.split_once('@'));
        match (scheme, login) {
            ("https" | "http" | "file", None) | ("ssh", _) => Ok(Self::Git {
                url: url.to_owned(),
                rev: rev.to_owned(),
            }),
            ("https" | "http", Some(_)) => {
                Err("the address of the repository has a login, which would be committed")
            }
            _ => Err(
                "write the repository as https://HOST/PATH, ssh://git@HOST/PATH or file:///PATH",
            ),
        }
    }

    /// The value of one of its crates in `[dependencies]`: `{ path = "../cargo-operator/crates/operator-runtime" }`.
    pub fn dependency(&self, name: &str, features: &[&str]) -> String {
        let source = match self {
            Self::Version(version) if features.is_empty() => return format!("{version:?}"),
            Self::Version(version) => format!("version = {version:?}"),
            Self::Git { url, rev } => format!("git = {url:?}, rev = {rev:?}"),
            Self::Path(path) => {
                let path = format!("{}/crates/{name}", path.trim_end_matches('/'));
                format!("path = {path:?}")
            }
        };
        match features {
            [] => format!("{{ {source} }}"),
            features => format!("{{ {source}, features = {features:?} }}"),
        }
    }

    /// The arguments with which `cargo install` installs this version of the tool on any machine; `None` if other machines lack the source.
    pub fn tool_install(&self, version: &str) -> Option<String> {
        match self {
            Self::Version(_) => Some(format!("cargo-operator --version {version}")),
            Self::Git { url, rev } if !self.is_local() => {
                Some(format!("--git {url} --rev {rev} cargo-operator"))
            }
            Self::Git { .. } | Self::Path(_) => None,
        }
    }

    /// Whether only this machine has the source.
    pub fn is_local(&self) -> bool {
        match self {
            Self::Version(_) => false,
            Self::Git { url, .. } => url.starts_with("file:"),
            Self::Path(_) => true,
        }
    }

    /// The texts that are copied into commands and manifests.
    pub(super) fn words(&self) -> Vec<&String> {
        match self {
            Self::Version(word) | Self::Path(word) => vec![word],
            Self::Git { url, rev } => vec![url, rev],
        }
    }
}

/// The record that `cargo install` keeps, `.crates2.json`. Its keys are `NAME VERSION (KIND+URL)`, as cargo writes a package's id
/// (<https://doc.rust-lang.org/cargo/reference/pkgid-spec.html>).
#[derive(Deserialize)]
struct Record {
    installs: BTreeMap<String, Installed>,
}

/// The programs of an installed package.
#[derive(Deserialize)]
struct Installed {
    bins: Vec<String>,
}

/// Cargo's names for crates.io, by git and by HTTP.
const CRATES_IO: [&str; 2] = [
    "registry+https://github.com/rust-lang/crates.io-index",
    "sparse+https://index.crates.io/",
];

/// The source from which `cargo install` installed the `program` in this version, with an absolute path; `None` if it is not in the record,
/// or cannot be written in `operator.toml`.
pub fn installed_from(record: &str, program: &str, version: &str) -> Option<Runtime> {
    let record: Record = serde_json::from_str(record).ok()?;
    let id = record
        .installs
        .iter()
        .filter(|(_, it)| it.bins.iter().any(|bin| bin == program))
        .find_map(|(id, _)| {
            let (package, source) = id.split_once(" (")?;
            let is_this = package.split_once(' ') == Some((env!("CARGO_PKG_NAME"), version));
            is_this.then(|| source.trim_end_matches(')'))
        })?;
    if CRATES_IO.contains(&id) {
        return Some(Runtime::Version(version.into()));
    }
    if let Some(path) = id.strip_prefix("path+file://") {
        return Some(Runtime::Path(path.into()));
    }
    let (url, rev) = id.strip_prefix("git+")?.rsplit_once('#')?;
    of_git(url, rev)
}

/// A repository, without the credentials of this machine.
fn of_git(url: &str, rev: &str) -> Option<Runtime> {
    // the query is the branch or tag that the revision was taken from
    let url = url.split_once('?').map_or(url, |(url, _)| url);
    let (scheme, rest) = url.split_once("://")?;
    let (login, place) = match rest.split_once('@') {
        Some((login, place)) if !login.contains('/') => (Some(login), place),
        _ => (None, rest),
    };
    let url = match (scheme, login) {
        ("https" | "http", _) => format!("{scheme}://{place}"),
        // the login of a git server, such as `git`, is the same for everybody
        ("ssh", Some(login)) if !login.contains(':') => format!("ssh://{login}@{place}"),
        ("ssh" | "file", None) => url.to_owned(),
        _ => return None,
    };
    let is_revision = rev.len() >= 7 && rev.bytes().all(|b| b.is_ascii_hexdigit());
    (is_revision && is_plain(&url)).then(|| Runtime::Git {
        url,
        rev: rev.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const REV: &str = "0123456789abcdef0123456789abcdef01234567";

    fn source(id: &str) -> Option<Runtime> {
        let record = format!(
            r#"{{"installs": {{
                "other 1.0.0 (registry+https://github.com/rust-lang/crates.io-index)": {{"bins": ["other"]}},
                "cargo-operator 0.1.0 ({id})": {{"version_req": null, "bins": ["cargo-operator"], "profile": "release"}}
            }}, "v": 1}}"#
        );
        installed_from(&record, "cargo-operator", "0.1.0")
    }

    #[test]
    fn the_sources_of_cargo_install_are_recognized() {
        for registry in CRATES_IO {
            assert_eq!(source(registry), Some(Runtime::Version("0.1.0".into())));
        }
        let path = Runtime::Path("/home/me/cargo-operator".into());
        assert_eq!(source("path+file:///home/me/cargo-operator"), Some(path));
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
            ("file:///home/me/tool.git", "file:///home/me/tool.git"),
        ] {
            let (url, rev) = (format!("git+{url}#{REV}"), REV.into());
            let git = Runtime::Git {
                url: expected.into(),
                rev,
            };
            assert_eq!(source(&url), Some(git), "{url}");
        }
    }

    #[test]
    fn sources_that_a_manifest_cannot_hold_are_unknown() {
        for id in [
            "git+https://example.com/tool",
            "git+https://example.com/tool#main; rm",
            "git+https://example.com/a tool#0123456789abcdef",
            "git+ssh://me:secret@example.com/tool#0123456789abcdef",
            "registry+https://registry.example.com/index",
            "",
        ] {
            assert_eq!(source(id), None, "{id}");
        }
    }

    #[test]
    fn a_record_without_this_program_gives_no_source() {
        let record = r#"{"installs": {"cargo-operator 0.2.0 (registry+https://github.com/rust-lang/crates.io-index)": {"bins": ["cargo-operator"]}}}"#;
        for record in [record, "{", "{}"] {
            assert_eq!(installed_from(record, "cargo-operator", "0.1.0"), None);
        }
        let version = Runtime::Version("0.2.0".into());
        let source = |program| installed_from(record, program, "0.2.0");
        assert_eq!(source("cargo-operator"), Some(version));
        assert_eq!(source("renamed"), None);
    }

    #[test]
    fn only_sources_that_every_machine_has_are_shared() {
        let git = |url: &str| Runtime::Git {
            url: url.into(),
            rev: "abc".into(),
        };
        let is_local = |runtime: Runtime| runtime.tool_install("0.1.0").is_none();
        assert!(!is_local(Runtime::Version("0.1.0".into())));
        assert!(!is_local(git("https://example.com/tool")));
        assert!(is_local(git("file:///tool")));
        assert!(is_local(Runtime::Path("../tool".into())));
    }

    #[test]
    fn a_source_is_written_as_it_is_read() {
        #[derive(Deserialize)]
        struct File {
            runtime: Runtime,
        }
        let read = |text: &str| toml_edit::de::from_str::<File>(text);
        for text in [
            "{ version = \"0.1.0\" }",
            "{ git = \"https://example.com/x\", rev = \"abc\" }",
            "{ path = \"../x\" }",
        ] {
            let file = read(&format!("runtime = {text}")).unwrap();
            assert_eq!(file.runtime.to_string(), text);
        }
        for text in [
            "\"vendored\"",
            "{}",
            "{ git = \"x\" }",
            "{ version = \"1\", path = \"x\" }",
        ] {
            assert!(read(&format!("runtime = {text}")).is_err(), "{text}");
        }
    }
}
