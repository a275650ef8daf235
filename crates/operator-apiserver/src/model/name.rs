//! The rules for [names], labels and finalizers, with the messages of the API server.
//!
//! [names]: https://kubernetes.io/docs/concepts/overview/working-with-objects/names/

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const DNS1035: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const CONFIG_KEY: &str = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
const QUALIFIED: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

fn is_label(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !text.is_empty() && text.chars().all(inner) && !text.starts_with('-') && !text.ends_with('-')
}

fn is_word(text: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let ends = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    text.chars().all(fits) && ends(text.chars().next()) && ends(text.chars().next_back())
}

/// The violations of the rules for DNS subdomains.
pub(crate) fn bad_subdomain(text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    if text.len() > 253 {
        wrong.push("must be no more than 253 characters".to_owned());
    }
    if !text.split('.').all(is_label) {
        wrong.push(SUBDOMAIN.to_owned());
    }
    wrong
}

/// The violations of the rules for DNS labels.
pub(crate) fn bad_label(text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    if text.len() > 63 {
        wrong.push("must be no more than 63 characters".to_owned());
    }
    if !is_label(text) {
        wrong.push(LABEL.to_owned());
    }
    wrong
}

/// The violations of the rules for DNS labels that begin with a letter.
pub(crate) fn bad_dns1035(text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    if text.len() > 63 {
        wrong.push("must be no more than 63 characters".to_owned());
    }
    if !is_label(text) || text.starts_with(|letter: char| letter.is_ascii_digit()) {
        wrong.push(DNS1035.to_owned());
    }
    wrong
}

/// The violations of the rules for keys of ConfigMaps and Secrets.
pub(crate) fn bad_config_key(text: &str) -> Vec<String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let mut wrong = Vec::new();
    if text.len() > 253 {
        wrong.push("must be no more than 253 characters".to_owned());
    }
    if text.is_empty() || !text.chars().all(fits) {
        wrong.push(CONFIG_KEY.to_owned());
    }
    let place = match text {
        "." => Some("must not be '.'"),
        ".." => Some("must not be '..'"),
        _ if text.starts_with("..") => Some("must not start with '..'"),
        _ => None,
    };
    wrong.extend(place.map(str::to_owned));
    wrong
}

/// The violations of the rules for keys of labels and annotations: a name, optionally after a domain.
pub(crate) fn bad_label_key(text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    let parts: Vec<&str> = text.split('/').collect();
    let name = match parts.as_slice() {
        [name] => *name,
        [domain, name] => {
            if domain.is_empty() {
                wrong.push("prefix part must be non-empty".to_owned());
            } else {
                wrong.extend(
                    bad_subdomain(domain)
                        .iter()
                        .map(|w| format!("prefix part {w}")),
                );
            }
            *name
        }
        _ => {
            return vec![format!(
                "a valid label key {} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
                QUALIFIED.trim_start_matches("name part ")
            )];
        }
    };
    if name.is_empty() {
        wrong.push("name part must be non-empty".to_owned());
    } else if name.len() > 63 {
        wrong.push("name part must be no more than 63 bytes".to_owned());
    }
    if !is_word(name) {
        wrong.push(QUALIFIED.to_owned());
    }
    wrong
}

pub(crate) fn bad_label_value(text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    if text.len() > 63 {
        wrong.push("must be no more than 63 bytes".to_owned());
    }
    if !text.is_empty() && !is_word(text) {
        wrong.push(VALUE.to_owned());
    }
    wrong
}

/// The violations of the rules for DNS labels, with a message of its own for dots.
pub(crate) fn bad_undotted_label(text: &str) -> Vec<String> {
    if text.contains('.') {
        vec!["must not contain dots".to_owned()]
    } else {
        bad_label(text)
    }
}

/// The violations of the rules for segments of a path.
pub(crate) fn bad_path_segment(text: &str) -> Vec<String> {
    match text {
        "." => vec!["may not be '.'".to_owned()],
        ".." => vec!["may not be '..'".to_owned()],
        _ => ["/", "%"]
            .into_iter()
            .filter(|letter| text.contains(letter))
            .map(|letter| format!("may not contain '{letter}'"))
            .collect(),
    }
}
