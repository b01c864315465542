//! Documents that a substitution prints: the way in which a text of several lines becomes an argument.

use std::borrow::Cow;

/// What opens one: `"$(cat <<'EOF'`, which prints the lines up to `EOF` as they are.
const OPENING: &str = "\"$(cat <<'";

/// Puts a word that is not known in the place of each such document, which the grammar cannot read. Such a text only prints, so nothing is lost
/// of what the commands around it do.
pub(super) fn without_documents(text: &str) -> Cow<'_, str> {
    let Some((before, after)) = text.split_once(OPENING) else { return Cow::Borrowed(text) };
    match document(before, after) {
        Some(rest) => Cow::Owned(format!("{before}\"${{DOCUMENT}}\"{}", without_documents(rest))),
        None => Cow::Borrowed(text),
    }
}

/// Returns what follows a document, if it is one for certain: no quote, remark or other document before it is open there.
fn document<'a>(before: &str, after: &'a str) -> Option<&'a str> {
    if before.contains(['#', '`', '$', '\\']) || before.contains("<<") {
        return None;
    }
    let mut quote = None;
    for character in before.chars() {
        match (quote, character) {
            (None, '\'' | '"') => quote = Some(character),
            (Some(open), _) if open == character => quote = None,
            _ => {}
        }
    }
    if quote.is_some() {
        return None;
    }
    let (name, body) = after.split_once("'\n")?;
    if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return None;
    }
    // The first line that is the name alone ends it.
    let body = format!("\n{body}");
    let end = format!("\n{name}\n");
    let (inside, _) = body.split_once(&end)?;
    // What was put before the body here is no part of it.
    let rest = &after[name.len() + "'\n".len()..][(inside.len() + end.len()).saturating_sub(1)..];
    rest.trim_start().strip_prefix(")\"")
}
