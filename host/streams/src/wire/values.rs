//! The values that fields of a line have, each taken leniently: another type is an absent value.

use std::borrow::Cow;

use baton_core::time::UnixMs;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess};
use serde_json::value::RawValue;

use super::{Lenient, LenientValue};

/// Most items of a list, or entries of a map, that are kept. A message has a handful of blocks and a session a handful of
/// models; the bound keeps a hostile line from taking many times its own size.
const KEPT_ITEMS: usize = 256;

/// Epochs below this are seconds: as milliseconds it would be the year 1973.
const SECONDS_EPOCH_BOUND: u64 = 100_000_000_000;

/// A text; empty if there is none.
#[derive(Debug, Default)]
pub(crate) struct Text<'a>(Cow<'a, str>);

impl<'a> Text<'a> {
    pub(crate) fn str(&self) -> &str {
        &self.0
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text, if it is not empty.
    pub(crate) fn nonempty(&self) -> Option<&str> {
        Some(&*self.0).filter(|text| !text.is_empty())
    }

    /// The owned text, if it is not empty.
    pub(crate) fn into_nonempty(self) -> Option<String> {
        Some(self.0.into_owned()).filter(|text| !text.is_empty())
    }
}

impl<'de> LenientValue<'de> for Text<'de> {
    fn borrowed(&mut self, text: &'de str) {
        self.0 = Cow::Borrowed(text);
    }

    fn text(&mut self, text: &str) {
        self.0 = Cow::Owned(text.to_owned());
    }
}

/// A whole number; none if it is negative or has a fraction.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Count(pub(crate) Option<u64>);

impl Count {
    pub(crate) fn or_zero(self) -> u64 {
        self.0.unwrap_or(0)
    }

    /// As an HTTP status, if it can be one.
    pub(crate) fn status(self) -> Option<u16> {
        u16::try_from(self.0?).ok().filter(|status| (100..600).contains(status))
    }

    /// As a point in time, given in seconds or milliseconds since the epoch.
    pub(crate) fn time(self) -> Option<UnixMs> {
        self.0.filter(|at| *at > 0).map(|at| UnixMs(if at < SECONDS_EPOCH_BOUND { at * 1000 } else { at }))
    }
}

impl LenientValue<'_> for Count {
    fn whole(&mut self, number: u64) {
        self.0 = Some(number);
    }

    fn fraction(&mut self, number: f64) {
        // Below 2^53 every whole number is exact.
        self.0 = Some(number as u64).filter(|whole| *whole < 1 << 53 && *whole as f64 == number);
    }
}

/// No report of an agent is about more.
const DOLLARS_MAX: f64 = 1e6;

/// A number of any kind.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Amount(pub(crate) Option<f64>);

impl Amount {
    /// US dollars as millionths. An absurd amount reaches every ceiling, and its sums can still be read.
    pub(crate) fn microusd(self) -> Option<u64> {
        let dollars = self.0.filter(|dollars| dollars.is_finite() && *dollars >= 0.0)?;
        Some((dollars.min(DOLLARS_MAX) * 1e6).round() as u64)
    }
}

impl LenientValue<'_> for Amount {
    fn whole(&mut self, number: u64) {
        self.0 = Some(number as f64);
    }

    fn fraction(&mut self, number: f64) {
        self.0 = Some(number);
    }
}

/// True or false, if it is given.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Flag(pub(crate) Option<bool>);

impl Flag {
    pub(crate) fn is_true(self) -> bool {
        self.0 == Some(true)
    }
}

impl LenientValue<'_> for Flag {
    fn flag(&mut self, flag: bool) {
        self.0 = Some(flag);
    }
}

/// A command: a text, or its words.
#[derive(Debug, Default)]
pub(crate) struct CommandText(pub(crate) String);

impl<'de> LenientValue<'de> for CommandText {
    fn text(&mut self, text: &str) {
        text.clone_into(&mut self.0);
    }

    fn list<A: SeqAccess<'de>>(&mut self, words: A) -> Result<(), A::Error> {
        let mut list = BoundedList::<Text<'de>>::default();
        list.list(words)?;
        let words: Vec<&str> = list.0.iter().map(Text::str).collect();
        self.0 = words.join(" ");
        Ok(())
    }
}

