use super::*;

const WIDGET: &str = r#"apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: widgets.example.com
spec:
  group: example.com
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
"#;

fn problems(text: &str) -> Vec<String> {
    let to_text = |error: ReadError| error.to_string();
    read("x.yaml", text)
        .err()
        .into_iter()
        .flatten()
        .map(to_text)
        .collect()
}

#[test]
fn names_are_defaulted_and_the_bytes_are_kept() {
    let text = format!("kind: ConfigMap\n---\n{WIDGET}");
    let apis = read("x.yaml", &text).unwrap();
    assert_eq!(apis[0].names.list_kind, "WidgetList");
    assert_eq!(apis[0].names.singular, "widget");
    assert_eq!(apis[0].source.line, 3);
    assert_eq!(apis[0].text, WIDGET);
}

#[test]
fn a_file_with_other_objects_is_detected() {
    for text in [
        WIDGET,
        "",
        &format!("---\n{WIDGET}"),
        &format!("\n---\n{WIDGET}---\n"),
    ] {
        assert!(!has_other_content(text), "{text}");
    }
    let other = "kind: ConfigMap\n";
    for text in [
        format!("{WIDGET}---\n{other}"),
        format!("# ours\n---\n{WIDGET}"),
    ] {
        assert!(has_other_content(&text), "{text}");
    }
}

#[test]
fn crds_are_found_in_lists_and_in_json() {
    let value: Value = serde_yaml::from_str(WIDGET).unwrap();
    let list =
        serde_json::json!({"apiVersion": "v1", "kind": "List", "items": [{"kind": "Pod"}, value]});
    let apis = read("-", &list.to_string()).unwrap();
    assert_eq!(apis[0].name(), "widgets.example.com");
    let again = read("-", &apis[0].text).unwrap();
    assert_eq!(again[0].versions, apis[0].versions);
}

#[test]
fn errors_have_their_lines() {
    let cases: [(&str, &str, &str); 12] = [
        (
            "  group: example.com",
            "  group: example.com\n  group: example.org",
            "x.yaml:7: the key `group` is given twice",
        ),
        (
            "kind: CustomRes",
            "kind: [CustomRes",
            "x.yaml:3: this is not YAML or JSON: did not find expected ',' or closing bracket before ':'",
        ),
        (
            "io/v1\n",
            "io/v1beta1\n",
            "x.yaml:1: a CustomResourceDefinition of apiextensions.k8s.io/v1beta1, which Kubernetes removed in 1.22",
        ),
        (
            "name: widgets.example.com",
            "name: widget.example.com",
            "x.yaml:4: the CRD is named `widget.example.com`, but its plural and group make `widgets.example.com`",
        ),
        (
            "group: example.com",
            "group: ../../etc",
            "x.yaml:6: `../../etc` is not a valid API group",
        ),
        (
            "plural: widgets",
            "plural: Widgets",
            "x.yaml:7: `Widgets` is not a valid plural name",
        ),
        (
            "scope: Namespaced",
            "scope: Global",
            "x.yaml:8: this is not a valid CustomResourceDefinition: unknown variant `Global`, expected `Namespaced` or `Cluster`",
        ),
        (
            "served: true",
            "served: false",
            "x.yaml:9: no version is served",
        ),
        (
            "storage: true",
            "storage: false",
            "x.yaml:9: 0 versions are marked as the storage version; there must be one",
        ),
        (
            "openAPIV3Schema:",
            "openapi:",
            "x.yaml:10: the version `v1` has no schema\nx.yaml:14: the API server does not know the field `spec.versions[0].schema.openapi`",
        ),
        (
            "name: v1\n",
            "name: v/1\n",
            "x.yaml:10: `v/1` is not a valid version name",
        ),
        (
            "type: object",
            "type: object\n        description: on",
            "x.yaml:16: kubectl, which reads YAML 1.1, takes the unquoted scalar `on` for another value",
        ),
    ];
    for (before, after, expected) in cases {
        assert_eq!(
            problems(&WIDGET.replace(before, after)).join("\n"),
            expected,
            "{after}"
        );
    }
}

