//! Records for programs: JSON with a schema version in each. The shapes are core's; only the envelope is made here.

use anyhow::Context as _;
use baton_runtime::core::progress::ProgressEvent;
use baton_runtime::core::view::RunView;
use baton_runtime::core::{RunId, UnixMs};
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

use crate::args::OutputFormat;
use crate::location::RunLocation;
use crate::stdio;

/// Version of every record: it grows when a field changes its meaning or goes away.
pub(crate) const SCHEMA: u32 = 1;

/// The current state of a run.
pub(crate) struct RunDocument<'a> {
    /// Its location.
    pub(crate) location: &'a RunLocation,
    /// The run.
    pub(crate) view: &'a RunView,
    /// Whether a host works on it, if the caller checked that.
    pub(crate) live: Option<bool>,
}

impl Serialize for RunDocument<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("schema", &SCHEMA)?;
        map.serialize_entry("record", "run")?;
        map.serialize_entry("workspace", &self.location.config.workspace.to_string_lossy())?;
        if let Some(live) = self.live {
            map.serialize_entry("live", &live)?;
        }
        map.serialize_entry("view", self.view)?;
        map.end()
    }
}

/// A notice for people, as a record.
pub(crate) struct ProgressRecord<'a> {
    /// When.
    pub(crate) at: UnixMs,
    /// In which run.
    pub(crate) run: &'a RunId,
    /// The notice.
    pub(crate) notice: &'a ProgressEvent,
}

impl Serialize for ProgressRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("schema", &SCHEMA)?;
        map.serialize_entry("record", "notice")?;
        map.serialize_entry("at_ms", &self.at)?;
        map.serialize_entry("run", self.run)?;
        map.serialize_entry("told", self.notice)?;
        map.end()
    }
}

/// Writes one record as a program asked for it. False if the output is for people.
pub(crate) fn write(format: OutputFormat, record: &impl Serialize) -> anyhow::Result<bool> {
    match format {
        OutputFormat::Text => return Ok(false),
        OutputFormat::Json => stdio::data(&pretty(record)?)?,
        OutputFormat::Jsonl => stdio::data(&line(record)?)?,
    }
    Ok(true)
}

/// One document, indented.
pub(crate) fn pretty(record: &impl Serialize) -> anyhow::Result<String> {
    Ok(serde_json::to_string_pretty(record).context("writing JSON")? + "\n")
}

/// One line.
pub(crate) fn line(record: &impl Serialize) -> anyhow::Result<String> {
    Ok(serde_json::to_string(record).context("writing JSON")? + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::test_samples;

    #[test]
    fn every_record_has_a_schema_version_and_fits_in_a_line() {
        let run = RunId::from("r-7f");
        for update in test_samples::updates() {
            for notice in &update.notices {
                let text = line(&ProgressRecord { at: update.at, run: &run, notice }).unwrap();
                assert_eq!(text.matches('\n').count(), 1);
                let record: serde_json::Value = serde_json::from_str(&text).unwrap();
                assert_eq!((&record["schema"], &record["record"]), (&1.into(), &"notice".into()));
                assert!(record["told"]["notice"].is_string(), "{record}");
            }
        }
    }

    #[test]
    fn a_run_is_one_document() {
        let (location, view) = (test_samples::location(), test_samples::finished());
        insta::assert_snapshot!(
            "run_json",
            pretty(&RunDocument { location: &location, view: &view, live: Some(false) }).unwrap()
        );
    }
}
