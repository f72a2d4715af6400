//! Who decides what where, for people and programs. Finds nothing out.

use baton_runtime::core::grants::{Grants, RequestedGrants};
use baton_runtime::core::input::PolicyBinding;
use baton_runtime::core::observation::Capability;
use baton_runtime::core::workflow::{ConfigLayer, ConfigSource, PolicyScope, SettingValue};
use baton_runtime::core::{Digest, RunId, Workflow};
use serde_json::{Map, Value, json};

use super::terminal_style::{TerminalStyle, Tone};
use super::{json_record, text_format};
use crate::config_layers::ConfigLayers;

/// What was asked about.
pub(crate) enum WhichSubject {
    /// What is the same for every workflow.
    Everything,
    /// A workflow that is not started.
    Workflow {
        /// Its name.
        name: String,
        /// Its file.
        file: String,
    },
    /// A run, as it stands now.
    Run {
        /// Its id.
        run: RunId,
        /// The name of its workflow.
        workflow: String,
    },
}

/// Who decides.
pub(crate) struct WhichReport {
    of: WhichSubject,
    /// The files that were looked for, and whether there is one.
    files: Vec<(ConfigLayer, String, bool)>,
    bindings: Vec<EffectiveBinding>,
    /// Who is asked beside them and decides nothing.
    shadows: Vec<EffectiveBinding>,
    watch: bool,
    breaker: u32,
    /// What a run would have to do with experiments, in lines.
    experiments: Vec<String>,
}

/// Who decides one thing in one scope.
#[derive(Clone, Debug)]
pub(crate) struct EffectiveBinding {
    pub(crate) scope: PolicyScope,
    pub(crate) capability: Capability,
    pub(crate) decides: DecidingPolicy,
    /// Who is asked where it abstains, in order.
    pub(crate) then: Vec<DecidingPolicy>,
    /// Who is taken where it is taken back, the next one first.
    pub(crate) replaced: Vec<FallbackPolicy>,
    pub(crate) faults_in_row: u32,
}

/// A policy that decides.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DecidingPolicy {
    pub(crate) policy: String,
    pub(crate) component: Digest,
    /// Its size, where it is at hand.
    pub(crate) bytes: Option<usize>,
    pub(crate) from: ConfigSource,
    /// What is not its default.
    pub(crate) set: Vec<ChangedSetting>,
    pub(crate) asked: RequestedGrants,
    pub(crate) granted: Grants,
    /// The questions that it asks the next policy, as a layer.
    pub(crate) asks_next: Vec<Capability>,
}

/// A setting that is not its default.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ChangedSetting {
    pub(crate) key: String,
    pub(crate) value: SettingValue,
    pub(crate) default: SettingValue,
    pub(crate) from: ConfigSource,
}

/// A policy that stands behind.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FallbackPolicy {
    pub(crate) policy: String,
    pub(crate) component: Digest,
    pub(crate) from: ConfigSource,
}

impl EffectiveBinding {
    /// No other policy is asked, as behind every policy.
    fn has_only_built_in_fallback(&self) -> bool {
        self.then.iter().all(|link| link.from.layer == ConfigLayer::BuiltIn && link.set.is_empty())
    }
}

impl WhichReport {
    pub(crate) fn new(of: WhichSubject, workflow: &Workflow, mut bindings: Vec<EffectiveBinding>) -> Self {
        // Phases stand as they do in the file.
        let place = |scope: &PolicyScope| match scope {
            PolicyScope::Phase { phase } => workflow.phases.iter().position(|known| known.id == *phase),
            PolicyScope::Run | PolicyScope::Role { .. } | PolicyScope::Shadow { .. } => None,
        };
        bindings
            .sort_by_cached_key(|binding| (place(&binding.scope), binding.scope.clone(), binding.capability));
        let (shadows, bindings) =
            bindings.into_iter().partition(|binding| matches!(binding.scope, PolicyScope::Shadow { .. }));
        let policies = &workflow.policies;
        let (watch, breaker) = (policies.watch, policies.breaker);
        Self { of, files: Vec::new(), bindings, shadows, watch, breaker, experiments: Vec::new() }
    }

    /// Says what a run would have to do with experiments.
    pub(crate) fn foresee(&mut self, experiments: Vec<String>) {
        self.experiments = experiments;
    }

