//! The rendering of a comparison for people and programs: snapshots, equal numbers in all forms, and hostile names.

use baton_lab::compare::{Comparison, MetricScale};

use super::*;
use crate::render::html_page::clean;
use crate::render::terminal_style::TerminalStyle;

fn all() -> [(&'static str, Comparison); 5] {
    [
        ("trade_off", test_samples::trade_off()),
        ("three", test_samples::three()),
        ("early", test_samples::early()),
        ("broken", test_samples::broken()),
        ("simulated", test_samples::simulated()),
    ]
}

#[test]
fn people_read_the_verdict_first() {
    for (name, comparison) in all() {
        insta::assert_snapshot!(format!("comparison_{name}"), text(&comparison, &TerminalStyle::bare(150)));
    }
}

#[test]
fn programs_read_one_document() {
    let document = json(&test_samples::early());
    assert_eq!((&document["schema"], &document["record"]), (&1.into(), &"comparison".into()));
    insta::assert_snapshot!("comparison_json", json_record::pretty(&document).unwrap());
    for (_, comparison) in all() {
        let again: Comparison = serde_json::from_value(json(&comparison)).unwrap();
        assert_eq!(again.verdict, comparison.verdict);
        assert_eq!(again.metrics.len(), comparison.metrics.len());
    }
}

#[test]
fn the_page_and_the_picture_are_whole() {
    insta::assert_snapshot!("comparison_html", html(&test_samples::trade_off()));
    insta::assert_snapshot!("comparison_svg", svg(&test_samples::trade_off()));
    for (name, comparison) in all() {
        let page = html(&comparison);
        for drawing in [&page, &svg(&comparison)] {
            let drawings = drawing.matches("<svg").count();
            assert_eq!(drawing.matches("<desc>").count(), drawings, "{name}");
            assert!(!drawing.contains("http://") || drawing.matches("http://").count() == drawings, "{name}");
        }
        assert!(!page.contains("<script") && !page.contains("src="), "{name}");
    }
}

#[test]
fn no_view_prints_what_is_no_number() {
    for (name, comparison) in all() {
        let views = [
            text(&comparison, &TerminalStyle::bare(150)),
            html(&comparison),
            svg(&comparison),
            json(&comparison).to_string(),
        ];
        for view in views {
            for word in ["NaN", "inf ", "Infinity", "−0 ", "-0.0 "] {
                assert!(!view.contains(word), "{name} has {word}: {view}");
            }
        }
    }
}

#[test]
fn text_and_page_have_the_numbers_of_the_json() {
    for (name, comparison) in all() {
        let (document, page, lines) =
            (json(&comparison), html(&comparison), text(&comparison, &TerminalStyle::bare(400)));
        for metric in &comparison.metrics {
            for (index, effect) in metric.effects.iter().enumerate() {
                let (said, interval) = number_format::effect(metric, effect);
                assert!(
                    page.contains(&clean(&said)) && page.contains(&interval),
                    "{name}: {said} {interval}"
                );
                assert!(lines.contains(&said), "{name}: {said}");
                let metrics = document["metrics"].as_array().unwrap();
                let same = metrics.iter().find(|one| one["id"] == metric.id.as_str()).unwrap();
                let key = if effect.relative.is_some() { "relative" } else { "absolute" };
                let Some(value) = same["effects"][index][key]["value"].as_f64() else {
                    let why = effect.not_yet.as_ref().or(effect.cannot_judge.as_ref());
                    assert!(why.is_some(), "{name} {}", metric.id);
                    continue;
                };
                // What is read as a number is what the JSON has, to the digits shown; and it has its unit.
                let shown: f64 = said.split(' ').next().unwrap().replace('−', "-").parse().unwrap();
                let factor =
                    if key == "relative" || metric.scale == MetricScale::Proportion { 100.0 } else { 1.0 };
                assert!((shown - factor * value).abs() <= 0.5 + 1e-9, "{name}: {said} of {value}");
                assert!(said.split_once(' ').is_some_and(|(_, unit)| !unit.is_empty()), "{said}");
            }
        }
        for sentence in &comparison.verdict.words {
            assert!(lines.contains(sentence.as_str()), "{name}: {sentence}");
        }
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(24))]

    #[test]
    fn no_text_becomes_markup(name in "[ -~\\PC\\x00-\\x1f]{0,40}") {
        let tags = |text: &str| text.matches('<').count();
        let (hostile, plain) = (test_samples::named(&name, &name, &name, &name), test_samples::named("t", "n", "p", "r"));
        proptest::prop_assert_eq!(tags(&html(&hostile)), tags(&html(&plain)));
    }
}

#[test]
fn no_name_gets_out_of_its_place() {
    let hostile = [
        "<script>alert(1)</script>",
        "</style></svg><img src=x onerror=alert(1)>",
        "\" onload=\"alert(1)",
        "a & b ' c <!-- d",
        "]]><x>\u{0}\u{1b}[31m\u{85}",
    ];
    let plain = test_samples::named("t", "n", "p", "r");
    let tags = |text: &str| text.matches('<').count();
    for name in hostile {
        let comparison = test_samples::named(name, name, name, name);
        for (bad, good) in [(html(&comparison), html(&plain)), (svg(&comparison), svg(&plain))] {
            // A longer sentence has more lines in the picture; no tag but `text` may come of it.
            let lines = |text: &str| text.matches("<text").count() + text.matches("</text").count();
            assert_eq!(tags(&bad) - lines(&bad), tags(&good) - lines(&good), "{name}");
            assert!(
                !bad.contains("<script") && !bad.contains("<img") && !bad.contains("\" onload"),
                "{name}"
            );
            assert!(!bad.contains(['\u{0}', '\u{1b}', '\u{85}']), "{name}");
        }
    }
}
