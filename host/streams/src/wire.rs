//! Lenient reading of JSON lines whose shape an agent may change at any release: a field that is missing or of another
//! type is an absent fact, and costs nothing else. Reads in one pass, borrows what it can, and skips the rest.

mod output;
mod unicode_repair;
mod values;

use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

pub(crate) use output::MeasuredOutput;
pub(crate) use values::{
    Amount, BoundedList, BoundedMap, CommandText, Count, Flag, PresenceFlag, RawJson, Text, TextOrNumber,
};

use crate::truncate::cut;

/// Longest kind that [`baton_core::facts::AgentEvent::Unknown`] carries, and longest code of a signal.
const KIND_BYTES: usize = 64;

/// Longest name and id that is remembered. Ids have some forty bytes; if a name is a command, this part identifies it.
const NAME_BYTES: usize = 256;

/// Takes the JSON values that it uses, and skips those whose methods it does not override.
pub(crate) trait LenientValue<'de>: Default {
    fn borrowed(&mut self, text: &'de str) {
        self.text(text);
    }

    fn text(&mut self, _text: &str) {}

    fn whole(&mut self, _number: u64) {}

    fn fraction(&mut self, _number: f64) {}

    fn flag(&mut self, _flag: bool) {}

    fn null(&mut self) {}

    fn list<A: SeqAccess<'de>>(&mut self, mut items: A) -> Result<(), A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn map<A: MapAccess<'de>>(&mut self, mut entries: A) -> Result<(), A::Error> {
        while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(())
    }

    /// Takes one value of any type.
    fn take<D: Deserializer<'de>>(&mut self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(LenientSeed(self))
    }
}

/// Reads any value into a [`Take`] that is there already: the structs of a line are large, and are not moved about.
pub(crate) struct LenientSeed<'t, T>(pub(crate) &'t mut T);

impl<'de, T: LenientValue<'de>> DeserializeSeed<'de> for LenientSeed<'_, T> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        self.0.take(from)
    }
}

impl<'de, T: LenientValue<'de>> Visitor<'de> for LenientSeed<'_, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<(), E> {
        self.0.borrowed(text);
        Ok(())
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.0.text(text);
        Ok(())
    }

    fn visit_u64<E>(self, number: u64) -> Result<(), E> {
        self.0.whole(number);
        Ok(())
    }

    fn visit_i64<E>(self, number: i64) -> Result<(), E> {
        self.0.fraction(number as f64);
        Ok(())
    }

    fn visit_f64<E>(self, number: f64) -> Result<(), E> {
        self.0.fraction(number);
        Ok(())
    }

    fn visit_bool<E>(self, flag: bool) -> Result<(), E> {
        self.0.flag(flag);
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.0.null();
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<(), A::Error> {
        self.0.list(items)
    }

    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<(), A::Error> {
        self.0.map(entries)
    }
}

/// Reads any value into a new [`Take`].
pub(crate) struct Lenient<T>(pub(crate) T);

impl<'de, T: LenientValue<'de>> Deserialize<'de> for Lenient<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let mut taken = T::default();
        taken.take(from)?;
        Ok(Self(taken))
    }
}

/// Declares structs that take the named fields of an object. Of a text or number that comes twice the last one counts.
macro_rules! wire {
    ($($(#[$about:meta])* struct $Name:ident $(<$life:lifetime>)? { $($field:ident: $Type:ty = $key:literal,)* })*) => {$(
        $(#[$about])*
        #[derive(Debug, Default)]
        pub(crate) struct $Name $(<$life>)? { $(pub(crate) $field: $Type,)* }
        $crate::wire::take_fields!($Name $(<$life>)? { $($field = $key,)* });
    )*};
}

macro_rules! take_fields {
    ($Name:ident { $($fields:tt)* }) => { $crate::wire::take_fields!(@ 'de, $Name, $($fields)*); };
    ($Name:ident <$life:lifetime> { $($fields:tt)* }) => { $crate::wire::take_fields!(@ $life, $Name<$life>, $($fields)*); };
    (@ $life:lifetime, $Name:ty, $($field:ident = $key:literal,)*) => {
        impl<$life> $crate::wire::LenientValue<$life> for $Name {
            fn map<A: serde::de::MapAccess<$life>>(&mut self, mut entries: A) -> Result<(), A::Error> {
                while let Some($crate::wire::Lenient(key)) = entries.next_key::<$crate::wire::Lenient<$crate::wire::Text<'_>>>()? {
                    match key.str() {
                        $($key => entries.next_value_seed($crate::wire::LenientSeed(&mut self.$field))?,)*
                        _ => { entries.next_value::<serde::de::IgnoredAny>()?; }
                    }
                }
                Ok(())
            }
        }
    };
}

pub(crate) use {take_fields, wire};

/// An object, if there is one.
impl<'de, T: LenientValue<'de>> LenientValue<'de> for Option<T> {
    fn map<A: MapAccess<'de>>(&mut self, entries: A) -> Result<(), A::Error> {
        self.insert(T::default()).map(entries)
    }
}

/// Reads a line that is a JSON object. `repaired` holds the repaired line if a repair is needed.
pub(crate) fn read<'a, T: LenientValue<'a>>(line: &'a [u8], repaired: &'a mut String) -> Option<T> {
    if line.trim_ascii_start().first() != Some(&b'{') {
        return None;
    }
    if let Ok(Lenient(value)) = serde_json::from_slice(line) {
        return Some(value);
    }
    *repaired = unicode_repair::repair(line)?;
    serde_json::from_str(repaired).ok().map(|Lenient(value)| value)
}

/// A name to remember, truncated: the memory of a stream must not grow with its output.
pub(crate) fn truncate_name(name: &str) -> &str {
    cut(name, NAME_BYTES)
}

/// The parts that name a kind, joined and cut.
pub(crate) fn kind(parts: &[&str]) -> String {
    let joined = parts.iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join("/");
    cut(&joined, KIND_BYTES).to_owned()
}
