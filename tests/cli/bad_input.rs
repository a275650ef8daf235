//! Invalid CRDs: each gives an error or a warning with its line, and nothing worse, such as a panic.

use std::{fs, time::Instant};

use super::support::{WIDGET, folder, ok, project, run, run_with};

/// The CRD with another field `x`, and the line of that field.
fn with(field: &str) -> (String, usize) {
    let text = WIDGET.replace(
        "              size:\n",
        &format!("              x: {field}\n              size:\n"),
    );
    assert_ne!(text, WIDGET);
    let line = text.lines().position(|line| line.contains(" x: ")).unwrap() + 1;
    (text, line)
}

#[test]
fn schemas_that_the_api_server_rejects_are_refused() {
    let folder = folder();
    for (field, code, expected) in [
        ("{type: int}", "refused-schema", "`type` must be one of"),
        ("{}", "refused-schema", "`type` must not be empty"),
        (
            "{$ref: '#/definitions/x'}",
            "refused-schema",
            "`$ref` is not supported",
        ),
        (
            "{type: array}",
            "refused-schema",
            "`items` must be specified",
        ),
        (
            "{type: integer, minimum: 1, default: 0}",
            "invalid-default",
            "greater than or equal to 1",
        ),
        (
            "{type: string, pattern: '^(?!x).*$'}",
            "invalid-pattern",
            "valid regular expression",
        ),
        (
            "{type: string, pattern: '['}",
            "invalid-pattern",
            "missing closing ]",
        ),
        (
            "{type: number, minimum: .nan}",
            "syntax",
            "NaN is not a JSON number",
        ),
        (
            "{type: number, default: -.inf}",
            "syntax",
            "-inf is not a JSON number",
        ),
        (
            "{type: string, minLength: 99999999999999999999}",
            "not-a-definition",
            "expected i64",
        ),
        (
            "{type: [string, 'null']}",
            "not-a-definition",
            "expected a string",
        ),
        ("*nope", "syntax", "unknown anchor"),
        (
            "{type: string, description: \"\u{0}\"}",
            "syntax",
            "control characters",
        ),
    ] {
        let (text, line) = with(field);
        let run = run_with(folder.path(), "types -", &text);
        assert_eq!(run.code, 2, "{field}: {}", run.stderr);
        for part in [
            &format!("error[{code}]: "),
            expected,
            &format!("--> -:{line}:"),
            "= help: ",
        ] {
            assert!(run.stderr.contains(part), "{field}: {part}: {}", run.stderr);
        }
    }
}

#[test]
fn contradictions_that_the_api_server_accepts_are_warnings() {
    let folder = folder();
    for (field, code, expected) in [
        (
            "{type: integer, minimum: 3, maximum: 2}",
            "contradiction",
            "no value is valid",
        ),
        (
            "{type: string, minLength: 3, maxLength: 2}",
            "contradiction",
            "no value is valid",
        ),
        (
            "{type: integer, minimun: 1}",
            "unknown-keyword",
            "`minimun` is not a keyword",
        ),
        (
            "{type: number, maximum: 99999999999999999999999999, minimun: 1}",
            "unknown-keyword",
            "`minimun`",
        ),
    ] {
        let (text, line) = with(field);
        let run = run_with(folder.path(), "types -", &text);
        assert_eq!(run.code, 0, "{field}: {}", run.stderr);
        for part in [
            &format!("warning[{code}]: "),
            expected,
            &format!("--> -:{line}:"),
        ] {
            assert!(run.stderr.contains(part), "{field}: {part}: {}", run.stderr);
        }
    }
}

#[test]
fn deep_nesting_and_multiplied_aliases_are_rejected_quickly() {
    let folder = folder();
    let mut bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for (name, before) in ('b'..='m').zip('a'..) {
        bomb += &format!(
            "{name}: &{name} [{}]\n",
            vec![format!("*{before}"); 9].join(", ")
        );
    }
    let nested: String = (0..2_000)
        .map(|level| " ".repeat(14 + level) + "x:\n")
        .collect();
    for (text, expected) in [
        (with(&"[".repeat(200_000)).0, "error[too-deep]"),
        (
            with(&"{type: object, properties: {a: ".repeat(10_000)).0,
            "error[too-deep]",
        ),
        (with(&format!("\n{nested}")).0, "error[too-deep]"),
        ("[".repeat(300_000), "error[too-deep]"),
        ("{\"a\":".repeat(300_000), "error[too-deep]"),
        (format!("a: &a [*a]\n{WIDGET}"), "error[too-deep]"),
        (bomb + WIDGET, "repetition limit exceeded"),
    ] {
        fs::write(folder.path().join("x.yaml"), text).unwrap();
        let begun = Instant::now();
        let run = run(folder.path(), "types x.yaml");
        assert_eq!(run.code, 2, "{expected}");
        assert!(
            run.stderr.contains(expected) && run.stderr.contains("--> x.yaml:"),
            "{expected}: {}",
            run.stderr
        );
        assert!(run.stderr.len() < 2_000, "excerpts are cut");
        assert!(begun.elapsed().as_secs() < 20, "{expected}");
    }
}