    /// Names the files that were looked for.
    pub(crate) fn look_at(&mut self, layers: &ConfigLayers) {
        let files = layers.files().iter();
        self.files =
            files.map(|file| (file.layer, file.path.display().to_string(), file.said.is_some())).collect();
    }

    /// For people.
    pub(crate) fn text(&self, look: &TerminalStyle) -> String {
        let mut text = match &self.of {
            WhichSubject::Everything => {
                "Policies for every workflow that configures none itself\n".to_owned()
            }
            WhichSubject::Workflow { name, .. } => format!("Policies that would decide in a run of {name}\n"),
            WhichSubject::Run { run, workflow } => {
                format!("Policies that decide in run {run} of {workflow} now\n")
            }
        };
        text.push_str(&self.layers(look));
        if !self.experiments.is_empty() {
            text.push('\n');
        }
        for line in &self.experiments {
            text.push_str(&format!("{}\n", look.wrap(line, 0)));
        }
        for group in self.bindings.chunk_by(|a, b| a.scope == b.scope) {
            let Some(first) = group.first() else { continue };
            text.push_str(&format!("\n{}\n", look.paint(Tone::Strong, &scope(&first.scope))));
            text.push_str(&self.bindings(group, look));
        }
        if !self.shadows.is_empty() {
            text.push_str(&format!("\n{}\n", look.paint(Tone::Strong, "shadows, which decide nothing")));
        }
        text.push_str(&self.bindings(&self.shadows, look));
        text.push('\n');
        text.push_str(&match self.breaker {
            0 => "A policy that keeps failing stays in place: the next one answers each time.\n".to_owned(),
            most => {
                format!(
                    "After {} in a row the next policy decides instead.\n",
                    text_format::count(most, "fault")
                )
            }
        });
        if self.watch {
            text.push_str("Files are watched: a component that changes on disk decides from then on.\n");
        }
        text
    }

    /// Which files were read, where it is about files.
    fn layers(&self, look: &TerminalStyle) -> String {
        let mut files: Vec<(&str, String)> = self
            .files
            .iter()
            .map(|(layer, file, found)| {
                let absent = if *found { "" } else { "  not there" };
                (text_format::layer(*layer), format!("{file}{}", look.paint(Tone::Dim, absent)))
            })
            .collect();
        if let WhichSubject::Workflow { file, .. } = &self.of {
            files.push((text_format::layer(ConfigLayer::Workflow), file.clone()));
        }
        files.into_iter().map(|(layer, file)| format!("  {layer:9}  {file}\n")).collect()
    }

    /// The bindings of one scope; decisions about which the same is to be said share a line.
    fn bindings(&self, bindings: &[EffectiveBinding], look: &TerminalStyle) -> String {
        let mut rows: Vec<(Vec<&str>, &EffectiveBinding)> = Vec::new();
        for binding in bindings {
            let is_like = |(_, other): &&mut (Vec<&str>, &EffectiveBinding)| {
                (&other.decides, &other.then, &other.replaced, other.faults_in_row)
                    == (&binding.decides, &binding.then, &binding.replaced, binding.faults_in_row)
            };
            match rows.iter_mut().find(is_like) {
                Some((names, _)) => names.push(binding.capability.name()),
                None => rows.push((vec![binding.capability.name()], binding)),
            }
        }
        let rows: Vec<(String, String, &EffectiveBinding)> = rows
            .into_iter()
            .map(|(names, binding)| {
                (names.join(", "), name(&binding.decides.policy, &binding.decides.component), binding)
            })
            .collect();
        let widest =
            |of: fn(&(String, String, &EffectiveBinding)) -> usize| rows.iter().map(of).max().unwrap_or(0);
        let (what, who) = (widest(|row| row.0.chars().count()), widest(|row| row.1.chars().count()));
        let mut text = String::new();
        for (names, policy, binding) in &rows {
            let size =
                binding.decides.bytes.map(|bytes| text_format::bytes(bytes as u64)).unwrap_or_default();
            let from = origin(&binding.decides.from, look);
            text.push_str(format!("  {names:what$}  {policy:who$}  {size:>8}  {from}").trim_end());
            text.push('\n');
            for line in self.details(binding, look) {
                text.push_str(&format!("    {line}\n"));
            }
        }
        text
    }

