//! The tables of the two databases, in their newest version. How older ones get there is `migrate`.

use crate::database::SchemaCheck;
use crate::migrations;

/// Version of the journal's tables (`PRAGMA user_version`).
pub const JOURNAL_VERSION: u32 = 2;

/// The journal. `entry` is append-only by trigger, so that not even a mistake in this crate rewrites history.
pub(crate) const JOURNAL: SchemaCheck = SchemaCheck {
    what: "journal",
    application_id: 0x4261_744a, // "BatJ"
    version: JOURNAL_VERSION,
    create: &[RUNS_AND_BLOBS, ENTRIES, NO_UPDATE_TRIGGER, NO_DELETE_TRIGGER],
    steps: &[migrations::journal_v0_to_v1, migrations::journal_v1_to_v2],
    unversioned_table: Some("journal"),
};

pub(crate) const RUNS_AND_BLOBS: &str = "
    CREATE TABLE run (
        run           TEXT PRIMARY KEY,
        workflow      TEXT NOT NULL,
        started_at_ms INTEGER NOT NULL,
        finish_action INTEGER,
        ended         INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    CREATE TABLE blob (
        digest TEXT PRIMARY KEY,
        bytes  BLOB NOT NULL
    ) STRICT;
";

/// The run's text id, not a number: a row explains itself in a dump. Rows are stored in the order of their arrival, and an
/// index finds those of a run: a row holds kilobytes, and a tree that is sorted by run would carry them in its inner pages and
/// read them back to find the place of the next one.
pub(crate) const ENTRIES: &str = "
    CREATE TABLE entry (
        run    TEXT NOT NULL REFERENCES run (run),
        seq    INTEGER NOT NULL CHECK (seq > 0),
        at_ms  INTEGER NOT NULL,
        kind   TEXT NOT NULL CHECK (kind IN ('input', 'intent')),
        format INTEGER NOT NULL,
        body   TEXT NOT NULL,
        UNIQUE (run, seq)
    ) STRICT;
";

pub(crate) const NO_UPDATE_TRIGGER: &str = "
    CREATE TRIGGER entry_is_never_changed BEFORE UPDATE ON entry
        BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
";

/// Retention takes it away for the length of a transaction, and puts it back.
pub(crate) const NO_DELETE_TRIGGER: &str = "
    CREATE TRIGGER entry_is_never_deleted BEFORE DELETE ON entry
        BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
";

/// Names and versions of artifacts; the bytes are in separate files.
pub(crate) const ARTIFACTS: SchemaCheck = SchemaCheck {
    what: "artifact index",
    application_id: 0x4261_7441, // "BatA"
    version: 2,
    create: &["
        CREATE TABLE artifact (
            run            TEXT NOT NULL,
            name           TEXT NOT NULL,
            version        INTEGER NOT NULL CHECK (version > 0),
            digest         TEXT NOT NULL,
            bytes          INTEGER NOT NULL,
            media_type     TEXT NOT NULL,
            summary        TEXT NOT NULL,
            session        TEXT,
            saved_at_ms    INTEGER NOT NULL,
            preview        TEXT NOT NULL,
            tokens         INTEGER NOT NULL,
            tokens_by      TEXT NOT NULL,
            tool_call      TEXT,
            archived_at_ms INTEGER,
            PRIMARY KEY (run, name, version)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX artifact_by_digest ON artifact (digest);
        CREATE TABLE removing (run TEXT PRIMARY KEY) STRICT;
    "],
    steps: &[migrations::artifacts_v1_to_v2],
    unversioned_table: None,
};
