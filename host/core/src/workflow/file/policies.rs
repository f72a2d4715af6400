//! The tables `[policies]`, in any place: the component and the settings of each decision. Loads no component, and does not
//! know its settings.

use std::collections::BTreeMap;

use super::check::{FileReader, join};
use super::diagnostic::{Diagnostics, suggest};
use super::rules::rules_file;
use super::schema::{
    CHAIN_MAX, ChoicesSchema, GrantsSchema, LocatedValue, PoliciesSchema, PolicyLinkSchema, PolicySchema,
    PolicyTable, WorkflowSchema,
};
use crate::grants::Grants;
use crate::ids::{PhaseId, RoleName};
use crate::observation::Capability;
use crate::workflow::rules::{RULES, RULES_FILE};
use crate::workflow::{
    BUILTIN, ConfigLayer, ConfigSource, GivenSetting, Policies, PolicyChoice, PolicyLayer, PolicyLayerFile,
};

/// The policies that are part of the host.
const BUILT_IN: [&str; 2] = [BUILTIN, RULES];
/// How a reference to a registry begins.
const OCI: &str = "oci://";
/// How the name of a file of rules ends.
const TOML: &str = ".toml";
/// The forms of a component's reference, for messages.
const REFERENCES: &str = "write the path of a component, \"rules:house.toml\" for a file of rules, \"builtin:resilience\", or \
     \"oci://host/name:tag\" for one of a registry";
/// Why a workspace grants nothing.
const NO_GRANTS: &str = "whoever brings a policy into this folder would grant it what it asks for: grant it in the workflow, or \
                         in your own config.toml";
/// Why a workspace has nothing watched.
const NO_WATCH: &str = "agents write in this folder, and would choose who judges them: say it in the workflow, or in your own \
                        config.toml";

/// Reads the tables of one file.
pub(super) struct PolicyTableReader<'a, 't> {
    /// The folder that paths start from.
    base: &'a str,
    read: &'a mut FileReader<'a>,
    problems: &'a mut Diagnostics<'t>,
    /// What files of rules say, by path; nothing for one that is wrong, which is reported once.
    rules: BTreeMap<String, BTreeMap<String, GivenSetting>>,
}

impl<'a, 't> PolicyTableReader<'a, 't> {
    pub(super) fn new(
        base: &'a str,
        read: &'a mut FileReader<'a>,
        problems: &'a mut Diagnostics<'t>,
    ) -> Self {
        Self { base, read, problems, rules: BTreeMap::new() }
    }

    /// `[policies]` of a file.
    pub(super) fn said(&mut self, layer: ConfigLayer, mut shape: PoliciesSchema) -> PolicyLayerFile {
        let place = "in [policies]";
        let choices = shape.take_choices();
        let shadow = shape.shadow.map(|shadow| {
            shadow.iter().map(|candidate| self.shadow(place, layer, candidate)).collect::<Vec<_>>()
        });
        if let Some(watch) =
            shape.watch.as_ref().filter(|watch| layer == ConfigLayer::Workspace && *watch.get())
        {
            let what = format!("`watch` {place} is not for the file of a workspace");
            self.problems.at(watch.span(), "watch", what, NO_WATCH);
        }
        PolicyLayerFile {
            layer: self.layer(place, layer, choices),
            shadow,
            watch: shape.watch.map(LocatedValue::into_inner),
            breaker: shape.breaker,
        }
    }

    /// `[roles.….policies]` and `policies` of phases, taken out of the schema. Settings of the whole run are not in them.
    pub(super) fn scoped(&mut self, shape: &mut WorkflowSchema) -> Policies {
        let mut policies = Policies::default();
        for (name, role) in &mut shape.roles {
            if let Some(said) = role.get_mut().policies.take() {
                let place = format!("in [roles.{}.policies]", name.escape_debug());
                let layer = self.layer(&place, ConfigLayer::Role, said.into_inner().into());
                policies.roles.insert(RoleName::from(name.as_str()), layer);
            }
        }
        for phase in &mut shape.phases {
            let phase = phase.get_mut();
            if let Some(said) = phase.policies.take() {
                let id = phase.id.get();
                let place = format!("in the policies of phase `{}`", id.escape_debug());
                let layer = self.layer(&place, ConfigLayer::Phase, said.into());
                policies.phases.insert(PhaseId::from(id.as_str()), layer);
            }
        }
        policies
    }

