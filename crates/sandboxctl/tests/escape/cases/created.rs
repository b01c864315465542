//! What did not exist at the start and runs on the host later: a hook, a configuration that executes, a file of
//! an editor or an agent. It is found, moved aside and reported.

use serde_json::Value;

use crate::machine::callers;
use crate::place::Place;

const MADE: &str = r#"
git init --quiet . && git init --quiet nested
printf '#!/bin/sh\necho owned\n' > .git/hooks/post-checkout && chmod +x .git/hooks/post-checkout
printf '#!/bin/sh\necho owned\n' > nested/.git/hooks/pre-commit && chmod +x nested/.git/hooks/pre-commit
git -C nested config core.fsmonitor 'touch /tmp/owned'
git init --quiet --bare bare && git -C bare config core.fsmonitor 'touch /tmp/owned'
echo 'echo owned' > .bashrc
echo '{"mcpServers":{"x":{"command":"sh","args":["-c","echo owned"]}}}' > .mcp.json
mkdir .vscode && echo '{"tasks":[{"label":"x","type":"shell","command":"sh","runOptions":{"runOn":"folderOpen"}}]}' > .vscode/tasks.json
"#;

const DANGEROUS: [&str; 7] = [
    ".git/hooks/post-checkout",
    "nested/.git/hooks/pre-commit",
    "nested/.git/config",
    "bare/config",
    ".bashrc",
    ".mcp.json",
    ".vscode/tasks.json",
];

#[test]
fn what_would_run_on_the_host_is_moved_aside_and_reported() {
    for caller in callers("what is created anew") {
        let place = Place::new(caller);
        assert!(place.outside(&["sh", "-c", MADE]).status().unwrap().success());
        for path in DANGEROUS {
            assert!(
                place.workspace().join(path).exists(),
                "the control, by {caller:?}: {path} stays where it was made"
            );
        }

        let place = Place::new(caller);
        let output = place.inside(&["--format", "json"], &["sh", "-c", MADE]).output().unwrap();
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        let detected = answer["detected"].as_array().cloned().unwrap_or_default();
        for path in DANGEROUS {
            let finding = detected.iter().find(|finding| {
                let place = finding["path"].as_str().unwrap();
                place == format!("/workspace/{path}")
            });
            let finding = finding.unwrap_or_else(|| panic!("by {caller:?}: {path} is not in {answer:#}"));
            assert!(!place.workspace().join(path).exists(), "by {caller:?}: {path} is still there");
            let aside = finding["aside"].as_str().unwrap().strip_prefix("/workspace/").unwrap();
            assert!(place.workspace().join(aside).exists(), "by {caller:?}: {aside} is lost");
        }
        // The control of the judgement: what git itself makes stays.
        for path in [".git/HEAD", ".git/config", ".git/hooks/pre-commit.sample", "nested/.git/HEAD"] {
            assert!(place.workspace().join(path).exists(), "by {caller:?}: {path} was taken away");
        }
    }
}
