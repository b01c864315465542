//! Files of ours that programs inside find: certificate authorities, and who commits.
//!
//! They lie in a tmpfs of the sandbox's own. Nobody but the agent believes them, so nothing depends on what the agent does with them.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use policy::rules::git::{CONFIGURATION, GitIdentity};

use super::authorities;
use crate::protocol::InitSpec;

/// Writes all of them. Their directory must not be there: what somebody has mounted there is not written to.
pub(super) fn write(spec: &InitSpec) -> io::Result<()> {
    let mut files = spec.interception.as_ref().map_or_else(Vec::new, authorities::files);
    files.extend(spec.git.as_ref().map(|git| (CONFIGURATION, GitIdentity::configuration(git).into_bytes())));
    if files.is_empty() {
        return Ok(());
    }
    let directory = Path::new(CONFIGURATION).parent().unwrap_or(Path::new("/run"));
    fs::DirBuilder::new().mode(0o755).create(directory)?;
    for (path, content) in files {
        OpenOptions::new().write(true).create_new(true).mode(0o444).open(path)?.write_all(&content)?;
    }
    fs::set_permissions(directory, Permissions::from_mode(0o555))
}
