//! Which advice each command gives: the reports about what the user's own files need, or lose.

use std::{fs, path::Path};

use tempfile::TempDir;

use super::{
    conversions::{CRD, SIZE, edit_v2},
    support::{WIDGET, edit, files, folder, ok, run, with_v2},
};

/// The commands, by their names in the matrix, with arguments for the projects of this file. None of them writes. The project that
/// `inspect` describes is the one after a later `regenerate`.
const COMMANDS: [(&str, &str); 9] = [
    ("init", "init ../new --crd ../widget.yaml --dry-run"),
    ("add-crd", "add-crd ../clusters.yaml --types-only --dry-run"),
    ("add-controller", "add-controller v1/Node --dry-run"),
    ("add-version", "add-version Widget v3 --dry-run"),
    ("add-webhook", "add-webhook v1/Pod --validate --dry-run"),
    ("regenerate", "regenerate --dry-run"),
    ("check", "regenerate --check"),
    ("remove", "remove secret --dry-run"),
    ("gen-manifests", "gen-manifests --dry-run"),
];

/// The commands that generate all files.
const EACH: &[&str] = &[
    "add-crd",
    "add-controller",
    "add-webhook",
    "regenerate",
    "check",
    "remove",
];

const EACH_AND_INSPECT: &[&str] = &[
    "add-crd",
    "add-controller",
    "add-webhook",
    "regenerate",
    "check",
    "remove",
    "inspect",
];

struct Advice {
    name: &'static str,
    /// A part of its message.
    message: &'static str,
    /// The commands that report it, if it is due.
    commands: &'static [&'static str],
    /// Whether it is repeated when the project is up to date.
    repeats: bool,
}

/// A project with its advice.
struct Case {
    set_up: fn() -> TempDir,
    advice: &'static [Advice],
}

/// There is nothing to generate, but the user's files do not match.
const UP_TO_DATE: Case = Case {
    set_up: up_to_date,
    advice: &[
        Advice {
            name: "controllers",
            message: "lacks FINALIZER",
            commands: EACH_AND_INSPECT,
            repeats: true,
        },
        Advice {
            name: "missing files",
            message: "src/controllers/pod.rs is missing, which has",
            commands: EACH_AND_INSPECT,
            repeats: true,
        },
        Advice {
            name: "webhooks",
            message: "does not implement `Validate`",
            commands: EACH_AND_INSPECT,
            repeats: true,
        },
        Advice {
            name: "rules",
            message: "there is no resource `Secret`",
            commands: EACH_AND_INSPECT,
            repeats: true,
        },
        Advice {
            name: "without effect",
            message: "`migrate-storage` has no effect",
            commands: EACH,
            repeats: true,
        },
        Advice {
            name: "limits of a bundle",
            message: "OLM has no match conditions",
            commands: &[
                "add-crd",
                "add-controller",
                "add-webhook",
                "regenerate",
                "check",
                "remove",
                "gen-manifests",
                "inspect",
            ],
            repeats: false,
        },
        Advice {
            name: "image",
            message: "no image is set yet",
            commands: &[
                "init",
                "add-crd",
                "add-controller",
                "add-webhook",
                "regenerate",
                "check",
                "remove",
                "gen-manifests",
            ],
            repeats: false,
        },
        Advice {
            name: "local runtime",
            message: "only this machine has the runtime",
            commands: &["init", "check", "gen-manifests"],
            repeats: false,
        },
    ],
};

/// `operator.toml` and the CRD have changed.
const CHANGED: Case = Case {
    set_up: changed,
    advice: &[
        Advice {
            name: "example",
            message: "the example in src/controllers/gadget.rs applies",
            commands: EACH,
            repeats: false,
        },
        Advice {
            name: "retyped fields",
            message: "the type of `spec.size` in v1 was",
            commands: EACH,
            repeats: false,
        },
        Advice {
            name: "affected code",
            message: "is removed or has another type",
            commands: &[
                "add-crd",
                "add-controller",
                "add-webhook",
                "regenerate",
                "remove",
            ],
            repeats: false,
        },
        Advice {
            name: "comparison",
            message: "is missing, so the CRD was not compared",
            commands: EACH,
            repeats: false,
        },
        Advice {
            name: "abandoned children",
            message: "was removed from `owns`",
            commands: EACH,
            repeats: false,
        },
        Advice {
            name: "abandoned finalizers",
            message: "objects that have its finalizer p/pod cannot be deleted",
            commands: EACH,
            repeats: false,
        },
        Advice {
            name: "stale objects",
            message: "poddisruptionbudgets.policy/p",
            commands: EACH,
            repeats: false,
        },
        Advice {
            name: "no conversion",
            message: "the schemas of v1 and v2 differ, and nothing converts between them",
            commands: EACH_AND_INSPECT,
            repeats: false,
        },
    ],
};