#[test]
fn unusual_texts_are_read_or_rejected_with_their_line() {
    let folder = folder();
    let (text, line) = with("{type: string, minimun: 1}");
    for (text, line) in [
        (format!("\u{feff}{text}"), line),
        (text.replace('\n', "\r\n"), line),
        (text.replace('\n', "\r"), line),
        (format!("---\n{text}---\n"), line + 1),
    ] {
        let run = run_with(folder.path(), "types -", &text);
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert!(
            run.stderr.contains(&format!("--> -:{line}:")),
            "{}",
            run.stderr
        );
    }
    for (bytes, expected) in [
        (
            format!("%YAML 1.1\n---\n{WIDGET}").into_bytes(),
            "--> x.yaml:1:",
        ),
        (
            [WIDGET.as_bytes(), b"# \xff\n"].concat(),
            "x.yaml:60: this is not UTF-8",
        ),
        (
            b"{\"kind\": \"CustomResourceDefinition\", \"x\": \"\\ud83d\"}".to_vec(),
            "--> x.yaml:1:",
        ),
        (
            with(&format!(
                "{{type: int, description: \"{}\"}}",
                "y".repeat(10_000_000)
            ))
            .0
            .into_bytes(),
            "--> x.yaml:",
        ),
    ] {
        fs::write(folder.path().join("x.yaml"), bytes).unwrap();
        let run = run(folder.path(), "types x.yaml");
        assert_eq!(run.code, 2, "{expected}");
        assert!(run.stderr.contains(expected), "{expected}: {}", run.stderr);
        assert!(run.stderr.len() < 2_000, "excerpts are cut");
    }
}

#[test]
fn a_kind_without_a_sample_gets_the_closest_object_which_its_tests_refuse() {
    let folder = folder();
    let none = WIDGET.replace(
        "              size:\n",
        "              x: {type: string, pattern: '^[a-f]{8}$', maxLength: 4}\n              size:\n",
    );
    let none = none.replace(
        "            - size\n",
        "            - size\n            - x\n",
    );
    fs::write(folder.path().join("none.yaml"), none).unwrap();
    let run = ok(folder.path(), "init p --crd none.yaml");
    let file = "manifests/samples/widgets.example.com.yaml";
    for expected in [
        "warning[no-valid-sample]",
        &format!("{file} has the closest one, and tests fail until it is valid"),
        "spec.x: Too long: may not be more than 4 bytes",
    ] {
        assert!(run.stderr.contains(expected), "{}", run.stderr);
    }
    let p = folder.path().join("p");
    assert!(fs::read_to_string(p.join(file)).unwrap().contains("x: "));
    let tests = fs::read_to_string(p.join("tests/all/generated.rs")).unwrap();
    assert!(tests.contains(file), "{tests}");
    super::support::edit(&p.join(file), |text| text + "# mine\n");
    let adopt = format!("regenerate --adopt {file}");
    let refused = format!(
        "warning[no-valid-sample]: Widget.example.com: the schema does not accept {file}: spec.x: Too long"
    );
    for command in [&adopt, "regenerate", "regenerate --check"] {
        let run = ok(&p, command);
        assert_eq!(
            run.stderr.matches("no-valid-sample]").count(),
            1,
            "{}",
            run.stderr
        );
        assert!(run.stderr.contains(&refused), "{}", run.stderr);
    }
}

#[test]
fn samples_of_the_user_that_a_changed_schema_refuses_are_reported() {
    use super::support::edit;

    let folder = project();
    let p = folder.path().join("p");
    let sample = "manifests/samples/widgets.example.com.yaml";
    edit(&p.join(sample), |text| text + "# mine\n");
    let own = "tests/large.yaml";
    fs::copy(p.join(sample), p.join(own)).unwrap();
    edit(&p.join("operator.toml"), |text| {
        text.replacen("[[kind]]\n", &format!("[[kind]]\nsamples = [{own:?}]\n"), 1)
    });
    let run = ok(&p, &format!("regenerate --adopt {sample}"));
    assert!(!run.stderr.contains("no-valid-sample"), "{}", run.stderr);
    edit(&p.join("crds/widgets.example.com.yaml"), |text| {
        text.replacen(
            "            - size\n",
            "            - size\n            - added\n",
            1,
        )
        .replacen(
            "              size:\n",
            "              added: {type: string}\n              size:\n",
            1,
        )
    });
    let run = ok(&p, "regenerate --allow-breaking");
    for path in [sample, own] {
        let refused = format!("the schema does not accept {path}: spec.added: Required value");
        assert!(run.stderr.contains(&refused), "{}", run.stderr);
    }
}

#[test]
fn a_kind_without_the_file_of_a_sample_has_no_test_that_needs_it() {
    let folder = project();
    let p = folder.path().join("p");
    for path in [
        "manifests/samples/widgets.example.com.yaml",
        "tests/all/widget.rs",
    ] {
        fs::remove_file(p.join(path)).unwrap();
    }
    ok(&p, "regenerate");
    for (path, text) in super::support::files(&p.join("tests")) {
        assert!(!text.contains("manifests/samples"), "{path}");
    }
}
