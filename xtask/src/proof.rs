//! The table of all proofs: what each shows, what it needs, and what it runs.

use Need::{Corpus, CorpusIfPresent, Histories, Program, Server, ServerIfReal, Tool};
use Runs::{Bash, Test};

pub struct Proof {
    pub name: &'static str,
    /// How long it takes, roughly, on two cores, after everything that it needs is built.
    pub seconds: u32,
    pub needs: &'static [Need],
    pub runs: Runs,
    pub proves: &'static str,
    /// Environment variables that arguments set: for `fault-count`, `--fault-count=3` sets `FAULT_COUNT=3`, and `--fault-count` sets it to
    /// 1.
    pub options: &'static [&'static str],
    /// The controllers that a real API server runs for it, if it is a test.
    pub controllers: &'static str,
}

pub enum Runs {
    /// Commands in the root of the repository; the last one gets the other arguments.
    Bash(&'static str),
    /// A test program of the workspace, and its arguments before the others.
    Test(&'static str, &'static str),
}

/// What a proof needs. It is built, or found by functions of `settings.sh`.
#[derive(PartialEq)]
pub enum Need {
    /// The tool and the examples `serve` and `handlers`.
    Tool,
    /// A real API server: etcd, kube-apiserver and kube-controller-manager.
    Server,
    /// The same, but only with the argument `--real`.
    ServerIfReal,
    /// A folder of real CRDs. Without it, the proof is skipped.
    Corpus,
    /// The same, but without it, the proof runs with less.
    CorpusIfPresent,
    /// A folder with the revisions of real CRDs. Without it, the proof is skipped.
    Histories,
    /// A program that must be installed, or that the proof installs.
    Program(&'static str),
}

const fn proof(
    name: &'static str,
    seconds: u32,
    needs: &'static [Need],
    runs: Runs,
    proves: &'static str,
) -> Proof {
    Proof {
        name,
        seconds,
        needs,
        runs,
        proves,
        options: &[],
        controllers: "*",
    }
}

impl Proof {
    const fn options(self, options: &'static [&'static str]) -> Self {
        Self { options, ..self }
    }