    /// The choices of one table.
    pub(super) fn layer(&mut self, place: &str, layer: ConfigLayer, shape: ChoicesSchema) -> PolicyLayer {
        let mut all = shape.all.as_ref().map(|choice| self.choice("all", place, layer, choice));
        if let Some(settings) = shape.settings {
            let from = self.origin(layer, &settings);
            let span = settings.span();
            let given = PolicyChoice { settings: settings.into_inner(), from, ..PolicyChoice::default() };
            match &mut all {
                Some(choice) if choice.component.is_some() => choice.for_chain = Some(Box::new(given)),
                // The problems of a choice that says nothing are reported already.
                Some(choice) if !choice.settings.is_empty() => {
                    let what = format!("`settings` {place} stands beside `all`, which has settings alone");
                    self.problems.at(span, "settings", what, "write them in one place");
                }
                _ => all = Some(given),
            }
        }
        let named = [
            (Capability::Exhaustion, shape.exhaustion),
            (Capability::Completion, shape.completion),
            (Capability::Recovery, shape.recovery),
            (Capability::Compaction, shape.compaction),
            (Capability::Offloading, shape.offloading),
            (Capability::Splitting, shape.splitting),
            (Capability::Budgeting, shape.budgeting),
            (Capability::Prompting, shape.prompting),
            (Capability::Handoff, shape.handoff),
            (Capability::Review, shape.review),
        ];
        let by_capability = named
            .into_iter()
            .filter_map(|(capability, choice)| {
                Some((capability, self.choice(capability.name(), place, layer, &choice?)))
            })
            .collect();
        PolicyLayer { all, by_capability }
    }

    fn shadow(
        &mut self,
        place: &str,
        layer: ConfigLayer,
        choice: &LocatedValue<PolicySchema>,
    ) -> PolicyChoice {
        if matches!(choice.get(), PolicySchema::Chain(_)) {
            let what = format!("`shadow` {place} has a list in its list");
            let hint = "each candidate is asked alone, and decides nothing: list them one beside the other";
            self.problems.at(choice.span(), "shadow", what, hint);
        }
        let candidate = self.choice("shadow", place, layer, choice);
        if candidate.component.is_none() {
            let what = format!("`shadow` {place} names no component");
            let hint = "write the path of one, or { component = \"…\", settings = { … } }";
            self.problems.at(choice.span(), "shadow", what, hint);
        }
        candidate
    }

    fn choice(
        &mut self,
        key: &str,
        place: &str,
        layer: ConfigLayer,
        choice: &LocatedValue<PolicySchema>,
    ) -> PolicyChoice {
        match choice.get() {
            PolicySchema::Component(component) => self.named(key, place, layer, choice, component),
            PolicySchema::Set(table) => self.table(key, place, layer, choice, table.clone()),
            PolicySchema::Chain(links) => self.chain(key, place, layer, choice, links),
        }
    }

    /// A list: its first component with the rest after it. The schema has checked their number.
    fn chain(
        &mut self,
        key: &str,
        place: &str,
        layer: ConfigLayer,
        choice: &LocatedValue<PolicySchema>,
        links: &[PolicyLinkSchema],
    ) -> PolicyChoice {
        let mut chain: Vec<PolicyChoice> = Vec::new();
        for link in links {
            let link = match link {
                PolicyLinkSchema::Component(component) => self.named(key, place, layer, choice, component),
                PolicyLinkSchema::Set(table) => self.table(key, place, layer, choice, table.clone()),
            };
            if link.component.is_none() {
                let what = format!("`{key}` {place} lists a table that names no component");
                let hint = "write { component = \"…\", settings = { … } }, or settings alone without a list";
                self.problems.at(choice.span(), key, what, hint);
            }
            let PolicyChoice { then, .. } = link.clone();
            chain.push(PolicyChoice { then: Vec::new(), ..link });
            chain.extend(then);
        }
        self.linked(key, place, choice, chain)
    }

