//! The style `handlers`: functions that are called when an object is new, was changed, or is being deleted. The runtime records on the
//! object what they have handled, so that an operator that was down handles what it missed.

mod background;
mod call;
mod cause;
mod difference;
mod engine;
mod essence;
mod event;
mod filter;
mod handled;
mod index;
mod journal;
mod memo;
mod place;
mod progress;
mod registry;
mod report;
mod secret;
mod subhandler;

use std::{future::Future, sync::Arc};

pub use background::DaemonCall;
pub use call::{Call, FieldUpdate, Update};
pub use cause::Cause;
pub use difference::Path;
pub use event::{EventKind, WatchEvent};
pub use index::Index;
pub use registry::{DaemonOptions, EventOptions, HandlerOptions, Registry, TimerOptions};

use self::engine::Engine;
use super::Object;
use crate::{ControllerOptions, Controllers, Result, Setup, Watches, controllers::Style};

/// Handles the changes of the objects of one kind by functions that are called for a cause: an object is new, was changed, is being
/// deleted.
///
/// A handler is a method that takes `Arc<Self>` and a [`Call`], an [`Update`] or a [`FieldUpdate`]. It is called until it has succeeded,
/// has failed with a [permanent error](crate::Error::permanent), or has no attempts left. What was handled, and how far the handlers are,
/// is recorded in two annotations of the object, `<operator>/handled` and `<operator>/progress`. So an operator that was down calls the
/// update handlers with the whole difference, and a crash repeats at most the handler that was running.
///
/// ```
/// use std::sync::Arc;
///
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use operator_runtime::{Controllers, Result, Setup, handlers::{Call, Handlers, Registry, Update}};
///
/// struct Greeter;
///
/// impl Handlers for Greeter {
///     type Resource = ConfigMap;
///     const FINALIZER: Option<&'static str> = Some("example.com/greeter");
///
///     fn register(&self, on: &mut Registry<Self>) {
///         on.create("hello", Self::hello);
///         on.update("changed", Self::changed).label("app", "web");
///         on.delete("goodbye", Self::goodbye).attempts(3);
///     }
/// }
///
/// impl Greeter {
///     async fn hello(self: Arc<Self>, call: Call<ConfigMap>) -> Result<()> {
///         println!("hello {}", call.object().metadata.name.as_deref().unwrap_or_default());
///         Ok(())
///     }
///
///     async fn changed(self: Arc<Self>, update: Update<ConfigMap>) -> Result<()> {
///         println!("changed: {:?}", update.changes());
///         Ok(())
///     }
///
///     async fn goodbye(self: Arc<Self>, _call: Call<ConfigMap>) -> Result<()> {
///         Ok(())
///     }
/// }
///
/// async fn setup(_setup: Setup) -> Result<Greeter> {
///     Ok(Greeter)
/// }
///
/// let controllers = Controllers::new().add_handlers(setup, |watches| watches);
/// # drop(controllers);
/// ```
pub trait Handlers: Send + Sync + Sized + 'static {
    /// The kind of the objects.
    type Resource: Object;

    /// The finalizer that keeps an object until its delete handlers have ended; `None` if there are none. By convention it is
    /// `<group of the kind>/<name of the operator>`. It is added before the first handler of an object is called, and removed when no delete
    /// handler accepts the object any more.
    const FINALIZER: Option<&'static str> = None;

    /// Registers the handlers. Handlers of one cause are called in this order. Called each time the controller starts, and once before to
    /// check the handlers.
    fn register(&self, on: &mut Registry<Self>);

    /// The options of the controller. Called each time before the controller starts.
    fn options(&self) -> ControllerOptions<Self::Resource> {
        ControllerOptions::default()
    }
}

impl Controllers {
    /// Adds a controller of the style [`Handlers`]: the function that sets it up, and the kinds that it watches.
    #[must_use]
    pub fn add_handlers<H, F>(
        self,
        setup: impl FnOnce(Setup) -> F + Send + 'static,
        watches: impl FnOnce(Watches) -> Watches,
    ) -> Self
    where
        H: Handlers,
        F: Future<Output = Result<H>> + Send + 'static,
    {
        self.register_handlers(None, setup, watches)
    }

    /// Like [`add_handlers`](Self::add_handlers), with a name, as for [`add_named`](Self::add_named).
    #[must_use]
    pub fn add_named_handlers<H, F>(
        self,
        name: impl Into<String>,
        setup: impl FnOnce(Setup) -> F + Send + 'static,
        watches: impl FnOnce(Watches) -> Watches,
    ) -> Self
    where
        H: Handlers,
        F: Future<Output = Result<H>> + Send + 'static,
    {
        self.register_handlers(Some(name.into()), setup, watches)
    }

    fn register_handlers<H, F>(
        self,
        name: Option<String>,
        setup: impl FnOnce(Setup) -> F + Send + 'static,
        watches: impl FnOnce(Watches) -> Watches,
    ) -> Self
    where
        H: Handlers,
        F: Future<Output = Result<H>> + Send + 'static,
    {
        let is_named = name.is_some();
        let engine = move |context: Setup| {
            let operator = context.operator().to_owned();
            let controller = is_named.then(|| context.controller().to_owned());
            let backoff = context.settings().backoff();
            let handlers = setup(context);
            async move {
                let handlers = Arc::new(handlers.await?);
                Engine::check(&*handlers, is_named)?;
                Ok(move || {
                    let controller = controller.as_deref();
                    Arc::new(Engine::new(
                        handlers.clone(),
                        &operator,
                        controller,
                        backoff,
                    ))
                })
            }
        };
        self.register(name, Style::Reconciler, engine, watches)
    }
}