    const fn controllers(self, controllers: &'static str) -> Self {
        Self {
            controllers,
            ..self
        }
    }
}

const GO: Need = Program("Go");
const KUBECTL: Need = Program("kubectl");
const PIP: Need = Program("pip");

/// The controllers that the server in memory has, too.
const CONTROLLERS: &str = "garbage-collector-controller,namespace-controller,serviceaccount-controller,\
                           persistentvolumeclaim-protection-controller,root-ca-certificate-publisher-controller";
/// The controllers of workloads, and some that their objects need.
const WORKLOADS: &str = "deployment-controller,replicaset-controller,statefulset-controller,daemonset-controller,job-controller,\
                         cronjob-controller,disruption-controller,garbage-collector-controller,namespace-controller,\
                         serviceaccount-controller,persistentvolumeclaim-protection-controller";

#[rustfmt::skip]
pub const PROOFS: &[Proof] = &[
    // what a contributor can break
    proof("test", 300, &[], Bash("cargo test --workspace"), "the README's test command: the tests of the tool and of the crates"),
    // --all-targets leaves out the test programs that `cargo test` does not run
    proof("lint", 150, &[], Bash("cargo fmt --all --check && cargo clippy --workspace --all-targets -- -D warnings && \
              cargo clippy --workspace --test '*' -- -D warnings"),
        "rustfmt and clippy accept the sources"),
    // with the examples, so that the dependencies have the features that clippy checked them with
    proof("rustdoc", 60, &[], Bash("RUSTDOCFLAGS='-D warnings' cargo doc --no-deps --workspace --lib --examples"),
        "rustdoc has no warning"),
    proof("layout", 10, &[CorpusIfPresent], Test("layout", ""), "rustfmt changes nothing in generated types, and no line is too long"),
    proof("types", 60, &[], Bash("cargo test --lib kubernetes"), "the types of k8s-openapi are those that the tool knows")
        .options(&["update"]),

    // generated projects
    proof("scaffolds", 600, &[Tool, ServerIfReal], Bash(".ci/scaffold"),
        "the projects in scaffolds/ are up to date, lint, and pass their tests")
        .options(&["fault-count", "as-committed"]),
    proof("otel", 120, &[], Bash("cd scaffolds/mixed && cargo clippy --locked --all-targets --features otel -- -D warnings && \
              cargo test --locked --features otel --test traces"),
        "an operator with the feature otel exports its traces"),
    proof("sources", 600, &[Tool], Bash("tests/sources/run"),
        "projects whose runtime is a folder, a git repository, or shared in a workspace build, lint and pass their tests")
        .options(&["fault-count"]),
    proof("projects", 300, &[ServerIfReal], Test("projects", ""), "kinds of odd shapes and names compile, and their tests pass")
        .options(&["shapes", "names", "corpus"]),
    proof("large", 300, &[Tool], Bash("tests/large/run"), "kinds whose values are larger than a stack allows pass their tests"),
    proof("operators", 300, &[Tool], Bash("tests/operators/run"), "the generated tests find the bug of each broken operator, and no other")
        .options(&["runs", "jobs"]),
    proof("upgrades", 900, &[Tool, KUBECTL], Bash("tests/upgrades/run"),
        "projects of releases are upgraded, and the new operator replaces the old one under load")
        .options(&["update"]),
    proof("workflows", 30, &[Tool, GO, PIP], Bash("tests/workflows/run"), "generated workflows have the right jobs, and actionlint accepts them"),

    // documentation
    proof("book", 20, &[], Bash(".ci/book"), "mdBook builds the book, and no link in it is dead"),
    proof("pages", 60, &[Tool, KUBECTL], Bash("tests/pages/run"), "the commands of the named pages print what the pages show")
        .options(&["fault-count"]),

    // random values, and CRDs as they are and as they change
    proof("evolution", 60, &[], Test("evolution", ""), "the verdict on a change of a CRD holds for objects")
        .options(&["proptest-cases", "histories"]),
    proof("laws", 60, &[], Test("all", "laws::"), "validation, defaults and samples of random schemas agree").options(&["proptest-cases"]),
    proof("solving", 60, &[], Test("all", "solving::"), "schemas whose rules are true of some object have a sample").options(&["proptest-cases"]),
    proof("units", 60, &[], Bash("cargo test --workspace --lib"), "the unit tests pass, also with other random values")
        .options(&["proptest-cases"]),
    proof("model", 60, &[], Test("cli", "model::"), "random commands and edits change a project as a model predicts")
        .options(&["proptest-cases"]),
    proof("killed", 60, &[], Test("cli", "killed::"), "a command that is killed leaves a project that the next one repairs").options(&["kills"]),
    proof("verdict", 60, &[CorpusIfPresent, ServerIfReal], Test("verdict", ""), "a CRD with a fault is rejected as the API server rejects it")
        .options(&["verdict"]),
    proof("oracle", 60, &[GO, CorpusIfPresent],
        Bash("export ORACLE=$CARGO_TARGET_DIR/control-plane/oracle && (cd tests/control-plane && go build -o \"$ORACLE\" ./oracle) && cargo test --workspace --test oracle"),
        "a text is read as kubectl reads it, and a CRD with its CEL rules is refused as the API server refuses it, without a server")
        .options(&["proptest-cases"]),
    proof("catalogue", 30, &[GO],
        Bash("catalogue=crates/operator-schema/src/rules/check/catalogue.txt new=$CARGO_TARGET_DIR/catalogue.txt && \
              (cd tests/control-plane && go run ./catalogue) >\"$new\" && { [ \"${UPDATE:-}\" != 1 ] || cp \"$new\" $catalogue; } && diff $catalogue \"$new\""),
        "the functions of CEL rules are those of the API server").options(&["update"]),
    proof("corpus", 600, &[Tool, Corpus], Bash(".ci/corpus"), "types of real CRDs compile, and read and write every value")
        .options(&["corpus", "corpus-kinds", "corpus-share", "histories", "histories-share"]),
    proof("replay", 300, &[Tool, Histories], Test("replay", "--nocapture"), "real CRDs go through their releases, and no edit is lost")
        .options(&["replay", "replay-steps", "replay-scaffold", "replay-compiles"]),
    proof("samples", 300, &[Tool, Server, Corpus, KUBECTL], Bash("tests/samples/run"), "a real API server accepts the samples of real CRDs"),

    // the API server in memory beside a real one
    proof("control-plane", 240, &[Server], Bash("echo \"$KUBEBUILDER_ASSETS\""), "the real API server is built, once; the folder is printed"),
    proof("kubectl", 60, &[Tool, ServerIfReal, KUBECTL], Bash("tests/kubectl/run"), "kubectl prints the same on both servers")
        .options(&["update"]),
    proof("forms", 20, &[ServerIfReal], Test("forms", ""), "tables, discovery and schemas have the same form on both servers"),
    proof("cases", 120, &[ServerIfReal], Test("cases", ""), "the answers to requests are those of a real API server")
        .options(&["cases-share", "case", "update", "show"]).controllers(CONTROLLERS),
    proof("differential", 300, &[ServerIfReal], Test("differential", ""), "random requests get the same answers from both servers")
        .options(&["fuzz-requests", "fuzz-seed"]).controllers(CONTROLLERS),
    proof("admission", 60, &[ServerIfReal], Test("admission", ""), "admission webhooks are called in the same way on both servers"),
    proof("controllers", 60, &[ServerIfReal], Test("controllers", ""), "the controllers of workloads write what the real ones write")
        .options(&["case", "update"]).controllers(WORKLOADS),
    proof("suites", 600, &[Tool, Server, GO], Bash("tests/suites/run"),
        "what kube and controller-runtime test on a real API server also passes in memory"),
    proof("rules", 60, &[Server, KUBECTL, PIP], Bash("crates/operator-schema/tests/rules/record"),
        "what a real API server answers to CEL rules is recorded"),

    // operators on a real API server
    proof("renewal", 60, &[Server], Test("webhook", "renewal::"), "certificates of webhooks are renewed under load"),
    proof("storage-move", 60, &[Server], Test("webhook", "storage_move::"), "no write is refused while the storage version moves"),
    proof("status", 60, &[ServerIfReal], Test("operator", "status:: ownership:: last_conversion::"), "each write of the runtime owns its fields, and no others"),
    proof("migration", 60, &[Server], Test("operator", "on_a_real_server"), "stored objects are migrated to another version"),
    proof("dev", 180, &[Tool, ServerIfReal, KUBECTL], Bash("tests/dev/run"), "a session of dev follows each edit"),
    proof("e2e", 180, &[Tool, Server, KUBECTL], Bash("tests/e2e/run"), "a new project is installed, and its operator runs with its permissions"),
    proof("uninstall", 60, &[KUBECTL], Bash("cargo test --workspace --test uninstall"), "uninstall removes an operator from the server in memory"),
    proof("uninstall-real", 120, &[Tool, Server, KUBECTL], Bash("tests/uninstall/run"), "uninstall removes an operator from a real API server"),
    proof("monitoring", 60, &[Tool, ServerIfReal, KUBECTL, Program("apt")], Bash("tests/monitoring/run"),
        "alerts fire, the dashboard finds its metrics, and protected metrics need a permission"),

    // outputs
    proof("helm", 60, &[Tool, ServerIfReal, KUBECTL, GO], Bash("tests/helm/run"), "the chart installs what the kustomize base installs"),
    proof("helm-releases", 600, &[Tool, Server, KUBECTL, GO], Bash("tests/helm/releases"),
        "Helm 3, Helm 4 and one after the other add, keep, remove and move the conversion webhook of a CRD"),
    proof("olm", 60, &[Tool, ServerIfReal, KUBECTL, GO], Bash("tests/olm/run"), "the bundle of OLM installs what the kustomize base installs"),
    proof("manifests", 120, &[Tool, KUBECTL, GO, PIP], Bash("tests/judge-manifests"), "checkov and kube-score accept all outputs"),
    proof("outputs", 180, &[Tool, Server, KUBECTL, GO, PIP], Bash("tests/outputs/run"), "the operator of an image works as each output installs it"),
    proof("image", 900, &[Tool, PIP, Program("root")], Bash("tests/image/run"), "the same sources give the same image, and it runs"),

    // beside others
    proof("kopf", 120, &[Tool, ServerIfReal, KUBECTL, PIP], Bash("tests/kopf/run"), "handlers are called for the same causes as those of Kopf").options(&["scripts", "keep"]),
    proof("release", 600, &[], Bash(".ci/release-check"), "the crates can be published, and their API has no unannounced change")
        .options(&["advisories", "rust-downloads"]),
    proof("bench", 1800, &[Server, KUBECTL, PIP], Bash("bench/run"), "measures speed and memory, beside other tools")
        .options(&["corpus", "objects", "large", "foreign", "rest"]),
];