    /// The first component with the rest after it.
    fn linked(
        &mut self,
        key: &str,
        place: &str,
        choice: &LocatedValue<PolicySchema>,
        chain: Vec<PolicyChoice>,
    ) -> PolicyChoice {
        let named = |link: &PolicyChoice| (link.component.clone(), link.settings.clone());
        let is_again = |at: usize| chain[..at].iter().any(|before| named(before) == named(&chain[at]));
        if (0..chain.len()).any(is_again) {
            let what = format!("`{key}` {place} lists the same policy twice");
            let hint = "it would abstain a second time, too";
            self.problems.at(choice.span(), key, what, hint);
        }
        if chain.len() > CHAIN_MAX {
            let what = format!("`{key}` {place} names {} policies one behind the other", chain.len());
            let hint = format!("a chain has at most {CHAIN_MAX}");
            self.problems.at(choice.span(), key, what, hint);
        }
        let mut chain = chain.into_iter();
        let first = chain.next().unwrap_or_default();
        PolicyChoice { then: chain.collect(), ..first }
    }

    /// A component without settings of its own.
    fn named(
        &mut self,
        key: &str,
        place: &str,
        layer: ConfigLayer,
        choice: &LocatedValue<PolicySchema>,
        component: &str,
    ) -> PolicyChoice {
        let rules_file = self.rules_path(component);
        let (component, settings) = self.reference(key, place, choice, component);
        PolicyChoice {
            component: Some(component),
            settings,
            rules_file,
            from: self.origin(layer, choice),
            ..PolicyChoice::default()
        }
    }

    fn table(
        &mut self,
        key: &str,
        place: &str,
        layer: ConfigLayer,
        choice: &LocatedValue<PolicySchema>,
        table: PolicyTable,
    ) -> PolicyChoice {
        let PolicyTable { component, layer: asks_next, over, settings, grants } = table;
        let is_layer = asks_next.is_some();
        if is_layer && component.is_some() {
            let what = format!("`{key}` {place} names a `layer` and a `component`");
            let hint = "write { layer = \"…\", over = \"…\" } for a policy that asks the next one, else { component = \"…\" }";
            self.problems.at(choice.span(), key, what, hint);
        }
        let behind = over.map(|over| self.choice(key, place, layer, &choice.with(*over)));
        if let Some(behind) = &behind {
            if !is_layer {
                let what = format!("`{key}` {place} has `over` without a `layer`");
                let hint =
                    "only a layer asks the next policy: write { layer = \"…\", over = \"…\" }, or a list";
                self.problems.at(choice.span(), key, what, hint);
            } else if behind.component.is_none() {
                let what = format!("`over` of `{key}` {place} names no component");
                self.problems.at(choice.span(), key, what, REFERENCES);
            }
        }
        let component = component.or(asks_next);
        if component.is_none() && settings.is_empty() && grants.is_none() {
            let what = format!("`{key}` {place} says nothing");
            let hint = "name a component, or settings that are laid over what a farther layer chose";
            self.problems.at(choice.span(), key, what, hint);
        }
        let has_component = component.is_some();
        let rules_file = component.as_deref().and_then(|component| self.rules_path(component));
        let reference = component.map(|component| self.reference(key, place, choice, &component));
        let (component, rules) = reference.unzip();
        let rules = rules.unwrap_or_default();
        if !rules.is_empty() && !settings.is_empty() {
            let what = format!("`settings` of `{key}` {place} stand beside a file of rules");
            self.problems.at(choice.span(), "settings", what, "write them into the file");
        }
        let chosen = PolicyChoice {
            component,
            settings: if rules.is_empty() { settings } else { rules },
            rules_file,
            grants: grants
                .map(|grants| self.grants(key, place, choice, layer, has_component, grants))
                .unwrap_or_default(),
            from: self.origin(layer, choice),
            is_layer,
            ..PolicyChoice::default()
        };
        let Some(mut behind) = behind else { return chosen };
        let rest = std::mem::take(&mut behind.then);
        self.linked(key, place, choice, [vec![chosen, behind], rest].concat())
    }

