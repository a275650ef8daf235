// Made by `cargo operator regenerate`. Do not edit: change operator.toml or crds/ and run it again.
//! The types are those of the specs, and the samples and fixtures are valid.

#[test]
fn memcached_v1alpha1_is_its_spec() {
    use reconciler::api::memcached::v1alpha1::Memcached;
    let spec = include_str!("../crds/memcacheds.cache.example.com.yaml");
    operator_testing::assert_is_spec::<Memcached>(spec);
    let sample = "manifests/samples/memcacheds.cache.example.com.yaml";
    operator_testing::assert_sample_is_valid::<Memcached>(spec, sample);
}

#[test]
fn cache_policy_v1_is_its_spec() {
    use reconciler::api::cache_policy::v1::CachePolicy;
    let spec = include_str!("../crds/cachepolicies.cache.example.com.yaml");
    operator_testing::assert_is_spec::<CachePolicy>(spec);
    let sample = "manifests/samples/cachepolicies.cache.example.com.yaml";
    operator_testing::assert_sample_is_valid::<CachePolicy>(spec, sample);
}

#[test]
fn the_fixtures_are_valid() {
    operator_testing::assert_fixtures_are_valid("tests/fixtures", "crds");
}
