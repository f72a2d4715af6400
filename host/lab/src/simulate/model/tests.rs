//! The table of a model, and its file.

use std::collections::{BTreeMap, BTreeSet};

use super::*;

#[test]
fn every_number_is_named_once_documented_and_within_its_bounds() {
    let keys: BTreeSet<_> = Model::PARAMS.iter().map(|param| param.key).collect();
    assert_eq!(keys.len(), Model::PARAMS.len());
    let model = Model::default();
    for param in Model::PARAMS {
        assert!(param.doc.ends_with('.'), "{}", param.key);
        assert!((param.least..=param.most).contains(&param.default), "{}", param.key);
        assert_eq!(model.get(param.key), Some(param.default));
    }
}

#[test]
fn a_model_is_read_as_it_was_written() {
    let mut model = Model::default();
    model.work.turns = 7.25;
    model.context.tool_tokens = 12_345.0;
    model.trouble.crashes = 0.000_25;
    let remarks = BTreeMap::from([("work.turns", "Fitted, n = 40".to_owned())]);
    let text = model.to_toml(&remarks);
    assert!(text.contains("the median. Fitted, n = 40.\nturns = 7.25"), "{text}");
    assert_eq!(Model::parse(&text, "m.toml").unwrap(), model);
    assert_eq!(Model::parse("", "m.toml").unwrap(), Model::default());
}

#[test]
fn every_mistake_is_named_with_its_place() {
    let text = "[context]\nwindow_token = 3\nturn_spread = 9\n[works]\n[price]\ninput_usd = \"x\"\n";
    let error = Model::parse(text, "m.toml").unwrap_err();
    assert_eq!(
        error.to_string(),
        "m.toml:2:1: there is no `context.window_token`: did you mean `window_tokens`?\n\
         m.toml:3:15: `context.turn_spread` is 9, and must be from 0 to 3\n\
         m.toml:4:2: there is no section `works`: did you mean `work`?\n\
         m.toml:6:13: `price.input_usd` is a number from 0 to 10000"
    );
    let error = Model::parse("price = 3\nwork", "m.toml").unwrap_err();
    assert!(error.to_string().starts_with("m.toml:2:"), "{error}");
    let error = Model::parse("price = 3", "m.toml").unwrap_err();
    assert_eq!(error.problems[0].what, "`price` is a section: write [price]");
}
