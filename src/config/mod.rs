//! `operator.toml` as it is written, with the places of its values. Text in, values out. No I/O.

mod check;
mod deployment;
mod entry;
mod file;
mod image;
mod marker;
mod monitoring;
mod name;
mod owned;
mod place;
mod read;
mod renamed;
mod rule;
mod runtime;
mod table;
mod webhook;
mod webhook_check;
mod workspace;

pub use check::{ConfigError, ConfigProblem};
pub use deployment::{DeploymentSettings, DisruptionBudget, IntOrPercent, Variable, Verbatim};
pub use file::ConfigFile;
pub use image::{IMAGE_HELP, Image, is_image, registry};
pub use marker::is_marked;
pub use monitoring::Monitoring;
pub use name::is_package_name;
pub use owned::{Owned, OwnedCache, Update};
pub use place::{Place, Step};
pub use read::Read;
pub use renamed::{Paths, Renamed};
pub use rule::Rule;
pub use runtime::{Runtime, installed_from};
pub use table::{Config, Kind, NamedController, Namespaces, Packaging, Source, WatchedCache};
pub use webhook::{
    Certificates, FailurePolicy, MatchPolicy, Operation, ReinvocationPolicy, Webhook, WebhookTable,
    WebhookType,
};
pub use webhook_check::{NOT_BEING_DELETED, NOT_OF_THE_OPERATOR};
pub use workspace::{inherited, is_workspace_of};
