//! What is said of the report to whoever did not ask for it.

use crate::machine::callers;
use crate::place::Place;

/// Nothing that a normal user of this machine gets is weaker than usual, unless they ask for more.
#[test]
fn a_limit_that_was_asked_for_and_holds_in_part_is_said() {
    for caller in callers("warnings") {
        let stderr = |flags: &[&str]| {
            let output = Place::new(caller).inside(flags, &["true"]).output().unwrap();
            assert!(output.status.success(), "{flags:?} by {caller:?}");
            String::from_utf8_lossy(&output.stderr).into_owned()
        };
        let asked = ["--memory", "100m", "--pids-limit", "100"];
        let report = stderr(&[&asked[..], &["-q", "--report"]].concat());
        let holds =
            |layer: &str| report.lines().any(|line| line.starts_with(layer) && line.contains(" enforced "));
        for layer in ["memory", "pids"] {
            let said = stderr(&asked).contains(&format!("warning: layer {layer} is partly enforced"));
            assert_eq!(said, !holds(layer), "{layer} by {caller:?}: {report}");
        }
        assert_eq!(stderr(&[&asked[..], &["-q"]].concat()), "", "by {caller:?}: -q");
        // The control: nobody asked.
        assert_eq!(stderr(&[]), "", "by {caller:?}");
    }
}
