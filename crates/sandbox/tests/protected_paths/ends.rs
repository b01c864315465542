//! Trees without end come to an end, and are not given the benefit of the doubt.

use super::*;
use policy::plan::Protect;
use std::borrow::Cow;

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
        assert!(quarantine(boundary.root().enter().unwrap(), finding, now()).unwrap(), "{finding}");
    }
    assert_eq!(boundary.compare(&baseline), []);
}

/// In memory its content would be compared with what was not read.
#[test]
fn what_was_not_read_at_the_start_and_is_the_same_file_is_no_news() {
    let boundary = Boundary::new();
    let nothing = format!("// {}\n{{}}", "x".repeat(1_000_000));
    for number in 0..20 {
        boundary.write(&format!(".claude/{number}.json"), &nothing);
    }
    boundary.write("sub/.env", "NODE_OPTIONS=--require ./own.js\n").repository("sub");
    let baseline = boundary.baseline();
    assert_eq!(boundary.compare(&baseline), []);
    // The control: another one is.
    boundary.write("sub/.env", "NODE_OPTIONS=--require ./other.js\n");
    assert_eq!(boundary.paths(&baseline), ["sub/.env"]);
}

#[test]
fn entries_without_end_are_too_much_to_be_classified() {
    let boundary = Boundary::new();
    let baseline = boundary.baseline();
    boundary.directory(".idea");
    for number in 0..70_000 {
        fs::create_dir(boundary.host.join(format!(".idea/{number}"))).unwrap();
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
    let by = Protect { paths: built_in().map(Cow::Borrowed).collect(), ..Protect::NOTHING };
    assert!(boundary.walk(3).is_whole);
    let walk = walk_until(&boundary.root().enter().unwrap(), 3, over, &Known::default()).unwrap();
    assert!(!walk.is_whole);
    assert!(boundary.mounts().is_whole());
    let late = mounts_until(&boundary.root().enter().unwrap(), &boundary.host, &boundary.walk(3), &by, over)
        .unwrap();
    assert!(!late.is_whole());
    assert_eq!(late.notices, [ProtectionGap::OutOfTime]);
    let compared = baseline
        .compare(boundary.root().enter().unwrap(), &boundary.mounts(), over, SearchKind::Quick)
        .unwrap();
    assert!(!compared.is_whole);
    assert_eq!(compared.findings, []);
    // Where nobody looks again, what is new of the root's own counts unread.
    let last = baseline
        .compare(boundary.root().enter().unwrap(), &boundary.mounts(), over, SearchKind::Last)
        .unwrap();
    let found: Vec<_> = last.findings.iter().map(|one| (one.path.to_str().unwrap(), &one.reason)).collect();
    assert_eq!(found, [(".bashrc", &Reason::Unread)]);
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

/// Makes repositories, each with a harmless file: together they are more than is classified.
fn fill(boundary: &Boundary, name: &str, size: usize) -> Vec<String> {
    let filler = "# empty\n".repeat(size / 8);
    let paths: Vec<_> = (10..28).map(|number| format!("!{number}/{name}")).collect();
    for path in &paths {
        boundary.repository(path.split('/').next().unwrap()).write(path, &filler);
    }
    paths
}

fn append(boundary: &Boundary, path: &str, line: &str) {
    let path = boundary.host.join(path);
    let content = fs::read_to_string(&path).unwrap();
    fs::write(path, format!("{content}{line}\n")).unwrap();
}

#[test]
fn what_was_never_looked_at_is_not_taken_for_known() {
    let last = "zz/deep/.env";
    for is_changed in [true, false] {
        let boundary = Boundary::new();
        boundary.write(".env", "A=1\n").repository("zz/deep").write(last, "A=1\n");
        let fillers = fill(&boundary, ".env", 1_040_000);
        boundary.until_the_clock_is_past(fillers.last().unwrap());
        let baseline = boundary.baseline();
        assert_eq!(boundary.compare(&baseline), [], "the control");
        // Each of them has to be looked at again.
        for path in &fillers {
            append(&boundary, path, "# more");
        }
        if is_changed {
            append(&boundary, ".env", "BASH_ENV=./evil.sh");
            append(&boundary, last, "BASH_ENV=./evil.sh");
        }
        let findings = boundary.compare(&baseline);
        let reason =
            |path: &str| findings.iter().find(|one| one.path == Path::new(path)).map(|one| &one.reason);
        assert_eq!(reason(last), is_changed.then_some(&Reason::Hidden), "it is beyond what is classified");
        let variables = Reason::Variables { names: vec!["BASH_ENV".into()] };
        assert_eq!(reason(".env"), is_changed.then_some(&variables), "the root's own comes first");
        assert_eq!(reason("!10/.env"), None, "harmless, and looked at");
    }
}

#[test]
fn what_lies_deeper_does_not_keep_the_configuration_of_the_repository_from_being_recorded() {
    let config = |url: &str| format!("[core]\n\tbare = false\n[remote \"origin\"]\n\turl = {url}\n");
    for is_filled in [true, false] {
        let boundary = Boundary::new();
        boundary.repository("").write(".git/config", &config("https://example.org/x"));
        if is_filled {
            // They are recorded, and fill the room for that to its last byte.
            fill(&boundary, ".git/config", 64 << 10);
        }
        boundary.until_the_clock_is_past(".git/config");
        let baseline = boundary.baseline();
        boundary.write(".git/config", &config("https://evil.example/x"));
        let found: Vec<_> = boundary.compare(&baseline).into_iter().map(|one| one.reason).collect();
        let redirected = Reason::Reconfigured { settings: vec!["remote.origin.url".into()] };
        assert_eq!(found, [redirected], "filled: {is_filled}");
    }
}

#[test]
fn what_is_too_large_to_be_read_whole_is_compared_by_its_stamp() {
    let boundary = Boundary::new();
    let database = boundary.host.join("compile_commands.json");
    let write = |last: &str| fs::write(&database, format!("[{}{last}]", " ".repeat(33 << 20))).unwrap();
    write("{}");
    boundary.until_the_clock_is_past("compile_commands.json");
    let baseline = boundary.baseline();
    assert_eq!(boundary.compare(&baseline), [], "the control");
    // What is read of it is the same, and so is its size.
    write("[]");
    let found = boundary.compare(&baseline);
    assert!(matches!(found[..], [Finding { reason: Reason::TooLarge { .. }, .. }]), "{found:?}");
}

#[test]
fn of_text_and_pictures_only_the_beginning_is_read() {
    let boundary = Boundary::new();
    let long = "x".repeat(1_000_000);
    let script = format!("#!/bin/sh\n{long}\n");
    boundary.write(".factory/commands/old.txt", &script);
    let baseline = boundary.baseline();
    for number in 0..100 {
        boundary.write(&format!(".agents/{number}.png"), &long);
    }
    assert_eq!(boundary.paths(&baseline), [""; 0], "the control: of other files so much is not read");
    boundary.write(".agents/commands/new.txt", &script);
    assert_eq!(boundary.paths(&baseline), [".agents/commands/new.txt"]);
    fs::rename(boundary.host.join(".factory"), boundary.host.join("moved")).unwrap();
    // What is read of it is the same, and so is its size.
    boundary.write(".factory/commands/old.txt", &script.replace("xxxx\n", "evil\n"));
    assert_eq!(boundary.paths(&baseline), [".agents/commands/new.txt", ".factory/commands/old.txt"]);
}
