//! Comparing with known answers, to as many digits as are given. Only for tests.

/// Fails unless `found` is `right` to within one in the last of `digits` digits after the point: known answers are given rounded
/// by some and cut off by others.
#[track_caller]
pub(super) fn near(found: f64, right: f64, digits: i32) {
    assert!((found - right).abs() <= 10_f64.powi(-digits), "{found} is not {right} to {digits} digits");
}

/// Fails unless `found` is `right` to nine significant digits.
#[track_caller]
pub(super) fn same(found: f64, right: f64) {
    assert!((found - right).abs() <= 1e-9 * right.abs().max(1e-300), "{found} is not {right}");
}
