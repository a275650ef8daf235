//! The controllers of an operator: what is registered, and the name of each.

use std::{collections::HashSet, future::Future, sync::Arc};

use futures::{FutureExt, future::BoxFuture};

#[cfg(feature = "webhook")]
use crate::webhook::Webhooks;
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

/// Calls the setup function of a controller, once.
pub(crate) type Start = Box<dyn FnOnce(Setup) -> BoxFuture<'static, Result<Build>> + Send>;

/// Creates the controller's task each time this replica becomes active.
pub(crate) type Build = Box<dyn Fn(Identity, Wiring) -> Running + Send + Sync>;

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
    /// The names of the CRDs whose stored objects are migrated.
    pub(crate) migrated: Vec<String>,
    #[cfg(feature = "webhook")]
    pub(crate) webhooks: Webhooks,
}

/// A controller that was added.
struct Registration {
    name: Option<String>,
    kind: GroupKind,
    style: Style,
    finalizer: Option<&'static str>,
    start: Start,
}

/// How a controller was added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// By `add` or `add_named`.
    Reconciler,
    /// By `add_declarative` or `add_external`, which give no name.
    Unnamed,
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
        self.register(None, Style::Reconciler, shared_by_terms(setup), watches)
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
        self.register(
            Some(name.into()),
            Style::Reconciler,
            shared_by_terms(setup),
            watches,
        )
    }

    /// Adds a controller. `setup` returns the function that creates the reconciler for each term of this replica as the leader.
    pub(crate) fn register<R, N, F>(
        mut self,
        name: Option<String>,
        style: Style,
        setup: impl FnOnce(Setup) -> F + Send + 'static,
        watches: impl FnOnce(Watches) -> Watches,
    ) -> Self
    where
        R: Reconciler,
        N: Fn() -> Arc<R> + Send + Sync + 'static,
        F: Future<Output = Result<N>> + Send + 'static,
    {
        let watches = watches(Watches::default());
        let start: Start = Box::new(move |context| {
            let reconciler = setup(context);
            async move {
                let reconciler = reconciler.await?;
                let build = move |identity, wiring| {
                    controller::run(reconciler(), watches.clone(), identity, wiring)
                };
                Ok(Box::new(build) as Build)
            }
            .boxed()
        });
        self.registrations.push(Registration {
            name,
            kind: GroupKind::of::<R::Resource>(),
            style,
            finalizer: R::FINALIZER,
            start,
        });
        self
    }

    /// Applies CRDs when this replica starts to work, and waits until the API server serves them. `crds` is a JSON array of them, and
    /// `version` is that of the program, such as `env!("CARGO_PKG_VERSION")`.
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

    /// Migrates the stored objects of these CRDs, such as `memcacheds.cache.example.com`, when their storage version has changed: while
    /// this replica leads, it rewrites each object in the storage version, and then removes the other versions from
    /// `status.storedVersions`, so that a later release can remove them from the CRD.
    ///
    /// The migration begins a minute after the storage version has changed, rewrites at most
    /// [`migration_rate`](crate::Settings::migration_rate) objects in a second, and continues after a restart where it was: the annotation
    /// `<operator>/storage-migration` of the CRD records its start. An object that cannot be written, for example because a webhook refuses
    /// it, is logged, and `status.storedVersions` stays as it is.
    ///
    /// The operator needs the verbs `list` and `patch` on all objects of the kinds, `get` and `patch` on the CRDs, and `patch` on their
    /// subresource `status`.
    ///
    /// See [storage version migration](https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/#upgrade-existing-objects-to-a-new-stored-version).
    #[must_use]
    pub fn migrate_storage(mut self, crds: &[&str]) -> Self {
        self.migrated
            .extend(crds.iter().map(|&name| name.to_owned()));
        self
    }

    /// Adds the webhooks that the operator serves.
    #[cfg(feature = "webhook")]
    #[must_use]
    pub fn webhooks(mut self, webhooks: Webhooks) -> Self {
        self.webhooks = self.webhooks.and(webhooks);
        self
    }

    /// Combines two sets of controllers, with what else was added to them.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.registrations.extend(other.registrations);
        self.crds.extend(other.crds);
        self.migrated.extend(other.migrated);
        #[cfg(feature = "webhook")]
        {
            self.webhooks = self.webhooks.and(other.webhooks);
        }
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
        let mut identified = vec![];
        let mut finalizers = vec![];
        for (registration, name) in self.registrations.into_iter().zip(names) {
            let kind = registration.kind;
            let identity = Identity {
                operator: operator.to_owned(),
                name,
                is_named: registration.name.is_some(),
                shares_kind: kinds.iter().filter(|other| **other == kind).count() > 1,
                kind,
            };
            finalizers.push(registration.finalizer);
            identified.push((identity, registration.start));
        }
        let identities = identified.iter().map(|(identity, _)| identity);
        check_finalizers(&identities.zip(finalizers).collect::<Vec<_>>())?;
        Ok(identified)
    }
}