    /// A grant is for a component, and only from a layer that may grant.
    fn grants(
        &mut self,
        key: &str,
        place: &str,
        choice: &LocatedValue<PolicySchema>,
        layer: ConfigLayer,
        has_component: bool,
        shape: GrantsSchema,
    ) -> Grants {
        let GrantsSchema { artifacts, fuel, memory_mib } = shape;
        let grants = Grants { artifacts, fuel, memory_mib };
        let what = format!("`grants` of `{key}` {place}");
        if layer == ConfigLayer::Workspace {
            let what = format!("{what} is not for the file of a workspace");
            self.problems.at(choice.span(), "grants", what, NO_GRANTS);
        } else if !has_component && !grants.is_empty() {
            let what = format!("{what} names no component");
            let hint = "a grant is for one component: name it beside it, as component = \"…\"";
            self.problems.at(choice.span(), "grants", what, hint);
        } else if let Err(error) = grants.check() {
            self.problems.at(choice.span(), "grants", format!("{what}: {error}"), "");
        }
        grants
    }

    /// The file of rules that is named, if one is.
    fn rules_path(&self, written: &str) -> Option<String> {
        written.strip_prefix(RULES_FILE).map(|file| join(self.base, file))
    }

    /// The component, and its settings from a file of rules.
    fn reference(
        &mut self,
        key: &str,
        place: &str,
        choice: &LocatedValue<PolicySchema>,
        written: &str,
    ) -> (String, BTreeMap<String, GivenSetting>) {
        match written.strip_prefix(RULES_FILE) {
            Some(file) => (RULES.to_owned(), self.rules(key, place, choice, file)),
            None => (self.component(key, place, choice, written), BTreeMap::new()),
        }
    }

    /// The settings of a file of rules.
    fn rules(
        &mut self,
        key: &str,
        place: &str,
        choice: &LocatedValue<PolicySchema>,
        file: &str,
    ) -> BTreeMap<String, GivenSetting> {
        let path = join(self.base, file);
        if let Some(rules) = self.rules.get(&path) {
            return rules.clone();
        }
        let names = format!("`{key}` {place} names rules:");
        let rules = match (self.read)(&path).map(|text| rules_file(&text, &path)) {
            Ok(Ok(rules)) => rules,
            Ok(Err(wrong)) => {
                for problem in wrong.problems {
                    let (line, column) = (problem.line, problem.column);
                    let what = format!("{names} {}:{line}:{column}: {}", path.escape_debug(), problem.what);
                    self.problems.at(choice.span(), key, what, problem.hint);
                }
                BTreeMap::new()
            }
            Err(why) => {
                let what = format!("{names} {} cannot be read: {why}", path.escape_debug());
                self.problems.at(choice.span(), key, what, "write rules: and the path of a TOML file");
                BTreeMap::new()
            }
        };
        self.rules.insert(path, rules.clone());
        rules
    }

    /// A reference, with a path made absolute.
    fn component(
        &mut self,
        key: &str,
        place: &str,
        choice: &LocatedValue<PolicySchema>,
        component: &str,
    ) -> String {
        let shown = component.escape_debug();
        if component.starts_with("builtin:") {
            if !BUILT_IN.contains(&component) {
                let what = format!("`{key}` {place} names `{shown}`, which is not built in");
                self.problems.at(choice.span(), key, what, suggest(component, BUILT_IN));
            }
            return component.to_owned();
        }
        if let Some(rest) = component.strip_prefix(OCI) {
            let named = rest.split_once('/').is_some_and(|(host, name)| !host.is_empty() && !name.is_empty());
            if !named || rest.contains(char::is_whitespace) {
                let what = format!("`{key}` {place} names \"{shown}\", which is no place in a registry");
                let hint = "write oci://host/name:tag, or oci://host/name@sha256:… for exactly one";
                self.problems.at(choice.span(), key, what, hint);
            }
            return component.to_owned();
        }
        if component.contains("://") {
            let what = format!("`{key}` {place} names \"{shown}\", and policies are not taken from there");
            self.problems.at(choice.span(), key, what, REFERENCES);
        }
        if component.ends_with(TOML) {
            let what = format!("`{key}` {place} names \"{shown}\", which is no component");
            self.problems.at(choice.span(), key, what, format!("a file of rules is named \"rules:{shown}\""));
        }
        join(self.base, component)
    }

    fn origin<T>(&self, layer: ConfigLayer, at: &LocatedValue<T>) -> ConfigSource {
        ConfigSource {
            layer,
            file: self.problems.origin().to_owned(),
            line: self.problems.line_of(at.span().start),
        }
    }
}
