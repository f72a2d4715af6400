//! What need not lie in a prompt (C4): large texts that the next one would embed are offered to the offloading policy, kept
//! as artifacts where it says so, and referred to. Knows no threshold; whatever goes wrong, a text is embedded as before.

use crate::action::{Action, OffloadedInput};
use crate::decision::{Decision, Fault};
use crate::input::{ActionOutcome, ArtifactRef};
use crate::observation::{ContextItem, ContextItemKind, HandoffObservation, PromptKind};
use crate::text::TextBlob;

use super::Run;
use super::large_text::{LargeText, PromptPart, TextReference};
use super::phase::{ObjectiveIndex, Phase};
use super::phase_list::PhaseIndex;
use super::step::PhaseStep;

/// What a reference with its preview takes at most. If a text is not larger, a reference spares nothing.
const REFERENCE_BYTES: u64 = 2 << 10;
/// Lines of a preview, from the beginning and from the end each, and bytes of one.
const PREVIEW_LINES: usize = 10;
const LINE_BYTES: usize = 80;
/// Bytes of the first line of a description, which says what it is about.
const FIRST_LINE_BYTES: usize = 200;
/// The usual rule of thumb: nothing here can count the tokens of a model it does not know.
const BYTES_PER_TOKEN: u64 = 4;
/// Where they lie, in the store and below the task folder.
const FOLDER: &str = "inputs";

impl Run {
    /// Asks for a prompt; before that, where it would embed something large, whether that may become a reference.
    pub(super) fn offload_then_prompt(
        &mut self,
        p: PhaseIndex,
        kind: PromptKind,
        focus: Vec<ObjectiveIndex>,
    ) {
        let large = self.large_inputs(p, kind, &focus);
        if large.is_empty() {
            return self.request_prompt(p, kind, focus, &[]);
        }
        let request = self.ask_offloading(p, large.iter().map(LargeText::item).collect());
        self.phases[p].step = PhaseStep::DecidingOffload { request, kind, focus, large };
    }

    /// Keeps what the policy offloads. An answer that names anything else, or nothing, spares nothing.
    pub(super) fn on_offload_decision(
        &mut self,
        p: PhaseIndex,
        kind: PromptKind,
        focus: Vec<ObjectiveIndex>,
        large: Vec<LargeText>,
        answer: &Result<Decision, Fault>,
    ) {
        let large = chosen(large, answer);
        if large.is_empty() {
            return self.request_prompt(p, kind, focus, &[]);
        }
        let phase = &self.phases[p];
        let items =
            large.iter().map(|l| OffloadedInput { name: l.name(phase), text: l.text.clone() }).collect();
        let action = self.emit(Action::Offload { phase: phase.spec.id.clone(), items });
        self.phases[p].step = PhaseStep::Offloading { action, kind, focus, large };
    }

    /// Refers to what was kept; what was not is embedded.
    pub(super) fn on_offloaded(
        &mut self,
        p: PhaseIndex,
        kind: PromptKind,
        focus: Vec<ObjectiveIndex>,
        large: &[LargeText],
        outcome: &ActionOutcome,
    ) {
        let kept: &[ArtifactRef] = match outcome {
            ActionOutcome::Offloaded { artifacts } => artifacts,
            _ => &[],
        };
        let mut references = Vec::new();
        for artifact in kept {
            let phase = &mut self.phases[p];
            let Some(large) = large.iter().find(|l| l.name(phase) == artifact.name) else { continue };
            let path = format!("{}/{}", self.task_folder, artifact.name);
            references.push(large.reference(&path));
            phase.artifacts.keep_input(artifact);
        }
        self.request_prompt(p, kind, focus, &references);
    }

    fn request_prompt(
        &mut self,
        p: PhaseIndex,
        kind: PromptKind,
        focus: Vec<ObjectiveIndex>,
        references: &[TextReference],
    ) {
        let request = self.ask_prompt(p, kind, &focus, references);
        self.phases[p].step = PhaseStep::ComposingPrompt { request, kind, focus };
    }

