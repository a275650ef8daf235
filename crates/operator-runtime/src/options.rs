//! The flags of a program, for its tests.

use clap::{Args, Command};

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
}
