//! Reads bytes as CRDs, and generates their types.

use cargo_operator::crd;

use crate::module;

/// Each error of an invalid text has a line of the text. Each CRD of a valid text is read again from the text that a project keeps of it,
/// and has types.
pub fn read(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    crd::has_other_content(text);
    let apis = match crd::read("fuzz.yaml", text) {
        Ok(apis) => apis,
        Err(errors) => {
            // YAML has more line breaks than `str::lines`
            let lines = text
                .split(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}'])
                .count();
            for error in errors {
                assert!((1..=lines).contains(&error.location.line), "{error}");
            }
            return;
        }
    };
    for api in apis {
        let kept = crd::read("kept.yaml", &api.text)
            .unwrap_or_else(|errors| panic!("{errors:#?}\n{}", api.text));
        let [kept] = kept.as_slice() else {
            panic!("{} definitions in\n{}", kept.len(), api.text)
        };
        assert_eq!(kept.names, api.names);
        assert_eq!(kept.versions, api.versions, "{}", api.text);
        for version in &api.versions {
            module::check(&api, version);
            api.locations(&[&version.schema_pointer()]);
        }
    }
}
