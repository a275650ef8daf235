//! Laws of all conversions, for random schemas with random rules, and for random values.

use operator_runtime::conversion::Conversion;
use operator_testing::ConversionProof;
use operator_testing::operator_schema::{Objects, Schema, apply_defaults};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::cache;
use crate::shape::{Pair, shapes};

fn convert(conversion: &Conversion) -> impl Fn(&Value, &str) -> Result<Value, String> {
    |object, to| {
        conversion
            .convert(object, to)
            .map_err(|error| error.to_string())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn rules_that_cover_a_difference_lose_nothing(shapes in shapes()) {
        let mut pair = Pair::of(&shapes);
        let conversion = pair.conversion();
        let failures = ConversionProof::of(&pair.crd(), convert(&conversion)).failures();
        prop_assert!(failures.is_empty(), "{}\n{}", failures.join("\n"), pair.crd());
    }
}
