//! Logs to standard error, as text or JSON, with the object that is reconciled.

use std::io::IsTerminal;

use tracing_subscriber::{EnvFilter, Layer, layer::SubscriberExt, util::SubscriberInitExt};

use crate::{
    error::{Fatal, panic_message},
    settings::{LogFormat, Settings},
};

/// Sets up logging, unless the program has already done so. Fails if the filter is invalid.
#[cfg_attr(
    not(feature = "otel"),
    expect(unused_variables, reason = "the name is for traces")
)]
pub(crate) fn init(operator: &str, settings: &Settings) -> Result<(), Fatal> {
    let invalid = |error: tracing_subscriber::filter::ParseError| Fatal::LogFilter {
        filter: settings.log.clone(),
        reason: error.to_string(),
    };
    let filter = EnvFilter::try_new(&settings.log).map_err(invalid)?;
    let colors = std::io::stderr().is_terminal();
    let lines = tracing_subscriber::fmt::layer()
        .with_ansi(colors)
        .with_writer(std::io::stderr);
    let lines = match settings.log_format {
        LogFormat::Human => lines.with_target(false).boxed(),
        LogFormat::Json => lines
            .json()
            .flatten_event(true)
            .with_span_list(false)
            .boxed(),
    };
    // the filter applies to the lines of the log, not to the exported traces
    let registry = tracing_subscriber::registry()
        .with(lines.with_filter(filter))
        .with(settings.log_events.layer());
    #[cfg(feature = "otel")]
    let registry = registry.with(crate::trace::layer(operator)?);
    let set = registry.try_init();
    if set.is_ok() {
        std::panic::set_hook(Box::new(|panic| {
            let place = panic
                .location()
                .map(ToString::to_string)
                .unwrap_or_default();
            tracing::error!(place, "panicked: {}", panic_message(panic.payload()));
        }));
    }
    Ok(())
}
