//! Links out of the shared directory: what an agent puts in the place of a directory may be shared by the next command.

use std::os::unix::fs::symlink;

use crate::place::Place;
use crate::{error, places, said};

fn project(place: &Place) {
    place.write("private/diary", "KEY=1");
    place.write("workspace/.git/info/exclude", "");
    place.write("workspace/app/file", "");
    place.write("workspace/other/file", "");
    symlink("../private", place.workspace().join("known")).unwrap();
}

#[test]
fn a_new_link_to_a_directory_elsewhere_is_reported() {
    for (place, what) in places("new links out of the shared directory") {
        project(&place);
        let run = |script: &str| {
            let output = place.inside(&[""; 0], &["sh", "-c", script]).output().unwrap();
            assert!(output.status.success(), "{what} {script}: {output:?}");
            error(&output)
        };
        let of = |name: &str| {
            format!(
                "/workspace/{name}: it is a link out of the shared directory, to {}",
                place.path("private").display()
            )
        };
        // The control: these lead nowhere, or to what is shared anyway.
        let said = run(
            "ln -s other inner; ln -s ../private/diary file; ln -s ../nothing none; ln -s /workspace/other inside",
        );
        assert!(!said.contains("a link out of the shared directory"), "{what}: {said}");
        let said = run("mv app old; ln -s ../private app");
        assert!(said.contains(&of("app")), "{what}: {said}");
        assert!(!said.contains(&of("known")), "{what}: it was there: {said}");
        assert!(place.workspace().join("app/diary").exists(), "{what}: it stays");
        let said = run("true");
        assert!(!said.contains("a link out of the shared directory"), "{what}: it is known by now: {said}");
        // An old link comes to lead elsewhere with the directory around it.
        run("mkdir -p deep/er/pkg; ln -s ../../private deep/er/pkg/app");
        let said = run("mv deep/er/pkg pkg");
        assert!(said.contains(&of("pkg/app")), "{what}: {said}");
    }
}

#[test]
fn what_is_shared_through_a_link_out_of_its_project_is_warned_of() {
    for (place, what) in places("shared directories behind links") {
        project(&place);
        let look = ["sh", "-c", "cat diary file 2>/dev/null; true"];
        let warned = |flags: &[&str], directory: &str| {
            let spelled = place.workspace().join(directory);
            let mut command = place.inside(flags, &look);
            let output = command.current_dir(&spelled).env("PWD", &spelled).output().unwrap();
            assert!(output.status.success(), "{what} {flags:?}: {output:?}");
            (said(&output), error(&output).contains("a link out of its project, which leads to"))
        };
        let key = || "KEY=1".to_owned();
        assert_eq!(warned(&["-v", "./known:/workspace"], ""), (key(), true), "{what}");
        assert_eq!(warned(&[], "known"), (key(), true), "{what}");
        // The controls: what is meant is named, or lies in the project.
        let named = format!("{}:/workspace", place.path("private").display());
        assert_eq!(warned(&["-v", &named], ""), (key(), false), "{what}");
        assert_eq!(warned(&["-v", "./app:/workspace"], ""), (String::new(), false), "{what}");
        assert_eq!(warned(&[], "app"), (String::new(), false), "{what}");
    }
}

/// A program that obeys a path of one directory reads what a link there leads to in another one, which is shared, too.
#[test]
fn what_a_link_of_another_shared_directory_leads_to_is_protected() {
    // Links of the owner's in `workspace`, what they lead to, and what the agent writes there.
    const LINKED: &[(&str, &str, &str)] = &[
        (".envrc", "../other/envrc", "envrc"),
        (".vscode", "../other/editor", "editor/tasks.json"),
        ("mise.toml", "../other/m", "m"),
        (".envrc", "../other/none", "none"),
        (".env", "../other/e", "e"),
        ("sub/.git/hooks/pre-commit", "../../../../other/hook", "hook"),
    ];
    for (place, what) in places("links from one shared directory to another") {
        for (link, target, written) in LINKED {
            let git =
                ["workspace/sub/.git/HEAD", "workspace/sub/.git/config", "workspace/sub/.git/objects/x"];
            for file in git.iter().chain(&[
                "workspace/sub/.git/refs/x", "other/envrc", "other/editor/x", "other/m", "other/hook",
                "other/e",
            ]) {
                place.write(file, if file.ends_with("HEAD") { "ref: refs/heads/main\n" } else { "" });
            }
            let link = place.workspace().join(link);
            std::fs::create_dir_all(link.parent().unwrap()).unwrap();
            std::os::unix::fs::symlink(target, &link).unwrap();
            let other = place.workspace().with_file_name("other");
            let volume = format!("{}:/other", other.display());
            let attack = format!("echo '{{\"runOn\": \"evil\"}}' > /other/{written}");
            let flags = ["--volume", ".:/workspace", "--volume", &volume];
            let output = place.inside(&flags, &["sh", "-c", &attack]).output().unwrap();
            let read = || std::fs::read_to_string(other.join(written)).unwrap_or_default();
            assert!(!read().contains("evil"), "{what}: {} -> {target}: {output:?}", link.display());
            // The control: without the link nothing obeys it.
            std::fs::remove_file(&link).unwrap();
            let output = place.inside(&flags, &["sh", "-c", &attack]).output().unwrap();
            assert!(read().contains("evil"), "{what}: {} -> {target}: {output:?}", link.display());
            let cleared = place.outside(&["sh", "-c", "rm -rf .envrc .vscode mise.toml sub ../other/*"]);
            assert!({ cleared }.status().unwrap().success());
        }
    }
}

/// What a link leads to may be a link again, which lies where the agent may write.
#[test]
fn a_link_of_another_shared_directory_on_the_way_to_what_is_obeyed_is_put_back() {
    const ATTACK: &str = "rm /other/way && echo evil > /other/way";
    for (place, what) in places("links from one shared directory to another") {
        for target in ["real", "../workspace/x"] {
            place.write("other/real", "");
            place.write("workspace/x", "");
            let other = place.workspace().with_file_name("other");
            let (envrc, way) = (place.workspace().join(".envrc"), other.join("way"));
            std::os::unix::fs::symlink(target, &way).unwrap();
            let volume = format!("{}:/other", other.display());
            let flags = ["--volume", ".:/workspace", "--volume", &volume];
            let read = |path: &std::path::Path| std::fs::read_to_string(path).unwrap_or_default();
            for is_linked in [false, true] {
                if is_linked {
                    let cleared =
                        place.outside(&["sh", "-c", "ln -sf real ../other/way; ln -s ../other/way .envrc"]);
                    assert!({ cleared }.status().unwrap().success());
                }
                let output = place.inside(&flags, &["sh", "-c", ATTACK]).output().unwrap();
                // The control: without the link nothing obeys it.
                assert_eq!(read(&way).contains("evil"), !is_linked, "{what}: {target}: {output:?}");
            }
            assert_eq!(read(&envrc), "", "{what}: {target}");
            let cleared = place.outside(&["sh", "-c", "rm -rf .envrc ../other/*"]);
            assert!({ cleared }.status().unwrap().success());
        }
    }
}
