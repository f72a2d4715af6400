//! Nothing: a package needs a target, and this one is only a version to be locked.
