//! What a build says while it runs, and of its end.

use crate::machine::{Feature, is_there};
use crate::project::Project;

/// Steps that overwrite their line as a package manager does, and one that fails.
const OVERWRITES: &str = "RUN printf 'unpacking 1%%\\runpacking 100%%\\r\\n'; echo the reason; exit 3\n";

#[test]
fn a_failed_build_on_a_terminal_is_drawn_and_its_end_is_known() {
    if !is_there(Feature::Docker, "a build on a terminal") {
        return;
    }
    let project = Project::with_dockerfile("image-test-terminal:1", OVERWRITES);
    let screen = project.on_terminal(&["--platform", "linux/amd64"]);
    let shows = |part: &str| screen.iter().any(|line| line.contains(part));
    assert!(shows("[+] Building "), "{screen:#?}");
    assert!(shows("the build failed at `[2/2] RUN printf"), "{screen:#?}");
    assert!(shows("last output: the reason"), "{screen:#?}");
    // With JSON nothing is drawn: not a word moves the cursor.
    let screen = project.on_terminal(&["--platform", "linux/amd64", "--format", "json"]);
    assert!(screen.iter().any(|line| line.contains("\"build.failed\"")), "{screen:#?}");
    assert!(!screen.iter().any(|line| line.contains('\u{1b}')), "{screen:#?}");
}

#[test]
fn a_line_that_was_written_over_is_reported_as_it_stands_at_last() {
    if !is_there(Feature::Docker, "a step that overwrites its line") {
        return;
    }
    let project = Project::with_dockerfile("image-test-overwrites:1", OVERWRITES);
    let output = project.command(&["--platform", "linux/amd64", "--no-cache"]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.lines().any(|line| line.ends_with("unpacking 100%")), "{said}");
    assert!(!said.contains("\\u{d}"), "{said}");
}

#[test]
fn each_part_of_a_build_by_an_own_dockerfile_is_announced() {
    if !is_there(Feature::Docker, "the parts of a build") {
        return;
    }
    let name = "image-test-parts:1";
    let lines = "RUN echo agent:x:1000:1000::/home/agent:/bin/bash >>/etc/passwd\n\
                 COPY --from=entrypoint /entrypoint /usr/local/bin/entrypoint\n\
                 ENTRYPOINT [\"/usr/local/bin/entrypoint\"]\n";
    let project = Project::with_dockerfile(name, lines);
    let output = project.command(&["--platform", "linux/amd64"]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    let parts: Vec<&str> = said.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    assert_eq!(
        parts,
        [
            "building the entrypoint, which the Dockerfile takes",
            "building the image to disk, for linux/amd64",
            "checking the image: its entrypoint, and its user",
            &format!("the image passed its check: {name} for linux/amd64, into the engine"),
        ]
    );
}

#[test]
fn what_helps_depends_on_what_was_said() {
    if !is_there(Feature::Docker, "what helps a failed build") {
        return;
    }
    let flags = ["--platform", "linux/amd64"];
    // A step meets the proxy's certificate.
    let curl = "curl: (60) SSL certificate problem: self-signed certificate in certificate chain";
    let project = Project::with_dockerfile("image-test-hints:1", &format!("RUN echo '{curl}'; exit 60\n"));
    let error = project.refused(&flags);
    assert!(error["hint"].as_str().unwrap().contains("`image.ca_certificates`"), "{error}");
    // Nobody logs in to what has no address.
    let project = Project::with_dockerfile("image-test-hints:2", "FROM registry.invalid/nothing:1\n");
    let error = project.refused(&flags);
    assert_eq!(error["code"], "image.not_fetched", "{error}");
    assert_eq!(error["details"]["image"], "registry.invalid/nothing:1");
    let hint = error["hint"].as_str().unwrap();
    assert!(hint.contains("the engine cannot reach that registry"), "{hint}");
    assert!(hint.contains("the Dockerfile names this image"), "{hint}");
    assert!(!hint.contains("docker login") && !hint.contains("--base"), "{hint}");
}
