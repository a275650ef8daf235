//! A thing with a name: each [`Bucket`] has a bucket in an object store, which is created, repaired if somebody changes it, deleted or
//! retained, and can be imported.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use kube::ResourceExt;
use operator_runtime::{Context, Created, External, Identity, Result, Setup, State, Status};

use crate::api::bucket::v1::Bucket;

/// An object store in memory: buckets by their names, of which each exists once in the store.
#[derive(Default)]
pub struct Store(Mutex<BTreeMap<String, Settings>>);

/// The settings of a bucket in the store.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    pub region: String,
    pub versioned: bool,
}

impl Store {
    pub fn buckets(&self) -> MutexGuard<'_, BTreeMap<String, Settings>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub async fn setup(setup: Setup) -> Result<BucketProvider> {
    let store = setup.shared();
    Ok(BucketProvider { store })
}

pub struct BucketProvider {
    store: Arc<Store>,
}

impl External for BucketProvider {
    type Resource = Bucket;
    type Observed = Settings;
    const FINALIZER: &'static str = "programs.example.com/mixed";

    fn identity(&self, bucket: &Bucket) -> Result<Identity> {
        let namespace = bucket.namespace().unwrap_or_default();
        Ok(Identity::Name(format!("{namespace}-{}", bucket.name_any())))
    }

    async fn observe(&self, _: &Bucket, name: &str, _: &Context) -> Result<Option<Settings>> {
        Ok(self.store.buckets().get(name).cloned())
    }

    async fn create(&self, bucket: &Bucket, name: &str, _: &Context) -> Result<Created> {
        let mut buckets = self.store.buckets();
        if buckets.contains_key(name) {
            let error = anyhow::anyhow!("the name {name} is already in use");
            return Ok(Created::refused(error));
        }
        buckets.insert(name.to_owned(), settings(bucket));
        Ok(Created::id(name))
    }

    async fn update(&self, bucket: &Bucket, name: &str, _: &Settings, _: &Context) -> Result<()> {
        let mut buckets = self.store.buckets();
        buckets.insert(name.to_owned(), settings(bucket));
        Ok(())
    }

    async fn delete(&self, _: &Bucket, name: &str, _: &Context) -> Result<()> {
        self.store.buckets().remove(name);
        Ok(())
    }

    fn difference(&self, bucket: &Bucket, observed: &Settings) -> Result<Option<String>> {
        let wanted = settings(bucket);
        Ok((wanted != *observed).then(|| format!("it has {observed:?} instead of {wanted:?}")))
    }

    fn status(&self, bucket: &Bucket, state: &State<Settings>) -> Result<Status<Bucket>> {
        let mut status = bucket.status.clone().unwrap_or_default();
        status.url = state.id().map(|name| format!("https://{name}.example.com"));
        let conditions = status.conditions.get_or_insert_default();
        state.set_conditions(conditions, bucket.metadata.generation)?;
        Ok(Status::new(status))
    }
}

fn settings(bucket: &Bucket) -> Settings {
    Settings {
        region: bucket.spec.region.clone(),
        versioned: bucket.spec.versioned(),
    }
}
