//! Jobs, and the CronJobs that create them.

mod check;
pub(crate) mod cron_job;
mod defaults;
mod policy;
mod schedule;
mod status;

pub(crate) use self::defaults::{label_job, set_job_template_defaults};

use crate::kinds::resource::JOBS;
use crate::kinds::strategy::{Controller, Dependents, Strategy};
use crate::kinds::workload::of_workload;

pub(crate) const JOB: Strategy = Strategy {
    set_defaults: defaults::set_defaults,
    after_admission: defaults::set_selector,
    validate: check::check,
    selectable_fields: Some(&[("status.successful", "0")]),
    dependents: Dependents::Orphaned,
    deletion_warning: Some(
        "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning",
    ),
    from_storage: Some(|mut job| {
        label_job(&mut job);
        job
    }),
    cells: cells!(workload::job),
    ..of_workload(JOBS, Controller::Job)
};
