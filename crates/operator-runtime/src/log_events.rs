//! Log lines of the user's code as events of the object that it handles.

use std::{
    fmt::{self, Write},
    future::Future,
    sync::{Arc, OnceLock, Weak},
};

use k8s_openapi::api::core::v1::ObjectReference;
use kube::{Resource, runtime::events::EventType};
use tokio::{
    sync::mpsc::{Receiver, Sender, channel},
    task_local,
};
use tracing::{
    Event, Level, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{Layer, layer};

use crate::{
    context::{Context, ControllerContext},
    settings::LogEvents,
};

/// The maximum number of lines that wait to be written; further ones are dropped.
const LONGEST_QUEUE: usize = 256;

/// The crates whose lines do not become events: the runtime reports its own problems in events already, and handles the errors that the
/// others log.
const LIBRARIES: [&str; 9] = [
    env!("CARGO_CRATE_NAME"),
    "h2",
    "hyper",
    "hyper_util",
    "kube_client",
    "kube_core",
    "kube_runtime",
    "rustls",
    "tower",
];

/// The reason of the events.
const REASON: &str = "Logged";

impl LogEvents {
    /// The layer that turns lines into events, for a program that sets up the log itself; [`Operator::connect`](crate::Operator::connect)
    /// adds it according to [`Settings::log_events`](crate::Settings::log_events).
    ///
    /// Only lines of reconcilers and handlers count, not those of tasks that they spawn. The events have the reason `Logged`, the message
    /// and the fields of the line. They are limited per object to ten at once, and then one a minute.
    ///
    /// ```
    /// use operator_runtime::LogEvents;
    /// use tracing_subscriber::layer::SubscriberExt;
    ///
    /// let subscriber = tracing_subscriber::registry().with(LogEvents::Warn.layer());
    /// # drop(subscriber);
    /// ```
    pub fn layer<S: Subscriber>(self) -> impl Layer<S> {
        let level = match self {
            Self::Off => None,
            Self::Error => Some(Level::ERROR),
            Self::Warn => Some(Level::WARN),
            Self::Info => Some(Level::INFO),
        };
        level.map(|level| EventLayer { level })
    }
}

task_local! {
    static CURRENT_OBJECT: CurrentObject;
}

/// The object for which the code of the user runs.
struct CurrentObject {
    controller: Arc<ControllerContext>,
    object: ObjectReference,
}

/// The lines of a controller that wait to be written. The first one starts the task that writes them.
#[derive(Default)]
pub(crate) struct Queue(OnceLock<Sender<Line>>);

struct Line {
    object: ObjectReference,
    type_: EventType,
    text: String,
}

impl Context {
    /// Runs code of the user for an object; its log lines become events of the object.
    pub(crate) async fn about<K, F>(&self, object: &K, code: F) -> F::Output
    where
        K: Resource<DynamicType = ()>,
        F: Future,
    {
        let about = CurrentObject {
            controller: self.shared().clone(),
            object: object.object_ref(&()),
        };
        CURRENT_OBJECT.scope(about, code).await
    }
}

struct EventLayer {
    level: Level,
}

impl<S: Subscriber> Layer<S> for EventLayer {
    // no `max_level_hint`: it would limit the other layers of the program, too
    fn on_event(&self, event: &Event<'_>, _: layer::Context<'_, S>) {
        let metadata = event.metadata();
        let target = metadata.target().split("::").next().unwrap_or_default();
        if *metadata.level() > self.level || LIBRARIES.contains(&target) {
            return;
        }
        // outside of the user's code, there is no object
        let _ = CURRENT_OBJECT.try_with(|about| {
            let mut text = Text::default();
            event.record(&mut text);
            about.controller.log_queue.push(
                &about.controller,
                Line {
                    object: about.object.clone(),
                    type_: match *metadata.level() {
                        Level::ERROR | Level::WARN => EventType::Warning,
                        _ => EventType::Normal,
                    },
                    text: text.finish(),
                },
            );
        });
    }
}

impl Queue {
    /// Adds a line. The first one starts the task that writes the lines.
    fn push(&self, controller: &Arc<ControllerContext>, line: Line) {
        let sender = self.0.get_or_init(|| {
            let (sender, lines) = channel(LONGEST_QUEUE);
            tokio::spawn(write(lines, Arc::downgrade(controller)));
            sender
        });
        // if it is full, there are too many events anyway
        let _ = sender.try_send(line);
    }
}

/// Writes the lines as events, until the controller is gone.
async fn write(mut lines: Receiver<Line>, controller: Weak<ControllerContext>) {
    while let Some(Line {
        object,
        type_,
        text,
    }) = lines.recv().await
    {
        let Some(controller) = controller.upgrade() else {
            return;
        };
        controller.limited_event(&object, type_, REASON, text).await;
    }
}

/// The message of a line, and its fields.
#[derive(Default)]
struct Text {
    message: String,
    fields: String,
}

impl Text {
    fn finish(self) -> String {
        let Self { message, fields } = self;
        if message.is_empty() {
            fields.trim_start().to_owned()
        } else {
            message + &fields
        }
    }
}

impl Visit for Text {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "message" => self.message.push_str(value),
            name => self.add(name, format_args!("{value:?}")),
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        match field.name() {
            "message" => self.message = format!("{value:?}"),
            name => self.add(name, format_args!("{value:?}")),
        }
    }
}

impl Text {
    fn add(&mut self, name: &str, value: fmt::Arguments<'_>) {
        // writing to a `String` cannot fail
        let _ = write!(self.fields, " {name}={value}");
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicU32, Ordering::SeqCst},
    };

    use tracing_subscriber::layer::SubscriberExt;

    use super::*;

    struct Counting(Arc<AtomicU32>);

    impl<S: Subscriber> Layer<S> for Counting {
        fn on_event(&self, _: &Event<'_>, _: layer::Context<'_, S>) {
            self.0.fetch_add(1, SeqCst);
        }
    }

    #[test]
    fn quieter_lines_still_reach_the_other_layers() {
        let count = Arc::new(AtomicU32::new(0));
        let registry = tracing_subscriber::registry();
        let subscriber = registry
            .with(Counting(count.clone()))
            .with(LogEvents::Warn.layer());
        tracing::subscriber::with_default(subscriber, || {
            tracing::info!("quiet");
            tracing::warn!("loud");
        });
        assert_eq!(count.load(SeqCst), 2);
    }
}
