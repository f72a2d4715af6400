//! What holds of the statistics whatever the data: invariances, order, and agreement of methods with one another. Known answers
//! are beside each method, error rates in `stats_gates`.

use baton_lab::stats::betting::{BettingMartingale, HedgedConfidenceSequence, bet, two_arms};
use baton_lab::stats::clustered::{ClusterRow, means, robust};
use baton_lab::stats::fixed::WelchTest;
use baton_lab::stats::mixture::{NormalMixture, TestSides, bernoulli};
use baton_lab::stats::off_policy::{LoggedDecision, value};
use baton_lab::stats::power::PowerGoal;
use baton_lab::stats::sequential::ConfidenceSequence;
use baton_lab::stats::{
    ArmSide, DataRequirements, EffectScale, Estimate, JointMoments, Moments, RunningMoments, cuped, holm,
    paired, srm,
};
use proptest::prelude::*;

/// Whether two numbers are the same but for rounding.
fn near(left: f64, right: f64) -> bool {
    (left - right).abs() <= 1e-9 * (1.0 + left.abs().max(right.abs()))
}

fn values(sizes: std::ops::Range<usize>) -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(-50.0..50.0_f64, sizes)
}

fn shares(sizes: std::ops::Range<usize>) -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(prop_oneof![Just(0.0), Just(0.5), Just(1.0), 0.0..1.0_f64], sizes)
}

fn arm() -> impl Strategy<Value = Moments> {
    (20_u64..5_000, -100.0..100.0_f64, 0.01..500.0_f64)
        .prop_map(|(n, mean, variance)| Moments::new(n, mean, variance).unwrap())
}

fn sound(found: &Estimate) -> bool {
    found.lower <= found.value && found.value <= found.upper && (0.0..=1.0).contains(&found.p)
}

/// Any double at all, and often one that is at home in statistics.
fn anything() -> impl Strategy<Value = f64> {
    prop_oneof![
        prop::num::f64::ANY,
        Just(0.0),
        Just(1.0),
        Just(-1.0),
        Just(f64::NAN),
        Just(f64::INFINITY),
        Just(f64::MAX),
        Just(f64::MIN_POSITIVE),
        -2.0..2.0_f64
    ]
}