/// Returns a reconciler for each term.
type ForTerm<R> = Box<dyn Fn() -> Arc<R> + Send + Sync>;

/// Converts a setup function: the reconciler that it returns is used in each term.
fn shared_by_terms<R, F>(
    setup: impl FnOnce(Setup) -> F + Send + 'static,
) -> impl FnOnce(Setup) -> BoxFuture<'static, Result<ForTerm<R>>> + Send + 'static
where
    R: Reconciler,
    F: Future<Output = Result<R>> + Send + 'static,
{
    |context| {
        let reconciler = setup(context);
        async {
            let reconciler = Arc::new(reconciler.await?);
            Ok(Box::new(move || reconciler.clone()) as ForTerm<R>)
        }
        .boxed()
    }
}

/// Checks that no two controllers of a kind use one finalizer. A controller also removes the finalizer of its conventional name, if it does
/// not declare it: an earlier version may have added it.
fn check_finalizers(controllers: &[(&Identity, Option<&'static str>)]) -> Result<(), Fatal> {
    for (index, (first, of_first)) in controllers.iter().enumerate() {
        for (second, of_second) in controllers[index + 1..]
            .iter()
            .filter(|(second, _)| second.kind == first.kind)
        {
            let pairs = [
                (first, of_first, second, of_second),
                (second, of_second, first, of_first),
            ];
            let shared = pairs
                .into_iter()
                .find_map(|(one, finalizer, other, of_other)| {
                    let finalizer = (*finalizer)?;
                    let is_taken = *of_other == Some(finalizer) || other.finalizer() == finalizer;
                    (is_taken && one.finalizer() != finalizer).then_some((one, finalizer))
                });
            if let Some((changed, finalizer)) = shared {
                return Err(Fatal::SharedFinalizer {
                    kind: first.kind.to_string(),
                    controllers: [first.name.clone(), second.name.clone()],
                    finalizer: finalizer.to_owned(),
                    help: format!(
                        "set `FINALIZER` of {:?} to {:?}",
                        changed.name,
                        changed.own_finalizer()
                    ),
                });
            }
        }
    }
    Ok(())
}

/// The names of the controllers: the given ones, and the kinds of the others in lower case, with the group if two groups have the kind.
fn names(registrations: &[Registration]) -> Result<Vec<String>, Fatal> {
    let unnamed = || registrations.iter().filter(|it| it.name.is_none());
    let mut names = vec![];
    let mut used = HashSet::new();
    for Registration { name, kind, .. } in registrations {
        let same = || unnamed().filter(|it| it.kind == *kind);
        let name = match name {
            Some(name) if !is_name(name) => {
                return Err(Fatal::ControllerName { name: name.clone() });
            }
            Some(name) => name.clone(),
            None if same().count() > 1 => {
                let can_be_named = same().any(|it| it.style == Style::Reconciler);
                return Err(Fatal::TwoControllers {
                    kind: kind.to_string(),
                    help: if can_be_named {
                        "give one of them a name: add the reconciler with `add_named`"
                    } else {
                        "combine them, or implement `Reconciler` for one of them and add it with `add_named`: a kind has only one controller of the styles declarative and external"
                    },
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

    fn registration(
        name: Option<&str>,
        (group, kind): (&str, &str),
        style: Style,
        finalizer: Option<&'static str>,
    ) -> Registration {
        Registration {
            name: name.map(str::to_owned),
            kind: GroupKind {
                group: group.into(),
                kind: kind.into(),
            },
            style,
            finalizer,
            start: Box::new(|_| std::future::pending().boxed()),
        }
    }

    fn named(controllers: &[(Option<&str>, &str, &str)]) -> Result<Vec<String>, String> {
        let registrations = controllers
            .iter()
            .map(|(name, group, kind)| registration(*name, (group, kind), Style::Reconciler, None));
        names(&registrations.collect::<Vec<_>>()).map_err(|error| error.to_string())
    }

    /// Whether controllers of one kind, with these names and finalizers, can be in the operator `shop`.
    fn finalizing(
        group: &str,
        controllers: &[(Option<&str>, Option<&'static str>)],
    ) -> Result<(), String> {
        let registrations = controllers.iter().map(|(name, finalizer)| {
            registration(*name, (group, "Widget"), Style::Reconciler, *finalizer)
        });
        let controllers = Controllers {
            registrations: registrations.collect(),
            ..Controllers::default()
        };
        let identified = controllers.identified("shop");
        identified.map(drop).map_err(|error| error.to_string())
    }

    #[test]
    fn a_controller_without_a_name_is_named_after_its_kind() {
        let pods = [(Some("printer"), "", "Pod"), (None, "", "Pod")];
        assert_eq!(named(&pods).unwrap(), ["printer", "pod"]);
    }

    #[test]
    fn kinds_of_one_name_in_two_groups_give_different_names() {
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
        assert!(
            unnamed.ends_with("help: give one of them a name: add the reconciler with `add_named`")
        );
        let invalid = named(&[(Some("Pod Printer"), "", "Pod")]).unwrap_err();
        assert!(invalid.starts_with("\"Pod Printer\" cannot be the name of a controller\n"));
    }

    #[test]
    fn the_help_names_only_what_a_style_has() {
        let help = |styles: [Style; 2]| {
            let widgets = styles.map(|style| registration(None, ("", "Widget"), style, None));
            names(&widgets).unwrap_err().to_string()
        };
        let mixed = help([Style::Unnamed, Style::Reconciler]);
        assert!(
            mixed.ends_with("add the reconciler with `add_named`"),
            "{mixed}"
        );
        let both = help([Style::Unnamed; 2]);
        assert!(
            both.contains("implement `Reconciler` for one of them"),
            "{both}"
        );
    }

    #[test]
    fn two_controllers_of_a_kind_do_not_have_one_finalizer() {
        let same = [(Some("a"), Some("shop/x")), (Some("b"), Some("shop/x"))];
        assert_eq!(
            finalizing("g", &same).unwrap_err(),
            "the controllers \"a\" and \"b\" of Widget.g have the same finalizer shop/x: the first one that has cleaned up would remove it for both\nhelp: set `FINALIZER` of \"a\" to \"shop/a\""
        );
        // the help is about the one that does not have its own conventional name
        let borrowed = [(Some("a"), Some("shop/a")), (Some("b"), Some("shop/a"))];
        let help = finalizing("g", &borrowed).unwrap_err();
        assert!(
            help.ends_with("`FINALIZER` of \"b\" to \"shop/b\""),
            "{help}"
        );
        // a controller removes the finalizer of its conventional name
        let kept = [(None, None), (Some("b"), Some("g/shop"))];
        let help = finalizing("g", &kept).unwrap_err();
        assert!(
            help.ends_with("`FINALIZER` of \"b\" to \"shop/b\""),
            "{help}"
        );
        let unnamed = [(None, Some("shop/b")), (Some("b"), None)];
        let help = finalizing("g", &unnamed).unwrap_err();
        assert!(
            help.ends_with("`FINALIZER` of \"widget\" to \"g/shop\""),
            "{help}"
        );
        // the core group has no name
        let help = finalizing("", &unnamed).unwrap_err();
        assert!(
            help.ends_with("`FINALIZER` of \"widget\" to \"shop/widget\""),
            "{help}"
        );

        let own = [
            (None, Some("g/shop")),
            (Some("b"), Some("shop/b")),
            (Some("c"), None),
        ];
        assert_eq!(finalizing("g", &own), Ok(()));
        assert_eq!(
            finalizing("g", &[(Some("a"), None), (Some("b"), None)]),
            Ok(())
        );
    }
}
