//! The controllers of an operator: what is registered, and the name of each.

use std::{collections::HashSet, future::Future};

use futures::{FutureExt, future::BoxFuture};

use crate::{
    Result,
    crd::OwnCrds,
    engine::{
        controller::{self, Running, Wiring},
        identity::{Identity, is_name},
        kind::GroupKind,
    },
    error::Fatal,
    setup::{Setup, Watches},
    style::Reconciler,
};

type Start = Box<dyn FnOnce(Setup) -> BoxFuture<'static, Result<Build>> + Send>;

/// Creates the controller's task when this replica becomes active.
pub(crate) type Build = Box<dyn FnOnce(Identity, Wiring) -> Running + Send>;

/// The controllers of an operator.
///
/// ```
/// use std::sync::Arc;
///
/// use k8s_openapi::api::core::v1::Pod;
/// use operator_runtime::{Action, Context, Controllers, Reconciler, Result, Setup};
///
/// struct Printer;
///
/// impl Reconciler for Printer {
///     type Resource = Pod;
///
///     async fn reconcile(&self, pod: Arc<Pod>, _cx: &Context) -> Result<Action> {
///         println!("{}", pod.metadata.name.as_deref().unwrap_or_default());
///         Ok(Action::await_change())
///     }
/// }
///
/// async fn setup(_setup: Setup) -> Result<Printer> {
///     Ok(Printer)
/// }
///
/// let controllers = Controllers::new()
///     .add(setup, |watches| watches)
///     .add_named("pod-printer", setup, |watches| watches);
/// # drop(controllers);
/// ```
#[derive(Default)]
pub struct Controllers {
    registrations: Vec<Registration>,
    pub(crate) crds: Vec<OwnCrds>,
}

/// A controller that was added.
struct Registration {
    name: Option<String>,
    kind: GroupKind,
    start: Start,
}

impl Controllers {
    /// Creates an empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a controller, with the function that sets up its reconciler and the kinds that it watches.
    ///
    /// Its name is its kind in lower case. A kind can have only one controller that was added without a name.
    #[must_use]
    pub fn add<R, F>(
        self,
        setup: impl FnOnce(Setup) -> F + Send + 'static,
        watches: impl FnOnce(Watches) -> Watches,
    ) -> Self
    where
        R: Reconciler,
        F: Future<Output = Result<R>> + Send + 'static,
    {
        self.register(None, setup, watches)
    }

    /// Like [`add`](Self::add), with a name that no other controller of the operator has. A kind can have any number of named controllers.
    ///
    /// The name is a [DNS label](https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#dns-label-names), such as
    /// `pod-printer`. The controller's field manager is `<operator>-<name>`, and its events are reported by `<operator>/<name>`, which is
    /// by convention also the name of its [finalizer](Reconciler::FINALIZER). So controllers of one kind neither revert each other's writes
    /// nor remove each other's finalizers. They share one watch and one cache, unless their
    /// [options](crate::ControllerOptions) select or reduce objects differently.
    #[must_use]
    pub fn add_named<R, F>(
        self,
        name: impl Into<String>,
        setup: impl FnOnce(Setup) -> F + Send + 'static,
        watches: impl FnOnce(Watches) -> Watches,
    ) -> Self
    where
        R: Reconciler,
        F: Future<Output = Result<R>> + Send + 'static,
    {
        self.register(Some(name.into()), setup, watches)
    }

    fn register<R, F>(
        mut self,
        name: Option<String>,
        setup: impl FnOnce(Setup) -> F + Send + 'static,
        watches: impl FnOnce(Watches) -> Watches,
    ) -> Self
    where
        R: Reconciler,
        F: Future<Output = Result<R>> + Send + 'static,
    {
        let watches = watches(Watches::default());
        let start: Start = Box::new(move |context| {
            let reconciler = setup(context);
            async move {
                let reconciler = reconciler.await?;
                let build =
                    move |identity, wiring| controller::run(reconciler, watches, identity, wiring);
                Ok(Box::new(build) as Build)
            }
            .boxed()
        });
        self.registrations.push(Registration {
            name,
            kind: GroupKind::of::<R::Resource>(),
            start,
        });
        self
    }

