//! The command line: its arguments, and the exit code.

mod commands;
mod output;

use std::{ffi::OsString, process::ExitCode};

use clap::{Parser, Subcommand};

use crate::{
    diagnostic::{Exit, Failure},
    terminal::Terminal,
};
use commands::{
    add_controller, add_crd, add_version, add_webhook, completions, dev, explain, gen_manifests,
    image, init, inspect, regenerate, remove, sample, types, uninstall,
};

/// Generates kube-rs operators from CustomResourceDefinitions, and keeps them up to date as the schema changes.
#[derive(Parser)]
#[command(
    name = "cargo operator",
    bin_name = "cargo operator",
    version,
    max_term_width = 100
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Init(init::Args),
    AddCrd(add_crd::Args),
    AddController(add_controller::Args),
    AddVersion(add_version::Args),
    AddWebhook(add_webhook::Args),
    Types(types::Args),
    Sample(sample::Args),
    Regenerate(regenerate::Args),
    Remove(remove::Args),
    GenManifests(gen_manifests::Args),
    Image(image::Args),
    Inspect(inspect::Args),
    Explain(explain::Args),
    Dev(dev::Args),
    Uninstall(uninstall::Args),
    Completions(completions::Args),
}

/// Runs the command line `args`, given by cargo (`cargo-operator operator ...`) or by a person (`cargo-operator ...`).
pub fn main(args: impl Iterator<Item = OsString>) -> ExitCode {
    let mut args: Vec<OsString> = args.collect();
    if args.get(1).is_some_and(|arg| arg == "operator") {
        args.remove(1);
    }
    let cli = Cli::parse_from(args);
    let terminal = Terminal::default();
    let exit = run(cli.command, &terminal).unwrap_or_else(|failure| {
        terminal.end_progress();
        terminal.report(&failure.reports);
        failure.exit
    });
    ExitCode::from(exit as u8)
}

fn run(command: Command, terminal: &Terminal) -> Result<Exit, Failure> {
    match command {
        Command::Init(args) => init::exec(args, terminal),
        Command::AddCrd(args) => add_crd::exec(args, terminal),
        Command::AddController(args) => add_controller::exec(args, terminal),
        Command::AddVersion(args) => add_version::exec(args, terminal),
        Command::AddWebhook(args) => add_webhook::exec(args, terminal),
        Command::Types(args) => types::exec(args, terminal),
        Command::Sample(args) => sample::exec(args, terminal),
        Command::Regenerate(args) => regenerate::exec(args, terminal),
        Command::Remove(args) => remove::exec(args, terminal),
        Command::GenManifests(args) => gen_manifests::exec(args, terminal),
        Command::Image(args) => image::exec(args, terminal),
        Command::Inspect(args) => inspect::exec(args, terminal),
        Command::Explain(args) => explain::exec(args, terminal),
        Command::Dev(args) => dev::exec(args, terminal),
        Command::Uninstall(args) => uninstall::exec(args, terminal),
        Command::Completions(args) => completions::exec(args, terminal),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_of_all_commands_are_consistent() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }
}
