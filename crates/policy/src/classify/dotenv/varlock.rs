//! What varlock does by itself with a `.env`: it calls functions in values, and obeys decorators in comments.

use super::words::is_of_name;

/// Returns whether varlock runs a command for a line, or loads or writes a file that it names: for a value, or for a comment that it takes for more
/// than text (env-spec, "Functions" and "Root decorators").
pub(super) fn runs_or_loads(line: &str) -> bool {
    let calls =
        |text: &str, name: &str| text.match_indices(name).any(|(at, _)| !text[..at].ends_with(is_of_name));
    let text = line.trim_start();
    match text.strip_prefix('#') {
        Some(comment) if comment.trim_start().starts_with('@') => {
            // The types of the variables.
            let writes_here = comment.contains(".ts")
                && !comment.contains("..")
                && !comment.contains(['~', '\\'])
                && !["=/", "='/", "=\"/"].iter().any(|begin| comment.contains(begin));
            ["exec(", "@import(", "@plugin(", "@setValuesBulk("].iter().any(|name| calls(comment, name))
                || comment.contains("@generateTypes(") && !writes_here
        }
        Some(_) => false,
        None => text.split_once('=').is_some_and(|(_, value)| calls(value, "exec(")),
    }
}
