//! The settings of an operator: each is a flag and an environment variable of its binary.

#[cfg(feature = "webhook")]
use std::path::PathBuf;
use std::{net::SocketAddr, num::NonZeroU16, time::Duration};

use clap::{Args, ValueEnum};

use crate::{engine::objects::Backoff, error::Fatal};

// Not `///`: clap would show that text as the description of the program that flattens this.
#[doc = concat!(
    "The runtime's settings; put them into your own arguments with `#[command(flatten)]`.\n\n",
    "Durations are written as `500ms`, `15s` or `5m`.\n\n",
    "```\n",
    "use clap::Parser;\n",
    "use operator_runtime::Settings;\n\n",
    "#[derive(Parser)]\n",
    "struct Args {\n",
    "    #[command(flatten)]\n",
    "    settings: Settings,\n",
    "    /// A flag of your own\n",
    "    #[arg(long)]\n",
    "    dry_run: bool,\n",
    "}\n\n",
    "let args = Args::parse_from([\"operator\", \"--namespace=shop\", \"--retry-period=500ms\"]);\n",
    "assert_eq!(args.settings.namespaces, [\"shop\"]);\n",
    "assert!(!args.dry_run);\n",
    "```",
)]
#[derive(Args, Clone, Debug)]
#[non_exhaustive]
pub struct Settings {
    /// Namespaces to watch, separated by commas; all namespaces if empty. Cluster-scoped kinds are always watched
    #[arg(
        long = "namespace",
        env = "WATCH_NAMESPACE",
        value_delimiter = ',',
        default_value = "",
        hide_default_value = true,
        value_name = "NAMESPACE"
    )]
    pub namespaces: Vec<String>,

    /// Elect a leader with a lease, so that only one replica works at a time
    #[arg(long, env = "LEADER_ELECTION", action = clap::ArgAction::Set, default_value_t = true, value_name = "BOOL")]
    pub leader_election: bool,

    /// Name of the lease [default: the name of the operator]
    #[arg(long, env = "LEASE_NAME", value_name = "NAME")]
    pub lease_name: Option<String>,

    /// Namespace of the lease [default: the namespace of the operator]
    #[arg(long, env = "LEASE_NAMESPACE", value_name = "NAMESPACE")]
    pub lease_namespace: Option<String>,

    /// How long standby replicas wait after the last renewal of the lease before they take it over
    #[arg(long, env = "LEASE_DURATION", value_parser = duration, default_value = "15s", value_name = "TIME")]
    pub lease_duration: Duration,

    /// How long the leader tries to renew the lease before it stops; must be shorter than the lease duration
    #[arg(long, env = "RENEW_DEADLINE", value_parser = duration, default_value = "10s", value_name = "TIME")]
    pub renew_deadline: Duration,

    /// Interval between attempts to acquire or renew the lease
    #[arg(long, env = "RETRY_PERIOD", value_parser = duration, default_value = "2s", value_name = "TIME")]
    pub retry_period: Duration,

    /// Priority of this operator among those that share the lease: the one with the highest works, the others pause
    #[arg(
        long,
        env = "PRIORITY",
        default_value = "0",
        allow_negative_numbers = true,
        value_name = "NUMBER"
    )]
    pub priority: i32,

    /// Address that serves /healthz, /readyz and /metrics
    #[arg(
        long,
        env = "HTTP_ADDRESS",
        default_value = "0.0.0.0:8080",
        value_name = "ADDRESS"
    )]
    pub http_address: SocketAddr,

    /// Address that serves /metrics over TLS, only to clients with the permission to get it, instead of --http-address
    #[cfg(feature = "protected-metrics")]
    #[arg(long, env = "METRICS_ADDRESS", value_name = "ADDRESS")]
    pub metrics_address: Option<SocketAddr>,

    /// Format of the log on standard error
    #[arg(long, env = "LOG_FORMAT", value_enum, default_value = "human")]
    pub log_format: LogFormat,

    /// Filter of the log, in the syntax of tracing's EnvFilter, such as `debug` or `info,my_operator=trace`
    #[arg(long, env = "RUST_LOG", default_value = DEFAULT_LOG, hide_default_value = true, value_name = "FILTER")]
    pub log: String,

    /// Maximum number of objects that a controller reconciles at the same time
    #[arg(long, env = "CONCURRENCY", default_value = "16", value_name = "NUMBER")]
    pub concurrency: NonZeroU16,

    /// Delay after the first failure of an object; it doubles with each further failure
    #[arg(long, env = "BACKOFF_FIRST", value_parser = duration, default_value = "1s", value_name = "TIME")]
    pub backoff_first: Duration,

    /// Maximum delay between two attempts to reconcile a failing object
    #[arg(long, env = "BACKOFF_LAST", value_parser = duration, default_value = "5m", value_name = "TIME")]
    pub backoff_last: Duration,

    /// Report failed reconciliations as Warning events on the object, which `kubectl describe` shows
    #[arg(long, env = "ERROR_EVENTS", action = clap::ArgAction::Set, default_value_t = true, value_name = "BOOL")]
    pub error_events: bool,

    /// Level from which log lines of your reconcilers and handlers also become events of their object
    #[arg(
        long,
        env = "LOG_EVENTS",
        value_enum,
        default_value = "off",
        value_name = "LEVEL"
    )]
    pub log_events: LogEvents,

    /// How long a watch lasts before it is renewed; /healthz fails if a watch is silent for more than twice that time
    #[arg(long, env = "WATCH_TIMEOUT", value_parser = duration, default_value = "290s", value_name = "TIME")]
    pub watch_timeout: Duration,

    /// How long running reconciliations may take to finish after a signal to stop
    #[arg(long, env = "SHUTDOWN_TIMEOUT", value_parser = duration, default_value = "20s", value_name = "TIME")]
    pub shutdown_timeout: Duration,

    /// Maximum number of objects that a migration to another storage version writes in a second
    #[arg(
        long,
        env = "MIGRATION_RATE",
        default_value = "20",
        value_name = "NUMBER"
    )]
    pub migration_rate: NonZeroU16,

    /// Address that serves admission and conversion webhooks over TLS; `None` serves only
    /// [`Operator::webhook_service`](crate::Operator::webhook_service)
    #[cfg(feature = "webhook")]
    #[arg(
        long,
        env = "WEBHOOK_ADDRESS",
        default_value = "0.0.0.0:9443",
        value_name = "ADDRESS"
    )]
    pub webhook_address: Option<SocketAddr>,

    /// URL under which the API server reaches the webhooks, instead of their service: for development outside of the cluster
    #[cfg(feature = "webhook")]
    #[arg(long, env = "WEBHOOK_URL", value_name = "URL")]
    pub webhook_url: Option<String>,

    /// Folder with the files tls.crt and tls.key of the webhooks, if something else issues their certificate
    #[cfg(feature = "webhook")]
    #[arg(long, env = "WEBHOOK_CERTIFICATES", value_name = "FOLDER")]
    pub webhook_certificates: Option<PathBuf>,

    /// How long a certificate that the operator issues for its webhooks is valid, from 10s to 87600h; it is renewed after two thirds of that time
    #[cfg(feature = "webhook")]
    #[arg(long, env = "WEBHOOK_CERTIFICATE_LIFETIME", value_parser = duration, default_value = "2160h", value_name = "TIME")]
    pub webhook_certificate_lifetime: Duration,

    /// The process that started the operator, with which it ends, on Unix: a development session that is killed must leave no operator
    #[arg(long, env = "PARENT_PROCESS", hide = true, value_name = "ID")]
    pub parent_process: Option<u32>,

    /// Whether [`Operator::run`](crate::Operator::run) ends on SIGTERM and SIGINT; a program that embeds
    /// the operator turns it off, and uses [`Operator::shutdown_handle`](crate::Operator::shutdown_handle)
    #[arg(skip = true)]
    pub handle_signals: bool,
}

