//! Flags that say where the configuration comes from, and whether it is trusted.

use std::path::PathBuf;

use clap::Args;

/// Where the configuration comes from, and whether it is trusted.
#[derive(Args, Debug, Default)]
pub(crate) struct ConfigSource {
    /// Use this file and do not search for sandbox.toml
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Trust the file for this call; with a hash, only if the content still is what was seen
    #[arg(
        long,
        value_name = "sha256:HASH",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = ANY,
        value_parser = trusted
    )]
    pub(crate) trust: Option<Trusted>,
    #[command(flatten)]
    pub(crate) answers: Answers,
}

/// Which content of the file is trusted for one call.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Trusted {
    Any,
    /// The one with this hash, in the form `sha256:` and hexadecimal digits.
    Hash(String),
}

/// What `--trust` without a hash stands for.
const ANY: &str = "any";

/// Parses `--trust`. An empty hash is an error, not trust: a pipeline whose variable is not set must not trust
/// everything.
fn trusted(text: &str) -> Result<Trusted, String> {
    let digits = text.strip_prefix("sha256:").unwrap_or_default();
    if digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        Ok(Trusted::Hash(text.to_ascii_lowercase()))
    } else if text == ANY {
        Ok(Trusted::Any)
    } else {
        Err("expected `sha256:` and 64 hexadecimal digits; `sandboxctl trust --show` prints the hash"
            .to_owned())
    }
}

/// Who answers when there is something to ask.
#[derive(Args, Debug, Default)]
pub(crate) struct Answers {
    /// Answer every question with yes
    #[arg(short, long, conflicts_with = "no_input")]
    pub(crate) yes: bool,
    /// Never ask; what would need an answer is refused
    #[arg(long)]
    pub(crate) no_input: bool,
}
