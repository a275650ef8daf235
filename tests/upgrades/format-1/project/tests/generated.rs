// Made by `cargo operator regenerate`. Do not edit: change operator.toml or crds/ and run it again.
//! The types are those of the specs, and the samples are valid.

#[test]
fn cache_policy_v1_is_its_spec() {
    use cache_operator::api::cache_policy::v1::CachePolicy;
    let spec = include_str!("../crds/cachepolicies.cache.example.com.yaml");
    operator_testing::assert_is_spec::<CachePolicy>(spec);
    let sample = include_str!("../manifests/samples/cachepolicies.cache.example.com.yaml");
    operator_testing::assert_is_valid::<CachePolicy>(spec, sample);
}

#[test]
fn widget_v1_is_its_spec() {
    use cache_operator::api::widget::v1::Widget;
    let spec = include_str!("../crds/widgets.example.com.yaml");
    operator_testing::assert_is_spec::<Widget>(spec);
}
