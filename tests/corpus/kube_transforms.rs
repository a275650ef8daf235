//! `crd()` of a root that derives `CustomResource` applies the transforms of kube, which must not change the schema.

use cargo_operator::{
    crd,
    types::{self, SchemaMode},
};
use kube::core::schema::{OptionalEnum, OptionalIntOrString, StructuralSchemaRewriter};
use schemars::{
    Schema,
    transform::{AddNullable, Transform},
};

use crate::definitions::corpus;

#[test]
fn a_derived_root_keeps_its_schema() {
    let mut apis = crd::read("odd.yaml", include_str!("odd.yaml")).unwrap();
    apis.extend(corpus());
    let mut derived = 0;
    for api in apis {
        for version in &api.versions {
            let module = types::module(&api, version, SchemaMode::Derive);
            if !module.text.contains("CustomResource, Deserialize") {
                continue;
            }
            derived += 1;
            let defined = serde_json::to_value(&version.schema).unwrap();
            let mut schema = Schema::try_from(defined.clone()).unwrap();
            // the transforms of kube-derive, in its order
            AddNullable::default().transform(&mut schema);
            StructuralSchemaRewriter.transform(&mut schema);
            OptionalEnum.transform(&mut schema);
            OptionalIntOrString.transform(&mut schema);
            let at = format!("{} {}", api.name(), version.name);
            assert_eq!(schema.to_value(), defined, "{at}");
        }
    }
    assert!(derived > 0);
}
