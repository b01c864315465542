//! Certificate authorities as programs inside find them: those that the rootfs has anyway, and that of the egress proxy.
//!
//! They lie in a tmpfs of the sandbox's own. Nobody but the agent believes them, so nothing depends on what the agent does with them.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use policy::rules::network::egress::{AUTHORITY, BUNDLE, TRUST_STORE};
use rustix::fs::OFlags;

use crate::protocol::{AUTHORITIES, Interception};
use crate::trust_store;

/// How long a file with authorities may be, in bytes. Usual ones have 200 KB.
const MAX_LENGTH: u64 = 4 << 20;

/// Writes all three files. The directory must not be there: what somebody has mounted there is not written to.
pub(super) fn write(interception: &Interception) -> io::Result<()> {
    let directory = Path::new(AUTHORITY).parent().unwrap_or(Path::new("/run"));
    fs::DirBuilder::new().mode(0o755).create(directory)?;
    let known = AUTHORITIES.iter().find_map(|path| read(path).ok());
    let known = known.as_ref().unwrap_or(&interception.otherwise);
    let bundle = [known, &b"\n"[..], &interception.authority].concat();
    create(AUTHORITY, &interception.authority)?;
    create(BUNDLE, &bundle)?;
    create(TRUST_STORE, &trust_store::from_pem(&bundle))?;
    fs::set_permissions(directory, Permissions::from_mode(0o555))
}

/// Reads a file of the rootfs, which may be anything there.
fn read(path: &str) -> io::Result<Vec<u8>> {
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or(0);
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() || metadata.len() > MAX_LENGTH {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut text = Vec::new();
    file.take(MAX_LENGTH).read_to_end(&mut text)?;
    Ok(text)
}

fn create(path: &str, content: &[u8]) -> io::Result<()> {
    OpenOptions::new().write(true).create_new(true).mode(0o444).open(path)?.write_all(content)
}
