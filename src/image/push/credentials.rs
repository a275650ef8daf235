//! The user's credentials for a registry, as docker or podman has stored them.

use std::{env, path::PathBuf};

use docker_credential::{CredentialRetrievalError, DockerCredential};

use crate::{diagnostic::Explain, image::Reference};

/// The credentials of a user. They do not implement `Debug`, because no message may contain them.
#[derive(Clone)]
pub enum Credentials {
    Password {
        user: String,
        password: String,
    },
    /// A token that a token service exchanges for others.
    IdentityToken(String),
}

/// Why stored credentials could not be read.
#[derive(Debug, thiserror::Error)]
#[error("the credentials for {registry} can't be read: {message}")]
pub struct CredentialsError {
    registry: String,
    message: String,
}

impl Explain for CredentialsError {
    fn help(&self) -> String {
        format!(
            "check the config.json of docker and its credential helpers, or log in again with `docker login {}`",
            self.registry
        )
    }
}

/// The credentials for the registry of an image: those of docker (`DOCKER_CONFIG`, `~/.docker/config.json`, credential helpers), or else
/// those of podman (`REGISTRY_AUTH_FILE`, `containers/auth.json`).
pub fn credentials(name: &Reference) -> Result<Option<Credentials>, CredentialsError> {
    let of_docker = if docker_config().is_some_and(|path| path.exists()) {
        lookup(&name.registry, docker_credential::get_credential)
    } else {
        Ok(None)
    };
    let credential = match of_docker {
        Ok(None) => lookup(&name.registry, |key| {
            match docker_credential::get_podman_credential(key) {
                // the file does not exist
                Err(CredentialRetrievalError::ConfigReadError) => {
                    Err(CredentialRetrievalError::ConfigNotFound)
                }
                credential => credential,
            }
        }),
        of_docker => of_docker,
    };
    let credential = credential.map_err(|message| CredentialsError {
        registry: name.registry.clone(),
        message,
    })?;
    Ok(credential.map(|credential| match credential {
        DockerCredential::UsernamePassword(user, password) => {
            Credentials::Password { user, password }
        }
        DockerCredential::IdentityToken(token) => Credentials::IdentityToken(token),
    }))
}

/// The credentials of a registry in a file with credentials.
fn lookup(
    registry: &str,
    of_key: impl Fn(&str) -> Result<DockerCredential, CredentialRetrievalError>,
) -> Result<Option<DockerCredential>, String> {
    let keys: &[&str] = match registry {
        // docker stores Docker Hub under the address of its first API, podman under its name
        "docker.io" => &["https://index.docker.io/v1/", "docker.io"],
        registry => &[registry],
    };
    for key in keys {
        if let Some(credential) = none_if_missing(of_key(key))? {
            return Ok(Some(credential));
        }
    }
    Ok(None)
}

fn docker_config() -> Option<PathBuf> {
    let folder = env::var_os("DOCKER_CONFIG")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".docker")))?;
    Some(folder.join("config.json"))
}

/// The error that a helper prints if it has no credentials for a registry.
const NOT_FOUND: &str = "credentials not found";

/// Distinguishes missing credentials from errors.
fn none_if_missing(
    credential: Result<DockerCredential, CredentialRetrievalError>,
) -> Result<Option<DockerCredential>, String> {
    use CredentialRetrievalError as E;
    match credential {
        Ok(credential) => Ok(Some(credential)),
        Err(E::NoCredentialConfigured | E::ConfigNotFound) => Ok(None),
        Err(E::HelperFailure { stdout, stderr, .. })
            if stdout.contains(NOT_FOUND) || stderr.contains(NOT_FOUND) =>
        {
            Ok(None)
        }
        Err(E::HelperFailure {
            helper,
            stdout,
            stderr,
        }) => Err(format!("{helper}: {} {}", stdout.trim(), stderr.trim())),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(registry: &str, file: &str) -> Option<String> {
        let of_key =
            |key: &str| docker_credential::get_credential_from_reader(file.as_bytes(), key);
        match lookup(registry, of_key).unwrap()? {
            DockerCredential::UsernamePassword(user, _) => Some(user),
            DockerCredential::IdentityToken(token) => Some(token),
        }
    }

    #[test]
    fn each_key_of_docker_hub_is_known() {
        // base64 of `a:b` and `c:d`
        for (file, expected) in [
            (
                r#"{"auths": {"https://index.docker.io/v1/": {"auth": "YTpi"}}}"#,
                Some("a"),
            ),
            (r#"{"auths": {"docker.io": {"auth": "YTpi"}}}"#, Some("a")),
            (
                r#"{"auths": {"index.docker.io": {"auth": "YTpi"}}}"#,
                Some("a"),
            ),
            (
                r#"{"auths": {"docker.io": {"identitytoken": "t"}}}"#,
                Some("t"),
            ),
            (
                r#"{"auths": {"docker.io": {"auth": "Yzpk"}, "https://index.docker.io/v1/": {"auth": "YTpi"}}}"#,
                Some("a"),
            ),
            (r#"{"auths": {"ghcr.io": {"auth": "YTpi"}}}"#, None),
            (
                r#"{"auths": {"docker.io.example.com": {"auth": "YTpi"}}}"#,
                None,
            ),
        ] {
            assert_eq!(user("docker.io", file).as_deref(), expected, "{file}");
        }
        let file = r#"{"auths": {"docker.io": {"auth": "YTpi"}}}"#;
        assert_eq!(user("ghcr.io", file), None);
    }
}
