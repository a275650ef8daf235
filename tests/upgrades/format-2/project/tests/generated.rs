// Made by `cargo operator regenerate`. Do not edit: change operator.toml or crds/ and run it again.
//! The types are those of the specs, and the samples are valid.

#[test]
fn queue_v1beta1_is_its_spec() {
    use messaging_operator::api::queue::v1beta1::Queue;
    let spec = include_str!("../crds/queues.messaging.example.com.yaml");
    operator_testing::assert_is_spec::<Queue>(spec);
    let sample = include_str!("../manifests/samples/queues.messaging.example.com.yaml");
    operator_testing::assert_is_valid::<Queue>(spec, sample);
}

#[test]
fn account_v1_is_its_spec() {
    use messaging_operator::api::account::v1::Account;
    let spec = include_str!("../crds/accounts.messaging.example.com.yaml");
    operator_testing::assert_is_spec::<Account>(spec);
    let sample = include_str!("../manifests/samples/accounts.messaging.example.com.yaml");
    operator_testing::assert_is_valid::<Account>(spec, sample);
}
