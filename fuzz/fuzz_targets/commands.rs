//! Any text that a shell may be given: it is decided about in the end, a stricter class makes no decision less strict, and what is shown is one line.
#![no_main]

use libfuzzer_sys::fuzz_target;
use policy::commands::{CommandClass, CommandRules, Shell};
use policy::rules::verdict::Decision;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    CommandRules::default().decide(&text, Shell::Posix);
    let decided = CommandRules::default().decide(&text, Shell::Bash);
    assert_eq!(decided.decision, Decision::Allow, "nothing is against it");
    assert!(!decided.command.contains(['\n', '\r', '\u{1b}']), "{:?}", decided.command);
    let all = CommandRules {
        read: Decision::Deny,
        write: Decision::Deny,
        execute: Decision::Deny,
        network: Decision::Deny,
        rules: Vec::new(),
    };
    assert_eq!(all.decide(&text, Shell::Bash).decision, Decision::Deny, "whatever it does is denied");
    for class in CommandClass::ALL {
        let mut rules = CommandRules::default();
        match class {
            CommandClass::Read => rules.read = Decision::Ask,
            CommandClass::Write => rules.write = Decision::Ask,
            CommandClass::Execute => rules.execute = Decision::Ask,
            CommandClass::Network => rules.network = Decision::Ask,
        }
        let about = rules.decide(&text, Shell::Bash);
        assert_eq!(about.classes, decided.classes, "what it does is no matter of rules");
        let is_asked = about.decision == Decision::Ask;
        assert!(is_asked || !decided.classes.contains(&class), "{class}: {about:?}");
    }
    // As the one word of a program it is another command, which is decided about as well.
    let words = CommandRules::default().decide_words(&["sh", "-c", &*text]);
    assert_eq!(words.decision, Decision::Allow);
});
