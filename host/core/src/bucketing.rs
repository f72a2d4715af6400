//! Which arm an id falls into: GrowthBook's published algorithm, so that anyone can check and exchange an assignment.
//! Keeps no experiments and enrols no run.
//!
//! The hash is FNV-1a of 32 bits: three lines, which must never change under a running experiment, so it is not taken from a
//! crate. The SDKs in other languages hash characters where this hashes the bytes of UTF-8; for ASCII, which ids of Baton are,
//! that is the same.

/// How far the weights may be from 1 together before they are taken for a mistake, as the official SDKs have it.
const WEIGHTS_SUM: std::ops::RangeInclusive<f64> = 0.99..=1.01;

/// A part of [0, 1): from `start`, up to but without `end`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BucketRange {
    /// First bucket in it.
    pub start: f64,
    /// First bucket beyond it.
    pub end: f64,
}

impl BucketRange {
    /// Whether a bucket is in it.
    pub fn contains(&self, bucket: f64) -> bool {
        bucket >= self.start && bucket < self.end
    }

    /// Its share of all ids.
    pub fn width(&self) -> f64 {
        (self.end - self.start).max(0.0)
    }
}

/// FNV-1a, 32 bits.
pub fn fnv32a(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// The bucket of `value` in [0, 1). Version 2 has 10,000 buckets, and those of one seed are independent of those of another;
/// version 1 has 1,000, and exists for assignments that were made with it. There are no others.
pub fn hash(seed: &str, value: &str, version: u32) -> Option<f64> {
    match version {
        1 => Some(f64::from(fnv32a(&format!("{value}{seed}")) % 1_000) / 1_000.0),
        2 => Some(f64::from(fnv32a(&fnv32a(&format!("{seed}{value}")).to_string()) % 10_000) / 10_000.0),
        _ => None,
    }
}

/// The ranges of `arms` arms. Each begins where the one before would end at full coverage, so that more coverage moves no unit to
/// another arm.
///
/// As in the official SDKs, coverage below 0 is 0 and above 1 is 1, and weights that are not one an arm, or do not sum to 1, are
/// taken for equal ones. The set-up of an experiment refuses such weights before.
pub fn ranges(arms: usize, coverage: f64, weights: Option<&[f64]>) -> Vec<BucketRange> {
    let coverage = if coverage.is_nan() { 0.0 } else { coverage.clamp(0.0, 1.0) };
    let fits = |weights: &&[f64]| weights.len() == arms && WEIGHTS_SUM.contains(&weights.iter().sum::<f64>());
    let equal = vec![1.0 / arms.max(1) as f64; arms];
    let weights = weights.filter(fits).unwrap_or(&equal);
    let mut start = 0.0;
    let range = |weight: &f64| {
        let range = BucketRange { start, end: start + coverage * weight };
        start += weight;
        range
    };
    weights.iter().map(range).collect()
}

/// The first range that contains a bucket, as the number of its arm from 0. None if coverage leaves it out.
pub fn choose(bucket: f64, ranges: &[BucketRange]) -> Option<usize> {
    ranges.iter().position(|range| range.contains(bucket))
}

/// Whether `value` is in this part of a namespace, by which experiments that must not meet share out the ids.
pub fn in_namespace(value: &str, namespace: &str, part: BucketRange) -> bool {
    hash(&format!("__{namespace}"), value, 1).is_some_and(|bucket| part.contains(bucket))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    /// From, and up to.
    type Part = (f64, f64);
    /// Number of variations, coverage, weights.
    type Arms = (usize, f64, Option<Vec<f64>>);
    /// Its name, from, and up to.
    type Namespace = (String, f64, f64);

    /// The cases that GrowthBook publishes for authors of an SDK.
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct BucketCases {
        hash: Vec<(String, String, u32, Option<f64>)>,
        get_bucket_range: Vec<(String, Arms, Vec<Part>)>,
        choose_variation: Vec<(String, f64, Vec<Part>, i64)>,
        in_namespace: Vec<(String, String, Namespace, bool)>,
    }

    fn cases() -> BucketCases {
        serde_json::from_str(include_str!("../../../tests/fixtures/growthbook-cases.json")).unwrap()
    }

    // M5
    #[test]
    fn hashes_are_those_of_growthbook() {
        for (seed, value, version, bucket) in cases().hash {
            assert_eq!(hash(&seed, &value, version), bucket, "{seed:?} {value:?} v{version}");
        }
        assert_eq!(hash("seed", "a", 0), None);
        assert_eq!(hash("seed", "a", 3), None);
    }

    // M5
    #[test]
    fn ranges_are_those_of_growthbook() {
        for (name, (arms, coverage, weights), right) in cases().get_bucket_range {
            let found = ranges(arms, coverage, weights.as_deref());
            assert_eq!(found.len(), right.len(), "{name}");
            for (range, (start, end)) in found.iter().zip(&right) {
                assert!(
                    (range.start - start).abs() < 1e-12 && (range.end - end).abs() < 1e-12,
                    "{name}: {found:?}"
                );
            }
        }
    }

    // M5
    #[test]
    fn choices_are_those_of_growthbook() {
        for (name, bucket, parts, right) in cases().choose_variation {
            let parts: Vec<BucketRange> =
                parts.into_iter().map(|(start, end)| BucketRange { start, end }).collect();
            assert_eq!(choose(bucket, &parts), usize::try_from(right).ok(), "{name}");
        }
    }

    // M5
    #[test]
    fn namespaces_are_those_of_growthbook() {
        for (name, value, (namespace, start, end), right) in cases().in_namespace {
            assert_eq!(in_namespace(&value, &namespace, BucketRange { start, end }), right, "{name}");
        }
    }

    #[test]
    fn numbers_that_are_none_cover_nobody_or_weigh_the_same() {
        assert!(ranges(2, f64::NAN, None).iter().all(|range| range.width() == 0.0));
        assert_eq!(ranges(2, 1.0, Some(&[f64::NAN, 0.5])), ranges(2, 1.0, None));
        assert_eq!(ranges(0, 1.0, None), []);
        assert_eq!(choose(f64::NAN, &ranges(2, 1.0, None)), None);
    }

    #[test]
    fn more_coverage_moves_nobody_to_another_arm() {
        for id in 0..2_000 {
            let bucket = hash("split-v2", &format!("run-{id}"), 2).unwrap();
            let before = choose(bucket, &ranges(3, 0.4, Some(&[0.2, 0.3, 0.5])));
            let after = choose(bucket, &ranges(3, 0.9, Some(&[0.2, 0.3, 0.5])));
            assert!(before.is_none() || before == after, "run-{id}");
        }
    }

    #[test]
    fn ids_spread_evenly_and_independently_of_other_seeds() {
        // A thousand ids a cell are within five standard deviations of what they should be.
        let mut cells = [[0_u32; 2]; 2];
        for id in 0..4_000 {
            let of =
                |seed| choose(hash(seed, &format!("run-{id}"), 2).unwrap(), &ranges(2, 1.0, None)).unwrap();
            cells[of("one")][of("two")] += 1;
        }
        assert!(cells.iter().flatten().all(|count| count.abs_diff(1_000) < 140), "{cells:?}");
    }
}