    fn details(&self, binding: &EffectiveBinding, look: &TerminalStyle) -> Vec<String> {
        let DecidingPolicy { set, asked, granted, .. } = &binding.decides;
        let is_set = |set: &ChangedSetting| {
            let from = origin(&set.from, look);
            let (value, default) = match edited(&set.value, &set.default) {
                Some((edits, entries)) => (edits, format!("{entries} entries by default")),
                None => {
                    let (value, default) =
                        (text_format::setting(&set.value), text_format::setting(&set.default));
                    (format!("= {value}"), format!("by default {default}"))
                }
            };
            format!("{} {value}  {}  {from}", set.key, look.paint(Tone::Dim, &default))
        };
        let mut lines: Vec<String> = set.iter().map(is_set).collect();
        let refused = granted.lacks(asked);
        if !asked.is_empty() {
            lines.push(format!("asks for {}", text_format::grants(asked)));
        }
        if !granted.is_empty() {
            lines.push(format!("is granted {}", text_format::grants(granted)));
        }
        if !refused.is_empty() {
            let word = look.paint(Tone::Warn, "is not granted");
            lines.push(format!("{word} {}", text_format::grants(&refused)));
        }
        if binding.faults_in_row > 0 {
            let faults = format!("{} in a row", text_format::count(binding.faults_in_row, "fault"));
            lines.push(look.paint(Tone::Warn, &faults));
        }
        let is_layer = binding.decides.asks_next.contains(&binding.capability);
        if is_layer || !binding.has_only_built_in_fallback() {
            let then: Vec<String> = binding
                .then
                .iter()
                .map(|link| fallback_text(&link.policy, &link.component, &link.from))
                .collect();
            let way = if is_layer { "a layer over" } else { "if it abstains:" };
            lines.push(format!("{way} {}", then.join(", then ")));
            // One policy may stand there twice, with other settings.
            let is_twice = |link: &DecidingPolicy| {
                binding.then.iter().filter(|other| other.policy == link.policy).count() > 1
            };
            for link in &binding.then {
                let whose = match is_twice(link) {
                    true => format!("{} ({})", link.policy, text_format::layer(link.from.layer)),
                    false => link.policy.clone(),
                };
                lines.extend(link.set.iter().map(|set| format!("  {whose}: {}", is_set(set))));
            }
        }
        if !binding.replaced.is_empty() {
            let replaced: Vec<String> = binding
                .replaced
                .iter()
                .map(|replaced| fallback_text(&replaced.policy, &replaced.component, &replaced.from))
                .collect();
            lines.push(look.paint(Tone::Dim, &format!("behind it: {}", replaced.join(", then "))));
        }
        lines
    }

    /// For programs.
    pub(crate) fn json(&self) -> Value {
        let mut document = Map::new();
        document.insert("schema".into(), json_record::SCHEMA.into());
        document.insert("record".into(), "policy-which".into());
        match &self.of {
            WhichSubject::Everything => {}
            WhichSubject::Workflow { name, file } => {
                document.insert("workflow".into(), json!(name));
                document.insert("file".into(), json!(file));
            }
            WhichSubject::Run { run, workflow } => {
                document.insert("run".into(), json!(run));
                document.insert("workflow".into(), json!(workflow));
            }
        }
        let files: Vec<Value> = self
            .files
            .iter()
            .map(|(layer, file, found)| json!({ "layer": layer, "file": file, "found": found }))
            .collect();
        document.insert("layers".into(), files.into());
        if !self.experiments.is_empty() {
            document.insert("experiments".into(), json!(self.experiments));
        }
        document.insert("seats".into(), self.bindings.iter().map(binding).collect::<Vec<_>>().into());
        document.insert("shadows".into(), self.shadows.iter().map(binding).collect::<Vec<_>>().into());
        document.insert("watch".into(), self.watch.into());
        document.insert("breaker".into(), self.breaker.into());
        document.into()
    }
}

/// What was added to a list and taken out of it, and how many entries it has by default; nothing where more than half of it is another.
fn edited(value: &SettingValue, default: &SettingValue) -> Option<(String, usize)> {
    let (SettingValue::Texts(value), SettingValue::Texts(default)) = (value, default) else { return None };
    let added = value.iter().filter(|text| !default.contains(text)).map(|text| format!("+ {text:?}"));
    let removed = default.iter().filter(|text| !value.contains(text)).map(|text| format!("- {text:?}"));
    let kept = default.iter().filter(|text| value.contains(text)).count();
    let edits: Vec<String> = added.chain(removed).collect();
    (kept * 2 > default.len() && !edits.is_empty()).then(|| (edits.join(" "), default.len()))
}

