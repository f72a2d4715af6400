//! What serde leaves out.

/// Fields that a row of the journal did not have in its first format are left out where they say nothing.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
