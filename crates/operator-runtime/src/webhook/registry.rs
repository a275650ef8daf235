//! The webhooks of an operator: what is registered, and at which paths.

use std::{collections::HashSet, future::Future, sync::Arc};

use futures::{FutureExt, future::BoxFuture};

use super::{
    admission::{Endpoint, Mutate, Mutating, Validate, Validating},
    convert::{Conversion, Convert},
    router::CONVERT,
};
use crate::{
    Result, Setup,
    conversion::{self, Spoke},
    error::Fatal,
};

/// The endpoints of webhooks, with their paths.
pub(super) type Served = Vec<(String, Arc<dyn Endpoint>)>;

/// The webhooks of an operator, which every replica serves, whether it leads or not.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use operator_runtime::{
///     Controllers, Result, Setup,
///     webhook::{AdmissionRequest, Validate, Verdict, Webhooks},
/// };
///
/// struct Images;
///
/// async fn setup(_setup: Setup) -> Result<Images> {
///     Ok(Images)
/// }
///
/// impl Validate for Images {
///     type Resource = Pod;
///
///     async fn validate(&self, _request: &AdmissionRequest<Pod>) -> Result<Verdict> {
///         Ok(Verdict::allow())
///     }
/// }
///
/// let webhooks = Webhooks::new().add(setup, |it| it.validates("/validate--pod"));
/// let controllers = Controllers::new().webhooks(webhooks);
/// # drop(controllers);
/// ```
#[derive(Default)]
pub struct Webhooks {
    pub(super) registrations: Vec<Registration>,
    pub(super) conversions: Vec<Conversion>,
    pub(super) are_certificates_mounted: bool,
}

/// The webhooks of one type.
pub(super) struct Registration {
    pub paths: Vec<String>,
    pub start: Box<dyn FnOnce(Setup) -> BoxFuture<'static, Result<Served>> + Send>,
}

/// Creates the endpoint that serves a webhook.
type Serve<W> = fn(Arc<W>) -> Arc<dyn Endpoint>;

/// What a type serves, and at which paths; see [`Webhooks::add`].
pub struct Endpoints<W> {
    endpoints: Vec<(String, Serve<W>)>,
}

impl<W: Validate> Endpoints<W> {
    /// Serves [`Validate`] at a path, for example `/validate-cache-example-com-memcached`.
    #[must_use]
    pub fn validates(mut self, path: &str) -> Self {
        let serve: Serve<W> = |webhook| Arc::new(Validating(webhook));
        self.endpoints.push((path.to_owned(), serve));
        self
    }
}

impl<W: Mutate> Endpoints<W> {
    /// Serves [`Mutate`] at a path, for example `/mutate--pod`.
    #[must_use]
    pub fn mutates(mut self, path: &str) -> Self {
        let serve: Serve<W> = |webhook| Arc::new(Mutating(webhook));
        self.endpoints.push((path.to_owned(), serve));
        self
    }
}

impl Webhooks {
    /// Creates an empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the admission webhooks of a type, with the function that sets it up.
    ///
    /// This replica is not ready before `setup` has returned. It must not wait for objects of kinds whose conversion this operator serves:
    /// the API server converts them only when a replica is ready.
    #[must_use]
    pub fn add<W, F>(
        mut self,
        setup: impl FnOnce(Setup) -> F + Send + 'static,
        endpoints: impl FnOnce(Endpoints<W>) -> Endpoints<W>,
    ) -> Self
    where
        W: Send + Sync + 'static,
        F: Future<Output = Result<W>> + Send + 'static,
    {
        let Endpoints { endpoints } = endpoints(Endpoints { endpoints: vec![] });
        let paths = endpoints.iter().map(|(path, _)| path.clone()).collect();
        let start = move |context| {
            let webhook = setup(context);
            async move {
                let webhook = Arc::new(webhook.await?);
                let serve = |(path, serve): (_, Serve<W>)| (path, serve(webhook.clone()));
                Ok(endpoints.into_iter().map(serve).collect())
            }
            .boxed()
        };
        self.registrations.push(Registration {
            paths,
            start: Box::new(start),
        });
        self
    }

