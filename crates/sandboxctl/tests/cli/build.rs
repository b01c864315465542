//! `build`, as far as it can be tested without an engine: a script stands for Docker.

use insta::assert_snapshot;

use crate::env::TestEnv;

/// A project with a Docker that answers as the lines of a shell's `case` say.
fn with_docker(config: &str, cases: &str) -> TestEnv {
    let env = TestEnv::with_config(config);
    env.program(
        "bin/docker",
        &format!(
            "#!/bin/sh\ncase \"$*\" in\n{cases}\n\
             'buildx version') echo github.com/docker/buildx v0.13.1 ;;\n\
             info*) echo '[[\"driver-type\",\"io.containerd.snapshotter.v1\"]]' ;;\n\
             'buildx inspect --bootstrap')\n\
             printf 'Name: default\\nDriver: docker\\nStatus: running\\nPlatforms: linux/amd64, linux/arm64\\n' ;;\n\
             'buildx ls') echo NAME; echo 'default* docker' ;;\n\
             'context inspect'*) echo default ;;\n\
             *) echo \"asked for: $*\" >&2; exit 1 ;;\nesac\n"
        ),
    );
    let path = format!("{}:/usr/bin:/bin", env.root().join("bin").display());
    // An engine elsewhere is not looked for on a socket.
    env.set("PATH", &path).set("DOCKER_HOST", "tcp://192.0.2.1:2375")
}

/// Without the emulator of arm64.
const ALONE: &str = "'buildx inspect --bootstrap')\n\
    printf 'Name: default\\nDriver: docker\\nStatus: running\\nPlatforms: linux/amd64, linux/386\\n' ;;";

/// With a store that keeps one platform an image.
const CLASSIC: &str = "info*) echo '[[\"Backing Filesystem\",\"extfs\"]]' ;;";

