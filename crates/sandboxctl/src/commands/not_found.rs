//! What to do where a native sandbox has no such command: whether the host has it, and what shows it.

use policy::config::Expose;
use policy::text::escape;
use sandbox::host::toolchain::locate::Availability;

/// Says how a native sandbox can have a command that is not in it.
pub(super) fn elsewhere(found: &Availability) -> String {
    match found {
        Availability::System(path) => {
            format!("`{0}` is in the sandbox, in no directory of its PATH; type `{0}`", escape::path(path))
        }
        Availability::Exposable { program, by } => {
            let flags: Vec<String> = by.iter().map(|one| format!("--expose {}", quoted(one))).collect();
            let (path, flags) = (escape::path(program), flags.join(" "));
            format!("it is `{path}` on this host, which `{flags}` shows, or the same in `[native] expose`")
        }
        Availability::Hidden { program, reason } => {
            format!("it is `{}` on this host, which cannot be shown: {reason}", escape::path(program))
        }
        Availability::Nowhere => {
            "only what lies in /usr, in shared directories and in `[native] expose` is there".to_owned()
        }
    }
}

/// Returns what a flag takes, as a shell reads it.
fn quoted(exposed: &Expose) -> String {
    let text = exposed.to_string();
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+@%:,=".contains(letter);
    if text.chars().all(is_plain) { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}
