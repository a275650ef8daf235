//! The kinds that serve several versions: how much of their conversions follows from the schemas.

use cargo_operator::{
    conversion::{derive, spokes},
    crd::Api,
};
use operator_schema::{Schema, SchemaOrBool};

use crate::definitions::corpus;

/// Prints a line for each conversion; with `CONVERSIONS=questions`, also its questions.
#[test]
fn most_of_a_conversion_follows_from_the_schemas() {
    let (mut fields, mut questions) = (0, 0);
    let (mut conversions, mut kinds) = (0, 0);
    let with_questions = std::env::var("CONVERSIONS").is_ok_and(|it| it == "questions");
    for api in corpus() {
        let hub = &api.storage_version().name;
        let spokes = served_spokes(&api);
        kinds += usize::from(!spokes.is_empty());
        for spoke in spokes {
            let version = api.version(spoke).unwrap();
            let derivation = derive(version, api.storage_version(), &[]);
            let (of_spoke, asked) = (count(&version.schema), derivation.questions.len());
            println!(
                "{} {spoke} -> {hub}: {of_spoke} fields, {:.1} % derived, {} rules, {asked} questions",
                api.name(),
                share(of_spoke, asked),
                derivation.rules.len(),
            );
            for question in derivation.questions.iter().filter(|_| with_questions) {
                println!("    {question:?}");
            }
            fields += of_spoke;
            conversions += 1;
            questions += asked;
        }
    }
    if kinds > 0 {
        println!(
            "{kinds} kinds: {:.1} % derived, {:.1} questions in a conversion",
            share(fields, questions),
            questions as f64 / f64::from(conversions)
        );
        assert!(share(fields, questions) > 90.0);
    }
}

fn served_spokes(api: &Api) -> Vec<&str> {
    let spokes = spokes(api, api.storage_version(), false);
    let served = spokes.into_iter().flatten().filter(|it| it.served);
    served.map(|it| it.name.as_str()).collect()
}

/// The number of fields below a node.
fn count(schema: &Schema) -> usize {
    let fields = schema.properties.values().map(|field| 1 + count(field));
    let values = match &schema.additional_properties {
        Some(SchemaOrBool::Schema(values)) => count(values),
        _ => 0,
    };
    fields.sum::<usize>() + schema.items.as_deref().map_or(0, count) + values
}

fn share(fields: usize, asked: usize) -> f64 {
    100.0 * fields.saturating_sub(asked) as f64 / fields as f64
}