#[test]
fn a_dry_run_prints_the_command_line() {
    let text = "version = 1\n[image]\nname = \"team/box:1\"\npackages = [\"bash\", \"git\"]\nbuild_args = { A = \"it's\" }\n";
    let env = with_docker(text, "");
    assert_snapshot!(env.call(&["build", "--trust", "--dry-run", "--base", "debian:13", "--no-cache", "--sbom"]), @r#"
    code: 0
    --- stdout
    SOURCE_DATE_EPOCH=1767225600 docker buildx build --builder default --progress plain --platform linux/amd64,linux/arm64 --file docker/Dockerfile --build-arg BASE=debian:13 --build-arg 'PACKAGES=bash git' --build-arg 'A=it'\''s' --sbom=true --tag team/box:1 --output type=image,oci-mediatypes=true --no-cache -
    --- stderr
    the build context is carried inside sandboxctl, and comes on stdin
    "#);
    assert_snapshot!(env.set("SOURCE_DATE_EPOCH", "1").call(&["build", "--trust", "--dry-run", "--platform", "linux/arm64", "--push"]), @r#"
    code: 0
    --- stdout
    docker buildx build --builder default --progress plain --platform linux/arm64 --file docker/Dockerfile --build-arg BASE=alpine:3.23 --build-arg 'PACKAGES=bash git' --build-arg 'A=it'\''s' --tag team/box:1 --output type=image,oci-mediatypes=true,push=true -
    --- stderr
    the build context is carried inside sandboxctl, and comes on stdin
    "#);
}

#[test]
fn everything_that_is_wrong_is_said_before_docker_is_asked() {
    let env = with_docker("version = 1\n[image]\npackages = [\"-y\"]\nname = \"box\"\n", "*) exit 3 ;;");
    assert_snapshot!(env.call(&["build", "--trust", "--platform", "linux/arm46", "--push"]), @r#"
    code: 2
    --- stderr
    error: 3 problems:
      sandbox.toml:3:13: image.packages: "-y" cannot be a package; expected a name such as "git", one package an entry
      sandbox.toml:4:8: image.name: "box" names no registry that it could be pushed to; `--tag registry.example.org/team/image` names one
      --platform: image.platforms: "linux/arm46" is not known; expected "linux/amd64" or "linux/arm64"; did you mean "linux/arm64"?
    "#);
}

#[test]
fn what_is_missing_has_a_code_and_a_remedy() {
    let code = |env: &TestEnv, args: &[&str]| {
        let answer = env.call(&[&["--format", "json", "build"], args].concat());
        let error = answer.json()["error"].clone();
        format!("{} {}: {}\n{}", answer.code, error["code"], error["message"], error["hint"])
    };
    let without = TestEnv::new().set("PATH", "/nowhere");
    assert_snapshot!(code(&without, &[]), @r#"
    69 "engine.not_installed": "there is no `docker` command in PATH"
    "install Docker with buildx, which builds images; `sandboxctl run --provider native` needs none"
    "#);
    let no_buildx = with_docker(
        "version = 1\n",
        "buildx*) echo \"docker: 'buildx' is not a docker command.\" >&2; exit 1 ;;",
    );
    assert_snapshot!(code(&no_buildx, &[]), @r#"
    69 "builder.missing": "docker has no buildx, which builds images: 'buildx' is not a docker command"
    "install it: `apt-get install docker-buildx-plugin` (Docker's packages) or `docker-buildx` (Debian's)"
    "#);
    assert_snapshot!(code(&with_docker("version = 1\n", ALONE), &[]), @r#"
    69 "emulator.missing": "the builder \"default\" (docker) cannot do this: nothing emulates linux/arm64 here"
    "`docker run --privileged --rm tonistiigi/binfmt --install all` adds emulators until the next start of this machine; Debian's `qemu-user-static` or `qemu-user-binfmt` for good; or leave linux/arm64 out with `--platform`"
    "#);
    assert_snapshot!(code(&with_docker("version = 1\n", CLASSIC), &[]), @r#"
    69 "builder.unfit": "the builder \"default\" (docker) cannot do this: it makes no image of several platforms"
    "build for one platform (`--platform linux/amd64`), or let the engine keep images in containerd: {\"features\": {\"containerd-snapshotter\": true}} in /etc/docker/daemon.json, then `systemctl restart docker`; or `--push` without `--load`"
    "#);
    let unknown =
        with_docker("version = 1\n", "*nope*) echo 'ERROR: no builder \"nope\" found' >&2; exit 1 ;;");
    assert_snapshot!(code(&unknown, &["--builder", "nope"]), @r#"
    69 "builder.missing": "the builder \"nope\" cannot be used: no builder \"nope\" found"
    "`docker buildx ls` lists the builders, `docker buildx use default` takes the engine's own; for the engine of another context set DOCKER_CONTEXT"
    "#);
}

#[test]
fn a_projects_file_neither_decides_what_a_build_runs_nor_takes_the_name_of_another_image() {
    for setting in [
        "name = \"sandbox-image\"",
        "base = \"registry.example.org/debian:13\"",
        "build_args = { RUST = \"registry.example.org/rust\" }",
        "build_args = { BUILDKIT_SYNTAX = \"registry.example.org/frontend\" }",
        "build_args = { HTTP_PROXY = \"http://192.0.2.1\" }",
    ] {
        let text = format!("version = 1\n[image]\n{setting}\n");
        let env = with_docker(&text, "");
        let answer = env.call(&["build", "--format=json", "--dry-run"]);
        assert_eq!(answer.json()["error"]["code"], "config.untrusted", "{setting}: {answer}");
        assert_eq!(env.call(&["build", "--dry-run", "--trust"]).code, 0, "the control: {setting}");
    }
    // What only chooses among what a distribution has is built, under a name of the project's own, which `run` looks for too.
    let env = with_docker("version = 1\n[image]\nbase = \"debian:trixie-slim\"\npackages = [\"git\"]\n", "");
    let spec = env.call(&["build", "--format=json", "--dry-run"]).json()["build_spec"].clone();
    let name = spec["tags"][0].as_str().unwrap().to_owned();
    assert!(name.starts_with("sandbox-") && name != "sandbox-image", "{name}");
    let plan = env.call(&["plan", "--format=json", "--provider=docker"]).json();
    assert_eq!(plan["container"]["image"], name.as_str(), "{plan:#}");
    // The user's own flags may.
    let answer = env.call(&["build", "--dry-run", "--tag=box", "--base=x/y", "--build-arg=A=1"]);
    assert!(answer.code == 0 && answer.stdout.contains("--tag box "), "{answer}");
    // And a project that says nothing of its image shares what is there.
    let shared = with_docker("version = 1\n[image]\n", "").call(&["build", "--dry-run"]);
    assert!(shared.stdout.contains("--tag sandbox-image "), "{shared}");
}

#[test]
fn another_builder_is_taken_where_the_current_one_will_not_do() {
    let cases = format!(
        "{CLASSIC}\n'buildx ls') printf 'NAME DRIVER\\ndefault* docker\\nother docker-container\\n' ;;\n\
         'buildx inspect other') printf 'Name: other\\nDriver: docker-container\\nStatus: running\\n\
         Platforms: linux/amd64, linux/arm64\\n' ;;"
    );
    let env = with_docker("version = 1\n[image]\nname = \"team/box\"\n", &cases);
    let answer = env.call(&["build", "--trust", "--dry-run", "--push"]);
    assert!(answer.stdout.contains("--builder other "), "{answer}");
}

#[test]
fn the_builder_of_another_engine_is_not_taken() {
    let cases = format!(
        "{CLASSIC}\n'context inspect'*) echo default ;;\n\
         'buildx ls') printf 'NAME DRIVER\\ndefault* docker\\nelsewhere docker\\n' ;;\n\
         'buildx inspect elsewhere') printf 'Name: elsewhere\\nDriver: docker\\nStatus: running\\n\
         Platforms: linux/amd64, linux/arm64\\n' ;;\n\
         'buildx inspect mine') printf 'Name: mine\\nDriver: docker-container\\nStatus: running\\n\
         Platforms: linux/amd64, linux/arm64\\n' ;;"
    );
    let text = "version = 1\n[image]\nname = \"team/box\"\nplatforms = [\"linux/arm64\"]\n";
    // Alone it has no emulator, and the other one has.
    let env = with_docker(text, &format!("{ALONE}\n{cases}"));
    let answer = env.call(&["--format", "json", "build", "--trust", "--dry-run"]);
    assert_eq!(answer.json()["error"]["code"], "emulator.missing", "{answer}");
    // The engine's own is another engine's no longer.
    let env = with_docker(text, &format!("{ALONE}\n'context inspect'*) echo elsewhere ;;\n{cases}"));
    let answer = env.call(&["build", "--trust", "--dry-run"]);
    assert_eq!(answer.code, 69, "{answer}");
    assert!(answer.stderr.contains("it is the engine of the context \"default\""), "{answer}");
    // Which the current builder may stand before.
    let current = "'buildx inspect --bootstrap') printf 'Name: mine\\nDriver: docker-container\\nStatus: running\\n\
                   Platforms: linux/amd64\\n' ;;\n'context inspect'*) echo elsewhere ;;";
    let env = with_docker(text, &format!("{current}\n{cases}"));
    let answer = env.call(&["build", "--trust", "--dry-run"]);
    assert!(answer.stdout.contains("--builder elsewhere "), "{answer}");
}

#[test]
fn an_engine_that_cannot_be_reached_has_a_code_and_a_remedy() {
    let told = |said: &str| {
        let answer = with_docker("version = 1\n", &format!("info*) echo '{said}' >&2; exit 1 ;;"))
            .call(&["--format", "json", "build"]);
        let error = answer.json()["error"].clone();
        format!("{} {}: {}\n{}", answer.code, error["code"], error["message"], error["hint"])
    };
    assert_snapshot!(told("Cannot connect to the Docker daemon at tcp://192.0.2.1:2375. Is the docker daemon running?"), @r#"
    69 "engine.unreachable": "no docker engine answers on tcp://192.0.2.1:2375: Cannot connect to the Docker daemon at tcp://192.0.2.1:2375. Is the docker daemon running?"
    "check whether that machine can be reached and its engine runs; DOCKER_HOST or `docker context use` has chosen it"
    "#);
    assert_snapshot!(told("error during connect: command [ssh -- there] has exited with exit status 255: Permission denied (publickey)."), @r#"
    69 "engine.forbidden": "the docker engine on tcp://192.0.2.1:2375 is not for this user: error during connect: command [ssh -- there] has exited with exit status 255: Permission denied (publickey)"
    "that machine has to let you in, and there you have to be in the group of its engine; DOCKER_HOST or `docker context use` has chosen it"
    "#);
    assert_snapshot!(told("client version 1.50 is too new"), @r#"
    125 "engine.failed": "docker: client version 1.50 is too new"
    null
    "#);
}

#[test]
fn a_dockerfile_that_is_not_there_is_said_with_its_key() {
    let env = with_docker("version = 1\n[image]\ndockerfile = \"docker/Dockerfile\"\n", "*) exit 3 ;;");
    assert_snapshot!(env.call(&["build", "--trust"]), @r"
    code: 2
    --- stderr
    error: sandbox.toml:3:14: image.dockerfile: [TEMP]/project/docker/Dockerfile cannot be read: No such file or directory (os error 2)
    hint: write it, or leave `image.dockerfile` out for the stock image
    ");
}

#[test]
fn a_path_with_a_comma_is_one_value() {
    let env = with_docker("version = 1\n[image]\nca_certificates = \"../a, b.pem\"\n", "");
    env.write("../a, b.pem", "x");
    let answer = env.call(&["build", "--trust", "--dry-run"]);
    assert!(
        answer.stdout.contains("--secret 'id=ca_certificates,\"src=[TEMP]/project/../a, b.pem\"' "),
        "{answer}"
    );
}

#[test]
fn certificates_that_the_agent_could_have_written_are_not_trusted() {
    let readable =
        "version = 1\n[shared_dirs]\nworkspace = { host = \".\", guest = \"/w\", mode = \"ro\" }\n";
    let image = "[image]\nca_certificates = \"ca.pem\"\n";
    let env = with_docker(&format!("{readable}{image}"), "");
    env.write("ca.pem", "x");
    let control = env.call(&["build", "--trust", "--dry-run"]);
    assert!(control.stdout.contains("id=ca_certificates"), "the control: {control}");
    env.write("sandbox.toml", &format!("version = 1\n{image}"));
    let answer = env.call(&["build", "--trust", "--dry-run"]);
    assert!(answer.stderr.contains("image.ca_certificates: ") && answer.code == 2, "{answer}");
    assert!(answer.stderr.contains("which the sandbox may write to"), "{answer}");
    // A pipe in its place hangs nobody, and what has no end is not read.
    env.write("sandbox.toml", "version = 1\n[image]\nca_certificates = \"/dev/zero\"\n");
    let answer = env.call(&["build", "--trust", "--dry-run"]);
    assert!(answer.stderr.contains("not a regular file"), "{answer}");
}

#[test]
fn a_builder_of_our_own_that_cannot_be_made_is_said_and_not_left() {
    let cases = format!(
        "{CLASSIC}\n'buildx ls') echo NAME; echo 'default* docker' ;;\n\
         'buildx create'*) echo \"$*\" >made ;;\n\
         'buildx inspect --bootstrap sandboxctl-'*) echo 'ERROR: pulling moby/buildkit: no such host' >&2; exit 1 ;;\n\
         'buildx rm'*) echo \"$*\" >removed ;;"
    );
    let env = with_docker("version = 1\n[image]\nname = \"team/box\"\n", &cases);
    let answer = env.call(&["--format", "json", "build", "--trust", "--push"]);
    let error = answer.json()["error"].clone();
    assert_eq!((answer.code, error["code"].as_str()), (69, Some("builder.unfit")), "{answer}");
    assert!(error["message"].as_str().unwrap().contains("pulling moby/buildkit: no such host"), "{error}");
    let made = env.read("made");
    let name = made.split(' ').nth(3).unwrap();
    assert!(name.starts_with("sandboxctl-"), "{made}");
    assert_eq!(env.read("removed"), format!("buildx rm {name}\n"));
}

#[test]
fn an_untrusted_dockerfile_builds_nothing() {
    let env = with_docker("version = 1\n[image]\ndockerfile = \"Dockerfile\"\n", "*) exit 3 ;;");
    let answer = env.call(&["--format", "json", "build"]);
    assert_eq!(answer.json()["error"]["code"], "config.untrusted", "{answer}");
}
