//! Any content of a file that programs of the host obey: it is classified without a panic, and what makes a harmless
//! configuration of git run a program is found at its end, whatever stands before.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use policy::classify::{EntryType, classify, concerns, references};

const FILE: EntryType = EntryType::File { mode: 0o644 };

/// One for each format.
const PLACES: [&str; 14] = [
    ".git/config", ".gitmodules", "sub/.git", ".git/worktrees/w/commondir", ".vscode/settings.json",
    ".codex/config.toml", ".claude/commands/a.md", ".idea/workspace.xml", ".ripgreprc", ".aider.conf.yml",
    ".npmrc", "mise.toml", "a.code-workspace", ".tool-versions",
];

fuzz_target!(|input: (u8, Vec<u8>)| {
    let (at, content) = input;
    let place = Path::new(PLACES[usize::from(at) % PLACES.len()]);
    assert!(concerns(place));
    let _ = classify(place, FILE, &content);

    let config = Path::new(".git/config");
    if classify(config, FILE, &content).is_none() {
        let _ = references(&content);
        let evil = [content.as_slice(), b"\n\n[core]\n\tfsmonitor = /bin/evil\n"].concat();
        assert!(classify(config, FILE, &evil).is_some(), "{}", String::from_utf8_lossy(&evil));
    }
});
