//! The list of the packages in a binary, as a document in the format [SPDX 2.3](https://spdx.github.io/spdx-spec/v2.3/).

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{Created, Description};
use crate::hash::sha256;

/// The packages in a binary.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sbom {
    /// The index of the operator's own package.
    pub root: usize,
    /// The packages, sorted by name and version.
    pub packages: Vec<SbomPackage>,
}

/// A package in a binary.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SbomPackage {
    pub name: String,
    pub version: String,
    /// Where cargo got it from, as in Cargo.lock; `None` for a folder.
    pub source: Option<String>,
    /// The license as in the package's Cargo.toml.
    pub license: Option<String>,
    /// The indices of the packages that it depends on.
    pub dependencies: Vec<usize>,
}

const CRATES_IO: [&str; 2] = [
    "registry+https://github.com/rust-lang/crates.io-index",
    "sparse+https://index.crates.io/",
];

impl Sbom {
    /// The document. The hash of the binary makes its namespace unique.
    pub fn spdx(&self, description: &Description, binary: &[u8], created: Created) -> Value {
        let ids = self.ids();
        let packages = self.packages.iter().zip(&ids);
        let packages: Vec<Value> = packages.map(|(package, id)| package.spdx(id)).collect();
        let relationship = |from: &str, kind, to: &str| json!({"spdxElementId": from, "relationshipType": kind, "relatedSpdxElement": to});
        let mut relationships = vec![relationship(
            "SPDXRef-DOCUMENT",
            "DESCRIBES",
            &ids[self.root],
        )];
        for (package, id) in self.packages.iter().zip(&ids) {
            let dependencies = package.dependencies.iter();
            relationships.extend(dependencies.map(|&to| relationship(id, "DEPENDS_ON", &ids[to])));
        }
        let name = format!("{}-{}", description.name, description.version);
        json!({
            "spdxVersion": "SPDX-2.3",
            "dataLicense": "CC0-1.0",
            "SPDXID": "SPDXRef-DOCUMENT",
            "documentNamespace": format!("https://spdx.org/spdxdocs/{name}-{}", sha256(binary)),
            "name": name,
            "creationInfo": { "created": created.rfc3339(), "creators": ["Tool: cargo-operator"] },
            "packages": packages,
            "relationships": relationships,
        })
    }

    /// The identifiers of the packages, which have only letters, digits, dots and hyphens.
    fn ids(&self) -> Vec<String> {
        let mut ids = BTreeSet::new();
        self.packages
            .iter()
            .map(|package| {
                let text = format!("SPDXRef-{}-{}", package.name, package.version);
                let valid = |c: char| c.is_ascii_alphanumeric() || c == '.';
                let mut id = text.replace(|c| !valid(c), "-");
                // two packages can differ in their source only
                while !ids.insert(id.clone()) {
                    id.push_str("-other");
                }
                id
            })
            .collect()
    }
}

impl SbomPackage {
    fn spdx(&self, id: &str) -> Value {
        let source = self.source.as_deref();
        let is_crate = source.is_some_and(|source| CRATES_IO.contains(&source));
        let (name, version) = (&self.name, &self.version);
        let location = match source {
            Some(_) if is_crate => {
                format!("https://crates.io/api/v1/crates/{name}/{version}/download")
            }
            Some(source) if source.starts_with("git+") => source.replace('#', "@"),
            _ => "NOASSERTION".to_owned(),
        };
        let mut package = json!({
            "SPDXID": id,
            "name": name,
            "versionInfo": version,
            "downloadLocation": location,
            "filesAnalyzed": false,
            "licenseConcluded": "NOASSERTION",
            "licenseDeclared": self.license(),
            "copyrightText": "NOASSERTION",
        });
        if is_crate {
            let purl = format!("pkg:cargo/{name}@{}", version.replace('+', "%2B"));
            package["externalRefs"] = json!([{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}]);
        }
        package
    }

    /// The license as an SPDX expression: cargo also accepts the older notation `MIT/Apache-2.0`.
    fn license(&self) -> String {
        let license = self.license.as_deref().unwrap_or("NOASSERTION");
        let parts: Vec<&str> = license.split('/').map(str::trim).collect();
        parts.join(" OR ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, source: Option<&str>, license: &str) -> SbomPackage {
        SbomPackage {
            name: name.into(),
            version: "1.2.3+a".into(),
            source: source.map(Into::into),
            license: Some(license.into()),
            dependencies: vec![],
        }
    }

    fn document() -> Value {
        let git = "git+https://example.com/b?rev=1#abc";
        let mut packages = vec![
            package("a_b", Some(CRATES_IO[0]), "MIT/Apache-2.0"),
            package("a_b", Some(git), "MIT"),
            package("operator", None, "MIT"),
        ];
        packages[2].dependencies = vec![0, 1];
        packages[2].license = None;
        let description = Description {
            name: "operator".into(),
            version: "1.2.3+a".into(),
            ..Description::default()
        };
        let sbom = Sbom { root: 2, packages };
        sbom.spdx(&description, b"binary", Created::default())
    }

    #[test]
    fn a_package_has_its_source_and_its_license() {
        let document = document();
        assert_eq!(
            document["packages"][0],
            json!({
                "SPDXID": "SPDXRef-a-b-1.2.3-a",
                "name": "a_b",
                "versionInfo": "1.2.3+a",
                "downloadLocation": "https://crates.io/api/v1/crates/a_b/1.2.3+a/download",
                "filesAnalyzed": false,
                "licenseConcluded": "NOASSERTION",
                "licenseDeclared": "MIT OR Apache-2.0",
                "copyrightText": "NOASSERTION",
                "externalRefs": [{
                    "referenceCategory": "PACKAGE-MANAGER",
                    "referenceType": "purl",
                    "referenceLocator": "pkg:cargo/a_b@1.2.3%2Ba",
                }],
            })
        );
        let of = |index: usize, key: &str| document["packages"][index][key].clone();
        assert_eq!(
            of(1, "downloadLocation"),
            "git+https://example.com/b?rev=1@abc"
        );
        assert!(of(1, "externalRefs").is_null());
        assert_eq!(of(2, "downloadLocation"), "NOASSERTION");
        assert_eq!(of(2, "licenseDeclared"), "NOASSERTION");
    }

    #[test]
    fn the_relationships_start_at_the_operator() {
        let document = document();
        let relationships = document["relationships"].as_array().unwrap();
        let lines: Vec<String> = relationships
            .iter()
            .map(|it| {
                let part = |key: &str| it[key].as_str().unwrap().replace("SPDXRef-", "");
                let kind = part("relationshipType");
                format!(
                    "{} {kind} {}",
                    part("spdxElementId"),
                    part("relatedSpdxElement")
                )
            })
            .collect();
        assert_eq!(
            lines,
            [
                "DOCUMENT DESCRIBES operator-1.2.3-a",
                "operator-1.2.3-a DEPENDS_ON a-b-1.2.3-a",
                "operator-1.2.3-a DEPENDS_ON a-b-1.2.3-a-other",
            ]
        );
    }
}
