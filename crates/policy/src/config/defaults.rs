//! Defaults: what holds where no key is set, and the names that are built in.

use std::time::Duration;

use crate::rules::limits::Bytes;

/// The user name of the agent inside.
pub const AGENT: &str = "agent";
/// The home directory of the agent inside.
pub const HOME: &str = "/home/agent";
/// Where a boundary must be for the agent to start there by default.
pub const WORKSPACE: &str = "/workspace";
/// The name of the image, unless configured.
pub const IMAGE: &str = "sandbox-image";
/// How deep nested repositories and sockets are looked for, unless configured.
pub const DEPTH: u32 = 3;
/// How long a container of the pool waits to be taken, unless configured.
pub const POOL_AGE: Duration = Duration::from_secs(600);
/// How many generations of children there are, unless configured.
pub const CHILD_DEPTH: u32 = 1;
/// How many files a worker is handed at most, unless configured.
pub const ATTACHMENTS: u32 = 8;
/// The size of the largest of them, unless configured.
pub const ATTACHMENT_BYTES: Bytes = Bytes(1 << 20);
/// What the stock image starts from, unless configured.
pub const BASE: &str = "alpine:3.23";
/// What is installed in it, unless configured.
pub const PACKAGES: &[&str] = &["bash", "curl", "git", "openssh-client", "python3", "nodejs", "npm"];
/// The repositories of bases for the stock image. Docker's own people make what is in them, and nothing in there has a build
/// that starts from it run something (`ONBUILD`).
const BASES: [&str; 2] = ["alpine", "debian"];

/// Returns whether a base is in one of `BASES`, whatever its tag or digest.
pub fn is_stock_base(name: &str) -> bool {
    let name = name.strip_prefix("docker.io/library/").unwrap_or(name);
    BASES.contains(&name.split([':', '@']).next().unwrap_or(name))
}