/// Of the bindings that a run begins with those that decide; the rest stands behind.
pub(crate) fn in_place(bindings: &[PolicyBinding]) -> Vec<&PolicyBinding> {
    let is_same_binding = |binding: &PolicyBinding, other: &PolicyBinding| {
        binding.scope == other.scope && binding.capability == other.capability
    };
    let later = |index: usize, binding: &PolicyBinding| {
        bindings[index + 1..].iter().any(|other| is_same_binding(binding, other))
    };
    bindings
        .iter()
        .enumerate()
        .filter(|(index, binding)| !later(*index, binding))
        .map(|(_, binding)| binding)
        .collect()
}

/// "run", "role reviewer", "phase build".
pub(crate) fn scope(scope: &PolicyScope) -> String {
    match scope {
        PolicyScope::Run => "run".to_owned(),
        PolicyScope::Role { role } => format!("role {role}"),
        PolicyScope::Phase { phase } => format!("phase {phase}"),
        PolicyScope::Shadow { policy } => format!("shadow {policy}"),
    }
}

fn name(policy: &str, component: &Digest) -> String {
    format!("{policy}@{}", component.short())
}

/// "built in", "workspace  /home/ada/app/baton.toml:3".
fn origin(origin: &ConfigSource, look: &TerminalStyle) -> String {
    let layer = text_format::layer(origin.layer);
    match (origin.file.as_str(), origin.line) {
        ("", _) => layer.to_owned(),
        (file, 0) => format!("{layer}  {}", look.paint(Tone::Dim, file)),
        (file, line) => format!("{layer}  {}", look.paint(Tone::Dim, &format!("{file}:{line}"))),
    }
}

/// "resilience@104f07d826e4 (built in)".
fn fallback_text(policy: &str, component: &Digest, from: &ConfigSource) -> String {
    format!("{} ({})", name(policy, component), text_format::layer(from.layer))
}

fn binding(binding: &EffectiveBinding) -> Value {
    let EffectiveBinding { decides, then, replaced, .. } = binding;
    let settings = |of: &DecidingPolicy| -> Map<String, Value> {
        let said = |set: &ChangedSetting| json!({ "value": set.value, "default": set.default, "from": from(&set.from) });
        of.set.iter().map(|set| (set.key.clone(), said(set))).collect()
    };
    let then: Vec<Value> = then
        .iter()
        .map(|link| {
            json!({
                "policy": link.policy,
                "component": link.component,
                "from": from(&link.from),
                "settings": settings(link),
            })
        })
        .collect();
    let replaced: Vec<Value> = replaced
        .iter()
        .map(|replaced| {
            json!({ "policy": replaced.policy, "component": replaced.component, "from": from(&replaced.from) })
        })
        .collect();
    let mut document = json!({
        "decision": binding.capability,
        "policy": decides.policy,
        "component": decides.component,
        "bytes": decides.bytes,
        "from": from(&decides.from),
        "settings": settings(decides),
        "grants": {
            "asked": decides.asked,
            "granted": decides.granted,
            "refused": decides.granted.lacks(&decides.asked),
        },
        "where_it_abstains": then,
        "faults_in_row": binding.faults_in_row,
        "behind": replaced,
    });
    let scope = json!(binding.scope);
    if let (Some(document), Value::Object(mut scope)) = (document.as_object_mut(), scope) {
        // A shadow is called after its policy, with a number where two have one name.
        if let Some(shadow) = scope.remove("policy") {
            scope.insert("shadow".to_owned(), shadow);
        }
        document.extend(scope);
    }
    document
}

/// A place, with every key whether it says something or not.
fn from(origin: &ConfigSource) -> Value {
    let ConfigSource { layer, file, line } = origin;
    match file.as_str() {
        "" => json!({ "layer": layer, "file": null, "line": null }),
        file => json!({ "layer": layer, "file": file, "line": line }),
    }
}

#[cfg(test)]
mod tests;
