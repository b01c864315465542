//! Prompts of agents: text with a header, of which some of these run something while they read it.

use super::reason::Reason;
use super::script::is_blank;
use super::settings;
use crate::protect::table::content::FileFormat;
use crate::protect::table::harmless::Keys;

/// What has an agent run or read something. A `$` may be an argument, which is put in first: with none, `!$1` and a backtick are a `!`
/// and a backtick.
const MARKS: [&str; 7] = ["!`", "```!", "!{", "!$", "@{", "@$", "// turbo"];

/// Keys by which a prompt has an agent run something, which do not pass in what follows the header either: a reader may end that elsewhere.
const KEYS: [&str; 5] = ["hooks", "allowed-tools", "mcpServers", "mcp-servers", "mcp_servers"];

/// What begins a header. To npm's `front-matter` one begins at the first line that is one, if the first line of all has one somewhere.
const DELIMITERS: [&str; 2] = ["---", "= yaml ="];

/// What ends a line for a regular expression of JavaScript.
const LINE_ENDS: [char; 4] = ['\n', '\r', '\u{2028}', '\u{2029}'];

/// Classifies a prompt: each key of its header must be harmless, and nothing may run while it is read.
pub(super) fn classify(content: &[u8], keys: &'static Keys) -> Option<Reason> {
    // Some agents read UTF-16, too.
    let Some(text) = std::str::from_utf8(content).ok().filter(|text| !text.contains('\0')) else {
        return Some(Reason::Unreadable { format: FileFormat::Text });
    };
    let setting = |key: &str| Some(Reason::Setting { key: key.to_owned() });
    let bare = without_arguments(text);
    if let Some(mark) = MARKS.into_iter().find(|mark| text.contains(mark) || bare.contains(mark)) {
        return setting(mark);
    }
    let whole = text;
    let text = whole.trim_start_matches(is_blank);
    // To some readers, a header begins at the beginning of a line alone.
    let begins_line =
        matches!(whole[..whole.len() - text.len()].chars().next_back(), None | Some('\n' | '\u{feff}'));
    let unreadable = Some(Reason::Unreadable { format: FileFormat::Yaml });
    if let Some(after) = text.strip_prefix("---") {
        let Some(header) = header(after).filter(|_| begins_line) else { return unreadable };
        if let Some(reason) = settings::classify(header.as_bytes(), FileFormat::Yaml, keys) {
            return Some(reason);
        }
        if has_table_of_tools(header) {
            return setting("tools");
        }
    } else if DELIMITERS.into_iter().any(|mark| text[..first_line(text)].contains(mark))
        && text.split(LINE_ENDS).any(|line| DELIMITERS.contains(&line.trim_end()))
    {
        return unreadable;
    }
    KEYS.into_iter().find(|key| has_key(text, key)).and_then(setting)
}

/// Returns how long the first line of a text is.
fn first_line(text: &str) -> usize {
    text.find('\n').unwrap_or(text.len())
}

/// Returns whether a text has a key of this name, also one in quotes.
fn has_key(text: &str, key: &str) -> bool {
    let mut after = text.split(key).skip(1);
    after.any(|after| after.trim_start_matches(['"', '\'', ' ', '\t']).starts_with(':'))
}

/// Returns a text as it is where all arguments are empty: without `$1`, `$NAME`, `$NAME[0]` and `${NAME}`. Agents differ about where one
/// ends, so all that may belong to one is left out.
fn without_arguments(text: &str) -> String {
    let is_of_argument = |letter: char| {
        letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '.' | ':' | '[' | ']' | '{' | '}')
    };
    let mut parts = text.split('$');
    let first = parts.next().unwrap_or_default();
    [first].into_iter().chain(parts.map(|part| part.trim_start_matches(is_of_argument))).collect()
}

/// Returns whether a header may say of each tool whether it may be used. To opencode that is a permission; a list of names only leaves
/// others out. YAML has many ways to write a mapping, an alias among them: only what is surely none passes.
fn has_table_of_tools(header: &str) -> bool {
    let may_be_one = |text: &str| {
        let text = text.trim_matches(' ');
        text.starts_with(['&', '*', '?', ':'])
            || text.ends_with(':')
            || ["{", ": ", "\":", "':"].into_iter().any(|mark| text.contains(mark))
    };
    let mut is_of_tools = false;
    header.lines().any(|line| {
        let value = line.strip_prefix("tools:");
        // A line that is empty, a comment or further to the right ends nothing.
        if !line.is_empty() && !line.starts_with([' ', '-', '#']) {
            is_of_tools = value.is_some();
        }
        is_of_tools && may_be_one(value.unwrap_or(line))
    })
}

/// Returns the header of a prompt, after its first `---`. Where it does not end, everything may be one. `None` where readers disagree:
/// some take what follows on that line for a language and run it, some end the header at a line that only begins with `---`, to some one with
/// spaces after it is none, so that the header begins at the next or goes on to it, and to some neither is one that follows the first at once,
/// or with nothing but empty lines between.
fn header(after: &str) -> Option<&str> {
    let is_empty = |line: &str| line.trim_matches([' ', '\t', '\r']).is_empty();
    let (header, rest) = after.split_once("\n---").unwrap_or((after, ""));
    let (begin, end) = (&header[..first_line(header)], &rest[..first_line(rest)]);
    let is_end = matches!(end, "" | "\r") || is_empty(end) && !rest.contains("\n---");
    let has_lines = header.contains('\n') || header.len() == after.len();
    let goes_on = header.chars().all(is_blank) && rest.contains("\n---");
    // It ends before the line end of its last line.
    let header = header.strip_suffix('\r').unwrap_or(header);
    (matches!(begin, "" | "\r") && is_end && has_lines && !goes_on).then_some(header)
}