/// The log messages of kube repeat the errors that the runtime reports, so most of them are off by default.
const DEFAULT_LOG: &str = "info,kube_client=error,kube_client::client::builder=off,kube_runtime=error,kube_runtime::watcher=off";

/// The allowed lifetimes: a certificate has times in whole seconds, and the operator checks it ten times in its life.
#[cfg(feature = "webhook")]
const CERTIFICATE_LIFETIMES: std::ops::RangeInclusive<Duration> =
    Duration::from_secs(10)..=Duration::from_secs(87_600 * 3600);

/// How logs are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// A line for people.
    Human,
    /// A JSON object on each line.
    Json,
}

impl Default for Settings {
    /// The settings of a program that is started without flags and environment variables.
    fn default() -> Self {
        Self {
            namespaces: vec![],
            leader_election: true,
            lease_name: None,
            lease_namespace: None,
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
            priority: 0,
            http_address: ([0, 0, 0, 0], 8080).into(),
            #[cfg(feature = "protected-metrics")]
            metrics_address: None,
            log_format: LogFormat::Human,
            log: DEFAULT_LOG.into(),
            concurrency: const { NonZeroU16::new(16).expect("16 is not 0") },
            backoff_first: Duration::from_secs(1),
            backoff_last: Duration::from_secs(300),
            error_events: true,
            log_events: LogEvents::Off,
            watch_timeout: Duration::from_secs(290),
            shutdown_timeout: Duration::from_secs(20),
            migration_rate: const { NonZeroU16::new(20).expect("20 is not 0") },
            #[cfg(feature = "webhook")]
            webhook_address: Some(([0, 0, 0, 0], 9443).into()),
            #[cfg(feature = "webhook")]
            webhook_url: None,
            #[cfg(feature = "webhook")]
            webhook_certificates: None,
            #[cfg(feature = "webhook")]
            webhook_certificate_lifetime: Duration::from_secs(2160 * 3600),
            parent_process: None,
            handle_signals: true,
        }
    }
}