#[test]
fn a_crd_has_a_size_limit_and_a_list_does_not() {
    let expected = ["x.yaml:2: the CRD has more than 16 MiB"];
    let long = |bytes| format!("\n        description: {}\n", "y".repeat(bytes));
    let large = WIDGET.replace(
        "type: object\n",
        &("type: object".to_owned() + &long(17 << 20)),
    );
    assert_eq!(problems(&large), expected);
    // if the line of the kind is written in another way, the text is parsed before its size is checked
    assert_eq!(
        problems(&large.replace("kind: Custom", "kind:  Custom")),
        ["x.yaml:1: the CRD has more than 16 MiB"]
    );
    let json: Value = serde_yaml::from_str(&large).unwrap();
    assert_eq!(problems(&json.to_string()).len(), 1);

    let mut half: Value = serde_yaml::from_str(WIDGET).unwrap();
    half["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["description"] =
        "y".repeat(9 << 20).into();
    let list = serde_json::json!({"kind": "List", "items": [half, half]});
    assert_eq!(read("x.json", &list.to_string()).unwrap().len(), 2);
}

#[test]
fn the_error_of_a_truncated_text_is_in_an_existing_line() {
    for text in ["a: 1\nb", "a: 1\nb\n", "a: [1,\n", "a: {b: 1,"] {
        let lines = text.lines().count();
        let errors = read("x.yaml", text).unwrap_err();
        assert_eq!(errors[0].location.line, lines, "{text:?}");
    }
}

#[test]
fn all_errors_are_reported() {
    let bad = WIDGET.replace("served: true", "served: false");
    assert_eq!(problems(&format!("{bad}---\n{WIDGET}---\n{bad}")).len(), 2);
}

#[test]
fn many_crds_and_errors_are_read() {
    let item = "- kind: CustomResourceDefinition\n";
    let list = format!("kind: List\nitems:\n{}", item.repeat(60_000));
    let errors = read("x.yaml", &list).unwrap_err();
    assert_eq!(errors[1].location.line, 4);
    let value = compose(&list).unwrap();
    let pointers: Vec<String> = (0..60_000).map(|at| format!("/items/{at}/kind")).collect();
    let places = value.positions.unwrap().places(&list, &pointers);
    assert_eq!(places.last(), Some(&(list.len() - 31..list.len() - 1)));
}

/// The first reason why the API server refuses a CRD, with or without types.
fn first_refusal(text: &str) -> ReadError {
    let errors = read("x.yaml", text).map_or_else(
        |errors| errors,
        |apis| apis.iter().flat_map(Api::refusals).collect(),
    );
    errors.into_iter().next().unwrap()
}

#[test]
fn rejections_outside_of_schemas_have_a_position_and_a_help() {
    let annotated = |entry: &str| {
        WIDGET.replace(
            "  name: widgets.example.com\n",
            &format!("  name: widgets.example.com\n  annotations:\n    a: b\n    {entry}\n"),
        )
    };
    let accepted = read("x.yaml", &annotated("example.com/c: d")).unwrap();
    assert_eq!(accepted[0].refused, []);
    for (text, line, pointer, help) in [
        (
            annotated("example.com/: d"),
            7,
            "/metadata/annotations/example.com~1",
            "remove the annotation or give its key a name after the \"/\"",
        ),
        (
            annotated("-c: d"),
            7,
            "/metadata/annotations/-c",
            "remove or rename the annotation",
        ),
        (
            annotated("c: 1"),
            7,
            "/metadata/annotations/c",
            "`kubectl explain customresourcedefinition.spec` shows the fields",
        ),
        (
            WIDGET.replace("plural: widgets}", "plural: widgets, shortNames: [W]}"),
            7,
            "/spec/names/shortNames/0",
            "fix or remove `shortNames[0]`",
        ),
        (
            WIDGET.replace("  group:", "  conversion: {strategy: Webhook}\n  group:"),
            6,
            "/spec/conversion/webhook/conversionReviewVersions",
            "set `conversionReviewVersions`",
        ),
        (
            WIDGET.replace("metadata:\n", "metadata:\n  resourceVersion: \"12\"\n"),
            4,
            "/metadata/resourceVersion",
            "remove `resourceVersion`, which the API server sets itself",
        ),
    ] {
        let error = first_refusal(&text);
        assert_eq!(error.location.line, line, "{error}");
        assert_eq!(error.location.pointer, pointer, "{error}");
        assert_eq!(error.problem.help(), help, "{error}");
    }
}

#[test]
fn placeholders_that_are_filled_in_at_installation_are_accepted() {
    let labelled =
        |labels: &str| WIDGET.replace("metadata:\n", &format!("metadata:\n  labels: {labels}\n"));
    let placeholder = "release: '{{ .Release.Name }}'";
    assert!(read("x.yaml", &labelled(&format!("{{{placeholder}}}"))).is_ok());
    let conversion = "conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1]}}";
    let webhook = WIDGET.replace("  group:", &format!("  {conversion}\n  group:"));
    assert!(read("x.yaml", &webhook).is_ok());
    // a placeholder hides no other fault
    let error = first_refusal(&labelled(&format!("{{{placeholder}, a: '-'}}")));
    assert_eq!(error.location.pointer, "/metadata/labels/a");
}

#[test]
fn a_problem_that_does_not_concern_the_types_leaves_the_crd_readable() {
    for (old, new, count) in [
        ("metadata:\n", "metadata:\n  labels: {a: 1}\n", 1),
        (
            "metadata:\n",
            "metadata:\n  creationTimestamp: yesterday\n",
            1,
        ),
        (
            "metadata:\n",
            "metadata:\n  finalizers: [a b]\n  other: 1\n",
            2,
        ),
        ("spec:\n", "spec:\n  validation: {}\n", 1),
        ("spec:\n", "status: {a: 1}\nspec:\n", 1),
    ] {
        let text = WIDGET.replace(old, new);
        let apis = read("x.yaml", &text).unwrap();
        assert_eq!(apis[0].refused.len(), count, "{new}: {:?}", apis[0].refused);
    }
    // a problem of a field that a cluster has set is not reported
    let text = WIDGET.replace("metadata:\n", "metadata:\n  resourceVersion: \"1\"\n");
    assert_eq!(read("x.yaml", &text).unwrap()[0].warnings(), []);
    // the rest of the CRD is still checked
    let text = WIDGET.replace("metadata:\n", "metadata:\n  labels: {a: 1}\n");
    assert_eq!(problems(&text.replace("true", "false")).len(), 1);
    let text = text.replace("  group:", "  conversion: {strategy: Webhook}\n  group:");
    assert_eq!(problems(&text).len(), 1);
}

#[test]
fn unknown_fields_have_a_place_and_their_name_or_new_place() {
    for (old, new, pointer, help) in [
        (
            "    storage: true\n",
            "    storrage: true\n",
            "/spec/versions/0/storrage",
            "write `storage`",
        ),
        (
            "    storage: true\n",
            "    storage: true\n    additionalPrinterColums: []\n",
            "/spec/versions/0/additionalPrinterColums",
            "write `additionalPrinterColumns`",
        ),
        (
            "    storage: true\n",
            "    storage: true\n    additionalPrinterColumns: [{name: A, type: string, JSONPath: .a}]\n",
            "/spec/versions/0/additionalPrinterColumns/0/JSONPath",
            "write `jsonPath`",
        ),
        (
            "    storage: true\n    schema:\n",
            "    storage: true\n    Schema:\n",
            "/spec/versions/0/Schema",
            "write `schema`",
        ),
        (
            "spec:\n",
            "spec:\n  validation: {openAPIV3Schema: {type: object}}\n",
            "/spec/validation",
            "move it to `spec.versions[].schema`, where apiextensions.k8s.io/v1 has it",
        ),
        (
            "spec:\n",
            "spec:\n  version: v1\n",
            "/spec/version",
            "move it to `spec.versions[].name`, where apiextensions.k8s.io/v1 has it",
        ),
        (
            "spec:\n",
            "spec:\n  subresources: {status: {}}\n",
            "/spec/subresources",
            "move it to `spec.versions[].subresources`, where apiextensions.k8s.io/v1 has it",
        ),
        (
            "spec:\n",
            "spec:\n  conversion: {strategy: None, webhookClientConfig: {}}\n",
            "/spec/conversion/webhookClientConfig",
            "move it to `spec.conversion.webhook.clientConfig`, where apiextensions.k8s.io/v1 has it",
        ),
        (
            "spec:\n",
            "spec:\n  owner: us\n",
            "/spec/owner",
            "remove it: the API server drops it, and kubectl refuses it",
        ),
        (
            "kind: Cust",
            "extra: 1\nkind: Cust",
            "/extra",
            "remove it: the API server drops it, and kubectl refuses it",
        ),
    ] {
        let text = WIDGET.replacen(old, new, 1);
        let errors = read("x.yaml", &text).map_or_else(
            |errors| errors,
            |apis| apis.iter().flat_map(Api::refusals).collect(),
        );
        let unknown = |it: &&ReadError| matches!(it.problem, Problem::UnknownField { .. });
        let error = errors.iter().find(unknown).unwrap();
        assert_eq!(error.location.pointer, pointer, "{error}");
        assert_eq!(error.problem.help(), help, "{error}");
        let last = pointer.rsplit('/').next().unwrap();
        let line = text.lines().position(|it| it.contains(&format!("{last}:")));
        assert_eq!(
            Some(error.location.line),
            line.map(|line| line + 1),
            "{error}"
        );
    }
}

#[test]
fn versions_share_their_selectable_fields_if_and_only_if_they_share_their_schema() {
    let version = |name: &str, selectable: &str, extra: &str| {
        let schema = format!(
            "{{type: object, properties: {{a: {{type: string}}, b: {{type: string}}{extra}}}}}"
        );
        format!(
            "  - {{name: {name}, served: true, storage: {}{selectable}, schema: {{openAPIV3Schema: {schema}}}}}\n",
            name == "v1"
        )
    };
    let (head, _) = WIDGET.split_once("  - name").unwrap();
    let [a, both, back, other, none] = [
        ", selectableFields: [{jsonPath: .a}]",
        ", selectableFields: [{jsonPath: .a}, {jsonPath: .b}]",
        ", selectableFields: [{jsonPath: .b}, {jsonPath: .a}]",
        ", c: {type: string}",
        "",
    ];
    // the results of `ValidateCustomResourceDefinition` in Kubernetes 1.36
    for (v1, v2, extra, expected) in [
        (a, a, "", None),
        (a, a, other, Some("/spec/versions/0/selectableFields")),
        (a, none, other, None),
        (none, a, other, None),
        (a, ", selectableFields: []", other, None),
        (both, back, other, None),
        (none, a, "", Some("/spec/versions/1/selectableFields")),
        (both, back, "", Some("/spec/versions/0/selectableFields")),
        (none, none, other, None),
    ] {
        let text = format!(
            "{head}{}{}",
            version("v1", v1, ""),
            version("v2", v2, extra)
        );
        let errors = read("x.yaml", &text).err().unwrap_or_default();
        let places = errors.first().map(|it| it.location.pointer.as_str());
        assert_eq!(places, expected, "{text}");
    }
}
