//! `completions`: prints the completion script for a shell.

use clap::CommandFactory;

use crate::{
    cli::Cli,
    diagnostic::{Exit, Failure},
    terminal::Terminal,
};

/// Print a completion script for a shell
#[derive(clap::Args)]
pub struct Args {
    shell: clap_complete::Shell,
}

pub fn exec(args: Args, terminal: &Terminal) -> Result<Exit, Failure> {
    let mut script = vec![];
    let mut command = Cli::command().bin_name("cargo-operator");
    clap_complete::generate(args.shell, &mut command, "cargo-operator", &mut script);
    terminal.print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Clean)
}
