//! What to do where a native sandbox has no such command: whether the host has it, and what shows it.

use policy::agents::{AgentProfile, PROFILES};
use policy::config::Expose;
use policy::text::escape;
use sandbox::host::toolchain::locate::Availability;

/// Says how a container can have a command that is not in its image.
pub(super) fn in_image(command: &str) -> String {
    match agent(command) {
        Some(agent) => format!(
            "the image has no {}: `RUN {}` in a Dockerfile that `[image] dockerfile` names puts it there, and `sandboxctl build` makes the image",
            agent.title, agent.install
        ),
        None => "only what the image has is there, and shared directories; `[image] packages` adds programs to one that `sandboxctl \
                 build` makes"
            .to_owned(),
    }
}

/// Returns the published agent whose program has this name.
fn agent(command: &str) -> Option<&'static AgentProfile> {
    PROFILES.iter().copied().find(|profile| profile.program == command)
}

/// Says how a native sandbox can have a command that is not in it.
pub(super) fn elsewhere(command: &str, found: &Availability) -> String {
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
        Availability::Nowhere => match agent(command) {
            Some(agent) => format!(
                "it is not on this host either, or in no directory of your PATH; {} is installed by `{}`",
                agent.title, agent.install
            ),
            None => {
                "only what lies in /usr, in shared directories and in `[native] expose` is there".to_owned()
            }
        },
    }
}

/// Returns what a flag takes, as a shell reads it.
fn quoted(exposed: &Expose) -> String {
    let text = exposed.to_string();
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+@%:,=".contains(letter);
    if text.chars().all(is_plain) { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}
