//! What a terminal gets to see of a mark of a prompt (OSC 133) and of a notification (OSC 99): not what has it type long afterwards, when
//! somebody clicks there, or when the notification is closed.

/// Keeps of a mark what it marks: where a prompt, what is typed and what a command prints begins and ends, and its status. Which command it is
/// and what the terminal types at a click is left out; `None` is for what is no mark.
pub(super) fn mark(text: &[u8]) -> Option<Vec<u8>> {
    let mut fields = text.split(|byte| *byte == b';');
    let kind = fields.next().filter(|kind| matches!(kind, [b'A'..=b'D' | b'I' | b'L' | b'N' | b'P']))?;
    let mut kept = kind.to_vec();
    fields.filter(|field| is_of_mark(field)).for_each(|field| append(&mut kept, b';', field));
    Some(kept)
}

/// Appends a field. There may be very many of them, so no list is made.
fn append(kept: &mut Vec<u8>, separator: u8, field: &[u8]) {
    if !kept.is_empty() {
        kept.push(separator);
    }
    kept.extend_from_slice(field);
}

/// Returns whether a field of a mark belongs to it: a status, its name, its kind, an error, and who draws the prompt again.
fn is_of_mark(field: &[u8]) -> bool {
    let is_status = !field.is_empty() && field.iter().all(u8::is_ascii_digit);
    let is_named = |name: &[u8]| field.starts_with(name);
    is_status || [&b"aid="[..], b"k=", b"err=", b"redraw="].into_iter().any(is_named)
}

/// Keeps of a notification what shows it. That the terminal reports when it is clicked (`a=report`) or closed (`c=1`) is left out, and a picture
/// of the host's (`n`); `None` is for another payload, such as buttons.
pub(super) fn notification(text: &[u8]) -> Option<Vec<u8>> {
    let end = text.iter().position(|byte| *byte == b';').unwrap_or(text.len());
    let (settings, payload) = text.split_at(end);
    let mut kept = Vec::new();
    for setting in settings.split(|byte| *byte == b':') {
        match setting {
            b"p=title" | b"p=body" | b"p=icon" | b"p=close" | b"p=?" => append(&mut kept, b':', setting),
            [b'p', b'=', ..] => return None,
            _ if is_of_notification(setting) => append(&mut kept, b':', setting),
            _ => {}
        }
    }
    kept.extend_from_slice(payload);
    Some(kept)
}

/// Returns whether a notification asks what the terminal can show, which that answers at once.
pub(super) fn is_question(notification: &[u8]) -> bool {
    let settings = notification.split(|byte| *byte == b';').next().unwrap_or_default();
    settings.split(|byte| *byte == b':').any(|setting| setting == b"p=?")
}

/// Returns whether a setting only says how a notification is shown.
fn is_of_notification(setting: &[u8]) -> bool {
    match setting {
        b"c=0" => true,
        [b'a', b'=', actions @ ..] => actions
            .split(|byte| *byte == b',')
            .all(|action| matches!(action, b"focus" | b"-focus" | b"-report")),
        // Whether it is whole and encoded, who shows it, a picture that was sent, its name, when, a sound, its kind, how urgent it is, how long.
        [b'd' | b'e' | b'f' | b'g' | b'i' | b'o' | b's' | b't' | b'u' | b'w', b'=', value @ ..] => {
            value.iter().all(|byte| byte.is_ascii_alphanumeric() || b"_+-./=".contains(byte))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(text: &str, keep: fn(&[u8]) -> Option<Vec<u8>>) -> Option<String> {
        let kept = keep(text.as_bytes())?;
        assert_eq!(keep(&kept).as_ref(), Some(&kept), "{text:?}");
        Some(String::from_utf8(kept).unwrap())
    }

    #[test]
    fn a_mark_has_no_command_and_nothing_for_a_click() {
        for (text, expected) in [
            ("A", Some("A")),
            ("A;k=s;aid=7;redraw=0", Some("A;k=s;aid=7;redraw=0")),
            ("D;130;err=x", Some("D;130;err=x")),
            ("A;click_events=1", Some("A")),
            ("A;special_key=1;k=s;cl=m;click_events=2", Some("A;k=s")),
            ("C;cmdline=rm", Some("C")),
            ("C;k=s;cmdline_url=rm", Some("C;k=s")),
            ("D;;-1", Some("D")),
            ("", None),
            ("Aclick_events=1", None),
            ("E;ls", None),
            ("k;start", None),
        ] {
            assert_eq!(kept(text, mark).as_deref(), expected, "{text:?}");
        }
    }

    #[test]
    fn a_notification_reports_nothing() {
        for (text, expected) in [
            (";text", Some(";text")),
            ("::i=a::p=body:;:text", Some("i=a:p=body;:text")),
            ("i=a.b:d=0:p=body:e=1;YQ==", Some("i=a.b:d=0:p=body:e=1;YQ==")),
            ("i=a:d=1:a=focus:u=2:o=unfocused:w=-1:c=0;", Some("i=a:d=1:a=focus:u=2:o=unfocused:w=-1:c=0;")),
            ("i=a:a=-focus,-report:f=YQ==;c=1:a=report", Some("i=a:a=-focus,-report:f=YQ==;c=1:a=report")),
            ("i=a:c=1:w=5000;text", Some("i=a:w=5000;text")),
            ("c=2:c=;text", Some(";text")),
            ("a=report:i=a;text", Some("i=a;text")),
            ("a=focus,report:A=report: a=report:a;text", Some(";text")),
            ("n=L2V0Yy9h:i=a b:p;text", Some(";text")),
            ("i=a:p=?;", Some("i=a:p=?;")),
            ("p=buttons;yes", None),
            ("p=title:p=alive;", None),
            ("p=;text", None),
        ] {
            assert_eq!(kept(text, notification).as_deref(), expected, "{text:?}");
        }
        assert!(is_question(b"i=a:p=?;"));
        assert!(!is_question(b"i=a;p=?"));
    }
}