    fn large_inputs(&self, p: PhaseIndex, kind: PromptKind, focus: &[ObjectiveIndex]) -> Vec<LargeText> {
        let (observation, texts) = self.prompt_observation(p, kind, focus);
        let in_focus = observation.objectives.iter().filter(|o| observation.focus.contains(&o.id));
        let mut inputs: Vec<LargeText> = in_focus
            .map(|o| LargeText {
                place: PromptPart::Description(o.id.clone()),
                text: TextBlob::new(o.description.as_str()),
            })
            .collect();
        // What a session said itself lies in its context already, and so do findings that it was told.
        let is_new = self.session(p).is_none_or(|session| session.prompts == 0);
        for (place, index, is_news) in [
            (PromptPart::LastOutput, observation.last_output, is_new),
            (PromptPart::Findings, observation.findings, is_new || kind == PromptKind::Nudged),
        ] {
            if let Some(text) = index.and_then(|index| texts.get(index.0 as usize)).filter(|_| is_news) {
                inputs.push(LargeText { place, text: text.clone() });
            }
        }
        inputs.retain(|input| input.text.len_bytes() > REFERENCE_BYTES);
        inputs
    }

    /// What was kept for the prompts of phases, and whether its phase is over: it is not needed at hand any more then.
    pub fn inputs(&self) -> impl Iterator<Item = (&ArtifactRef, bool)> {
        self.phases
            .iter()
            .flat_map(|phase| phase.artifacts.inputs.iter().map(|input| (input, phase.is_over())))
    }
}

impl LargeText {
    fn id(&self) -> String {
        match &self.place {
            PromptPart::Description(objective) => format!("objective:{objective}"),
            PromptPart::LastOutput => "last-output".to_owned(),
            PromptPart::Findings => "findings".to_owned(),
        }
    }

    fn item(&self) -> ContextItem {
        ContextItem { id: self.id(), kind: ContextItemKind::ToolInput, tokens: self.tokens() }
    }

    fn tokens(&self) -> u64 {
        self.text.len_bytes().div_ceil(BYTES_PER_TOKEN)
    }

    /// A folder for each phase: ids may have dashes, so nothing else tells two of them apart.
    fn name(&self, phase: &Phase) -> String {
        format!("{FOLDER}/phase-{}/{}.md", phase.spec.id, self.id().replace(':', "-"))
    }

    fn reference(&self, path: &str) -> TextReference {
        let body = self.text.body().unwrap_or_default();
        let whole = format!("In full: {path} ({} tokens, estimated; read it by ranges)", self.tokens());
        let words = match self.place {
            PromptPart::Description(_) => {
                let first = body.trim().lines().next().unwrap_or_default();
                format!("{} {whole}", cut(first, FIRST_LINE_BYTES))
            }
            // The reference comes last: of what is quoted in a prompt the end is kept.
            PromptPart::LastOutput | PromptPart::Findings => format!("{}\n{whole}", preview(body)),
        };
        TextReference { place: self.place.clone(), words }
    }
}

/// Puts references into what a policy writes a prompt from.
pub(super) fn insert_references(
    observation: &mut HandoffObservation,
    texts: &mut [TextBlob],
    references: &[TextReference],
) {
    for TextReference { place, words } in references {
        let index = match place {
            PromptPart::Description(id) => {
                if let Some(objective) = observation.objectives.iter_mut().find(|o| o.id == *id) {
                    objective.description.clone_from(words);
                }
                continue;
            }
            PromptPart::LastOutput => observation.last_output,
            PromptPart::Findings => observation.findings,
        };
        if let Some(text) = index.and_then(|index| texts.get_mut(index.0 as usize)) {
            *text = TextBlob::new(words.as_str());
        }
    }
}

/// Those that an answer offloads: some of what was offered, each once, and nothing else.
fn chosen(large: Vec<LargeText>, answer: &Result<Decision, Fault>) -> Vec<LargeText> {
    let Ok(Decision::Offloading(decision)) = answer else { return Vec::new() };
    let named = &decision.items;
    let chosen: Vec<LargeText> = large.into_iter().filter(|large| named.contains(&large.id())).collect();
    if chosen.len() == named.len() { chosen } else { Vec::new() }
}

/// The first and the last lines of a text, each cut.
fn preview(text: &str) -> String {
    let lines: Vec<&str> = text.trim().lines().collect();
    let shown = |lines: &[&str]| lines.iter().map(|line| cut(line, LINE_BYTES)).collect::<Vec<_>>();
    let mut preview = shown(&lines[..lines.len().min(PREVIEW_LINES)]);
    let rest = &lines[preview.len()..];
    let beyond = rest.len().saturating_sub(PREVIEW_LINES);
    if beyond > 0 {
        preview.push(format!("… {beyond} lines …"));
    }
    preview.extend(shown(&rest[beyond..]));
    preview.join("\n")
}

/// A line of at most this number of bytes, on a character boundary.
fn cut(line: &str, bytes: usize) -> String {
    if line.len() <= bytes {
        return line.to_owned();
    }
    format!("{}…", &line[..line.floor_char_boundary(bytes)])
}
