//! Names that an agent chooses, as a person and as a program see them.

use serde_json::{Value, json};

use crate::machine::callers;
use crate::place::Place;

/// Makes a repository with a hook, in a directory whose name begins a line of its own and is no text.
const HOOK: &str = r#"
d=$(printf 'd\nerror: forged \377_')
mkdir -p "$d/.git/objects" "$d/.git/refs/heads" "$d/.git/hooks"
echo 'ref: refs/heads/main' > "$d/.git/HEAD"
echo 'echo owned' > "$d/.git/hooks/pre-commit"
chmod +x "$d/.git/hooks/pre-commit"
"#;

#[test]
fn a_name_forges_no_line_and_is_lost_to_no_program() {
    for caller in callers("names") {
        let place = Place::new(caller);
        let output = place.inside(&[""; 0], &["sh", "-c", HOOK]).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.contains(r"d\u{a}error: forged \xff_"), "by {caller:?}: {stderr}");
        let ours = |line: &str| line.starts_with("warning: ") || line.starts_with("hint: ");
        assert!(stderr.lines().all(ours), "by {caller:?}: {stderr}");

        let place = Place::new(caller);
        let output = place.inside(&["--format", "json"], &["sh", "-c", HOOK]).output().unwrap();
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        let paths: Vec<&Value> =
            answer["detected"].as_array().unwrap().iter().map(|one| &one["path"]).collect();
        // printf '/workspace/d\nerror: forged \377_/.git/hooks/pre-commit' | base64 -w 0
        let hook =
            json!({ "base64": "L3dvcmtzcGFjZS9kCmVycm9yOiBmb3JnZWQg/18vLmdpdC9ob29rcy9wcmUtY29tbWl0" });
        assert!(paths.contains(&&hook), "by {caller:?}: {answer:#}");
    }
}