/// A kind with two versions, whose conversion is new.
const CONVERTED: Case = Case {
    set_up: converted,
    advice: &[
        Advice {
            name: "answers",
            message: "an open question about v2 and v1",
            commands: EACH_AND_INSPECT,
            repeats: true,
        },
        Advice {
            name: "kept fields",
            message: "kept for v1, not visible in v2: spec.replicas",
            commands: EACH_AND_INSPECT,
            repeats: false,
        },
    ],
};

fn set(p: &Path, from: &str, to: &str) {
    edit(&p.join("operator.toml"), |text| {
        assert!(text.contains(from), "{from}: {text}");
        text.replacen(from, to, 1)
    });
}

fn up_to_date() -> TempDir {
    let folder = folder();
    ok(folder.path(), "init p --crd widget.yaml");
    let p = folder.path().join("p");
    ok(&p, "add-controller v1/Pod");
    ok(&p, "add-controller v1/Secret");
    set(
        &p,
        "\n[[kind]]",
        "migrate-storage = true\npackaging = [\"kustomize\", \"olm\"]\n\n[[kind]]",
    );
    set(
        &p,
        "owns = [",
        "cleanup = true\nrules = [{ apiGroups = [\"\"], resources = [\"Secret\"], verbs = [\"get\"] }]\nwebhooks = [{ webhook = \"validate\", match-conditions = [{ name = \"x\", expression = \"true\" }] }]\nowns = [",
    );
    ok(&p, "regenerate");
    edit(&p.join("src/webhooks/widget.rs"), |text| {
        text.replace("Validate for", "Nothing for")
    });
    fs::remove_file(p.join("src/controllers/pod.rs")).unwrap();
    folder
}

fn changed() -> TempDir {
    let folder = folder();
    ok(
        folder.path(),
        "init p --crd widget.yaml --scaffold declarative",
    );
    let p = folder.path().join("p");
    let gadget = WIDGET
        .replace("Widget", "Gadget")
        .replace("widget", "gadget");
    fs::write(folder.path().join("gadget.yaml"), gadget).unwrap();
    ok(&p, "add-crd ../gadget.yaml --types-only");
    ok(&p, "add-controller v1/Pod --cleanup");
    ok(&p, "add-controller v1/Secret");
    edit(&p.join("operator.toml"), |text| {
        text + "\n[deployment]\nreplicas = 2\n"
    });
    ok(&p, "gen-manifests --image registry.example.com/p:1");
    set(&p, "replicas = 2", "replicas = 1");
    edit(&p.join("src/controllers/widget.rs"), |text| {
        text + "fn size(widget: &crate::api::widget::v1::Widget) { let _ = widget.spec.size; }\n"
    });
    set(&p, "owns = [\"apps/v1/Deployment\"]", "owns = []");
    set(
        &p,
        "\n[[controller]]\nname = \"pod\"\nkind = \"v1/Pod\"\ncache = \"metadata\"\ncleanup = true\n",
        "",
    );
    edit(&p.join("operator.toml"), |text| {
        let at = text.find("kind = \"Gadget\"").unwrap();
        let gadget = text[at..].replacen('\n', "\nscaffold = \"reconciler\"\nowns = []\n", 1);
        text[..at].to_owned() + &gadget
    });
    edit(&p.join(CRD), |text| {
        with_v2(text).replacen("format: int32", "format: int64", 1)
    });
    fs::remove_file(p.join(".operator/crds/gadgets.example.com.yaml")).unwrap();
    edit(&p.join("crds/gadgets.example.com.yaml"), |text| {
        text.replacen("How big it is.", "How large it is.", 1)
    });
    folder
}

fn converted() -> TempDir {
    let folder = folder();
    ok(folder.path(), "init p --crd widget.yaml");
    let p = folder.path().join("p");
    ok(&p, "add-controller v1/Secret");
    ok(&p, "add-version Widget v2");
    let replicas = "              replicas:\n                description: How many there are.\n                type: integer\n                format: int32\n";
    edit_v2(&p, &[SIZE, (replicas, "")]);
    folder
}

#[test]
fn each_command_gives_the_advice_of_the_matrix() {
    let mut wrong = vec![];
    for case in [UP_TO_DATE, CHANGED, CONVERTED] {
        let folder = (case.set_up)();
        let p = folder.path().join("p");
        let before = files(&p);
        let mut outputs = COMMANDS
            .map(|(name, args)| {
                let run = run(&p, &format!("{args} --format json"));
                (name, run.stdout + &run.stderr)
            })
            .to_vec();
        assert_eq!(files(&p), before);
        ok(&p, "regenerate --allow-breaking");
        let again = run(&p, "regenerate").stderr;
        outputs.push(("inspect", ok(&p, "inspect").stderr));
        for advice in case.advice {
            let commands: Vec<&str> = outputs
                .iter()
                .filter(|(_, output)| output.contains(advice.message))
                .map(|(name, _)| *name)
                .collect();
            let repeats = again.contains(advice.message);
            if commands != advice.commands || repeats != advice.repeats {
                wrong.push((advice.name, commands, repeats));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
