//! Every setting with its default, bounds and source. The values are read where they are used; the lists of phrases are
//! in `settings/phrases.rs`.

mod phrases;

use baton_sdk::schema::{choice, integer, number, text, texts};
use baton_sdk::settings::Setting;

/// Reserve that a percentage may not fall into: a threshold above it would never be reached in time.
const HIGHEST_PERCENT: f64 = 99.0;

pub(crate) fn schema() -> Vec<Setting> {
    let mut schema = judging();
    schema.extend(room());
    schema.extend(scope());
    schema.extend(prompts());
    schema.extend(documents());
    schema.extend(phrases::schema());
    schema
}

fn judging() -> Vec<Setting> {
    vec![
        integer(
            "min-answer-bytes",
            50,
            0..=10_000,
            "An answer shorter than this, in bytes, shows no work unless files changed: the agent is asked again.",
        ),
        choice(
            "accept",
            "judged",
            &["judged", "checked", "reported", "answer"],
            "The weakest evidence that makes an objective done, where the workflow does not say: a check that passed, a report of the agent, or its answer. `judged` takes a report, changed files or, from a role that may not edit, the answer.",
        ),
        integer(
            "max-asks",
            1,
            0..=10,
            "How often a session is asked for what is missing before a new session or a person decides.",
        ),
        texts(
            "after-failed-report",
            &["new-session", "ask"],
            "What follows when an agent reports an objective as failed, the first time, the second and so on: `new-session`, `role:NAME` for the agent of another role, `split`, or `ask` a person.",
        ),
        integer(
            "stall-ms",
            300_000,
            1_000..=86_400_000,
            "A session at work that says nothing for so long, in ms, is stalled. Waits for a quota or a person never are.",
        ),
        integer(
            "max-nudges",
            2,
            0..=10,
            "Nudges for a cut-off answer or a stall before a new session takes over.",
        ),
        number(
            "warn-percent",
            85.0,
            0.0..=HIGHEST_PERCENT,
            "From this occupancy, in percent, a person is warned; nothing is stopped.",
        ),
    ]
}

fn room() -> Vec<Setting> {
    vec![
        number(
            "compact-percent",
            70.0,
            1.0..=HIGHEST_PERCENT,
            "From this occupancy, in percent, the agent compacts before the next prompt.",
        ),
        number(
            "hand-off-percent",
            80.0,
            1.0..=HIGHEST_PERCENT,
            "From this occupancy, in percent, an agent that cannot compact hands off at the next boundary.",
        ),
        integer(
            "min-objectives-before-hand-off",
            1,
            0..=100,
            "Objectives that a session finishes before it may hand off by itself, so that handoffs do not thrash.",
        ),
        integer(
            "refill-turns",
            3,
            0..=32,
            "Where a context is full again within so many turns of a compaction, the session hands off instead of compacting once more; 0 never.",
        ),
        integer(
            "reread-limit",
            8,
            0..=1_000,
            "So many repeated reads in the newest turns lower the threshold to `reread-percent`; 0 never.",
        ),
        number(
            "reread-percent",
            50.0,
            1.0..=HIGHEST_PERCENT,
            "Threshold of a session, in percent, that keeps reading what it has read before.",
        ),
        integer(
            "offload-tokens",
            20_000,
            1_000..=1_000_000,
            "A tool result of more tokens than this goes to the artifact store, a reference stays.",
        ),
        number(
            "offload-percent",
            85.0,
            1.0..=HIGHEST_PERCENT,
            "From this occupancy, in percent, large tool inputs become references too.",
        ),
        integer(
            "offload-input-tokens",
            500,
            100..=1_000_000,
            "What goes into a tool or a prompt is large if it has more tokens than this, by estimate.",
        ),
        text(
            "compact-instructions",
            "Keep, in this order: what this session is for; the objectives with their state; every file created or \
             changed, by path; decisions with their reasons; what was tried and failed; the next step. Drop what is on \
             disk already (file contents, tool output) and what is no longer true.",
            "What the agent is told to keep when it compacts.",
        ),
    ]
}

