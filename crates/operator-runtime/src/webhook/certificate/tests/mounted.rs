//! Files that are replaced while the server runs.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use k8s_openapi::jiff::Timestamp;
use tokio::time::sleep;

use super::super::{Certificates, contents::Entries, identity::Identity};
use super::support::*;

/// A folder that is deleted with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("operator-runtime-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn write(&self, entries: &Entries) {
        for name in ["tls.crt", "tls.key"] {
            fs::write(self.0.join(name), &entries.0[name]).unwrap();
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _may_be_missing = fs::remove_dir_all(&self.0);
    }
}

fn start(folder: &Path) -> Replica {
    Replica::start(Certificates::mounted(folder.to_owned()))
}

/// What an issuer writes into the files.
fn issued(time: &Time) -> Entries {
    let identity = Identity::new("issuer", "op-webhook", NAMESPACE, &[]).unwrap();
    let now = time.now().as_secs().try_into().unwrap();
    let lifetime = Duration::from_secs(3600);
    let authority = identity.create_authority(now, lifetime).unwrap();
    let serving = identity.issue(&authority, now, lifetime).unwrap();
    let material = super::super::contents::Material {
        authority,
        older: vec![],
        serving,
    };
    material
        .entries()
        .into_iter()
        .map(|(name, text)| (name.to_owned(), text.into_bytes()))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn replaced_files_are_served_soon() {
    let (folder, time) = (Folder::new("replaced"), Time::new());
    let (log, _guard) = Log::capture();
    let first = issued(&time);
    let end = time.now() + Duration::from_secs(3600);
    let expires = Timestamp::from_second(end.as_secs().try_into().unwrap()).unwrap();
    folder.write(&first);
    let replica = start(&folder.0);
    sleep(Duration::from_secs(1)).await;
    assert!(*replica.loaded.borrow());
    let line = log.own();
    assert!(line.contains(&format!(" expires={expires}")), "{line}");
    replica
        .connect(&first.0["ca.crt"], HOST, &time)
        .await
        .unwrap();
    let second = issued(&time);
    folder.write(&second);
    sleep(Duration::from_secs(11)).await;
    replica
        .connect(&second.0["ca.crt"], HOST, &time)
        .await
        .unwrap();
    assert!(
        replica
            .connect(&first.0["ca.crt"], HOST, &time)
            .await
            .is_err()
    );
}

#[tokio::test(start_paused = true)]
async fn half_replaced_files_change_nothing_until_they_are_complete() {
    let (log, _guard) = Log::capture();
    let (folder, time) = (Folder::new("half"), Time::new());
    let (first, second) = (issued(&time), issued(&time));
    folder.write(&first);
    let replica = start(&folder.0);
    sleep(Duration::from_secs(1)).await;
    for (damaged, reason) in [
        (
            second.0["tls.crt"].as_slice(),
            "tls.key is not the key of tls.crt",
        ),
        (b"damaged", "tls.crt has no certificate"),
        (b"", "it has no tls.crt"),
    ] {
        // in one step, because the program may read it meanwhile
        let (new, old) = (folder.0.join("new"), folder.0.join("tls.crt"));
        fs::write(&new, damaged).unwrap();
        fs::rename(&new, &old).unwrap();
        sleep(Duration::from_secs(30)).await;
        assert!(
            log.own().contains(reason),
            "{reason} is not in {}",
            log.own()
        );
        assert_eq!(log.own().matches(reason).count(), 1, "reported once");
        replica
            .connect(&first.0["ca.crt"], HOST, &time)
            .await
            .unwrap();
    }
    folder.write(&second);
    sleep(Duration::from_secs(2)).await;
    replica
        .connect(&second.0["ca.crt"], HOST, &time)
        .await
        .unwrap();
}

#[tokio::test(start_paused = true)]
async fn missing_files_are_awaited() {
    let (folder, time) = (Folder::new("missing"), Time::new());
    let replica = start(&folder.0);
    sleep(Duration::from_secs(5)).await;
    assert!(!*replica.loaded.borrow());
    let entries = issued(&time);
    assert!(
        replica
            .connect(&entries.0["ca.crt"], HOST, &time)
            .await
            .is_err()
    );
    folder.write(&entries);
    sleep(Duration::from_secs(2)).await;
    assert!(*replica.loaded.borrow());
    assert!(replica.expiry.borrow().is_some());
    replica
        .connect(&entries.0["ca.crt"], HOST, &time)
        .await
        .unwrap();
}
