//! Files that the host writes into the workspace: whole, and never outside.

use std::fs;
use std::os::unix::fs::symlink;

use baton_workspace::{Workspace, WorkspaceError};

#[test]
fn files_are_replaced_whole_and_leave_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = Workspace::open(folder.path()).unwrap();
    for text in ["first", "2nd"] {
        workspace.write_projection(".baton/run-1/handoffs/phase-1-1.md", text.as_bytes()).unwrap();
    }
    let handoffs = folder.path().join(".baton/run-1/handoffs");
    assert_eq!(fs::read_to_string(handoffs.join("phase-1-1.md")).unwrap(), "2nd");
    assert_eq!(fs::read_dir(&handoffs).unwrap().count(), 1);

    fs::create_dir(handoffs.join("index.md")).unwrap();
    let error = workspace.write_projection(".baton/run-1/handoffs/index.md", b"x").unwrap_err();
    assert!(matches!(error, WorkspaceError::Write { .. }), "{error}");
    assert_eq!(fs::read_dir(&handoffs).unwrap().count(), 2, "the temporary file is gone");
}

#[test]
fn no_path_leads_out_of_the_workspace() {
    let folder = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    let workspace = Workspace::open(folder.path()).unwrap();
    for path in ["", "/abs", "../up", "a/../../up", ".", "./a", "a/.."] {
        assert!(
            matches!(workspace.write_projection(path, b"x"), Err(WorkspaceError::Outside { .. })),
            "{path:?}"
        );
    }
    symlink(outside.path(), folder.path().join(".baton")).unwrap();
    assert!(!workspace.holds_projection(".baton/progress.json", b"x", false));
    workspace.write_projection(".baton/progress.json", b"x").unwrap();
    assert!(workspace.holds_projection(".baton/progress.json", b"x", false));
    symlink(outside.path(), folder.path().join("handoffs")).unwrap();
    let error = workspace.write_projection("handoffs/a.md", b"x").unwrap_err();
    assert!(matches!(error, WorkspaceError::Write { .. }), "{error}");
    assert!(workspace.remove_projection("handoffs/a.md").is_err());
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);

    // A link in the place of the file itself is replaced, not written through.
    let kept = outside.path().join("kept");
    fs::write(&kept, "kept").unwrap();
    symlink(&kept, folder.path().join("file")).unwrap();
    workspace.write_projection("file", b"new").unwrap();
    assert_eq!(fs::read_to_string(&kept).unwrap(), "kept");
    assert_eq!(fs::read_to_string(folder.path().join("file")).unwrap(), "new");
}
