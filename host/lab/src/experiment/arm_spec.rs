//! Arms as a person types them, `NAME=REF[:WEIGHT]`, and how they share out the units. What a reference leads to is not looked at here.

use baton_core::ids::ArmName;
use baton_engine::built_in;

use super::definition::checked_name;

/// Weights are written with at most this many characters, so that no digest is taken for one.
const WEIGHT_CHARS_MAX: usize = 6;

/// Of which arms without a weight get what the others leave.
const PERCENT: f64 = 100.0;

/// An arm as it is typed.
#[derive(Clone, Debug, PartialEq)]
pub struct ArmSpec {
    /// What it is called.
    pub name: ArmName,
    /// Its component: a bare name is one that is part of the host.
    pub reference: String,
    /// Of 100, where one is given.
    pub weight: Option<f64>,
}

impl ArmSpec {
    /// Reads `REF[:WEIGHT]`. A number after the last colon is a weight, but behind the name of a component in a registry, where it is the
    /// tag: `oci://host/name:50` has no weight, `oci://host/name:50:50` has one.
    pub fn of(name: &str, given: &str) -> Result<ArmSpec, String> {
        checked_name(name)?;
        let number = |text: &str| {
            let plain =
                text.len() <= WEIGHT_CHARS_MAX && text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
            plain.then(|| text.parse::<f64>().ok()).flatten()
        };
        // Of a registry nothing can be had without a tag or a digest.
        let is_whole = |reference: &str| match reference.strip_prefix("oci://") {
            Some(rest) => rest.rsplit('/').next().is_some_and(|name| name.contains([':', '@'])),
            None => true,
        };
        let split = given.rsplit_once(':').filter(|(reference, _)| is_whole(reference));
        let split = split.and_then(|(reference, weight)| Some((reference, number(weight)?)));
        let (reference, weight) =
            split.map_or((given, None), |(reference, weight)| (reference, Some(weight)));
        if reference.is_empty() {
            return Err(format!("arm {name} names no policy: write a file, oci://… or resilience"));
        }
        if weight == Some(0.0) {
            return Err(format!("arm {name} has the weight 0 and would get no run: leave it out"));
        }
        let reference = match built_in(reference) {
            Some(_) => format!("builtin:{reference}"),
            None => reference.to_owned(),
        };
        Ok(ArmSpec { name: ArmName::new(name), reference, weight })
    }

    /// Reads `NAME=REF[:WEIGHT]`.
    pub fn named(given: &str) -> Result<ArmSpec, String> {
        let (name, rest) = given.split_once('=').ok_or_else(|| {
            format!("{given:?} is no arm: write NAME=REF[:WEIGHT], like eager=eager.wasm:50")
        })?;
        ArmSpec::of(name, rest)
    }
}

/// The share of each arm, of 1 together: alike where no weight is given; those without one share what the others leave of 100.
pub fn shares(arms: &[ArmSpec]) -> Result<Vec<f64>, String> {
    let given: f64 = arms.iter().filter_map(|arm| arm.weight).sum();
    let without = arms.iter().filter(|arm| arm.weight.is_none()).count();
    if without == arms.len() {
        return Ok(vec![1.0 / arms.len().max(1) as f64; arms.len()]);
    }
    if without > 0 && given >= PERCENT {
        return Err(format!(
            "the given weights are {given} together, which leaves nothing of 100 for the arms without one: give all of them a weight"
        ));
    }
    let rest = (PERCENT - given) / without.max(1) as f64;
    let whole = if without > 0 { PERCENT } else { given };
    Ok(arms.iter().map(|arm| arm.weight.unwrap_or(rest) / whole).collect())
}
