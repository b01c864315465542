//! The escape battery: one attack per file, each with a control that shows that it can succeed.
//!
//! The control is the same program where the layer that stops it is taken away. Harmless attacks run theirs on
//! the host; those that could hurt the machine run it in a sandbox of util-linux or bubblewrap without that one
//! layer, scaled down. The case itself runs in `sandboxctl run`, as root and as a normal user, and each of its
//! attempts must get exactly the error that is written beside it.
#![expect(clippy::unwrap_used, reason = "a test whose preparation fails has failed")]

mod attack;
mod cases;
#[path = "../support/machine.rs"]
mod machine;
#[path = "../support/place.rs"]
mod place;
#[path = "../support/program.rs"]
mod program;
#[path = "../support/ready.rs"]
mod ready;
#[path = "../support/system_path.rs"]
mod system_path;
