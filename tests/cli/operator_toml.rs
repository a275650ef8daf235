//! The example in `docs/operator-toml.md` is valid, and the page names exactly the keys that are required.

use cargo_operator::config::ConfigFile;

const PAGE: &str = include_str!("../../docs/operator-toml.md");
const REQUIRED: [&str; 8] = [
    "format", "name", "runtime", "tool", "kind", "group", "crd", "versions",
];

/// The `toml` block of a section.
fn block(heading: &str) -> &'static str {
    let (_, section) = PAGE.split_once(heading).unwrap();
    let (_, block) = section.split_once("```toml\n").unwrap();
    block.split_once("```").unwrap().0
}

/// The required keys of a project.
const PROJECT: &str = "format = 1\nname = \"a\"\nruntime = { path = \"..\" }\ntool = \"0.1.0\"\n";

#[test]
fn the_documented_settings_of_the_deployment_are_valid() {
    let text = PROJECT.to_owned() + block("## The deployment\n");
    let settings = ConfigFile::read(&text).unwrap().config.deployment;
    assert_eq!(settings.env.0.len(), 3);
}

#[test]
fn the_page_names_each_key() {
    for table in [
        "",
        "[deployment]",
        "[monitoring]",
        "[[kind]]",
        "[[controller]]",
        "[[webhook]]",
    ] {
        // the error of an unknown key lists all keys
        let errors = ConfigFile::read(&format!("{PROJECT}{table}\nqqqq = 1\n")).unwrap_err();
        let error = errors[0].to_string();
        let keys: Vec<&str> = error.split('`').skip(3).step_by(2).collect();
        assert!(!keys.is_empty(), "{table} {error}");
        for key in keys {
            let names = [
                format!("`{key}`"),
                format!("`[{key}]`"),
                format!("`[[{key}]]`"),
            ];
            assert!(
                names.iter().any(|name| PAGE.contains(name)),
                "docs/operator-toml.md lacks `{key}` of {table}"
            );
        }
    }
}

fn example() -> &'static str {
    let (_, block) = PAGE.split_once("```toml\n").unwrap();
    block.split_once("```").unwrap().0
}

#[test]
fn the_documented_example_is_valid() {
    let config = ConfigFile::read(example()).unwrap().config;
    let kinds = config.kinds.iter().map(|kind| kind.kind.as_str());
    assert_eq!(kinds.collect::<Vec<_>>(), ["Memcached", "Certificate"]);
}

#[test]
fn the_page_names_the_required_keys_and_no_other_key_is_required() {
    let names = REQUIRED.map(|key| format!("`{key}`"));
    let sentence = PAGE.split("This is a complete example.").nth(1).unwrap();
    let sentence = sentence.split("required").next().unwrap();
    let is_named = |name: &&String| sentence.contains(name.as_str());
    assert_eq!(names.iter().filter(is_named).count(), REQUIRED.len());

    for (at, line) in example().lines().enumerate() {
        let Some((key, _)) = line.split_once(" = ") else {
            continue;
        };
        // the keys of a rule are those of RBAC
        if ["apiGroups", "resources", "verbs"].contains(&key) {
            continue;
        }
        let text: Vec<&str> = example()
            .lines()
            .enumerate()
            .filter(|(other, _)| *other != at)
            .map(|(_, line)| line)
            .collect();
        let is_required = ConfigFile::read(&text.join("\n")).is_err();
        assert_eq!(is_required, REQUIRED.contains(&key), "{line}");
    }
}