fn finite(found: &Estimate) -> bool {
    [found.value, found.lower, found.upper, found.p].into_iter().all(f64::is_finite)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn nonsense_is_an_error_and_never_a_panic_or_a_nan(
        a in anything(), b in anything(), c in anything(), d in anything(), alpha in anything(), n in 0_u64..500, m in any::<u64>(),
    ) {
        let arms = [Moments::from_sums(n, a, b), Moments::from_sums(m, c, d), Moments::new(m, a, c), Moments::new(n, b, d)];
        let arms: Vec<Moments> = arms.into_iter().flatten().collect();
        for (control, candidate) in arms.iter().flat_map(|one| arms.iter().map(move |other| (one, other))) {
            for scale in [EffectScale::Difference, EffectScale::Relative] {
                for guard in [DataRequirements::default(), DataRequirements::BARE] {
                    let sequence = ConfidenceSequence { alpha, n_star: d, scale, guard };
                    let fixed = WelchTest { alpha, scale, guard };
                    let found = [sequence.two_sample(control, candidate), fixed.two_sample(control, candidate)];
                    prop_assert!(found.iter().flatten().all(finite), "{found:?}");
                    let sequence = ConfidenceSequence { alpha: 0.05, n_star: 400.0, scale, guard };
                    let fixed = WelchTest { alpha: 0.05, scale, guard };
                    let found = [sequence.two_sample(control, candidate), fixed.two_sample(control, candidate)];
                    prop_assert!(found.iter().flatten().all(finite), "{found:?}");
                    let found = sequence.units_needed(a, b, c);
                    prop_assert!(found.is_err() || found.unwrap().is_finite());
                }
            }
        }
        if let Ok(found) = srm::sequential(&[n, m], &[a, b]) {
            prop_assert!(found.ln_e.is_finite() && found.p.is_finite());
        }
        if let Ok(found) = srm::chi_square(&[n, m], &[a, b]) {
            prop_assert!(found.statistic.is_finite() && found.p.is_finite());
        }
        if let Ok(found) = bernoulli(m, m.saturating_add(n), alpha, a) {
            prop_assert!(found.lower.is_finite() && found.upper.is_finite());
        }
        if let Ok(found) = bet(&[a, b, 0.5], c, alpha) {
            prop_assert!(found.capital.is_finite() && found.e_value.is_finite() && found.p.is_finite());
        }
        if let Ok(found) = two_arms(&[a, b], &[c], (d, alpha), 0.05, 4) {
            prop_assert!(finite(&found.estimate));
        }
        let goal = PowerGoal { alpha, power: a };
        for found in [goal.two_means(b), goal.pairs(c), goal.two_shares(b, c), goal.in_all(b, c), goal.in_all_sequential(b, c, Some(d))] {
            prop_assert!(found.is_err() || found.as_ref().is_ok_and(|n| n.is_finite()), "{found:?}");
        }
        let joint = |y: f64, x: f64| JointMoments { n, y, y_squares: a, x, x_squares: b, products: c };
        if let Ok(found) = cuped::adjust(&joint(a, b), &joint(c, d)) {
            prop_assert!(found.theta.is_finite() && found.saving.is_finite());
        }
        let row = |action| LoggedDecision { action, reward: a, behaviour: b, target: vec![c, 1.0 - c], predicted: vec![d, a] };
        if let Ok(found) = value(&[row(0), row(1)], alpha) {
            prop_assert!(found.ips.is_finite() && found.dr.is_none_or(f64::is_finite) && found.effective.is_finite());
        }
        let rows: Vec<ClusterRow<u64>> = [(0, a), (1, b), (2, c), (3, d)]
            .map(|(cluster, value)| ClusterRow { cluster, side: if cluster < 2 { ArmSide::Control } else { ArmSide::Candidate }, value })
            .to_vec();
        if let Ok(found) = robust(&rows, alpha, 2) {
            prop_assert!(finite(&found));
        }
        prop_assert!(paired::pairs(&[(a, b), (c, d)]).is_ok_and(|found| !found.saving.is_nan()) || ![a, b, c, d].iter().all(|v| v.abs() < 1e100));
        let _ = holm::adjust(&[a, b, c]);
    }
}