impl Settings {
    /// The settings for tests: a free port of the loopback interface, no leader election, quick retries, no signal handling.
    pub fn for_tests() -> Self {
        Self {
            leader_election: false,
            lease_duration: Duration::from_secs(3),
            renew_deadline: Duration::from_secs(2),
            retry_period: Duration::from_millis(100),
            http_address: ([127, 0, 0, 1], 0).into(),
            backoff_first: Duration::from_millis(20),
            backoff_last: Duration::from_secs(1),
            shutdown_timeout: Duration::from_secs(5),
            #[cfg(feature = "webhook")]
            webhook_address: None,
            handle_signals: false,
            ..Self::default()
        }
    }

    /// The namespaces to watch; empty for all namespaces.
    pub(crate) fn namespaces(&self) -> Vec<String> {
        let mut names: Vec<_> = self
            .namespaces
            .iter()
            .map(|name| name.trim().to_owned())
            .collect();
        names.retain(|name| !name.is_empty());
        names.sort();
        names.dedup();
        names
    }

    /// Whether the cluster calls the webhooks of this process, if it has any, through their Service: it runs in a pod, which is detected as
    /// [kube does](kube::Config::incluster_env), and neither a URL nor a loopback address is set for its webhooks.
    #[cfg(feature = "webhook")]
    pub(crate) fn has_webhook_service(&self) -> bool {
        let is_reachable = |it: SocketAddr| !it.ip().is_loopback();
        std::env::var_os("KUBERNETES_SERVICE_HOST").is_some()
            && self.webhook_url.is_none()
            && self.webhook_address.is_some_and(is_reachable)
    }

    #[cfg(not(feature = "webhook"))]
    pub(crate) fn has_webhook_service(&self) -> bool {
        false
    }

    /// The name of the lease of this operator.
    pub(crate) fn lease(&self, operator: &str) -> String {
        // an environment variable may be set to an empty string
        self.lease_name
            .clone()
            .filter(|name| !name.is_empty())
            .unwrap_or_else(|| operator.to_owned())
    }

    pub(crate) fn backoff(&self) -> Backoff {
        Backoff {
            first: self.backoff_first,
            last: self.backoff_last,
        }
    }

    /// Checks the values that clap cannot check.
    pub(crate) fn check(&self) -> Result<(), Fatal> {
        let (duration, deadline, period) =
            (self.lease_duration, self.renew_deadline, self.retry_period);
        if duration <= deadline || deadline <= period {
            return Err(Fatal::LeaseTimes {
                duration,
                deadline,
                period,
            });
        }
        #[cfg(feature = "webhook")]
        if !CERTIFICATE_LIFETIMES.contains(&self.webhook_certificate_lifetime) {
            return Err(Fatal::WebhookCertificateLifetime(
                self.webhook_certificate_lifetime,
            ));
        }
        Ok(())
    }
}

