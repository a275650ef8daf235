//! The reasons why the API server refuses a CRD, apart from its schemas: their positions in the document, and the help.

use operator_apiserver::{Refusal, UnknownField, Verdict, verdict};
use operator_schema::pointer;
use serde_json::{Value, json};

use super::problem::Problem;

/// Fields that the API server names as in older versions of the API.
const RENAMED: [(&str, &str); 9] = [
    ("spec.version", "/spec/versions/0/name"),
    ("spec.subresources", "/spec/versions/0/subresources"),
    (
        "spec.additionalPrinterColumns",
        "/spec/versions/0/additionalPrinterColumns",
    ),
    ("spec.selectableFields", "/spec/versions/0/selectableFields"),
    ("spec.validation", "/spec/versions/0/schema"),
    (
        "spec.conversion.webhookClientConfig",
        "/spec/conversion/webhook/clientConfig",
    ),
    (
        "spec.conversion.conversionReviewVersions",
        "/spec/conversion/webhook/conversionReviewVersions",
    ),
    ("metadata.ownerReferences", "/metadata/ownerReferences"),
    ("status.storedVersions", "/spec/versions"),
];

/// The field of the conversion webhook, whose values are set at installation: by kustomize, Helm, or the CA injector of cert-manager.
const WEBHOOK: &str = "spec.conversion.webhookClientConfig";

/// The reasons why the API server refuses a CRD, with the JSON pointers of their places.
#[derive(Default)]
pub struct Refused {
    /// The reasons because of which the CRD cannot be used at all.
    pub entire: Vec<(String, Problem)>,
    /// The reasons that do not concern the types: about metadata and unknown fields.
    pub beside_types: Vec<(String, Problem)>,
}

/// Asks the validation of the API server. If it cannot decode the metadata, asks again without them, for the problems of the rest.
pub fn refused(definition: &Value) -> Refused {
    let mut all = verdict(definition);
    let mut refused = Refused::default();
    if is_undecodable(&all) {
        let mut bare = definition.clone();
        bare["metadata"] = json!({"name": definition["metadata"]["name"]});
        let without_metadata = verdict(&bare);
        if !is_undecodable(&without_metadata) {
            let of_metadata = all.refusals.into_iter();
            refused.beside_types = of_metadata
                .map(|it| ("/metadata".to_owned(), problem(it)))
                .collect();
            all = without_metadata;
        }
    }
    for refusal in all.refusals {
        // values that are set before the API server gets the CRD: placeholders of a chart, and the webhook of a conversion
        if refusal.message.contains("{{") || refusal.field.starts_with(WEBHOOK) {
            continue;
        }
        let Refusal { field, message } = &refusal;
        let pointer = entry(definition, field, message).unwrap_or_else(|| pointer(field));
        let list = if field.starts_with("metadata.") && field != "metadata.name" {
            &mut refused.beside_types
        } else {
            &mut refused.entire
        };
        list.push((pointer, problem(refusal)));
    }
    refused
        .beside_types
        .extend(all.unknown.iter().filter_map(unknown));
    refused.entire.dedup();
    refused.beside_types.dedup();
    refused
}

fn problem(Refusal { field, message }: Refusal) -> Problem {
    Problem::Refused { field, message }
}

/// An unknown field outside of the schemas. Unknown keywords are reported with the other problems of a schema.
fn unknown(UnknownField { field, known }: &UnknownField) -> Option<(String, Problem)> {
    if field.contains(".schema.openAPIV3Schema.") {
        return None;
    }
    let name = field.rsplit('.').next().unwrap_or(field);
    let moved = RENAMED.iter().find(|(old, _)| old == field);
    let likeness = |known: &String| strsim::jaro(&known.to_lowercase(), &name.to_lowercase());
    let near = known
        .iter()
        .map(|known| (likeness(known), known))
        .max_by(|(a, _), (b, _)| a.total_cmp(b));
    let instead = match (moved, near) {
        (Some((_, new)), _) => {
            let new = new.replace("/0/", "[]/");
            Some(new.trim_start_matches('/').replace('/', "."))
        }
        (None, Some((likeness, near))) if likeness > 0.85 => Some(near.clone()),
        _ => None,
    };
    let problem = Problem::UnknownField {
        field: field.clone(),
        instead,
    };
    Some((steps(field), problem))
}

