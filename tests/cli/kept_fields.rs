//! The notes about fields that only one of two versions has.

use super::{
    conversions::{CRD, converted, edit_v2},
    support::{edit, ok},
};

/// A replacement of the field `replicas` by boolean fields, whose names are these letters.
fn v2_with(letters: &str) -> (&'static str, String) {
    let fields = letters
        .chars()
        .map(|letter| format!("              {letter}: {{type: boolean}}\n"));
    let replicas = "              replicas:\n                description: How many there are.\n                type: integer\n                format: int32\n";
    (replicas, fields.collect())
}

#[test]
fn fields_of_one_version_are_noted_when_the_conversion_changes() {
    let (before, after) = v2_with("abcdefg");
    let folder = converted(&[(before, &after)]);
    let p = folder.path().join("p");
    let run = ok(&p, "regenerate");
    for note in [
        "note[kept-fields]: Widget.example.com: kept for v1, not visible in v2: spec.replicas\n",
        "note[kept-fields]: Widget.example.com: kept for v2, not visible in v1: spec.a, spec.b, spec.c, spec.d, spec.e (and 2 more)\n",
    ] {
        assert!(run.stderr.contains(note), "{note}: {}", run.stderr);
    }
    // a change that leaves the conversion as it is
    edit(&p.join(CRD), |text| {
        text.replacen("How big it is.", "How large it is.", 1)
    });
    let run = ok(&p, "regenerate");
    assert!(run.stdout.contains("src/api/widget/v1.rs"));
    assert!(!run.stderr.contains("kept-fields"), "{}", run.stderr);
    let inspect = ok(&p, "inspect Widget");
    assert!(
        inspect.stderr.contains(
            "kept for v2, not visible in v1: spec.a, spec.b, spec.c, spec.d, spec.e, spec.f, spec.g\n"
        ),
        "{}",
        inspect.stderr
    );
    edit_v2(&p, &[("              g: {type: boolean}\n", "")]);
    let run = ok(&p, "regenerate --allow-breaking");
    assert!(run.stderr.contains("spec.e (and 1 more)"), "{}", run.stderr);
}

#[test]
fn fields_whose_values_are_not_kept_or_moved_by_a_rule_are_not_noted() {
    let (before, after) = v2_with("abc");
    let folder = converted(&[(before, &after)]);
    let p = folder.path().join("p");
    edit(&p.join("operator.toml"), |text| {
        text.replace("hub = \"v1\"", "hub = \"v1\"\nsensitive = [\"spec.a\"]")
    });
    let run = ok(&p, "regenerate");
    assert!(
        run.stderr.contains("not visible in v1: spec.b, spec.c\n"),
        "{}",
        run.stderr
    );
    edit(&p.join("src/api/widget/conversion.rs"), |text| {
        let declared = "declared: vec![Declared::lossy(\"spec.b\", object())]";
        text.replace("declared: vec![]", declared)
    });
    let run = ok(&p, "inspect");
    assert!(
        run.stderr.contains("not visible in v1: spec.c\n"),
        "{}",
        run.stderr
    );
}

#[test]
fn an_object_of_one_version_is_not_noted_for_the_fields_in_it_that_are_renamed() {
    let (before, _) = v2_with("");
    let object = "              scale:\n                type: object\n                properties:\n                  count: {type: integer, format: int32}\n                  limit: {type: integer}\n";
    let folder = converted(&[(before, object)]);
    let p = folder.path().join("p");
    edit(&p.join("operator.toml"), |text| {
        let rename = "{ version = \"v2\", from = \"spec.scale.count\", to = \"spec.replicas\" }";
        text.replace(
            "hub = \"v1\"",
            &format!("hub = \"v1\"\nrenames = [{rename}]"),
        )
    });
    let run = ok(&p, "regenerate");
    assert!(
        run.stderr
            .contains("kept for v2, not visible in v1: spec.scale.limit\n"),
        "{}",
        run.stderr
    );
    assert!(!run.stderr.contains("kept for v1"), "{}", run.stderr);
}

#[test]
fn a_field_with_the_name_of_a_secret_may_be_declared_as_sensitive() {
    let (before, _) = v2_with("");
    let object = "              admin:\n                type: object\n                properties:\n                  secretName: {type: string}\n                  apiTokens: {type: array, items: {type: string}}\n";
    let folder = converted(&[(before, object)]);
    let p = folder.path().join("p");
    let run = ok(&p, "regenerate");
    let help = "help: if values of `spec.admin.apiTokens[]` are secret, add it to `sensitive` of the kind in operator.toml";
    assert!(run.stderr.contains(help), "{}", run.stderr);
    edit(&p.join("operator.toml"), |text| {
        text.replace(
            "hub = \"v1\"",
            "hub = \"v1\"\nsensitive = [\"spec.admin.apiTokens[]\"]",
        )
    });
    let run = ok(&p, "inspect");
    assert!(run.stderr.contains("spec.admin"), "{}", run.stderr);
    assert!(!run.stderr.contains("are secret"), "{}", run.stderr);
}
