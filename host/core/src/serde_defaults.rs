//! Omits default values in serde output.

/// A row of the journal omits fields that its first format did not have if they have their default value.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