proptest! {
    #[test]
    fn moments_do_not_depend_on_order_or_on_how_they_are_summed(values in values(1..60), cut in 0_usize..60) {
        let whole = Moments::of(&values).unwrap();
        let backwards: Vec<f64> = values.iter().rev().copied().collect();
        let back = Moments::of(&backwards).unwrap();
        let sums = Moments::from_sums(values.len() as u64, values.iter().sum(), values.iter().map(|v| v * v).sum()).unwrap();
        let (mut left, mut right) = (RunningMoments::default(), RunningMoments::default());
        for (index, value) in values.iter().enumerate() {
            if index < cut { left.push(*value).unwrap() } else { right.push(*value).unwrap() }
        }
        left.merge(&right);
        for other in [back, sums, left.moments()] {
            prop_assert!(near(whole.mean(), other.mean()) && (whole.variance() - other.variance()).abs() < 1e-6);
        }
    }

    #[test]
    fn arms_that_change_places_turn_the_sign(a in arm(), b in arm()) {
        for (ab, ba) in [
            (ConfidenceSequence::default().two_sample(&a, &b), ConfidenceSequence::default().two_sample(&b, &a)),
            (WelchTest::default().two_sample(&a, &b), WelchTest::default().two_sample(&b, &a)),
        ] {
            let (ab, ba) = (ab.unwrap(), ba.unwrap());
            prop_assert!(sound(&ab) && near(ab.value, -ba.value) && near(ab.lower, -ba.upper) && near(ab.p, ba.p));
        }
    }

    #[test]
    fn other_units_change_a_difference_as_they_do_and_a_relative_effect_not_at_all(a in arm(), b in arm(), factor in 0.01..100.0_f64) {
        prop_assume!(a.mean().abs() > 0.1);
        let times = |m: &Moments| Moments::new(m.n(), m.mean() * factor, m.variance() * factor * factor).unwrap();
        let here = ConfidenceSequence::default();
        let (plain, scaled) = (here.two_sample(&a, &b).unwrap(), here.two_sample(&times(&a), &times(&b)).unwrap());
        prop_assert!(near(plain.lower * factor, scaled.lower) && near(plain.p, scaled.p));
        let relative = ConfidenceSequence { scale: EffectScale::Relative, ..here };
        if let (Ok(plain), Ok(scaled)) = (relative.two_sample(&a, &b), relative.two_sample(&times(&a), &times(&b))) {
            prop_assert!(near(plain.lower, scaled.lower) && near(plain.upper, scaled.upper) && sound(&plain));
        }
    }

    #[test]
    fn a_relative_effect_has_the_level_of_the_difference_and_never_contradicts_it(
        pairs in prop::collection::vec((0.0..9.0_f64, 0.0..9.0_f64), 20..60), shift in -3.0..3.0_f64, base in 1.0..20.0_f64,
    ) {
        let pairs: Vec<(f64, f64)> = pairs.into_iter().map(|(a, b)| (base + a, base + 0.5 * a + b + shift)).collect();
        let (a, b): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        let (a, b) = (Moments::of(&a).unwrap(), Moments::of(&b).unwrap());
        let together = paired::pairs(&pairs).unwrap();
        let (once, share) = (WelchTest::default(), WelchTest { scale: EffectScale::Relative, ..WelchTest::default() });
        let (ever, ever_share) =
            (ConfidenceSequence::default(), ConfidenceSequence { scale: EffectScale::Relative, ..ConfidenceSequence::default() });
        for (difference, relative, is_paired) in [
            (once.two_sample(&a, &b), share.two_sample(&a, &b), false),
            (ever.two_sample(&a, &b), ever_share.two_sample(&a, &b), false),
            (once.paired(&together), share.paired(&together), true),
            (ever.paired(&together), ever_share.paired(&together), true),
        ] {
            let Ok(relative) = relative else { continue };
            let difference = difference.unwrap();
            prop_assert_eq!(difference.p, relative.p);
            prop_assert_eq!(difference.excludes_zero(), relative.excludes_zero());
            prop_assert!(sound(&relative) && near(relative.value, difference.value / a.mean()));
            // Each end is a share of control that is as far from the candidate, in standard errors, as the interval of the
            // difference is wide. The values themselves say how much that varies.
            let spread = |factor: f64| {
                let off: Vec<f64> = pairs.iter().map(|(a, b)| b - factor * a).collect();
                let apart = b.variance_of_mean() + factor * factor * a.variance_of_mean();
                if is_paired { Moments::of(&off).unwrap().variance_of_mean() } else { apart }.sqrt()
            };
            let errors = (difference.upper - difference.value) / spread(1.0);
            for end in [relative.lower, relative.upper] {
                let off = (b.mean() - (1.0 + end) * a.mean()).abs();
                prop_assert!((off - errors * spread(1.0 + end)).abs() < 1e-6 * (1.0 + off), "{relative:?}");
            }
        }
    }

    #[test]
    fn intervals_are_wider_where_less_error_is_allowed_and_wider_for_those_who_peek(a in arm(), b in arm(), alpha in 0.001..0.4_f64) {
        let at = |alpha| ConfidenceSequence { alpha, ..ConfidenceSequence::default() }.two_sample(&a, &b).unwrap();
        let (strict, lax) = (at(alpha / 2.0), at(alpha));
        prop_assert!(strict.lower < lax.lower && strict.upper > lax.upper);
        let once = WelchTest { alpha, ..WelchTest::default() }.two_sample(&a, &b).unwrap();
        // Of few units t is wide by itself.
        if a.n().min(b.n()) > 100 {
            prop_assert!(lax.lower < once.lower && lax.upper > once.upper);
        }
        prop_assert_eq!(lax.excludes_zero(), lax.p < alpha);
    }

    #[test]
    fn a_sequence_is_narrowest_where_it_was_tuned_to_be(n_star in 50.0..5_000.0_f64, factor in 0.05..20.0_f64, alpha in 0.001..0.3_f64) {
        let tuned = ConfidenceSequence { n_star, alpha, ..ConfidenceSequence::default() };
        let other = ConfidenceSequence { n_star: n_star * factor, ..tuned };
        // The published tuning is nearly, not exactly, the best.
        prop_assert!(tuned.boundary(n_star).unwrap() <= other.boundary(n_star).unwrap() * 1.01);
    }

    #[test]
    fn the_sequence_is_the_normal_mixture(n in 2_u64..10_000, alpha in 0.001..0.3_f64, n_star in 10.0..5_000.0_f64) {
        // Two published forms of one bound: of a mean, and of the sum of n values of variance 1.
        let sequence = ConfidenceSequence { alpha, n_star, ..ConfidenceSequence::default() };
        let mixture = NormalMixture::new(n_star, alpha, TestSides::Two).unwrap();
        let n = n as f64;
        prop_assert!(near(sequence.boundary(n).unwrap() * n.sqrt(), mixture.bound(n, alpha).unwrap()));
    }

    #[test]
    fn evidence_by_betting_does_not_care_which_arm_is_called_what(values in shares(1..80)) {
        let mirrored: Vec<f64> = values.iter().map(|value| 1.0 - value).collect();
        let (here, there) = (bet(&values, 0.5, 0.05).unwrap(), bet(&mirrored, 0.5, 0.05).unwrap());
        prop_assert!(near(here.capital, there.capital) && near(here.e_value, there.e_value) && near(here.p, there.p));
        prop_assert!((here.lower - (1.0 - there.upper)).abs() < 1e-9 && here.lower <= here.upper);
        prop_assert!(here.e_value >= here.capital && here.capital >= 0.0);
    }

    #[test]
    fn a_mean_is_outside_of_the_interval_only_where_the_gambler_got_rich_on_it(values in shares(1..60), cell in 1_u32..1_000) {
        let mean = f64::from(cell) / 1_000.0;
        let mut martingale = BettingMartingale::new(mean, 0.05).unwrap();
        let mut hedged = HedgedConfidenceSequence::new(0.05).unwrap();
        for value in values {
            martingale.push(value).unwrap();
            hedged.push(value).unwrap();
        }
        let (lower, upper) = hedged.interval();
        if mean < lower || mean > upper {
            prop_assert!(martingale.rejects(0.05) && martingale.p() < 0.05);
        }
    }

    #[test]
    fn a_bet_before_a_value_does_not_depend_on_it(values in shares(1..30), one in 0.0..1.0_f64, other in 0.0..1.0_f64) {
        // The expectation of the next factor is 1 only if the stake was fixed before: the factor is linear in the value.
        let after = |last: f64| {
            let mut martingale = BettingMartingale::new(0.5, 0.05).unwrap();
            values.iter().for_each(|value| martingale.push(*value).unwrap());
            martingale.push(last).unwrap();
            martingale.e_value()
        };
        let mix = 0.3 * one + 0.7 * other;
        prop_assert!(near(after(mix), 0.3 * after(one) + 0.7 * after(other)));
    }

    #[test]
    fn two_arms_that_change_places_turn_the_sign(a in shares(1..40), b in shares(1..40)) {
        let ab = two_arms(&a, &b, (0.0, 1.0), 0.05, 10).unwrap();
        let ba = two_arms(&b, &a, (0.0, 1.0), 0.05, 10).unwrap();
        prop_assert!(near(ab.estimate.value, -ba.estimate.value) && near(ab.estimate.p, ba.estimate.p));
        prop_assert!(near(ab.estimate.lower, -ba.estimate.upper) && sound(&ab.estimate));
        prop_assert!(ab.path.len() <= 10);
    }

    #[test]
    fn shares_of_successes_and_of_failures_mirror_each_other(trials in 1_u64..3_000, share in 0.0..=1.0_f64, alpha in 0.001..0.4_f64) {
        let successes = (trials as f64 * share) as u64;
        let of = |successes, alpha| bernoulli(successes, trials, alpha, 100.0).unwrap();
        let (found, mirror) = (of(successes, alpha), of(trials - successes, alpha));
        prop_assert!(found.lower <= found.value && found.value <= found.upper);
        prop_assert!((found.lower - (1.0 - mirror.upper)).abs() < 1e-8);
        prop_assert!(of(successes, alpha / 2.0).lower <= found.lower);
    }

    #[test]
    fn arms_may_be_listed_in_any_order(counts in prop::collection::vec((0_u64..100_000, 0.01..10.0_f64), 2..6)) {
        let (numbers, weights): (Vec<u64>, Vec<f64>) = counts.iter().copied().unzip();
        let (turned, turned_weights): (Vec<u64>, Vec<f64>) = counts.iter().rev().map(|(n, w)| (*n, w * 7.0)).unzip();
        let (here, there) = (srm::chi_square(&numbers, &weights).unwrap(), srm::chi_square(&turned, &turned_weights).unwrap());
        prop_assert!(near(here.statistic, there.statistic) && (0.0..=1.0).contains(&here.p));
        let (here, there) = (srm::sequential(&numbers, &weights).unwrap(), srm::sequential(&turned, &turned_weights).unwrap());
        prop_assert!((here.ln_e - there.ln_e).abs() < 1e-6 * (1.0 + here.ln_e.abs()));
    }

    #[test]
    fn evidence_about_the_ratio_is_a_martingale(a in 0_u64..300, b in 0_u64..300, c in 0_u64..300, weights in prop::array::uniform3(0.05..1.0_f64)) {
        // The mean of the next e-value, over the arms with the chances that are claimed, is the e-value now.
        let e = |a, b, c| srm::sequential(&[a, b, c], &weights).unwrap().ln_e;
        let sum: f64 = weights.iter().sum();
        let now = e(a, b, c);
        let next = [e(a + 1, b, c), e(a, b + 1, c), e(a, b, c + 1)];
        let mean: f64 = next.iter().zip(weights).map(|(ln, weight)| (ln - now).exp() * weight / sum).sum();
        prop_assert!((mean - 1.0).abs() < 1e-8, "{mean}");
    }

    #[test]
    fn holm_raises_levels_keeps_their_order_and_is_kinder_than_bonferroni(levels in prop::collection::vec(0.0..=1.0_f64, 1..12)) {
        let adjusted = holm::adjust(&levels).unwrap();
        for (i, level) in levels.iter().enumerate() {
            prop_assert!(adjusted[i] >= *level && adjusted[i] <= (level * levels.len() as f64).min(1.0) + 1e-12);
            for (j, other) in levels.iter().enumerate() {
                prop_assert!(level > other || adjusted[i] <= adjusted[j]);
            }
        }
    }

    #[test]
    fn a_sign_test_has_no_sides(b in 0_u64..4_000, c in 0_u64..4_000) {
        let p = paired::mcnemar_exact(b, c);
        prop_assert!((0.0..=1.0).contains(&p) && near(p, paired::mcnemar_exact(c, b)));
    }

    #[test]
    fn an_adjustment_never_adds_variance_over_both_arms_and_shifts_no_effect_by_the_unit_of_x(
        rows in prop::collection::vec((-50.0..50.0_f64, -50.0..50.0_f64), 8..60),
        shift in -100.0..100.0_f64,
    ) {
        let of = |shift: f64| {
            let (mut a, mut b) = (JointMoments::default(), JointMoments::default());
            for (index, (y, x)) in rows.iter().enumerate() {
                if index.is_multiple_of(2) { a.push(*y, x + shift).unwrap() } else { b.push(*y, x + shift).unwrap() }
            }
            cuped::adjust(&a, &b).unwrap()
        };
        let (here, there) = (of(0.0), of(shift));
        prop_assert!((here.theta - there.theta).abs() < 1e-6);
        let effect = |found: &cuped::CupedAdjustment| found.candidate.mean() - found.control.mean();
        prop_assert!((effect(&here) - effect(&there)).abs() < 1e-5);
    }

    #[test]
    fn tasks_with_one_run_each_are_independent_units(values in values(50..90)) {
        let side = |index: usize| if index.is_multiple_of(2) { ArmSide::Control } else { ArmSide::Candidate };
        let rows: Vec<ClusterRow<usize>> =
            values.iter().enumerate().map(|(cluster, value)| ClusterRow { cluster, side: side(cluster), value: *value }).collect();
        let (a, b) = means(&rows).unwrap();
        let welch = WelchTest { guard: DataRequirements::BARE, ..WelchTest::default() }.two_sample(&a, &b).unwrap();
        let sandwich = robust(&rows, 0.05, 2).unwrap();
        prop_assert!(near(welch.value, sandwich.value) && sound(&sandwich));
        let ratio = (sandwich.upper - sandwich.lower) / (welch.upper - welch.lower);
        prop_assert!((0.9..1.1).contains(&ratio), "{ratio}");
    }

    #[test]
    fn estimators_move_with_the_rewards(
        rows in prop::collection::vec((0_usize..3, -5.0..5.0_f64, 0.05..1.0_f64, prop::array::uniform3(0.01..1.0_f64)), 1..40),
        shift in -3.0..3.0_f64,
    ) {
        let logged = |shift: f64| -> Vec<LoggedDecision> {
            let row = |(action, reward, behaviour, target): &(usize, f64, f64, [f64; 3])| {
                let sum: f64 = target.iter().sum();
                let target = target.iter().map(|chance| chance / sum).collect();
                let predicted = vec![0.5 + shift, 1.0 + shift, -0.5 + shift];
                LoggedDecision { action: *action, reward: reward + shift, behaviour: *behaviour, target, predicted }
            };
            rows.iter().map(row).collect()
        };
        let (here, there) = (value(&logged(0.0), 3.0).unwrap(), value(&logged(shift), 3.0).unwrap());
        // SNIPS, DR and SN-DR do not care where zero is; IPS does.
        prop_assert!(near(here.snips.unwrap() + shift, there.snips.unwrap()));
        prop_assert!(near(here.dr.unwrap() + shift, there.dr.unwrap()));
        prop_assert!(near(here.sn_dr.unwrap() + shift, there.sn_dr.unwrap()));
        prop_assert!(here.effective <= here.n as f64 + 1e-9 && here.effective > 0.0);
    }

    #[test]
    fn smaller_effects_take_more_units(d in 0.05..1.0_f64, power in 0.3..0.98_f64) {
        let goal = PowerGoal { alpha: 0.05, power };
        let needed = goal.two_means(d).unwrap();
        prop_assert!(goal.two_means(d * 0.8).unwrap() > needed);
        prop_assert!(goal.pairs(d).unwrap() < needed);
        prop_assert!(near(goal.in_all(d * 3.0, 9.0).unwrap(), 2.0 * needed));
        prop_assert!(goal.in_all_sequential(d, 1.0, None).unwrap() > goal.in_all(d, 1.0).unwrap() * 0.9);
    }
}
