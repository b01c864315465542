//! What assigning a variable does.

use super::class::CommandClass;

/// Variables in capitals that change nothing but what is printed.
const HARMLESS: &[&str] = &[
    "CI", "CLICOLOR", "COLUMNS", "DEBIAN_FRONTEND", "FORCE_COLOR", "LANG", "LANGUAGE", "LINES", "NO_COLOR",
    "OLDPWD", "REPLY", "TERM", "TZ",
];

/// Variables of other letters that programs or the shell obey.
const OBEYED: &[&str] = &["all_proxy", "ftp_proxy", "http_proxy", "https_proxy", "no_proxy"];

/// Returns what assigning a variable does, if that is more than nothing. In lower case variables are the script's own, and in capitals
/// programs obey them, as the linker does `LD_PRELOAD` and the shell `PATH`.
pub(super) fn of_variable(name: &str) -> Option<CommandClass> {
    let name = name.trim_end_matches('+');
    let is_own = name.bytes().any(|byte| byte.is_ascii_lowercase()) && !OBEYED.contains(&name);
    let is_harmless = is_own || HARMLESS.contains(&name) || name.starts_with("LC_") || name == "_";
    (!is_harmless).then_some(CommandClass::Execute)
}