    /// Adds the conversion between the versions of a CustomResourceDefinition, which is served at `/convert`.
    ///
    /// The plural of the kind has to be the regular one, for example `boxes` of `Box`; for others, see
    /// [`convert_kind`](Self::convert_kind).
    #[must_use]
    pub fn convert(self, conversion: impl Convert) -> Self {
        self.add_conversion(None, Box::new(conversion), true)
    }

    /// Like [`convert`](Self::convert), for a kind with any plural.
    ///
    /// ```
    /// use operator_runtime::{conversion::{Conversion, Spoke}, webhook::Webhooks};
    ///
    /// let conversion = Conversion::new("mice.farm.example.com", "v2")
    ///     .spoke(Spoke::new("v1").moved("spec.size", "spec.length"));
    /// let webhooks = Webhooks::new().convert_kind("Mouse", conversion);
    /// # drop(webhooks);
    /// ```
    #[must_use]
    pub fn convert_kind(self, kind: &str, conversion: impl Convert) -> Self {
        self.add_conversion(Some(kind.to_owned()), Box::new(conversion), true)
    }

    /// Names the versions of a kind whose CustomResourceDefinition has the conversion strategy `None`. The API server converts an object by
    /// replacing its `apiVersion`, and so do the admission webhooks of the kind for a request in another version than that of their type.
    ///
    /// ```
    /// # use operator_runtime::webhook::Webhooks;
    /// let webhooks = Webhooks::new().without_conversion("Mouse", "mice.farm.example.com", &["v1beta1", "v1"]);
    /// # drop(webhooks);
    /// ```
    #[must_use]
    pub fn without_conversion(self, kind: &str, crd: &str, versions: &[&str]) -> Self {
        let (hub, spokes) = versions.split_first().unwrap_or((&"", &[]));
        let spokes = spokes.iter().map(|version| Spoke::new(version));
        let rules = spokes.fold(
            conversion::Conversion::new(crd, hub),
            conversion::Conversion::spoke,
        );
        self.add_conversion(Some(kind.to_owned()), Box::new(rules), false)
    }

    fn add_conversion(
        mut self,
        kind: Option<String>,
        rules: Box<dyn Convert>,
        is_served: bool,
    ) -> Self {
        self.conversions.push(Conversion {
            kind,
            rules,
            is_served,
        });
        self
    }

    /// Reads the certificate from files that something else writes, for example cert-manager, instead of issuing it.
    #[must_use]
    pub fn mounted_certificates(mut self) -> Self {
        self.are_certificates_mounted = true;
        self
    }

    /// Combines two sets of webhooks.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.registrations.extend(other.registrations);
        self.conversions.extend(other.conversions);
        self.are_certificates_mounted |= other.are_certificates_mounted;
        self
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.registrations.is_empty() && self.conversions.is_empty()
    }

    /// The paths of all admission webhooks.
    pub(super) fn paths(&self) -> impl Iterator<Item = &String> {
        self.registrations.iter().flat_map(|it| &it.paths)
    }

    /// The names of the CRDs that the API server asks the operator to convert.
    pub(super) fn crds(&self) -> impl Iterator<Item = &str> {
        let served = self.conversions.iter().filter(|it| it.is_served);
        served.map(|it| it.rules.crd())
    }

    /// Checks that each path and each CRD is registered once, and that the conversions can work.
    pub(super) fn check(&self) -> Result<(), Fatal> {
        let mut used = HashSet::new();
        for path in self.paths() {
            if !path.starts_with('/') || path.contains(['?', '#']) || path == CONVERT {
                return Err(Fatal::WebhookPath { path: path.clone() });
            }
            if !used.insert(path) {
                return Err(Fatal::TwoWebhooks { path: path.clone() });
            }
        }
        let mut converted = HashSet::new();
        let mut crds = self.crds();
        if let Some(duplicate) = crds.find(|crd| !converted.insert(*crd)) {
            return Err(Fatal::TwoConversions {
                crd: duplicate.to_owned(),
            });
        }
        self.conversions.iter().try_for_each(|it| {
            let rules = it.rules.check();
            rules.map_err(|problem| Fatal::Conversion { problem })
        })
    }
}
