//! What names programs for git-annex: the backend of a file, in attributes and in the name of its key, and special remotes.
//!
//! git-annex puts `git-annex-backend-`, `git-annex-remote-` or nothing before such a name, and runs what has the name then. It takes a name with
//! a slash for a path, which leads into the work tree.

use super::reason::Reason;

/// Returns whether the name of a key is one that no program of the work tree is run for: letters and digits before the first `-` are the
/// backend. For `/`, the name of a file has `%`.
pub fn is_ordinary_key(name: &[u8]) -> bool {
    name.split(|byte| *byte == b'-').next().is_some_and(is_name)
}

/// Classifies attributes of git, see gitattributes(5).
pub(super) fn classify_attributes(content: &[u8]) -> Option<Reason> {
    backends(content).next().map(|_| Reason::Setting { key: "annex.backend".to_owned() })
}

/// Returns what counts of attributes: a change of anything else is none.
pub(super) fn essence_of_attributes(content: &[u8]) -> Vec<u8> {
    backends(content).flat_map(|name| [name, b"\n"].concat()).collect()
}

/// Lists the backends in attributes that are paths.
fn backends(content: &[u8]) -> impl Iterator<Item = &[u8]> {
    let words = content.split(u8::is_ascii_whitespace);
    words.filter_map(|word| word.strip_prefix(b"annex.backend=")).filter(|name| !is_name(name))
}

/// Classifies a list of special remotes (`remote.log`): a line for each, with its settings as `key=value`, in which `&47;` stands for a
/// slash.
pub(super) fn classify_remotes(content: &[u8]) -> Option<Reason> {
    let words = content.split(u8::is_ascii_whitespace);
    let settings = words.filter_map(|word| {
        let equals = word.iter().position(|byte| *byte == b'=')?;
        Some((&word[..equals], &word[equals + 1..]))
    });
    let names_program = |key: &[u8]| key == b"externaltype" || key == b"program" || key == b"type";
    let is_odd = |(key, value): &(&[u8], &[u8])| key.contains(&b'&') || names_program(key) && !is_name(value);
    let (key, _) = settings.into_iter().find(is_odd)?;
    Some(Reason::Setting { key: String::from_utf8_lossy(key).into_owned() })
}

/// Returns whether this is a name, and no path.
fn is_name(name: &[u8]) -> bool {
    name.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_into_the_work_tree_are_found() {
        for (name, is_ordinary) in [
            ("SHA256E-s4--01.bin", true),
            ("WORM-s2-m1--a%b", true),
            ("XFOO-s2--abc", true),
            ("URL--http&c%%example.org%x", true),
            ("Xa%run-s2--abc", false),
            ("X&s-s2--abc", false),
        ] {
            assert_eq!(is_ordinary_key(name.as_bytes()), is_ordinary, "{name}");
        }
        for harmless in [
            "",
            "* annex.largefiles=anything filter=annex\n",
            "*.bin annex.backend=SHA256E\n*.x annex.backend=XFOO -text\n",
            "docs/annex.backend text\n",
        ] {
            assert_eq!(classify_attributes(harmless.as_bytes()), None, "{harmless}");
            assert_eq!(essence_of_attributes(harmless.as_bytes()), b"", "{harmless}");
        }
        for hostile in ["* annex.backend=Xa/run", "[attr]x filter=annex\tannex.backend=X/../run\n"] {
            assert!(classify_attributes(hostile.as_bytes()).is_some(), "{hostile}");
            assert_ne!(essence_of_attributes(hostile.as_bytes()), b"", "{hostile}");
        }
        for harmless in [
            "",
            "0-1 autoenable=true encryption=none externaltype=rclone name=x type=external timestamp=1.5s\n",
            "0-1 directory=/srv/x encryption=none name=a&32;b type=directory timestamp=1s\n",
            "0-1 name=c program=git-annex-compute-x type=compute timestamp=1s\n",
        ] {
            assert_eq!(classify_remotes(harmless.as_bytes()), None, "{harmless}");
        }
        for hostile in [
            "0-1 autoenable=true externaltype=x/run name=x type=external timestamp=1s\n",
            "0-1 externaltype=x&47;run type=external",
            "0-1 external&116;ype=x type=external",
            "0-1 program=git-annex-compute-x/run type=compute",
        ] {
            assert!(classify_remotes(hostile.as_bytes()).is_some(), "{hostile}");
        }
    }
}
