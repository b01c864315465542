//! The build context of the stock image, carried inside this program: no checkout is needed to build it.

/// The tar, made by `build/context.rs`. Nothing but a build touches it, so that a start does not read it from disk.
pub(super) const STOCK: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/context.tar"));

/// The Dockerfile in it.
pub(super) const DOCKERFILE: &str = "docker/Dockerfile";

/// The target in it that holds the entrypoint alone, and what own Dockerfiles know it by.
pub(super) const ENTRYPOINT: &str = "entrypoint";

/// What the image and what is made in it are dated, in seconds since 1970, where the caller's `SOURCE_DATE_EPOCH` does
/// not say otherwise: 2026-01-01. A date that changed would make equal content into another image.
pub(super) const EPOCH: &str = "1767225600";

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;
    use std::process::Command;

    use super::*;

    /// Lists the files in the tar, by an independent reader.
    fn unpacked() -> (tempfile::TempDir, BTreeMap<String, u64>) {
        let top = tempfile::tempdir().unwrap();
        let tar = top.path().join("context.tar");
        std::fs::write(&tar, STOCK).unwrap();
        let directory = top.path().join("context");
        std::fs::create_dir(&directory).unwrap();
        let status = Command::new("tar").arg("-xf").arg(&tar).arg("-C").arg(&directory).status().unwrap();
        assert!(status.success());
        let listed = Command::new("tar").arg("-tf").arg(&tar).output().unwrap();
        assert!(listed.stderr.is_empty(), "{}", String::from_utf8_lossy(&listed.stderr));
        let names = String::from_utf8(listed.stdout).unwrap();
        let size = |name: &str| std::fs::metadata(directory.join(name)).unwrap().len();
        let files = names.lines().map(|name| (name.to_owned(), size(name))).collect();
        (top, files)
    }

    #[test]
    fn it_holds_the_sources_of_the_entrypoint_and_of_nothing_else() {
        let (_top, files) = unpacked();
        for name in ["Cargo.toml", "Cargo.lock", DOCKERFILE, "docker/build-entrypoint", "docker/prepare-base"]
        {
            assert!(files[name] > 0, "{name}");
        }
        for name in
            ["policy/src/lib.rs", "confine/src/sys.rs", "entrypoint/src/main.rs", "sandboxctl/Cargo.toml"]
        {
            assert!(files[&format!("crates/{name}")] > 0, "{name}");
        }
        for name in ["sandbox/src/lib.rs", "sandboxctl/src/main.rs"] {
            assert_eq!(files[&format!("crates/{name}")], 0, "{name}");
        }
        let unwanted =
            files.keys().find(|name| name.contains("/tests/") || name.starts_with("crates/sandbox/build"));
        assert_eq!(unwanted, None);
    }

    #[test]
    fn cargo_takes_it_for_the_workspace_that_the_lock_file_is_of() {
        let (top, _) = unpacked();
        let metadata = Command::new(env!("CARGO"))
            .args(["metadata", "--locked", "--offline", "--no-deps", "--format-version", "1"])
            .current_dir(top.path().join("context"))
            .output()
            .unwrap();
        assert!(metadata.status.success(), "{}", String::from_utf8_lossy(&metadata.stderr));
    }

    #[test]
    fn the_date_is_that_of_builds_by_hand() {
        let docker = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docker");
        let dockerfile = std::fs::read_to_string(docker.join("Dockerfile")).unwrap();
        assert!(dockerfile.contains(&format!("ARG SOURCE_DATE_EPOCH={EPOCH}\n")));
    }
}