    /// Applies CRDs when this replica starts to work, and waits until the API server serves them. `crds` is a JSON array of them, and
    /// `version` is that of the program, as `env!("CARGO_PKG_VERSION")`.
    ///
    /// An installed CRD is not changed if a higher version of the program has applied it, or if it has a version, a field or a value of an
    /// enum that the one in `crds` lacks, unless a lower version of the program has applied it. A version in `status.storedVersions` is
    /// never removed: [`Operator::run`](crate::Operator::run) returns an error.
    ///
    /// The setup functions of controllers run before that, also in replicas that only wait for the lease: the CRDs may not exist yet.
    ///
    /// The operator needs the verb `create` on `customresourcedefinitions`, which RBAC cannot limit to a name, and `get` and `patch` on
    /// its own.
    #[must_use]
    pub fn ensure_crds(mut self, version: &str, crds: &str) -> Self {
        self.crds.push(OwnCrds {
            version: version.to_owned(),
            crds: crds.to_owned(),
        });
        self
    }

    /// Combines two sets of controllers.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.registrations.extend(other.registrations);
        self.crds.extend(other.crds);
        self
    }

    /// The controllers in the order in which they were added, each with its identity in `operator`.
    pub(crate) fn identified(self, operator: &str) -> Result<Vec<(Identity, Start)>, Fatal> {
        let names = names(&self.registrations)?;
        let kinds: Vec<_> = self
            .registrations
            .iter()
            .map(|it| it.kind.clone())
            .collect();
        let identified = self.registrations.into_iter().zip(names);
        let identified = identified.map(|(registration, name)| {
            let Registration {
                name: given,
                kind,
                start,
            } = registration;
            let identity = Identity {
                operator: operator.to_owned(),
                name,
                is_named: given.is_some(),
                shares_kind: kinds.iter().filter(|other| **other == kind).count() > 1,
                kind,
            };
            (identity, start)
        });
        Ok(identified.collect())
    }
}

/// The names of the controllers: the given ones, and the kinds of the others in lower case, with the group if two groups have the kind.
fn names(registrations: &[Registration]) -> Result<Vec<String>, Fatal> {
    let unnamed = || registrations.iter().filter(|it| it.name.is_none());
    let mut names = vec![];
    let mut used = HashSet::new();
    for Registration { name, kind, .. } in registrations {
        let name = match name {
            Some(name) if !is_name(name) => {
                return Err(Fatal::ControllerName { name: name.clone() });
            }
            Some(name) => name.clone(),
            None if unnamed().filter(|it| it.kind == *kind).count() > 1 => {
                return Err(Fatal::TwoControllers {
                    kind: kind.to_string(),
                });
            }
            None if unnamed().filter(|it| it.kind.kind == kind.kind).count() > 1 => {
                kind.to_string().to_lowercase()
            }
            None => kind.kind.to_lowercase(),
        };
        if !used.insert(name.clone()) {
            return Err(Fatal::TwoNames { name });
        }
        names.push(name);
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(controllers: &[(Option<&str>, &str, &str)]) -> Result<Vec<String>, String> {
        let registration = |(name, group, kind): &(Option<&str>, &str, &str)| Registration {
            name: name.map(str::to_owned),
            kind: GroupKind {
                group: (*group).into(),
                kind: (*kind).into(),
            },
            start: Box::new(|_| std::future::pending().boxed()),
        };
        let registrations: Vec<_> = controllers.iter().map(registration).collect();
        names(&registrations).map_err(|error| error.to_string())
    }

    #[test]
    fn a_controller_without_a_name_is_named_after_its_kind() {
        let pods = [(Some("printer"), "", "Pod"), (None, "", "Pod")];
        assert_eq!(named(&pods).unwrap(), ["printer", "pod"]);
    }

    #[test]
    fn kinds_of_one_name_in_two_groups_are_told_apart() {
        let clusters = [(None, "a.com", "Cluster"), (None, "b.com", "Cluster")];
        assert_eq!(
            named(&clusters).unwrap(),
            ["cluster.a.com", "cluster.b.com"]
        );
    }

    #[test]
    fn two_controllers_do_not_have_one_name() {
        let twice = named(&[(Some("a"), "", "Pod"), (Some("a"), "apps", "Deployment")]);
        assert_eq!(
            twice.unwrap_err(),
            "two controllers are named \"a\"\nhelp: give one of them another name"
        );
        let after_kind = named(&[(Some("pod"), "", "Secret"), (None, "", "Pod")]);
        assert!(after_kind.unwrap_err().contains("named \"pod\""));
        let unnamed = named(&[(None, "", "Pod"), (None, "", "Pod")]).unwrap_err();
        assert!(unnamed.starts_with("two controllers are registered for Pod\n"));
        let invalid = named(&[(Some("Pod Printer"), "", "Pod")]).unwrap_err();
        assert!(invalid.starts_with("\"Pod Printer\" cannot be the name of a controller\n"));
    }
}
