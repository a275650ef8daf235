//! Jobs, and the CronJobs that create them.

mod check;
pub(crate) mod cron_job;
mod defaults;
mod policy;
mod schedule;
mod status;

pub(crate) use self::check::check;
pub(crate) use self::defaults::{admit_job, fill, fill_template_of_jobs, label_job};