fn scope() -> Vec<Setting> {
    vec![
        choice(
            "priority",
            "quality",
            &["quality", "time", "tokens"],
            "What matters most. Quality splits early and plans each part, time splits early and acts at once, tokens splits only what is twice as large.",
        ),
        integer("max-objectives", 5, 1..=100, "A phase with more open objectives than this is too large."),
        integer(
            "max-files",
            25,
            1..=1_000,
            "A phase that has changed and is to produce more files than this is too large.",
        ),
        integer(
            "max-complexity",
            12,
            1..=1_000,
            "A phase of more complexity than this is too large. An objective counts 1, and 1 more for every 400 bytes of description, 3 files or failed prompt.",
        ),
        number(
            "max-windows",
            2.0,
            0.5..=100.0,
            "A phase whose open objectives would fill more windows than this, at the growth seen so far, is too large.",
        ),
        integer(
            "ahead-factor",
            2,
            1..=100,
            "Before its first session, a phase is split only if it is so many times as large as these limits allow: no agent has looked at it yet. `split = \"ahead\"` in the workflow makes it 1.",
        ),
        integer(
            "max-sub-phases",
            26,
            2..=200,
            "Sub-phases of one split, as far as the workflow allows so many; what is over goes into the smallest ones. Quality comes before time and tokens, so fewer than the seams give only cost quality.",
        ),
        integer(
            "max-depth",
            2,
            0..=5,
            "A sub-phase of this depth is not split any further; a person is asked instead.",
        ),
        integer(
            "complex-extra-percent",
            50,
            0..=900,
            "Turns added to the budget of complex work, in percent.",
        ),
        integer("complex-objectives", 4, 1..=100, "Work with at least so many open objectives is complex."),
        integer("complex-files", 10, 1..=1_000, "Work that is to produce at least so many files is complex."),
        integer(
            "complex-workspace-files",
            5_000,
            1..=10_000,
            "Work in a workspace with at least so many files is complex.",
        ),
        integer(
            "complex-dependencies",
            2,
            1..=1_000,
            "Work that depends on at least so many phases is complex.",
        ),
        integer(
            "idle-grants",
            1,
            0..=100,
            "How many times in a row more turns are given although no objective was done and no file changed: an agent reads before it writes.",
        ),
        integer(
            "lead-finishes-objectives",
            0,
            0..=10,
            "The lead, not a successor, finishes a phase with at most so many open objectives; 0 never.",
        ),
    ]
}

