//! Repositories within directories that are protected as a whole: where those are new, they are searched like any other.

use policy::classify::Reason;

use crate::Boundary;

const EVIL: &str = "[core]\n\tbare = false\n\tfsmonitor = ./evil\n";

fn found(boundary: &Boundary, baseline: &sandbox::boundary::detect::baseline::Baseline) -> Vec<String> {
    boundary.last_look(baseline).iter().map(|finding| finding.path.display().to_string()).collect()
}

#[test]
fn a_new_repository_in_a_new_protected_directory_is_searched() {
    for place in [
        ".opencode/themes/r", ".claude/worktrees/w", ".claude/worktrees/group/of/many/w", ".idea/shelf/r",
        ".vscode/ipch/r", ".mvn/wrapper/r", ".agents/1/2/3/r", ".opencode/themes/node_modules/r", "sub/r",
    ] {
        let boundary = Boundary::new();
        boundary.repository("");
        let baseline = boundary.baseline();
        boundary.repository(place).write(&format!("{place}/.git/config"), EVIL);
        assert_eq!(found(&boundary, &baseline), [format!("{place}/.git/config")]);
    }
}

#[test]
fn what_programs_obey_in_such_a_repository_counts_beside_the_outer_rules() {
    for place in [".claude/worktrees/w", ".claude/skills/r", ".devcontainer/r", "sub/r"] {
        let boundary = Boundary::new();
        let baseline = boundary.baseline();
        boundary
            .repository(place)
            .write(&format!("{place}/.envrc"), "id")
            .write(&format!("{place}/.git/hooks/pre-commit"), "id")
            .write(&format!("{place}/.vscode/settings.json"), "{\"git.path\": \"./evil\"}")
            .write(&format!("{place}/README.md"), "text");
        let mut paths = found(&boundary, &baseline);
        paths.sort();
        let wanted = [".envrc", ".git/hooks/pre-commit", ".vscode/settings.json"];
        assert_eq!(paths, wanted.map(|path| format!("{place}/{path}")));
    }
}

#[test]
fn its_data_hides_nothing_from_the_program_around_it() {
    for data in [
        "lfs", "logs", "refs/heads", "objects/ab", "annex/objects/1/2", "modules/a/objects/ab",
        "objects/pack",
    ] {
        for is_repository in [true, false] {
            let boundary = Boundary::new();
            let baseline = boundary.baseline();
            if is_repository {
                boundary.repository(".opencode/command");
            }
            let path = format!(".opencode/command/.git/{data}/review.md");
            boundary.write(&path, "!`id > pwned`");
            assert_eq!(found(&boundary, &baseline), [path], "in a repository: {is_repository}");
        }
    }
}

#[test]
fn a_bare_repository_in_such_a_directory_is_one() {
    for place in [".devcontainer/r", ".claude/worktrees/r", ".cursor/worktrees/a/r", "sub/r"] {
        let boundary = Boundary::new();
        let baseline = boundary.baseline();
        boundary
            .bare(place)
            .write(&format!("{place}/config"), EVIL)
            .write(&format!("{place}/hooks/post-checkout"), "id");
        let mut paths = found(&boundary, &baseline);
        paths.sort();
        assert_eq!(paths, [format!("{place}/config"), format!("{place}/hooks/post-checkout")]);
    }
}

#[test]
fn what_is_deeper_than_anybody_reads_counts_as_hidden() {
    let boundary = Boundary::new();
    boundary.write(".cursor/rules/1/2/3/4/5/6/7/8/9/own.txt", "text");
    let baseline = boundary.baseline();
    boundary.write(".agents/1/2/3/4/5/6/7/8/9/x.ts", "evil").write(".codex/1/2/3/text.txt", "text");
    let found = boundary.last_look(&baseline);
    let found: Vec<_> = found.iter().map(|one| (one.path.to_str().unwrap(), &one.reason)).collect();
    assert_eq!(found, [(".agents/1/2/3/4/5/6/7/8", &Reason::Hidden)]);
}

/// Nobody looked at the start where it lies, and an earlier run may have made it.
#[test]
fn what_leads_to_a_repository_in_a_protected_directory_that_nobody_knew_is_quarantined() {
    let place = ".claude/1/2/3/4/5/r";
    let lead = |boundary: &Boundary| {
        boundary.write("sub/.git", &format!("gitdir: ../{place}/.git\n"));
    };
    let boundary = Boundary::new();
    boundary.repository(place).write(&format!("{place}/.git/config"), EVIL);
    boundary.until_the_clock_is_past(&format!("{place}/.git/config"));
    let baseline = boundary.baseline();
    assert_eq!(found(&boundary, &baseline), [""; 0], "nothing leads there");
    lead(&boundary);
    assert_eq!(found(&boundary, &baseline), ["sub/.git"]);
    // What led there before is the user's own.
    let baseline = boundary.baseline();
    lead(&boundary);
    assert_eq!(found(&boundary, &baseline), [""; 0]);
}

#[test]
fn what_the_user_has_there_is_no_news() {
    let boundary = Boundary::new();
    boundary
        .repository(".claude/worktrees/own")
        .write(".claude/worktrees/own/.git/config", EVIL)
        .write(".claude/worktrees/own/.envrc", "id")
        .bare(".devcontainer/r")
        .write(".devcontainer/r/config", EVIL);
    let baseline = boundary.baseline();
    assert_eq!(found(&boundary, &baseline), [""; 0]);
    // A program of the user's may make more while a sandbox runs, where nothing inside can.
    boundary.repository(".claude/worktrees/more").write(".claude/worktrees/more/.git/hooks/pre-commit", "id");
    assert_eq!(found(&boundary, &baseline), [""; 0]);
    // A new work tree without anything that runs.
    boundary.repository(".codex/worktrees/w").write(".codex/worktrees/w/src/main.rs", "fn main() {}");
    let rules = |path: &String| path.starts_with(".codex/worktrees/w/.git");
    assert_eq!(found(&boundary, &baseline).into_iter().filter(rules).count(), 0);
}
