//! PID 1 of every sandbox.

use std::process::ExitCode;

use confine::init;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let first = arguments.next().unwrap_or_default();
    let control = first.to_str().and_then(|first| first.strip_prefix(init::CONTROL_ARGUMENT)?.parse().ok());
    match control.map(init::run) {
        Some(Ok(code)) => ExitCode::from(code),
        // The control socket is gone, and with it whoever could be told.
        Some(Err(_)) | None => ExitCode::from(125),
    }
}