fn prompts() -> Vec<Setting> {
    vec![
        texts(
            "efficiency-rules",
            &[
                "Reference, don't embed: pass paths and names on, not contents; whoever needs them reads them.",
                "Targeted reads: in files of more than 200 lines read only the range you need (offset and limit).",
                "Write early: write each file as soon as it changes; do not hold several changes in memory.",
                "Minimise re-reads: note what you found, and use your notes instead of reading again.",
            ],
            "The rules of context efficiency in the first prompt of every session.",
        ),
        texts(
            "handoff-triggers",
            &[
                "At about 80 % of your context, by your own estimate, write a handoff and stop.",
                "Before anything that might push you over the limit, such as a large read.",
                "After finishing an objective: that is the natural boundary.",
                "When you notice that you read the same things again.",
            ],
            "When an agent hands off by itself, in the first prompt of every session.",
        ),
        texts(
            "review-rules",
            &[
                "Look; do not edit. Read the changed files and judge whether each objective above is met by what is in them: correct, complete, tested, and with nothing else broken.",
                "Hold it to what was asked, not to what you would have asked. Run its checks where you may.",
                "Answer with `review_submit`, once: a score from 0 to 100, a summary of one to three sentences, and your findings, the worst first, each with file and line and what would be right.",
                "90 and more: nothing must change. 70 to 89: sound, with small things to mend. 50 to 69: something does not do what its objective asks. Below 50: it does not do what was asked.",
                "Below the score that the workflow asks for, your findings go back to whoever did the work: write what can be acted on, and nothing else.",
            ],
            "How a reviewer works, and what its score means.",
        ),
        texts(
            "conflict-rules",
            &[
                "Resolve each conflict so that what both sides wanted is kept; read around it, and the history of the file, until you know what that is.",
                "Leave no conflict marker in any file, and check that what was made still works together.",
                "Do not commit, do not abort the merge, and change no branch: once you say that you are done, the merge is concluded for you.",
                "Where both cannot be had, keep what the objectives ask for, and record the choice with its reason (decision_record).",
            ],
            "How a conflict between parts of a split is resolved.",
        ),
        texts(
            "synthesis-rules",
            &[
                "Read the results above, then the files that they name; nothing else unless they leave a question open.",
                "Settle what contradicts, fill what fell between two parts, and leave one result that reads as if one hand had made it.",
                "Keep what the parts decided where nothing speaks against it, and record where you decide otherwise (decision_record).",
            ],
            "How the results of parts that shared a folder become one.",
        ),
        integer(
            "last-output-bytes",
            1_500,
            0..=8_000,
            "Bytes of the previous session's last words that a continuing prompt quotes.",
        ),
        integer("findings-bytes", 3_000, 0..=12_000, "Bytes of verification findings that a prompt quotes."),
        integer("listed-files", 60, 1..=100, "Changed files that a prompt lists; the rest is counted."),
    ]
}

fn documents() -> Vec<Setting> {
    vec![
        integer("accept-score", 70, 0..=100, "A handoff document with fewer points than this is refused."),
        integer("document-lines", 60, 50..=200, "Lines of a handoff document: one screen."),
        integer("critical-facts", 5, 1..=10, "Facts under Critical Context of a handoff document."),
        texts(
            "required-sections",
            &[
                "Immediate Next Action|Immediate Next Step|Next Action|Next Step",
                "Current State|State",
                "Key Decisions|Decisions",
                "Critical Context|Important Context|Context",
            ],
            "Sections without which a handoff document is refused; `|` stands between names that mean the same.",
        ),
        texts(
            "expected-sections",
            &["What NOT to Try|Do NOT", "References|Critical Files"],
            "Sections that a handoff document should have; each missing one costs a little, an empty one refuses it.",
        ),
        texts(
            "placeholder-phrases",
            &[
                "[TODO",
                "TODO",
                "TBD",
                "FIXME",
                "XXX",
                "TKTK",
                "???",
                "to be determined",
                "to be decided",
                "to be defined",
                "to be filled",
                "to be written",
                "to be added",
                "fill me in",
                "fill this in",
                "<placeholder",
                "[placeholder",
                "placeholder text",
                "lorem ipsum",
                "coming soon",
                "insert here",
                "your text here",
            ],
            "What shows that somebody forgot to fill something in, outside of quotes or at the beginning of one; in capitals, only so and only where it stands for the missing words.",
        ),
        texts(
            "gone-words",
            &["deleted", "removed", "gone", "renamed", "moved", "no longer"],
            "A line with one of these names a file that need not be there.",
        ),
        texts(
            "to-come-words",
            &["write", "create", "add", "make", "new", "start", "generate", "produce", "implement", "finish"],
            "In what is to be done next, a line with one of these names a file that is still to come.",
        ),
        integer(
            "slightly-stale-commits",
            1,
            1..=1_000,
            "Commits since a handoff that make it slightly stale.",
        ),
        integer("stale-commits", 6, 1..=1_000, "Commits since a handoff that make it stale."),
        integer("very-stale-commits", 21, 1..=1_000, "Commits since a handoff that make it very stale."),
    ]
}
