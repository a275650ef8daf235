//! The reasons why the API server rejects a CRD, except for those of its schemas: their positions in the document, and the help.

use operator_apiserver::{Refusal, refusals};
use operator_schema::pointer;
use serde_json::Value;

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

/// Values that are set when the CRD is installed, by kustomize, Helm, or the CA injector of cert-manager.
const WEBHOOK: &str = "spec.conversion.webhookClientConfig";

/// The violations, with the JSON pointers of their places.
pub fn refused(definition: &Value) -> Vec<(String, Problem)> {
    let refusals = refusals(definition).into_iter();
    // values that are set before the API server gets the CRD: placeholders of a chart, and the webhook of a conversion
    let refusals = refusals
        .filter(|refusal| !refusal.message.contains("{{") && !refusal.field.starts_with(WEBHOOK));
    let mut problems: Vec<(String, Problem)> = refusals
        .map(|Refusal { field, message }| {
            let pointer = entry(definition, &field, &message).unwrap_or_else(|| pointer(&field));
            (pointer, Problem::Refused { field, message })
        })
        .collect();
    problems.dedup();
    problems
}

/// The label or annotation that a message quotes; the field of the message is the whole map.
fn entry(definition: &Value, field: &str, message: &str) -> Option<String> {
    let name = field.strip_prefix("metadata.")?;
    let quoted = message.strip_prefix("Invalid value: ")?;
    let mut quoted = serde_json::Deserializer::from_str(quoted).into_iter::<String>();
    let quoted = quoted.next()?.ok()?;
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
    let (mut pointer, rest) = match renamed {
        Some((pointer, rest)) => (pointer.to_owned(), rest),
        None => (String::new(), field),
    };
    for step in rest.split(['.', '[']).filter(|step| !step.is_empty()) {
        let step = match step.trim_end_matches(']') {
            "JSONPath" => "jsonPath",
            step => step,
        };
        pointer.push('/');
        pointer += &pointer::escape(step);
    }
    pointer
}

/// The help for a violation.
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
