//! What people see of a run at work: lines, or lines above a table, and the bell. Its driver (a host, or
//! `attach`) hands in updates; nothing is decided here.

use std::io::IsTerminal as _;

use baton_runtime::RunUpdate;
use baton_runtime::store::secrets::{mask, mask_line};

use crate::args::{OutputFormat, ViewArgs};
use crate::location::RunLocation;
use crate::render::live_table::LiveTable;
use crate::render::plain_renderer::PlainRenderer;
use crate::render::{json_record, terminal_style};
use crate::stdio;

/// The target of progress, and of notices for programs.
pub(crate) struct RunProgressView {
    canvas: ProgressCanvas,
    format: OutputFormat,
    has_bell: bool,
}

enum ProgressCanvas {
    /// Lines only.
    Plain(PlainRenderer),
    /// Lines that scroll, and below them a table.
    Live(Box<LiveTable>),
}

impl RunProgressView {
    pub(crate) fn new(args: ViewArgs, is_kept: bool) -> Self {
        let look = terminal_style::stderr();
        let terminal = std::io::stderr().is_terminal();
        let canvas = if terminal && !look.dumb && !args.plain && !is_kept {
            ProgressCanvas::Live(Box::new(LiveTable::new(look)))
        } else {
            ProgressCanvas::Plain(PlainRenderer::new(look))
        };
        Self { canvas, format: args.format.format, has_bell: terminal }
    }

    pub(crate) fn show(&mut self, update: &RunUpdate, location: &RunLocation) -> anyhow::Result<()> {
        if self.format == OutputFormat::Jsonl {
            for notice in &update.notices {
                let line = json_record::line(&json_record::ProgressRecord {
                    at: update.at,
                    run: &update.view.run,
                    notice,
                })?;
                stdio::data(&mask_line(&line))?;
            }
        }
        match &mut self.canvas {
            ProgressCanvas::Plain(plain) => {
                for line in plain.lines(update, location) {
                    stdio::progress(&mask(&line));
                }
            }
            ProgressCanvas::Live(live) => live.show(update, location),
        }
        if update.bell && self.has_bell {
            stdio::bell();
        }
        Ok(())
    }

    pub(crate) fn redraw(&mut self) {
        if let ProgressCanvas::Live(live) = &mut self.canvas {
            live.redraw();
        }
    }

    /// A line of the command's own.
    pub(crate) fn say(&self, line: &str) {
        match &self.canvas {
            ProgressCanvas::Plain(_) => stdio::progress(line),
            ProgressCanvas::Live(live) => live.say(&terminal_style::stderr().wrap(line, 2)),
        }
    }

    /// Removes the part that does not scroll.
    pub(crate) fn leave(&self) {
        if let ProgressCanvas::Live(live) = &self.canvas {
            live.leave();
        }
    }
}
