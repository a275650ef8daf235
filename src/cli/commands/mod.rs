//! The commands: one file each, with its arguments and `exec`. They open a project, change it, plan its files, and pass the plan to
//! `output::view`, which shows or applies it.

pub mod add_controller;
pub mod add_crd;
pub mod add_version;
pub mod add_webhook;
pub mod completions;
pub mod dev;
pub mod explain;
pub mod finish;
pub mod gen_manifests;
pub mod image;
pub mod init;
pub mod inspect;
pub mod regenerate;
pub mod remove;
pub mod resolve;
pub mod sample;
pub mod types;
pub mod uninstall;
