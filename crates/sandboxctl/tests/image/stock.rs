//! The stock image.

use std::fs;
use std::sync::OnceLock;

use serde_json::Value;

use crate::project::{Project, ask, can_build_for_both, docker, in_registry, variable};

/// The base of the tests with what takes long under emulation, and with a `/dev`: where a base has none, the engine makes
/// one, dated by itself.
pub(crate) fn base() -> String {
    let name = in_registry("base");
    let directory = tempfile::tempdir().unwrap();
    let text = format!(
        "FROM {}\nWORKDIR /dev\nRUN --mount=type=secret,id=ca set -e; \
         apt='apt-get -o Acquire::https::CAInfo=/run/secrets/ca -o Acquire::Retries=10'; \
         $apt update -qq; $apt install -y -qq --no-install-recommends ca-certificates\n",
        variable("DEBIAN")
    );
    fs::write(directory.path().join("Dockerfile"), text).unwrap();
    ask(&[
        "buildx",
        "build",
        "--builder=default",
        "--provenance=false",
        "--platform=linux/amd64,linux/arm64",
        "--secret=id=ca,src=/etc/ssl/certs/ca-certificates.crt",
        "--output=type=image,push=true",
        "--tag",
        &name,
        directory.path().to_str().unwrap(),
    ]);
    name
}

/// The project, and what is said of its first build.
fn built() -> &'static (Project, String, Value) {
    static BUILT: OnceLock<(Project, String, Value)> = OnceLock::new();
    BUILT.get_or_init(|| {
        let name = in_registry("stock:two");
        // A package with nothing else in its train, and one that is there already.
        let settings = format!("base = {:?}\npackages = [\"bash\", \"tree\"]\n", base());
        let project = Project::new(&name, &settings);
        let answer = project.build(&["--push"]);
        (project, name, answer)
    })
}

/// The digest of each platform.
fn digests(answer: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let platforms = answer["image"]["platforms"].as_array().unwrap();
    platforms.iter().map(|one| (text(&one["platform"]), text(&one["digest"]))).collect()
}

#[test]
fn an_image_of_two_platforms_is_pushed_and_its_entrypoint_runs_on_both() {
    if !can_build_for_both("a build of two platforms") {
        return;
    }
    let (_, name, answer) = built();
    let digests = digests(answer);
    let platforms: Vec<&str> = digests.iter().map(|(platform, _)| platform.as_str()).collect();
    assert_eq!(platforms, ["linux/amd64", "linux/arm64"]);
    assert_eq!(
        (&answer["image"]["pushed"], &answer["image"]["tags"][0]),
        (&true.into(), &name.as_str().into())
    );

    // What the registry has is what was said, and how it was made.
    let inspected = ask(&["buildx", "imagetools", "inspect", name]);
    for part in [&digests[0].1, &digests[1].1, "linux/amd64", "linux/arm64", "attestation-manifest"] {
        assert!(inspected.contains(part), "{part}: {inspected}");
    }
    let provenance = ask(&["buildx", "imagetools", "inspect", "--format", "{{json .Provenance}}", name]);
    assert!(provenance.contains("buildkit"), "{provenance}");

    for (platform, digest) in &digests {
        // By digest, and from the registry: what the engine has kept of the build is put aside.
        let image = format!("{}@{digest}", name.rsplit_once(':').unwrap().0);
        let run = |program: &str| {
            let emulated = if platform.contains("arm64") { "AGENT_ALLOW_EMULATION=1" } else { "A=1" };
            let words = ["run", "--rm", "--pull=always", "--quiet", "--network=none", "--platform", platform];
            ask(&[&words[..], &["--env", emulated, &image, "sh", "-c", program]].concat())
        };
        let machine = if platform.contains("arm64") { "aarch64" } else { "x86_64" };
        let seen = run(
            "uname -m; id -un; id -u; pwd; stat -c %u /workspace /home/agent; tree --version >&2; cat /proc/1/comm",
        );
        assert_eq!(seen, format!("{machine}\nagent\n1000\n/workspace\n1000\n1000\nsh\n"), "{platform}");
    }
}

#[test]
fn building_everything_again_gives_the_same_platforms() {
    if !can_build_for_both("building twice") {
        return;
    }
    let (project, name, first) = built();
    let again = project.build(&["--push", "--no-cache"]);
    assert_eq!(digests(&again), digests(first));
    // The whole differs, because it says when it was made; so it was built again.
    assert_ne!(again["image"]["digest"], first["image"]["digest"], "{name}");
}

#[test]
fn an_image_that_stays_here_is_reported_by_platform_too() {
    if !can_build_for_both("an image that is loaded") {
        return;
    }
    let (project, _, first) = built();
    let name = "image-test-loaded:1";
    let answer = project.build(&["--tag", name, "--platform", "linux/amd64"]);
    let both = digests(first);
    assert_eq!(digests(&answer), both[..1]);
    assert_eq!(answer["image"]["loaded"], true);
    let labels: Value =
        serde_json::from_str(&ask(&["image", "inspect", "--format", "{{json .Config.Labels}}", name]))
            .unwrap();
    let label = |name: &str| labels[format!("org.opencontainers.image.{name}")].as_str().unwrap().to_owned();
    assert_eq!((label("title"), label("base.name")), ("sandbox-image".into(), in_registry("base")));
    let _ = docker(&["image", "rm", name]);
}

#[test]
fn what_buildx_knows_is_kept_where_it_is_wanted() {
    if !can_build_for_both("a file of metadata") {
        return;
    }
    let (project, _, _) = built();
    let name = "image-test-metadata:1";
    let answer =
        project.build(&["--tag", name, "--platform", "linux/amd64", "--metadata-file", "metadata.json"]);
    let metadata: Value =
        serde_json::from_slice(&fs::read(project.path().join("metadata.json")).unwrap()).unwrap();
    assert_eq!(metadata["containerimage.digest"], answer["image"]["digest"]);
    let _ = docker(&["image", "rm", name]);
}
