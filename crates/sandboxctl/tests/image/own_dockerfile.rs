//! Images by somebody's own Dockerfile.

use crate::machine::{Feature, is_there};
use crate::project::{Project, ask, can_build_for_both};

const AGENT: &str = "RUN echo agent:x:1000:1000::/home/agent:/bin/bash >>/etc/passwd\n";
const PROGRAM: &str = "COPY --from=entrypoint /entrypoint /usr/local/bin/entrypoint\n";
const START: &str = "ENTRYPOINT [\"/usr/local/bin/entrypoint\"]\n";

#[test]
fn the_entrypoint_is_there_to_be_copied_for_every_platform() {
    if !can_build_for_both("an own Dockerfile") {
        return;
    }
    let name = "image-test-own:1";
    let project = Project::with_dockerfile(name, &format!("{AGENT}{PROGRAM}{START}"));
    let answer = project.build(&[]);
    assert_eq!(answer["image"]["platforms"].as_array().unwrap().len(), 2, "{answer}");
    let left = std::fs::read_dir(project.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(
        left.collect::<std::collections::BTreeSet<_>>(),
        ["Dockerfile".into(), "sandbox.toml".into()].into()
    );
    let run = ["run", "--rm", "--network=none", name, "sh", "-c", "id -un; tr '\\0' ' ' </proc/1/cmdline"];
    assert_eq!(ask(&run), "agent\nsh -c id -un; tr '\\0' ' ' </proc/1/cmdline ");
}

#[test]
fn an_image_without_the_entrypoint_goes_nowhere() {
    if !is_there(Feature::Docker, "an own Dockerfile without the entrypoint") {
        return;
    }
    let take = "`COPY --from=entrypoint /entrypoint /usr/local/bin/entrypoint` takes it in";
    let start = "`ENTRYPOINT [\"/usr/local/bin/entrypoint\"]` starts it";
    for (rest, what, hint) in [
        (String::new(), "it has no ENTRYPOINT", start),
        ("ENTRYPOINT [\"/bin/sh\"]\n".to_owned(), "its ENTRYPOINT is [\"/bin/sh\"]", start),
        (format!("{AGENT}{START}"), "there is no /usr/local/bin/entrypoint", take),
        (format!("{AGENT}RUN cp /bin/bash /usr/local/bin/entrypoint\n{START}"), "is not static", take),
        (
            format!("{AGENT}RUN cp /etc/passwd /bin/true && cp /bin/true /usr/local/bin/entrypoint\n{START}"),
            "is no program",
            take,
        ),
        (
            format!("{AGENT}{PROGRAM}RUN chmod 0700 /usr/local/bin/entrypoint\n{START}"),
            "not everybody may execute /usr/local/bin/entrypoint",
            "`RUN chmod 0755 /usr/local/bin/entrypoint`",
        ),
        (
            format!("{PROGRAM}{START}"),
            "/etc/passwd has no user with uid 1000",
            "`RUN useradd --create-home --uid 1000 agent`",
        ),
    ] {
        let name = "image-test-unfit:1";
        let project = Project::with_dockerfile(name, &rest);
        let error = project.refused(&["--platform", "linux/amd64"]);
        assert_eq!(error["code"], "image.unfit", "{error}");
        let problem = error["details"]["problems"][0]["problem"].as_str().unwrap();
        assert!(problem.contains(what), "{what}: {problem}");
        // The hint for this, and none for another mistake.
        let hints: Vec<&str> = error["hint"].as_str().unwrap().lines().collect();
        assert!(hints.len() == 2 && hints[0].contains(hint), "{hint}: {hints:?}");
        assert!(hints[1].contains("`sandboxctl run`, which brings a PID 1 along"), "{hints:?}");
        // It was looked at before it went anywhere.
        let there = crate::project::docker(&["image", "inspect", name]);
        assert!(!there.status.success(), "the engine has {name}");
    }
}

#[test]
fn a_failed_step_is_reported_with_what_it_said() {
    if !is_there(Feature::Docker, "a step that fails") {
        return;
    }
    let project = Project::with_dockerfile("image-test-fails:1", "RUN echo first; echo the reason; exit 3\n");
    let error = project.refused(&["--platform", "linux/amd64"]);
    assert_eq!(error["code"], "build.failed", "{error}");
    assert!(error["details"]["step"].as_str().unwrap().contains("RUN echo first"), "{error}");
    assert_eq!(error["details"]["printed"], serde_json::json!(["first", "the reason"]));
}
