//! Distributions as this folder uses them, over `statrs`: no argument that comes here makes them panic. Decides nothing.

use statrs::distribution::{ContinuousCDF as _, Normal, StudentsT};
use statrs::function::beta::beta_reg;
use statrs::function::gamma::{gamma_ur, ln_gamma as statrs_ln_gamma};

/// From this many degrees of freedom on, t is approximated by the normal: the error is below 1/ν², which is less than that of
/// the incomplete beta function and its inverse.
const NEARLY_NORMAL_DF: f64 = 1e5;

/// P(Z > z).
pub(super) fn normal_sf(z: f64) -> f64 {
    Normal::standard().sf(z)
}

/// The z with P(Z ≤ z) = `p`, where 0 < p < 1.
pub(super) fn normal_quantile(p: f64) -> f64 {
    Normal::standard().inverse_cdf(p)
}

/// P(T > t) with `df` degrees of freedom, above 0.
pub(super) fn t_sf(t: f64, df: f64) -> f64 {
    match StudentsT::new(0.0, 1.0, df) {
        Ok(distribution) if df < NEARLY_NORMAL_DF => distribution.sf(t),
        // D. L. Wallace, "Bounds on Normal Approximations to Student's and the Chi-Square Distributions" (1959).
        _ if df.is_finite() => {
            let z = (8.0 * df + 1.0) / (8.0 * df + 3.0) * (df * (t * t / df).ln_1p()).sqrt();
            normal_sf(z.copysign(t))
        }
        _ => normal_sf(t),
    }
}

/// The t with P(T ≤ t) = `p`, where 0 < p < 1, with `df` degrees of freedom, above 0.
pub(super) fn t_quantile(p: f64, df: f64) -> f64 {
    match StudentsT::new(0.0, 1.0, df) {
        Ok(distribution) if df < NEARLY_NORMAL_DF / 10.0 => distribution.inverse_cdf(p),
        // E. A. Cornish, R. A. Fisher (1937); the next term is below 1/ν³.
        _ => {
            let z = normal_quantile(p);
            let square = z * z;
            z + z * (square + 1.0) / (4.0 * df)
                + z * ((5.0 * square + 16.0) * square + 3.0) / (96.0 * df * df)
        }
    }
}

/// P(X > x) of χ² with `df` degrees of freedom.
pub(super) fn chi_square_sf(x: f64, df: u64) -> f64 {
    if x <= 0.0 || df == 0 {
        return 1.0;
    }
    if x.is_infinite() {
        return 0.0;
    }
    gamma_ur(df as f64 / 2.0, x / 2.0)
}

/// ln Γ(x), x > 0.
pub(super) fn ln_gamma(x: f64) -> f64 {
    statrs_ln_gamma(x)
}

/// ln B(a, b), both above 0.
pub(super) fn ln_beta(a: f64, b: f64) -> f64 {
    ln_gamma(a) + ln_gamma(b) - ln_gamma(a + b)
}

/// The regularised incomplete beta function I_x(a, b), a and b above 0, x from 0 to 1.
pub(super) fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    beta_reg(a, b, x.clamp(0.0, 1.0))
}

/// Where an increasing `f` crosses 0 between `low` and `high`, to thirteen digits.
pub(super) fn bisect(mut low: f64, mut high: f64, f: impl Fn(f64) -> f64) -> f64 {
    /// Doubles have no more halvings between two of them that matter.
    const HALVINGS: u32 = 200;
    const EXACT: f64 = 1e-14;
    for _ in 0..HALVINGS {
        let middle = low + (high - low) / 2.0;
        if f(middle) > 0.0 {
            high = middle
        } else {
            low = middle
        }
        if high - low <= EXACT * high.abs() {
            break;
        }
    }
    low + (high - low) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::approx::same;

    #[test]
    fn distributions_are_those_of_scipy() {
        for (df, sf, quantile) in [
            (1.5, 0.09440997140671363, 6.016663104427929),
            (7.3, 0.026749254362260486, 2.345066736547703),
            (40.0, 0.013372449572349662, 2.021075390306273),
            (1e3, 0.010826709923919814, 1.9623390808264083),
            (5e4, 0.010726159117336433, 1.9600114310936798),
            (1e5, 0.010725134554660112, 1.9599877075346095),
            (9e5, 0.010724223857207735, 1.959966620400461),
            (5e6, 0.010724130512044502, 1.9599644589944127),
        ] {
            same(t_sf(2.3, df), sf);
            same(t_quantile(0.975, df), quantile);
            same(t_sf(-2.3, df), 1.0 - sf);
        }
        same(chi_square_sf(0.1, 1), 0.7518296340458492);
        same(chi_square_sf(9.0, 2), 0.011108996538242308);
        same(chi_square_sf(50.0, 4), 3.610865404890647e-10);
        same(chi_square_sf(400.0, 3), 2.2138865931011112e-86);
    }
}
