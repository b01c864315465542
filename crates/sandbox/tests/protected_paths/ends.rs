//! Trees without end come to an end, and are not given the benefit of the doubt.

use super::*;
use policy::plan::Protect;

#[test]
fn what_is_too_much_to_be_classified_is_not_given_the_benefit_of_the_doubt() {
    let boundary = Boundary::new();
    let baseline = boundary.baseline();
    let nothing = format!("// {}\n{{}}", "x".repeat(1_000_000));
    boundary.write(".claude/0.json", &nothing);
    assert_eq!(boundary.paths(&baseline), Vec::<String>::new(), "the control: this file harms nobody");
    for number in 1..100 {
        let link = boundary.host.join(format!(".claude/{number}.json"));
        fs::hard_link(boundary.host.join(".claude/0.json"), link).unwrap();
    }
    // It would be looked at last.
    boundary.write(".vscode/tasks.json", r#"{"tasks":[{"runOptions":{"runOn":"folderOpen"}}]}"#);
    let mut findings = boundary.compare(&baseline);
    let found = findings.iter().map(|one| (one.path.to_str().unwrap(), &one.reason));
    let found: Vec<_> = found.filter(|(_, reason)| **reason != Reason::HardLinked).collect();
    assert_eq!(found, [(".claude", &Reason::Hidden), (".vscode", &Reason::Hidden)]);
    for finding in &mut findings {
        assert!(set_aside(boundary.root().enter().unwrap(), finding, now()).unwrap(), "{finding}");
    }
    assert_eq!(boundary.compare(&baseline), []);
}

#[test]
fn entries_without_end_are_too_much_to_be_classified() {
    let boundary = Boundary::new();
    let baseline = boundary.baseline();
    boundary.directory(".idea");
    for number in 0..70_000 {
        symlink("x", boundary.host.join(format!(".idea/{number}.txt"))).unwrap();
    }
    let findings = boundary.compare(&baseline);
    let found: Vec<_> = findings.iter().map(|one| (one.path.to_str().unwrap(), &one.reason)).collect();
    assert_eq!(found, [(".idea", &Reason::Hidden)]);
}

#[test]
fn when_time_is_over_that_is_said_and_nothing_is_found() {
    let boundary = Boundary::new();
    let baseline = boundary.baseline();
    boundary.repository("sub").write("sub/.git/hooks/pre-commit", "evil").write(".bashrc", "evil");
    let over = Deadline::after(Duration::ZERO);
    let by = Protect { paths: built_in().map(str::to_owned).collect(), ..Protect::NOTHING };
    assert!(boundary.walk(3).is_whole);
    let walk = walk_until(&boundary.root().enter().unwrap(), 3, over, &Known::default()).unwrap();
    assert!(!walk.is_whole);
    assert!(boundary.mounts().is_whole());
    let late = mounts_until(&boundary.root().enter().unwrap(), &boundary.host, &boundary.walk(3), &by, over)
        .unwrap();
    assert!(!late.is_whole());
    assert_eq!(late.notices, [ProtectionGap::OutOfTime]);
    let compared = baseline.compare(boundary.root().enter().unwrap(), &boundary.mounts(), over).unwrap();
    assert!(!compared.is_whole);
    assert_eq!(compared.findings, []);
    assert_eq!(boundary.paths(&baseline), [".bashrc", "sub/.git/hooks/pre-commit"], "the control");
}

#[test]
fn a_walk_stops_within_a_directory_that_has_no_end() {
    let boundary = Boundary::new();
    for number in 0..5_000 {
        boundary.write(&format!("{number}"), "");
    }
    assert!(
        !walk_until(&boundary.root().enter().unwrap(), 3, Deadline::after(Duration::ZERO), &Known::default())
            .unwrap()
            .is_whole
    );
    assert!(
        walk_until(&boundary.root().enter().unwrap(), 3, Deadline::NEVER, &Known::default())
            .unwrap()
            .is_whole
    );
}

#[test]
fn repositories_that_lead_to_each_other_without_end_are_all_searched() {
    let boundary = Boundary::new();
    let baseline = boundary.baseline();
    // One that is common to the one before it, and so on.
    for number in 0..250 {
        boundary
            .bare(&format!("chain/{number}"))
            .write(&format!("chain/{number}/commondir"), &format!("../{}\n", number + 1));
    }
    // Two that are submodules of each other.
    for (one, other) in [("a", "b"), ("b", "a")] {
        boundary.bare(one).directory(&format!("{one}/modules"));
        boundary.link(format!("../../{other}"), &format!("{one}/modules/x"));
    }
    for place in ["a", "b", "chain/0", "chain/249"] {
        boundary.write(&format!("{place}/hooks/post-checkout"), "evil");
    }
    let found = boundary.paths(&baseline);
    for place in ["a", "b", "chain/0", "chain/249"] {
        assert!(found.contains(&format!("{place}/hooks/post-checkout")), "{place}: {found:?}");
    }
}
