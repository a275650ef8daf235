//! The initial `Cargo.lock`, with tested versions, so that the first build and the image are reproducible. The template is the lock file of
//! a project named `operator` whose runtime is a path dependency, so that it has no sources and checksums of the runtime's crates.

use crate::template::plain;

/// The tested lock file for a project with another name. Cargo requires the packages to be sorted by name.
pub fn lock(name: &str) -> String {
    let mut parts = plain("Cargo.lock").split("[[package]]\n");
    let head = parts.next().unwrap_or_default();
    let own = "name = \"operator\"\n";
    let mut packages: Vec<String> = parts
        .map(|package| {
            package
                .trim_end()
                .replacen(own, &format!("name = \"{name}\"\n"), 1)
        })
        .collect();
    packages.sort_by(|a, b| key(a).cmp(&key(b)));
    format!(
        "{}\n[[package]]\n{}\n",
        head.trim_end_matches('\n').to_owned() + "\n",
        packages.join("\n\n[[package]]\n")
    )
}

/// The name and version of a package.
fn key(package: &str) -> (&str, &str) {
    let line = |index| package.lines().nth(index).unwrap_or_default();
    (line(0), line(1))
}
