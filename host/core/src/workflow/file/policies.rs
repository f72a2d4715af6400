//! The table `[policies]` of a workflow file: which component decides what. Loads none.

use std::collections::BTreeMap;

use super::check::{Checker, join};
use super::problem::suggest;
use super::shape::{At, PoliciesShape, PolicyShape};
use crate::observation::Capability;
use crate::workflow::{Policies, PolicyChoice, SettingValue};

/// The policies that are part of the host.
const BUILT_IN: [&str; 1] = ["builtin:resilience"];

impl Checker<'_, '_> {
    pub(super) fn policies(&mut self, shape: PoliciesShape) -> Policies {
        let mut all = match &shape.all {
            Some(choice) => self.policy("all", choice),
            None => PolicyChoice::default(),
        };
        if let Some(settings) = shape.settings {
            if matches!(shape.all.as_ref().map(At::get), Some(PolicyShape::Set(_))) {
                let what = "`settings` in [policies] stands beside `all`, which is a table".to_owned();
                let hint = "write them as all = { component = \"…\", settings = { … } }";
                self.problems.at(settings.span(), "settings", what, hint);
            }
            all.settings = settings.into_inner();
        }
        let named = [
            (Capability::Exhaustion, shape.exhaustion),
            (Capability::Compaction, shape.compaction),
            (Capability::Splitting, shape.splitting),
            (Capability::Handoff, shape.handoff),
        ];
        let by_capability = named
            .into_iter()
            .filter_map(|(capability, choice)| Some((capability, self.policy(capability.name(), &choice?))))
            .collect();
        Policies { all, by_capability }
    }

    fn policy(&mut self, key: &str, choice: &At<PolicyShape>) -> PolicyChoice {
        let (component, settings): (&str, BTreeMap<String, SettingValue>) = match choice.get() {
            PolicyShape::Component(component) => (component, BTreeMap::new()),
            PolicyShape::Set(table) => (&table.component, table.settings.clone()),
        };
        let built_in = component.starts_with("builtin:");
        if built_in && !BUILT_IN.contains(&component) {
            let what =
                format!("`{key}` in [policies] names `{}`, which is not built in", component.escape_debug());
            self.problems.at(choice.span(), key, what, suggest(component, BUILT_IN));
        } else if component.contains("://") {
            let what = format!("`{key}` in [policies] names \"{}\"", component.escape_debug());
            let hint = "this version reads components from files; give the path of one";
            self.problems.at(choice.span(), key, what, hint);
        }
        let component = if built_in { component.to_owned() } else { join(self.base, component) };
        PolicyChoice { component, settings }
    }
}
