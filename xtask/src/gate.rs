//! The gates: the proofs that run for each change, and the long ones, in their order and in lanes.

/// A part of a gate.
pub enum Step {
    /// A proof with its arguments, as after `cargo xtask`.
    Run(&'static str),
    /// Begins a lane, whose proofs run in parallel with the steps that follow. So a proof that mostly waits for a server does not delay
    /// those that compile.
    Beside(&'static str, &'static [&'static str]),
}

use Step::{Beside, Run};

#[rustfmt::skip]
pub const CI: &[Step] = &[
    Run("test"),
    Run("uninstall"),
    Run("projects"),
    Beside("servers", &[
        "kubectl", "dev", "sources --resolve", "workflows", "book", "cases --real --cases-share=3", "renewal", "storage-move", "migration",
        "status --real", "controllers --real", "forms --real", "kubectl --real", "e2e", "uninstall-real",
    ]),
    Beside("packages", &["kopf", "helm --real", "olm --real", "manifests --some", "outputs"]),
    Run("oracle --proptest-cases=1500"),
    Run("catalogue"),
    Run("lint"),
    Run("rustdoc"),
    Run("scaffolds"),
    // these use what the previous step compiled
    Beside("scaffolds", &["scaffolds --real", "upgrades --itself", "monitoring --real"]),
    // the tutorial shows how many faults were tried; the other pages need not try all
    Run("pages docs/tutorial.md"),
    Run("pages docs/reconcilers.md --fault-count=20"),
    Run("pages docs/declarative.md --fault-count=20"),
    Run("pages docs/external.md --fault-count=20"),
    Run("pages docs/handlers.md --fault-count=20"),
    Run("pages docs/controller.md --fault-count=20"),
    Run("pages docs/webhooks.md --fault-count=20"),
    Run("pages docs/versions.md --fault-count=20"),
    Run("pages docs/choosing.md --fault-count=20"),
    Run("pages docs/workspaces.md --fault-count=20"),
    Run("pages docs/pruning.md --fault-count=20"),
    Run("pages docs/calling.md --fault-count=20"),
    // these pages share one project
    Run("pages docs/runtime.md docs/errors.md docs/values.md docs/running.md docs/overlays.md docs/ci.md docs/upgrading.md docs/helm.md \
         docs/olm.md --fault-count=20"),
    Run("operators never-updates-a-child leaks-a-child stale-cache observed-too-early regular-resync children-at-once"),
    // one kind of thirteen, every 24th CRD and every third history; `full` takes all of them
    Run("corpus --corpus-kinds=certificates.cert-manager.io --corpus-share=24 --histories-share=3"),
    Run("replay --replay-steps=5"),
];

/// The steps that `full` runs after those of [`CI`].
#[rustfmt::skip]
pub const FULL: &[Step] = &[
    Beside("long", &[
        "cases --real", "admission --real", "differential --real", "verdict --verdict=all", "verdict --real --verdict=all", "samples",
        "manifests --kube-score", "dev --real", "e2e --listed", "helm-releases", "kopf --real",
    ]),
    Run("evolution --proptest-cases=4096"),
    Run("laws --proptest-cases=4096"),
    Run("oracle --proptest-cases=100000"),
    Run("solving --proptest-cases=5000"),
    Run("model --proptest-cases=40"),
    Run("units"),
    Run("killed --kills=24"),
    Run("scaffolds --as-committed --fault-count=1000"),
    Run("otel"),
    Run("sources"),
    Run("release"),
    Run("suites"),
    Run("corpus"),
    Run("replay"),
    Run("replay --replay-scaffold=all --replay-steps=5"),
    Run("replay --replay=triggerauthentications --replay-scaffold=reconciler --replay-steps=4 --replay-compiles"),
    Run("projects --shapes=all --names=30"),
    Run("projects empty:: --real"),
    Run("upgrades"),
    Run("large"),
    Run("image --all"),
    Run("operators --runs=20"),
];