/// Whether the API server cannot decode the object, so that it does not check anything else.
fn is_undecodable(verdict: &Verdict) -> bool {
    verdict.refusals.iter().any(|it| it.field.is_empty())
}

/// The JSON pointer to the label, annotation or list item that a message quotes; the field of the message is the whole map or list.
fn entry(definition: &Value, field: &str, message: &str) -> Option<String> {
    let name = field.strip_prefix("metadata.")?;
    let quoted = message.strip_prefix("Invalid value: ")?;
    let quoted = serde_json::Deserializer::from_str(quoted)
        .into_iter::<String>()
        .next()?
        .ok()?;
    match definition.pointer(&format!("/metadata/{name}"))? {
        Value::Object(entries) => {
            let (key, _) = entries
                .iter()
                .find(|(key, value)| **key == quoted || name == "labels" && **value == *quoted)?;
            Some(format!("/metadata/{name}/{}", pointer::escape(key)))
        }
        Value::Array(items) => {
            let index = items.iter().position(|item| *item == *quoted)?;
            Some(format!("/metadata/{name}/{index}"))
        }
        _ => None,
    }
}

/// The JSON pointer of a field such as `spec.versions[0].name`.
fn pointer(field: &str) -> String {
    let renamed = RENAMED.iter().find_map(|(old, new)| {
        let rest = field.strip_prefix(old)?;
        (rest.is_empty() || rest.starts_with(['.', '['])).then_some((*new, rest))
    });
    match renamed {
        Some((new, rest)) => new.to_owned() + &steps(rest),
        None => steps(field),
    }
    .replace("/JSONPath", "/jsonPath")
}

/// The JSON pointer of a path such as `spec.versions[0].name`.
fn steps(path: &str) -> String {
    let mut pointer = String::new();
    for step in path.split(['.', '[']).filter(|step| !step.is_empty()) {
        pointer.push('/');
        pointer += &pointer::escape(step.trim_end_matches(']'));
    }
    pointer
}

/// The help for a refusal.
pub fn help(field: &str, message: &str) -> String {
    let name = field.rsplit('.').next().unwrap_or(field);
    match field {
        "" => "`kubectl explain customresourcedefinition.spec` shows the fields and their types".into(),
        "metadata.annotations" if message.starts_with("Too long") => {
            "remove annotations, `kubectl.kubernetes.io/last-applied-configuration` first".into()
        }
        "metadata.annotations" | "metadata.labels" | "metadata.finalizers" => {
            let part = match field {
                "metadata.annotations" => "annotation",
                "metadata.labels" => "label",
                _ => "finalizer",
            };
            if message.contains("/\": name part") {
                format!("remove the {part} or give its key a name after the \"/\"")
            } else {
                format!("remove or rename the {part}")
            }
        }
        _ if field.starts_with("metadata.annotations[") => {
            "set the annotation as the message says, or use a group outside of k8s.io and kubernetes.io".into()
        }
        _ if field.starts_with("metadata.") => format!("remove `{name}`, which the API server sets itself"),
        "spec.selectableFields" => {
            "leave the selectable fields out of one version: the API server refuses equal ones in versions with different schemas".into()
        }
        _ if name == "selectableFields" => {
            "give all versions the same selectable fields: the API server refuses different ones in versions with equal schemas".into()
        }
        _ if message.starts_with("Required value") => format!("set `{name}`"),
        _ if message.starts_with("Forbidden") => format!("remove `{name}`"),
        _ => format!("fix or remove `{name}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn field_paths_of_the_api_server_become_pointers() {
        for (field, expected) in [
            ("", ""),
            ("metadata.annotations", "/metadata/annotations"),
            (
                "spec.versions[1].additionalPrinterColumns[2].JSONPath",
                "/spec/versions/1/additionalPrinterColumns/2/jsonPath",
            ),
            (
                "spec.additionalPrinterColumns[2].type",
                "/spec/versions/0/additionalPrinterColumns/2/type",
            ),
            ("spec.version", "/spec/versions/0/name"),
            ("spec.versions", "/spec/versions"),
            (
                "spec.conversion.webhookClientConfig.url",
                "/spec/conversion/webhook/clientConfig/url",
            ),
        ] {
            assert_eq!(pointer(field), expected, "{field}");
        }
    }
}