/// Parses a duration such as `500ms`, `15s`, `5m` or `1h`.
fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let number: u64 = digits
        .parse()
        .map_err(|_| "expected a number and ms, s, m or h, as in 15s".to_owned())?;
    let millis = match &text[digits.len()..] {
        "ms" => Some(number),
        "s" => number.checked_mul(1_000),
        "m" => number.checked_mul(60_000),
        "h" => number.checked_mul(3_600_000),
        _ => return Err("the unit must be ms, s, m or h".to_owned()),
    };
    match millis {
        Some(0) => Err("must be more than nothing".to_owned()),
        Some(millis) => Ok(Duration::from_millis(millis)),
        None => Err("too long".to_owned()),
    }
}

/// The level from which log lines also become events of the object for which the code runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
#[non_exhaustive]
pub enum LogEvents {
    /// No line does.
    #[default]
    Off,
    /// Lines of the level error.
    Error,
    /// Lines of the levels warn and error.
    Warn,
    /// Lines of the levels info, warn and error.
    Info,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    /// Does what it does
    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        settings: Settings,
    }

    fn parse(arguments: &[&str]) -> Settings {
        Program::try_parse_from([&["operator"], arguments].concat())
            .unwrap()
            .settings
    }

    #[test]
    fn without_flags_the_settings_are_the_default() {
        let normal = |settings: Settings| {
            let namespaces = settings.namespaces();
            format!(
                "{:?}",
                Settings {
                    namespaces,
                    ..settings
                }
            )
        };
        assert_eq!(normal(parse(&[])), normal(Settings::default()));
    }

    #[test]
    fn namespaces_are_a_list_and_none_means_all() {
        assert_eq!(parse(&["--namespace", "b, a,b"]).namespaces(), ["a", "b"]);
        assert!(parse(&["--namespace", ""]).namespaces().is_empty());
    }

    #[test]
    fn durations_need_units_and_are_not_zero() {
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("2m"), Ok(Duration::from_secs(120)));
        for wrong in [
            "",
            "5",
            "5x",
            "-1s",
            "0s",
            "99999999999999999999s",
            "9999999999999999h",
        ] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn every_flag_is_also_an_environment_variable() {
        use clap::CommandFactory;
        for argument in Program::command().get_arguments() {
            let helps = ["help", "version"].contains(&argument.get_id().as_str());
            assert!(
                helps || argument.get_env().is_some(),
                "{}",
                argument.get_id()
            );
            assert!(
                helps || argument.get_help().is_some(),
                "{}",
                argument.get_id()
            );
        }
    }

    #[test]
    fn the_help_describes_the_program_and_not_the_settings() {
        use clap::CommandFactory;
        let help = Program::command().render_long_help().to_string();
        assert!(help.starts_with("Does what it does\n\nUsage:"), "{help}");
    }

    #[test]
    fn a_lease_must_outlive_its_renewal() {
        assert!(Settings::default().check().is_ok());
        assert!(Settings::for_tests().check().is_ok());
        let settings = Settings {
            renew_deadline: Duration::from_secs(15),
            ..Settings::default()
        };
        assert!(matches!(settings.check(), Err(Fatal::LeaseTimes { .. })));
    }

    #[cfg(feature = "webhook")]
    #[test]
    fn a_certificate_must_live_long_enough_to_be_renewed() {
        for (lifetime, is_accepted) in [
            ("9s", false),
            ("10s", true),
            ("87600h", true),
            ("87601h", false),
        ] {
            let settings = parse(&[&format!("--webhook-certificate-lifetime={lifetime}")]);
            assert_eq!(settings.check().is_ok(), is_accepted, "{lifetime}");
        }
        let settings = parse(&["--webhook-certificate-lifetime=9s"]);
        assert_eq!(
            settings.check().unwrap_err().to_string(),
            "--webhook-certificate-lifetime must be between 10s and 87600h, not 9s"
        );
    }
}