/// Whether there is a list or an object, with any content.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PresenceFlag(pub(crate) bool);

impl<'de> LenientValue<'de> for PresenceFlag {
    fn list<A: SeqAccess<'de>>(&mut self, mut items: A) -> Result<(), A::Error> {
        self.0 = true;
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn map<A: MapAccess<'de>>(&mut self, mut entries: A) -> Result<(), A::Error> {
        self.0 = true;
        while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(())
    }
}

/// A word that some write as a number: the id of a request, the code of an error.
#[derive(Debug, Default)]
pub(crate) struct TextOrNumber<'a> {
    pub(crate) text: Text<'a>,
    pub(crate) number: Count,
    other: Amount,
}

impl TextOrNumber<'_> {
    /// One name for it in either form; none if it is neither.
    pub(crate) fn name(&self) -> Option<String> {
        let number = self.number.0.map(|number| number.to_string());
        let other = || self.other.0.map(|number| number.to_string());
        self.text.nonempty().map(str::to_owned).or(number).or_else(other)
    }
}

impl<'de> LenientValue<'de> for TextOrNumber<'de> {
    fn borrowed(&mut self, text: &'de str) {
        self.text.borrowed(text);
    }

    fn text(&mut self, text: &str) {
        self.text.text(text);
    }

    fn whole(&mut self, number: u64) {
        self.number.whole(number);
    }

    fn fraction(&mut self, number: f64) {
        self.number.fraction(number);
        self.other.fraction(number);
    }
}

/// The first items of a list.
#[derive(Debug)]
pub(crate) struct BoundedList<T>(pub(crate) Vec<T>);

impl<T> Default for BoundedList<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: LenientValue<'de>> LenientValue<'de> for BoundedList<T> {
    fn list<A: SeqAccess<'de>>(&mut self, mut items: A) -> Result<(), A::Error> {
        while self.0.len() < KEPT_ITEMS {
            match items.next_element::<Lenient<T>>()? {
                Some(Lenient(item)) => self.0.push(item),
                None => return Ok(()),
            }
        }
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }
}

/// The first entries of an object whose keys are names.
#[derive(Debug)]
pub(crate) struct BoundedMap<'a, T>(pub(crate) Vec<(Text<'a>, T)>);

impl<T> Default for BoundedMap<'_, T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: LenientValue<'de>> LenientValue<'de> for BoundedMap<'de, T> {
    fn map<A: MapAccess<'de>>(&mut self, mut entries: A) -> Result<(), A::Error> {
        while self.0.len() < KEPT_ITEMS {
            match entries.next_entry::<Lenient<Text<'de>>, Lenient<T>>()? {
                Some((Lenient(name), Lenient(value))) => self.0.push((name, value)),
                None => return Ok(()),
            }
        }
        while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(())
    }
}

/// A value of any type, unparsed; none if it is null.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RawJson<'a>(pub(crate) Option<&'a str>);

impl<'a> RawJson<'a> {
    /// Reads it after all.
    pub(crate) fn get<T: LenientValue<'a>>(self) -> T {
        self.0
            .and_then(|json| serde_json::from_str::<Lenient<T>>(json).ok())
            .map(|Lenient(value)| value)
            .unwrap_or_default()
    }

    /// It is an object without any field.
    pub(crate) fn is_empty_object(self) -> bool {
        let inside = self.0.and_then(|json| json.strip_prefix('{')?.strip_suffix('}'));
        inside.is_some_and(|inside| inside.trim_ascii().is_empty())
    }
}

impl<'de> LenientValue<'de> for RawJson<'de> {
    fn take<D: Deserializer<'de>>(&mut self, from: D) -> Result<(), D::Error> {
        let json = <&RawValue>::deserialize(from)?.get();
        self.0 = Some(json).filter(|json| *json != "null");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absurd_cost_is_bounded_and_one_that_is_none_is_unknown() {
        let of = |dollars| Amount(Some(dollars)).microusd();
        assert_eq!((of(0.13), of(1e308)), (Some(130_000), Some(1_000_000_000_000)));
        assert_eq!((of(f64::NAN), of(f64::INFINITY), of(-1.0)), (None, None, None));
    }
}
