//! The context of the user's kubeconfig.

use std::{env, fs, path::PathBuf};

use crate::crd;

/// The current context: that of the first file of `$KUBECONFIG` that has one, or of `~/.kube/config`. It is read before the build, because
/// the user may switch to another one meanwhile.
/// <https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/>
pub fn current_context() -> Option<String> {
    let listed = env::var_os("KUBECONFIG").filter(|paths| !paths.is_empty());
    let paths: Vec<PathBuf> = match &listed {
        Some(paths) => env::split_paths(paths).collect(),
        None => vec![env::home_dir()?.join(".kube/config")],
    };
    paths.iter().find_map(|path| {
        let kubeconfig = crd::values(&fs::read_to_string(path).ok()?).next()?.ok()?;
        let context = kubeconfig["current-context"].as_str()?;
        (!context.is_empty()).then(|| context.to_owned())
    })
}
