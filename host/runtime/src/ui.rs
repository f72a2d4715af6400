//! What the renderer, people elsewhere and another terminal get to see of a run.

pub(crate) mod attach;
pub(crate) mod notifier;
pub(crate) mod ui_updates;
