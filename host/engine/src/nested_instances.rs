//! How many instances come of the components within a component. The compiler unfolds each of them, and a kilobyte of
//! components that instantiate one another twice would be a billion. Counts what `component_limits.rs` reads, without unfolding it.

use wasmparser::{
    ComponentAlias, ComponentExport, ComponentExternalKind, ComponentInstance, ComponentOuterAliasKind,
};

use crate::component_limits::LimitViolation;

/// Instances of components: toolchains make one for each interface, and composed components a few more.
pub(crate) const INSTANCES: u64 = 1_000;

/// The components and modules around the place that is read, the innermost last; none for a module.
#[derive(Default)]
pub(crate) struct InstanceCounter(Vec<Option<OpenComponent>>);

/// A component whose end is still to come.
struct OpenComponent {
    /// What each component unfolds to that it can name, by index.
    components: Vec<u64>,
    /// What it unfolds to itself.
    instances: u64,
}

impl InstanceCounter {
    pub(crate) fn begin(&mut self, is_component: bool) {
        self.0.push(is_component.then(|| OpenComponent { components: Vec::new(), instances: 1 }));
    }

    pub(crate) fn end(&mut self) {
        if let (Some(Some(ended)), Some(around)) = (self.0.pop(), self.innermost()) {
            around.components.push(ended.instances);
        }
    }

    /// An exported component has one more index.
    pub(crate) fn export(&mut self, export: &ComponentExport<'_>) -> Result<(), LimitViolation> {
        if export.kind == ComponentExternalKind::Component {
            self.name_again(0, export.index);
        }
        Ok(())
    }

    pub(crate) fn alias(&mut self, alias: &ComponentAlias<'_>) -> Result<(), LimitViolation> {
        match alias {
            ComponentAlias::InstanceExport { kind: ComponentExternalKind::Component, .. } => {
                return Err(LimitViolation::HigherOrder);
            }
            ComponentAlias::Outer { kind: ComponentOuterAliasKind::Component, count, index } => {
                self.name_again(*count, *index);
            }
            _ => {}
        }
        Ok(())
    }

    pub(crate) fn instance(&mut self, instance: &ComponentInstance<'_>) -> Result<(), LimitViolation> {
        let ComponentInstance::Instantiate { component_index, args } = instance else { return Ok(()) };
        if args.iter().any(|argument| argument.kind == ComponentExternalKind::Component) {
            return Err(LimitViolation::HigherOrder);
        }
        let more = self.named(0, *component_index);
        let Some(here) = self.innermost() else { return Ok(()) };
        here.instances = here.instances.saturating_add(more);
        // A component that is never instantiated costs nothing, but one that is too large is refused all the same.
        if here.instances > INSTANCES { Err(LimitViolation::Instances) } else { Ok(()) }
    }

    fn innermost(&mut self) -> Option<&mut OpenComponent> {
        self.0.last_mut()?.as_mut()
    }

    /// Number of instances of the component with this index in the component that is `further_out` levels further out. An
    /// unknown one counts as 1; the compiler refuses it.
    fn named(&self, further_out: u32, index: u32) -> u64 {
        let place = self.0.len().checked_sub(1 + further_out as usize);
        let open = place.and_then(|place| self.0.get(place)?.as_ref());
        open.and_then(|open| open.components.get(index as usize)).copied().unwrap_or(1)
    }

    fn name_again(&mut self, further_out: u32, index: u32) {
        let instances = self.named(further_out, index);
        if let Some(here) = self.innermost() {
            here.components.push(instances);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::component_limits::check;

    fn unfolds(text: &str) -> Result<(), LimitViolation> {
        check(&wat::parse_str(format!("(component {text})")).expect("it is text"))
    }

    /// So many instances of a component that is named by `alias` within another.
    fn times(count: usize) -> String {
        format!(
            "(component $a) (component $b (alias outer 1 $a (component $c)) {}) (export \"b\" (component $b))
             (instance (instantiate $b))",
            "(instance (instantiate $c))".repeat(count)
        )
    }

    #[test]
    fn instances_are_counted_through_aliases_and_exports() {
        // The outermost, one of $b, and those of $a.
        assert_eq!(unfolds(&times(998)), Ok(()));
        assert_eq!(unfolds(&times(999)), Err(LimitViolation::Instances));
        let exported =
            "(component $b) (export $d \"b\" (component $b)) (component $e (alias outer 1 $d (component $f))";
        assert_eq!(unfolds(&format!("{exported} (instance (instantiate $f)))")), Ok(()));
    }

    #[test]
    fn what_doubles_is_refused_without_unfolding_it() {
        let doubling = |times: u32| {
            (1..=times).fold("(component $c0)".to_owned(), |text, level| {
                let once = format!("(instance (instantiate $c{}))", level - 1);
                format!("{text}(component $c{level} {once}{once})")
            })
        };
        assert_eq!(unfolds(&doubling(8)), Ok(()));
        assert_eq!(unfolds(&doubling(200)), Err(LimitViolation::Instances));
    }

    #[test]
    fn what_is_handed_over_is_refused() {
        let handed =
            "(component $a) (component $b (import \"c\" (component $c)) (instance (instantiate $c)))";
        assert_eq!(unfolds(handed), Err(LimitViolation::HigherOrder));
        let taken =
            "(component $a (component $b) (export \"b\" (component $b))) (instance $i (instantiate $a))
                     (alias export $i \"b\" (component $c))";
        assert_eq!(unfolds(taken), Err(LimitViolation::HigherOrder));
    }
}
