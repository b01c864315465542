//! The images: small ones, with the static program in them, made once for as long as nothing in them changes.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::engine::Engine;

/// A stage of `image/Dockerfile`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Image {
    /// Debian, with root, agent (who is in two more groups) and a set-uid program.
    Debian,
    /// Alpine, with the same users.
    Alpine,
    /// A shell without any `/etc`.
    Scratch,
}

impl Image {
    /// What an engine calls it. It has it then.
    pub(crate) fn of(self, engine: Engine) -> String {
        static MADE: Mutex<Vec<(Image, Engine, String)>> = Mutex::new(Vec::new());
        let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, _, name)) = made.iter().find(|(image, of, _)| (*image, *of) == (self, engine)) {
            return name.clone();
        }
        let name = self.built();
        if engine != Engine::Docker {
            hand_over(&name, engine);
        }
        made.push((self, engine, name.clone()));
        name
    }

    fn stage(self) -> String {
        format!("{self:?}").to_lowercase()
    }

    /// Lets Docker build it, which does nothing where nothing has changed. Returns its name.
    fn built(self) -> String {
        let base = |name: &str| {
            let image = std::env::var(format!("SANDBOX_TEST_{name}"));
            format!("{name}={}", image.expect("`tests/engine env` names the base images"))
        };
        let bases = [base("DEBIAN"), base("ALPINE")];
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/engine/image");
        // Named after what is in it, so that neither another checkout nor another engine takes one for the other.
        let mut content = DefaultHasher::new();
        bases.hash(&mut content);
        for file in
            [program(), &directory.join("Dockerfile"), &directory.join("passwd"), &directory.join("group")]
        {
            fs::read(file).unwrap().hash(&mut content);
        }
        let name = format!("entrypoint-test:{}-{:016x}", self.stage(), content.finish());
        let program = program().parent().unwrap().display();
        succeed(
            Engine::Docker
                .command()
                .args(["buildx", "build", "--builder", "default", "--provenance=false"])
                .args(["--target", &self.stage(), "--tag", &name])
                .args(["--build-context", &format!("program={program}")])
                .args(["--build-arg", &bases[0], "--build-arg", &bases[1]])
                .arg(directory),
        );
        name
    }
}

/// Gives an engine an image that Docker has.
fn hand_over(name: &str, engine: Engine) {
    let there = engine.command().args(["image", "inspect", name]).output().unwrap();
    if there.status.success() {
        return;
    }
    let mut save = Engine::Docker.command().args(["save", name]).stdout(Stdio::piped()).spawn().unwrap();
    succeed(engine.command().arg("load").stdin(save.stdout.take().unwrap()));
    assert!(save.wait().unwrap().success(), "docker save {name}");
}

/// The static program, built as `sandboxctl` builds the one that it embeds, and where it does: the two share it.
fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let musl = format!("{}-unknown-linux-musl", std::env::consts::ARCH);
        let libraries = Command::new("rustc").args(["--print", "target-libdir", "--target", &musl]).output();
        let libraries = String::from_utf8(libraries.unwrap().stdout).unwrap();
        let has_musl = Path::new(libraries.trim()).join("self-contained").is_dir();
        let target = if has_musl { musl } else { format!("{}-unknown-linux-gnu", std::env::consts::ARCH) };
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../init");
        let mut cargo = Command::new(env!("CARGO"));
        cargo
            .args(["build", "--package", "entrypoint", "--profile", "init", "--locked", "--target", &target])
            .arg("--manifest-path")
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.toml"))
            .arg("--target-dir")
            .arg(&directory)
            .env("CARGO_ENCODED_RUSTFLAGS", "-Ctarget-feature=+crt-static\x1f-Crelocation-model=static");
        succeed(&mut cargo);
        directory.join(target).join("init/entrypoint").canonicalize().unwrap()
    })
}

/// Runs a command that has to succeed.
#[track_caller]
fn succeed(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}
