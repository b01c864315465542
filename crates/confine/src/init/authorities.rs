//! Certificate authorities as programs inside find them: those that the rootfs has anyway, and that of the egress proxy.

use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;

use policy::rules::network::egress::{AUTHORITY, BUNDLE, TRUST_STORE};
use rustix::fs::OFlags;

use crate::protocol::{AUTHORITIES, Interception};
use crate::trust_store;

/// How long a file with authorities may be, in bytes. Usual ones have 200 KB.
const MAX_LENGTH: u64 = 4 << 20;

/// Returns all three files.
pub(super) fn files(interception: &Interception) -> Vec<(&'static str, Vec<u8>)> {
    let known = AUTHORITIES.iter().find_map(|path| read(path).ok());
    let known = known.as_ref().unwrap_or(&interception.otherwise);
    let bundle = [known, &b"\n"[..], &interception.authority].concat();
    let store = trust_store::from_pem(&bundle);
    vec![(AUTHORITY, interception.authority.clone()), (BUNDLE, bundle), (TRUST_STORE, store)]
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
