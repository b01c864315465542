//! The build context of the stock image, as a tar that holds what `docker/Dockerfile` copies and no more.
//!
//! The same sources make the same bytes: entries are sorted, and neither owners nor times are those of this checkout.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// The crates that the entrypoint is made of.
pub(crate) const SOURCES: [&str; 3] = ["policy", "confine", "entrypoint"];

/// Makes the tar. Returns what it was made of: whoever builds us has to come back when one of these changes.
pub(crate) fn make(workspace: &Path) -> io::Result<(Vec<u8>, Vec<PathBuf>)> {
    let mut files = BTreeMap::new();
    let mut used = vec![workspace.join("docker")];
    let mut take = |name: String, path: PathBuf| -> io::Result<()> {
        files.insert(name, fs::read(&path)?);
        used.push(path);
        Ok(())
    };
    for name in
        ["Cargo.toml", "Cargo.lock", "docker/Dockerfile", "docker/build-entrypoint", "docker/prepare-base"]
    {
        take(name.to_owned(), workspace.join(name))?;
    }
    let mut empty = Vec::new();
    for member in fs::read_dir(workspace.join("crates"))? {
        let member = member?;
        let name = member.file_name().into_string().map_err(|_| io::ErrorKind::InvalidData)?;
        let prefix = format!("crates/{name}");
        take(format!("{prefix}/Cargo.toml"), member.path().join("Cargo.toml"))?;
        for source in beneath(&member.path())? {
            let relative = source.strip_prefix(member.path()).map_err(io::Error::other)?;
            let inside = format!("{prefix}/{}", relative.display());
            if SOURCES.contains(&name.as_str()) && relative.starts_with("src") {
                take(inside, source)?;
            } else if is_root_of_target(relative) {
                // Cargo reads the manifests of all members, and wants the files that they name to be there.
                empty.push(inside);
            }
        }
    }
    files.extend(empty.into_iter().map(|name| (name, Vec::new())));
    let mut tar = Vec::new();
    for (name, content) in files {
        entry(&mut tar, &name, &content)?;
    }
    // Two empty blocks are its end.
    tar.resize(tar.len() + 2 * BLOCK, 0);
    Ok((tar, used))
}

/// Whether a member's manifest means this file, by naming it or by not having to.
fn is_root_of_target(relative: &Path) -> bool {
    let mut parts = relative.components().map(std::path::Component::as_os_str);
    match (parts.next().and_then(|part| part.to_str()), parts.count()) {
        (Some("src"), 1) => relative.ends_with("lib.rs") || relative.ends_with("main.rs"),
        (Some("benches"), 1) => true,
        _ => false,
    }
}

/// Every Rust source beneath a directory.
fn beneath(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(beneath(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    Ok(found)
}

const BLOCK: usize = 512;

/// One file in the format of POSIX.1-1988 (ustar): a header of one block, and the content in whole blocks.
fn entry(tar: &mut Vec<u8>, name: &str, content: &[u8]) -> io::Result<()> {
    let mut header = [0; BLOCK];
    let mut put = |at: usize, text: &str| header[at..at + text.len()].copy_from_slice(text.as_bytes());
    if name.len() >= 100 {
        return Err(io::Error::other(format!("{name} is too long for a tar")));
    }
    put(0, name);
    put(100, "0000644\0");
    put(108, "0000000\0");
    put(116, "0000000\0");
    put(124, &format!("{:011o}\0", content.len()));
    // The first of January 1980. Nothing depends on it; zero makes tools complain.
    put(136, "02263523000\0");
    put(148, "        ");
    put(156, "0");
    put(257, "ustar\u{0}00");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    tar.extend(header);
    tar.extend(content);
    tar.resize(tar.len().next_multiple_of(BLOCK), 0);
    Ok(())
}
