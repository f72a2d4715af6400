//! Several questions at once: levels that keep the chance of any false answer among them at α.
//!
//! S. Holm, "A Simple Sequentially Rejective Multiple Test Procedure", Scandinavian Journal of Statistics 6 (1979). Holds for
//! anytime-valid levels too, at each moment at which they are looked at.

use super::MethodResult;
use super::preconditions::share;

/// The levels adjusted by Holm's procedure, in the order given: those of at most α are rejected at α together.
pub fn adjust(levels: &[f64]) -> MethodResult<Vec<f64>> {
    for level in levels {
        share("a level", *level)?;
    }
    let mut order: Vec<usize> = (0..levels.len()).collect();
    order.sort_by(|a, b| levels[*a].total_cmp(&levels[*b]));
    let mut adjusted = vec![1.0; levels.len()];
    let mut least = 0.0_f64;
    for (rank, index) in order.into_iter().enumerate() {
        least = least.max(levels[index] * (levels.len() - rank) as f64).min(1.0);
        adjusted[index] = least;
    }
    Ok(adjusted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::StatsError;

    #[test]
    fn levels_are_adjusted_in_the_order_given() {
        let adjusted = adjust(&[0.01, 0.04, 0.03, 0.005]).unwrap();
        for (found, right) in adjusted.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((found - right).abs() < 1e-12, "{adjusted:?}");
        }
        assert_eq!(adjust(&[]).unwrap(), Vec::<f64>::new());
        assert_eq!(adjust(&[0.4, 0.9]).unwrap(), [0.8, 0.9]);
        assert!(matches!(adjust(&[0.5, f64::NAN]), Err(StatsError::NotFinite { .. })));
        assert!(matches!(adjust(&[1.5]), Err(StatsError::OutOfRange { .. })));
    }
}
