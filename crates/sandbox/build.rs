//! Builds PID 1 and lays it where `init_program.rs` takes it in, so that one file is all there is to install.
//!
//! It has to be static: inside a sandbox there may be no loader for it. For musl where that target is installed,
//! otherwise for the host's own libc. `SANDBOX_ENTRYPOINT` names a ready-made one instead.
//!
//! The build context of the stock image is laid beside it, where `image/context.rs` takes it in.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

#[path = "build/context.rs"]
mod context;

fn main() {
    let variable = |name: &str| env::var_os(name).unwrap_or_else(|| panic!("cargo sets {name}"));
    let out = PathBuf::from(variable("OUT_DIR"));
    let workspace = PathBuf::from(variable("CARGO_MANIFEST_DIR")).join("../..");

    println!("cargo::rerun-if-env-changed=SANDBOX_ENTRYPOINT");
    for source in context::SOURCES {
        println!("cargo::rerun-if-changed={}", workspace.join("crates").join(source).join("src").display());
    }
    println!("cargo::rerun-if-changed={}", workspace.join("Cargo.lock").display());

    let program = match env::var_os("SANDBOX_ENTRYPOINT") {
        Some(ready) => PathBuf::from(ready),
        None => build(&workspace, &out),
    };
    fs::copy(&program, out.join("entrypoint"))
        .unwrap_or_else(|error| panic!("taking {} in: {error}", program.display()));

    let made = context::make(&workspace).and_then(|(tar, used)| {
        fs::write(out.join("context.tar"), tar)?;
        Ok(used)
    });
    for used in made.unwrap_or_else(|error| panic!("making the build context of the image: {error}")) {
        println!("cargo::rerun-if-changed={}", used.display());
    }
}

fn build(workspace: &Path, out: &Path) -> PathBuf {
    let text = |name: &str| env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"));
    let musl = format!("{}-unknown-linux-musl", text("CARGO_CFG_TARGET_ARCH"));
    let target = if is_installed(&musl) { musl } else { text("TARGET") };
    // OUT_DIR is <target directory>/<profile>/build/<package>/out. A directory of its own: the one around us is
    // locked, and all profiles can share this one.
    let directory = out.ancestors().nth(4).expect("OUT_DIR lies four levels deep").join("init");

    let mut cargo = Command::new(text("CARGO"));
    // What was set for this build is not meant for that one.
    for (name, _) in env::vars_os() {
        let inherited = name.to_str().is_some_and(|name| {
            name.starts_with("CARGO_")
                && name != "CARGO_HOME"
                && !name.starts_with("CARGO_NET_")
                && !name.starts_with("CARGO_HTTP_")
                && !name.starts_with("CARGO_REGISTR")
                || name.starts_with("RUSTC")
                || name == "RUSTFLAGS"
        });
        if inherited {
            cargo.env_remove(&name);
        }
    }
    cargo
        .args(["build", "--package", "entrypoint", "--profile", "init", "--locked", "--target", &target])
        .arg("--manifest-path")
        .arg(workspace.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(&directory)
        // A position-independent program would relocate itself at every start of a sandbox.
        .env("CARGO_ENCODED_RUSTFLAGS", "-Ctarget-feature=+crt-static\x1f-Crelocation-model=static");
    let status = cargo.status().unwrap_or_else(|error| panic!("running cargo for entrypoint: {error}"));
    assert!(status.success(), "entrypoint could not be built for {target}");
    directory.join(target).join("init/entrypoint")
}

/// Whether the standard library is there for a target.
fn is_installed(target: &str) -> bool {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    Command::new(rustc).args(["--print", "target-libdir", "--target", target]).output().is_ok_and(|output| {
        String::from_utf8(output.stdout)
            .is_ok_and(|path| Path::new(path.trim()).join("self-contained").is_dir())
    })
}
