//! The noncentral t distribution, as far as the power of t tests needs it.
//!
//! R. V. Lenth, "Algorithm AS 243: Cumulative Distribution Function of the Non-central t Distribution", Applied Statistics 38
//! (1989).

use super::special::{incomplete_beta, ln_gamma, normal_sf, t_quantile};

/// Above these the normal distribution has the same digits, and the series would lose its own.
const LARGE_SHIFT: f64 = 37.0;
const LARGE_DF: f64 = 1e5;

/// Where a further term adds nothing.
const NEGLIGIBLE: f64 = 1e-14;

/// More terms than any shift below [`LARGE_SHIFT`] needs.
const MOST_TERMS: u32 = 4000;

/// P(|T| > t(1 − α/2)) of a t with `df` degrees of freedom, above 0, that is shifted by `shift`.
pub(super) fn two_sided_power(shift: f64, df: f64, alpha: f64) -> f64 {
    let shift = shift.abs();
    if df <= 0.0 {
        return 0.0;
    }
    let critical = t_quantile(1.0 - alpha / 2.0, df);
    if df > LARGE_DF || shift > LARGE_SHIFT {
        // First-order correction of the normal for the variance of the estimated standard deviation.
        let at = |t: f64| (t * (1.0 - 0.25 / df) - shift) / (1.0 + t * t / (2.0 * df)).sqrt();
        return normal_sf(at(critical)) + normal_sf(-at(-critical));
    }
    1.0 - cdf(critical, df, shift) + (1.0 - cdf(critical, df, -shift))
}

/// P(T ≤ t), t ≥ 0.
fn cdf(t: f64, df: f64, shift: f64) -> f64 {
    let x = t * t / (df + t * t);
    let below_zero = normal_sf(shift);
    if x <= 0.0 {
        return below_zero;
    }
    let half = shift * shift / 2.0;
    // Weights of the odd and the even terms; the first ones may be tiny, so they go by their logarithms.
    let ln_odd = |j: f64| -half + j * half.ln() - ln_gamma(j + 1.0);
    let ln_even = |j: f64| -half + j * half.ln() - ln_gamma(j + 1.5);
    let (mut sum, mut weight) = (0.0, 0.0);
    for j in 0..MOST_TERMS {
        let j = f64::from(j);
        let odd = if half > 0.0 { ln_odd(j).exp() } else { f64::from(u8::from(j == 0.0)) };
        let even = if half > 0.0 { shift / std::f64::consts::SQRT_2 * ln_even(j).exp() } else { 0.0 };
        sum += odd * incomplete_beta(j + 0.5, df / 2.0, x) + even * incomplete_beta(j + 1.0, df / 2.0, x);
        weight += odd;
        if 1.0 - weight < NEGLIGIBLE && j > half {
            break;
        }
    }
    (below_zero + 0.5 * sum).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::approx::near;

    #[test]
    fn powers_are_those_of_statsmodels() {
        let two = |d: f64, n: f64| two_sided_power(d * (n / 2.0).sqrt(), 2.0 * n - 2.0, 0.05);
        near(two(0.5, 64.0), 0.8014595579222542, 9);
        near(two(0.5, 30.0), 0.4778965207601643, 9);
        near(two(3.0, 10.0), 0.9999935266852682, 9);
        near(two(0.0, 20.0), 0.05, 9);
        near(two(0.02, 60_000.0), 0.9337234941752747, 7);
    }
}
