//! How plans, reports and sessions are shown: as lines, a diff, or JSON.

pub mod dev_log;
pub mod inspection;
pub mod lines;
pub mod stale_code;
pub mod uninstall_lines;
pub mod view;
