//! The flags of a program, for its tests.

use clap::{Args, Command, error::ErrorKind};

use crate::Settings;

/// Parses `flags` as the options of a program, without its environment variables, so that a test behaves the same everywhere. For tests of
/// an operator that has its own flags.
///
/// ```
/// #[derive(clap::Args)]
/// struct Options {
///     #[arg(long, env = "BUCKET", default_value = "backups")]
///     bucket: String,
///     #[arg(long)]
///     region: String,
/// }
///
/// let options: Options = operator_runtime::options_for_tests(&["--region=here"])?;
/// assert_eq!((&*options.bucket, &*options.region), ("backups", "here"));
/// assert!(operator_runtime::options_for_tests::<Options>(&[]).is_err());
/// # Ok::<(), clap::Error>(())
/// ```
///
/// # Errors
/// The errors of clap, for example for a missing required flag.
pub fn options_for_tests<T: Args>(flags: &[&str]) -> Result<T, clap::Error> {
    let command = T::augment_args(Command::new("operator").no_binary_name(true));
    let command = command.mut_args(|argument| argument.env(None::<&'static str>));
    T::from_arg_matches(&command.try_get_matches_from(flags)?)
}

/// Checks that a Deployment sets each flag that a program requires, with its `arguments` or with the names of its `variables`; otherwise
/// the program ends as soon as it starts in a cluster. A flag that `overlays` names, the text of the project's overlays, counts as set. The
/// flags are the options `T` and those of [`Settings`].
///
/// # Panics
///
/// With the names of the flags that are missing.
#[track_caller]
pub fn assert_required_flags_are_set<T: Args>(
    arguments: &[&str],
    variables: &[&str],
    overlays: &str,
) {
    let is_word = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_');
    let in_overlay = |name: &str| overlays.split(|char| !is_word(char)).any(|it| it == name);
    let command = Settings::augment_args(T::augment_args(Command::new("operator")));
    let command = command.no_binary_name(true).mut_args(|argument| {
        let flag = argument.get_long().map(|name| format!("--{name}"));
        let variable = argument.get_env().and_then(|name| name.to_str());
        let is_set = variable.is_some_and(|name| variables.contains(&name) || in_overlay(name))
            || flag.is_some_and(|flag| in_overlay(&flag));
        let is_required = argument.is_required_set() && !is_set;
        argument.env(None::<&'static str>).required(is_required)
    });
    if let Err(error) = command.try_get_matches_from(arguments) {
        assert!(
            error.kind() != ErrorKind::MissingRequiredArgument,
            "the Deployment does not set all flags that the program requires, so it would end as soon as it starts: {error}\n\
             help: set them with `args` or `env` under [deployment] in operator.toml, or in an overlay; or give them a `default_value`"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Args, Debug)]
    struct Options {
        // `PATH` is in each environment.
        #[arg(long, env = "PATH", default_value = "none")]
        path: String,
        #[command(flatten)]
        more: More,
    }

    #[derive(Args, Debug)]
    struct More {
        #[arg(long, env = "PATH")]
        required: String,
    }

    #[test]
    fn options_for_tests_ignore_the_environment() {
        let options: Options = options_for_tests(&["--required", "b"]).unwrap();
        assert_eq!((&*options.path, &*options.more.required), ("none", "b"));
        let error = options_for_tests::<Options>(&[]).unwrap_err();
        assert!(error.to_string().contains("--required <REQUIRED>"));
    }

    #[derive(Args, Debug)]
    struct Required {
        #[arg(long, env = "PROVIDER_URL")]
        provider_url: String,
        #[arg(long, default_value = "none")]
        path: String,
    }

    #[test]
    fn a_required_flag_is_set_by_an_argument_a_variable_or_an_overlay() {
        let check = assert_required_flags_are_set::<Required>;
        check(&["--concurrency=8", "--provider-url=$(URL)"], &[], "");
        check(&[], &["PROVIDER_URL"], "");
        check(&[], &[], "args: [\"--provider-url=https://example.com\"]");
        check(&[], &[], "env: [{name: PROVIDER_URL, value: x}]");
        // the test of the arguments themselves reports this one
        check(&["--unknown"], &[], "");
    }

    #[test]
    #[should_panic(expected = "--provider-url <PROVIDER_URL>")]
    fn a_required_flag_that_nothing_sets_is_named() {
        let arguments = ["--concurrency=8"];
        let variables = ["PROVIDER"];
        let overlays = "--provider-url-of-others MY_PROVIDER_URL";
        assert_required_flags_are_set::<Required>(&arguments, &variables, overlays);
    }
}
