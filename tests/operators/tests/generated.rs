// Made by `cargo operator regenerate`. Do not edit: change operator.toml or crds/ and run it again.
//! The types are those of the specs, and the samples and fixtures are valid.

#[test]
fn page_v1_is_its_spec() {
    use operators::api::page::v1::Page;
    let spec = include_str!("../crds/pages.web.example.com.yaml");
    operator_testing::assert_is_spec::<Page>(spec);
    let sample = "manifests/samples/pages.web.example.com.yaml";
    operator_testing::assert_sample_is_valid::<Page>(spec, sample);
}

#[test]
fn site_v1_is_its_spec() {
    use operators::api::site::v1::Site;
    let spec = include_str!("../crds/sites.web.example.com.yaml");
    operator_testing::assert_is_spec::<Site>(spec);
    let sample = "manifests/samples/sites.web.example.com.yaml";
    operator_testing::assert_sample_is_valid::<Site>(spec, sample);
}

#[test]
fn the_fixtures_are_valid() {
    operator_testing::assert_fixtures_are_valid("tests/fixtures", "crds");
}
