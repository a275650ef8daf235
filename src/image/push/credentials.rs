//! The user's credentials for a registry, as docker or podman has stored them.

use std::{env, path::PathBuf};

use docker_credential::{CredentialRetrievalError, DockerCredential};

use crate::image::Reference;

/// The credentials of a user. They are in no message.
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
#[error("the credentials for {registry} can't be read: {words}")]
pub struct CredentialsError {
    registry: String,
    words: String,
}

impl CredentialsError {
    /// The help for the user.
    pub fn help(&self) -> String {
        format!(
            "check the config.json of docker and its credential helpers, or log in again with `docker login {}`",
            self.registry
        )
    }
}

/// The credentials for the registry of an image: those of docker (`DOCKER_CONFIG`, `~/.docker/config.json`, credential helpers), or else
/// those of podman (`REGISTRY_AUTH_FILE`, `containers/auth.json`).
pub fn credentials(name: &Reference) -> Result<Option<Credentials>, CredentialsError> {
    // docker stores the credentials of Docker Hub with the address of its first API
    let server = match name.registry.as_str() {
        "docker.io" => "https://index.docker.io/v1/",
        registry => registry,
    };
    let of_docker = match docker_config().is_some_and(|path| path.exists()) {
        true => found(docker_credential::get_credential(server)),
        false => Ok(None),
    };
    let credential = match of_docker {
        Ok(None) => match docker_credential::get_podman_credential(server) {
            // there is no file
            Err(CredentialRetrievalError::ConfigReadError) => Ok(None),
            credential => found(credential),
        },
        of_docker => of_docker,
    };
    let credential = credential.map_err(|words| CredentialsError {
        registry: name.registry.clone(),
        words,
    })?;
    Ok(credential.map(|credential| match credential {
        DockerCredential::UsernamePassword(user, password) => {
            Credentials::Password { user, password }
        }
        DockerCredential::IdentityToken(token) => Credentials::IdentityToken(token),
    }))
}

fn docker_config() -> Option<PathBuf> {
    let folder = env::var_os("DOCKER_CONFIG").map(PathBuf::from);
    let folder = folder.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".docker")))?;
    Some(folder.join("config.json"))
}

/// The error that a helper prints if it has no credentials for a registry.
const NOT_FOUND: &str = "credentials not found";

/// Tells the absence of credentials from errors.
fn found(
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
