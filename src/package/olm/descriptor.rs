//! How a console shows the fields of a kind: <https://github.com/openshift/console/blob/main/frontend/packages/operator-lifecycle-manager/src/components/descriptors/reference/reference.md>

use operator_schema::Schema;
use serde_json::{Value, json};

use crate::crd::Version;

const UI: &str = "urn:alm:descriptor:com.tectonic.ui";
const KUBERNETES: &str = "urn:alm:descriptor:io.kubernetes";

/// The maximum number of values of an enum that a console lists.
const MAX_CHOICES: usize = 20;

/// Descriptors of the direct fields of the spec and of the status; for nested fields, a console uses the schema.
pub fn descriptors(version: &Version) -> [Vec<Value>; 2] {
    ["spec", "status"].map(|part| {
        let fields = version.schema.properties.get(part);
        let fields = fields.into_iter().flat_map(|it| &it.properties);
        fields
            .map(|(name, schema)| {
                let mut descriptor = json!({"path": name, "displayName": words(name)});
                if let Some(description) = &schema.description {
                    descriptor["description"] = description.trim().into();
                }
                let forms = match part {
                    "spec" => spec_forms(version, name, schema),
                    _ => status_forms(name, schema),
                };
                if !forms.is_empty() {
                    descriptor["x-descriptors"] = forms.into();
                }
                descriptor
            })
            .collect()
    })
}

/// The controls with which a field of the spec is edited.
fn spec_forms(version: &Version, name: &str, schema: &Schema) -> Vec<String> {
    let scale = version.scale.as_ref();
    if scale.is_some_and(|scale| scale.spec_replicas_path == format!(".spec.{name}")) {
        return vec![format!("{UI}:podCount")];
    }
    let choices = schema.enum_.iter().flatten().filter_map(Value::as_str);
    let choices: Vec<String> = choices.map(|it| format!("{UI}:select:{it}")).collect();
    if !choices.is_empty() && choices.len() <= MAX_CHOICES {
        return choices;
    }
    let has = |field: &str| schema.properties.contains_key(field);
    let form = match schema.type_.as_deref() {
        Some("boolean") => "booleanSwitch",
        Some("integer" | "number") => "number",
        Some("string") if schema.format.as_deref() == Some("password") => "password",
        Some("string") => "text",
        Some("object") if has("limits") && has("requests") => "resourceRequirements",
        _ => return vec![],
    };
    vec![format!("{UI}:{form}")]
}

fn status_forms(name: &str, schema: &Schema) -> Vec<String> {
    match (name, schema.type_.as_deref()) {
        ("conditions", Some("array")) => vec![format!("{KUBERNETES}.conditions")],
        ("phase", Some("string")) => vec![format!("{KUBERNETES}.phase")],
        (_, Some("string" | "integer" | "number" | "boolean")) => vec![format!("{UI}:text")],
        _ => vec![],
    }
}

/// The words of a name, for humans: `minReadySeconds` is "Min Ready Seconds", `cluster-operator` is "Cluster Operator".
pub fn words(name: &str) -> String {
    let characters: Vec<char> = name.chars().collect();
    let mut text = String::new();
    for (index, &character) in characters.iter().enumerate() {
        if matches!(character, '-' | '_' | '.') {
            continue;
        }
        let before = index.checked_sub(1).map(|before| characters[before]);
        let after = characters.get(index + 1);
        let begins = match before {
            None | Some('-' | '_' | '.') => true,
            // an abbreviation ends where the next word begins: `URLPath`
            Some(before) if character.is_uppercase() => {
                !before.is_uppercase() || after.is_some_and(|it| it.is_lowercase())
            }
            Some(_) => false,
        };
        if begins && !text.is_empty() {
            text.push(' ');
        }
        if begins {
            text.extend(character.to_uppercase());
        } else {
            text.push(character);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_split_into_words() {
        for (name, expected) in [
            ("Memcached", "Memcached"),
            ("minReadySeconds", "Min Ready Seconds"),
            ("clusterIP", "Cluster IP"),
            ("URLPath", "URL Path"),
            ("ipv6Only", "Ipv6 Only"),
            ("memcached-operator", "Memcached Operator"),
            ("x_y", "X Y"),
        ] {
            assert_eq!(words(name), expected);
        }
    }

    #[test]
    fn a_field_is_edited_by_what_fits_its_schema() {
        let schema: Schema = serde_json::from_value(json!({
            "type": "object",
            "properties": {
                "spec": {"type": "object", "properties": {
                    "replicas": {"type": "integer"},
                    "size": {"type": "integer", "description": "How large it is.\n"},
                    "mode": {"type": "string", "enum": ["fast", "safe"]},
                    "resources": {"type": "object", "properties": {"limits": {"type": "object"}, "requests": {"type": "object"}}},
                    "items": {"type": "array"},
                }},
                "status": {"type": "object", "properties": {
                    "conditions": {"type": "array"},
                    "endpoint": {"type": "string"},
                }},
            },
        }))
        .unwrap();
        let scale =
            json!({"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"});
        let version = Version {
            name: "v1".into(),
            served: true,
            storage: true,
            deprecated: Default::default(),
            schema,
            schema_warnings: vec![],
            status_subresource: true,
            scale: serde_json::from_value(scale).unwrap(),
            printer_columns: vec![],
            selectable_fields: vec![],
            index: 0,
        };
        let shown = descriptors(&version).map(|of| {
            of.iter()
                .map(|it| format!("{} {}", it["path"], it["x-descriptors"]))
                .collect::<Vec<_>>()
        });
        let ui = |form: &str| format!("\"{UI}:{form}\"");
        let [select, safe] = [ui("select:fast"), ui("select:safe")];
        assert_eq!(
            shown[0],
            [
                format!("\"replicas\" [{}]", ui("podCount")),
                format!("\"size\" [{}]", ui("number")),
                format!("\"mode\" [{select},{safe}]"),
                format!("\"resources\" [{}]", ui("resourceRequirements")),
                "\"items\" null".to_owned(),
            ]
        );
        assert_eq!(
            shown[1],
            [
                format!("\"conditions\" [\"{KUBERNETES}.conditions\"]"),
                format!("\"endpoint\" [{}]", ui("text")),
            ]
        );
        assert_eq!(
            descriptors(&version)[0][1]["description"],
            "How large it is."
        );
    }
}
