//! Certificates in files that something else renews, such as cert-manager through a volume.

use std::{convert::Infallible, io, path::PathBuf, sync::Arc, time::Duration};

use thiserror::Error;
use tokio::{
    task::{JoinError, spawn_blocking},
    time::sleep,
};
use tokio_rustls::rustls;
use tracing::{info, warn};

use super::{
    contents::{Damage, Entries, SERVING, SERVING_KEY, serving},
    tls::Tls,
};

/// How often the files are read.
const POLL: Duration = Duration::from_secs(10);
/// How soon they are read again after an error: they may be half replaced.
const RETRY: Duration = Duration::from_secs(1);

pub(super) struct Mounted {
    folder: PathBuf,
    tls: Arc<Tls>,
}

#[derive(Debug, Error)]
enum LoadError {
    #[error("{}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{0}")]
    Damaged(#[from] Damage),
    #[error("{0}")]
    Tls(#[from] rustls::Error),
    #[error("{0}")]
    Stopped(#[from] JoinError),
}

impl Mounted {
    pub fn new(folder: PathBuf, tls: Arc<Tls>) -> Self {
        Self { folder, tls }
    }

    pub async fn run(self) -> Infallible {
        let mut reported = None;
        loop {
            let loaded = self.load().await;
            self.tls.report_loaded();
            let error = loaded.err().map(|error| error.to_string());
            let folder = self.folder.display();
            if let Some(error) = error.as_ref().filter(|_| error != reported) {
                warn!(%folder, "cannot load the certificate of webhooks: {error}");
            }
            let pause = if error.is_some() { RETRY } else { POLL };
            reported = error;
            sleep(pause).await;
        }
    }

    /// Serves with the files if they have changed and fit together. Otherwise, the certificate stays as it is.
    async fn load(&self) -> Result<(), LoadError> {
        let folder = self.folder.clone();
        let entries = spawn_blocking(move || read(folder)).await??;
        let serving = serving(&entries)?;
        if self.tls.serve(&serving)? {
            let folder = self.folder.display();
            let expires = serving.certificate.expires();
            info!(%folder, %expires, "webhooks serve with this certificate");
        }
        Ok(())
    }
}

fn read(folder: PathBuf) -> Result<Entries, LoadError> {
    [SERVING, SERVING_KEY]
        .map(|name| {
            let path = folder.join(name);
            match std::fs::read(&path) {
                Ok(text) => Ok((name.to_owned(), text)),
                Err(source) => Err(LoadError::Read { path, source }),
            }
        })
        .into_iter()
        .collect()
}
