//! The check of an image that somebody's own Dockerfile has made: whether an engine that starts it makes a sandbox.
//!
//! `sandboxctl run` would take any image, because it brings a PID 1 along. `docker run` and Kubernetes bring none.
//! Nothing of the image is run and no container is made of it: the builder copies the few files that are looked at.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use policy::build_spec::Platform;
use policy::text::escape;

use super::error::Unfit;
use super::layout::OciImage;

/// Where the entrypoint is, unless the image starts it elsewhere.
const USUAL: &str = "/usr/local/bin/entrypoint";

/// The largest file that is looked at, in bytes.
const MAX_SIZE: u64 = 64 << 20;

/// Returns where an image has its entrypoint: the program that it starts, where that is called as ours is.
pub(super) fn path_in(image: &OciImage) -> Result<PathBuf, Unfit> {
    let words = image.config.entrypoint.clone().unwrap_or_default();
    let is_ours = |word: &&String| {
        Path::new(word).is_absolute() && Path::new(word).file_name() == Path::new(USUAL).file_name()
    };
    // An init may stand before it.
    words.iter().find(is_ours).map(PathBuf::from).ok_or(Unfit::Starts { instead: words })
}

/// Writes a Dockerfile that copies the files to be checked out of the image `subject`, whether they exist or not: a
/// pattern that matches nothing copies nothing.
pub(super) fn dockerfile(paths: &[PathBuf]) -> String {
    let all = paths
        .iter()
        .map(|path| (path.as_path(), "/program/"))
        .chain([(Path::new("/etc/passwd"), "/account/")]);
    let lines = all.map(|(path, to)| {
        let parts = path.components().skip(1).map(|part| pattern(&part.as_os_str().to_string_lossy()));
        let source = parts.fold(String::new(), |path, part| path + "/" + &part);
        format!("COPY --from=subject [{source:?}, {to:?}]\n")
    });
    ["FROM scratch\n".to_owned()].into_iter().chain(lines).collect()
}

/// Returns a pattern that matches just this name.
fn pattern(name: &str) -> String {
    name.chars()
        .map(|character| match character {
            '[' | ']' | '*' | '?' | '\\' | '^' | '-' => format!("\\{character}"),
            character => format!("[{character}]"),
        })
        .collect()
}

/// Checks what was copied out of an image.
pub(super) fn check(directory: &Path, path: &Path, platform: &Platform) -> Vec<Unfit> {
    let name = || escape::path(path);
    let mut unfit = Vec::new();
    let file = directory.join("program").join(path.file_name().unwrap_or_default());
    match fs::symlink_metadata(&file) {
        Err(_) => unfit.push(Unfit::NoEntrypoint { path: name() }),
        Ok(metadata) if !metadata.is_file() || metadata.len() > MAX_SIZE => {
            unfit.push(Unfit::NoProgram { path: name() });
        }
        Ok(metadata) => {
            use std::os::unix::fs::PermissionsExt;
            if metadata.permissions().mode() & 0o005 != 0o005 {
                unfit.push(Unfit::Mode { path: name() });
            }
            let mut content = Vec::new();
            let read = File::open(&file).and_then(|mut file| file.read_to_end(&mut content));
            unfit.extend(match read.ok().and_then(|_| Elf::parse(&content)) {
                None => Some(Unfit::NoProgram { path: name() }),
                Some(elf) if Some(elf.machine) != machine(platform) => Some(Unfit::Machine { path: name() }),
                Some(elf) if elf.has_loader => Some(Unfit::Dynamic { path: name() }),
                Some(_) => None,
            });
        }
    }
    // What is no file might keep its reader waiting.
    let passwd = directory.join("account/passwd");
    let is_file = fs::symlink_metadata(&passwd).is_ok_and(|found| found.is_file() && found.len() <= MAX_SIZE);
    let passwd = if is_file { fs::read_to_string(&passwd).unwrap_or_default() } else { String::new() };
    if !passwd.lines().any(|line| line.split(':').nth(2) == Some("1000")) {
        unfit.push(Unfit::NoUser);
    }
    unfit
}

/// Returns the number of a processor in elf(5).
fn machine(platform: &Platform) -> Option<u16> {
    match platform.architecture() {
        "amd64" => Some(62),
        "arm64" => Some(183),
        _ => None,
    }
}

/// What of a program is looked at.
struct Elf {
    machine: u16,
    has_loader: bool,
}

impl Elf {
    /// Reads a program of 64 bits, little-endian, as both processors have them (elf(5)).
    fn parse(content: &[u8]) -> Option<Self> {
        const LOADER: u32 = 3;
        let field = |at: usize, length: usize| -> Option<u64> {
            let bytes = content.get(at..at.checked_add(length)?)?;
            Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
        };
        if content.get(..6)? != b"\x7fELF\x02\x01" {
            return None;
        }
        let machine = u16::try_from(field(18, 2)?).ok()?;
        let start = usize::try_from(field(32, 8)?).ok()?;
        let (size, count) = (usize::try_from(field(54, 2)?).ok()?, usize::try_from(field(56, 2)?).ok()?);
        let headers = (0..count).map(|number| field(start.checked_add(size.checked_mul(number)?)?, 4));
        let kinds = headers.collect::<Option<Vec<_>>>()?;
        Some(Self { machine, has_loader: kinds.contains(&u64::from(LOADER)) })
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use policy::build_spec::{BuildFlags, BuildSpec};
    use policy::config::effective::Effective;

    use super::super::layout::OciConfig;
    use super::*;

    fn platform(name: &str) -> Platform {
        let flags = BuildFlags { platform: vec![name.to_owned()], ..BuildFlags::default() };
        BuildSpec::new(&Effective::default(), &flags).unwrap().platforms.remove(0)
    }

    fn starts(words: &[&str]) -> Result<PathBuf, Unfit> {
        let entrypoint = Some(words.iter().map(|word| (*word).to_owned()).collect());
        path_in(&OciImage { config: OciConfig { entrypoint }, ..OciImage::default() })
    }

    /// Makes the least that is a program: its header, and one program header.
    fn program(machine: u8, kind: u8) -> Vec<u8> {
        let mut content = vec![0; 64 + 56];
        content[..6].copy_from_slice(b"\x7fELF\x02\x01");
        (content[18], content[32], content[54], content[56], content[64]) = (machine, 64, 56, 1, kind);
        content
    }

    fn checked(content: Option<&[u8]>, mode: u32, passwd: &str) -> Vec<Unfit> {
        let top = tempfile::tempdir().unwrap();
        fs::create_dir(top.path().join("program")).unwrap();
        if let Some(content) = content {
            let file = top.path().join("program/entrypoint");
            fs::write(&file, content).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        }
        fs::create_dir(top.path().join("account")).unwrap();
        fs::write(top.path().join("account/passwd"), passwd).unwrap();
        check(top.path(), Path::new(USUAL), &platform("linux/amd64"))
    }

    const AGENT: &str = "root:x:0:0::/root:/bin/sh\nagent:x:1000:1000::/home/agent:/bin/sh\n";

    #[test]
    fn the_entrypoint_is_what_the_image_starts() {
        assert_eq!(starts(&[USUAL]), Ok(USUAL.into()));
        assert_eq!(starts(&["/sbin/tini", "--", "/opt/entrypoint"]), Ok("/opt/entrypoint".into()));
        assert_eq!(starts(&[]), Err(Unfit::Starts { instead: vec![] }));
        let shell = ["/bin/sh", "-c", "/usr/local/bin/entrypoint bash"];
        assert!(matches!(starts(&shell), Err(Unfit::Starts { .. })));
    }

    #[test]
    fn each_mistake_has_a_name() {
        let path = || USUAL.to_owned();
        assert_eq!(checked(Some(&program(62, 1)), 0o555, AGENT), []);
        assert_eq!(checked(None, 0, AGENT), [Unfit::NoEntrypoint { path: path() }]);
        assert_eq!(checked(Some(b"#!/bin/sh\n"), 0o755, AGENT), [Unfit::NoProgram { path: path() }]);
        assert_eq!(checked(Some(&program(183, 1)), 0o755, AGENT), [Unfit::Machine { path: path() }]);
        assert_eq!(checked(Some(&program(62, 3)), 0o755, AGENT), [Unfit::Dynamic { path: path() }]);
        assert_eq!(checked(Some(&program(62, 1)), 0o700, AGENT), [Unfit::Mode { path: path() }]);
        assert_eq!(checked(Some(&program(62, 1)), 0o555, "root:x:0:0::/:/bin/sh"), [Unfit::NoUser]);
    }

    #[test]
    fn a_program_that_is_cut_off_is_none() {
        let whole = program(62, 1);
        for length in 0..68 {
            assert!(Elf::parse(&whole[..length]).is_none(), "{length}");
        }
    }

    #[test]
    fn a_pattern_that_matches_nothing_copies_nothing() {
        let text = dockerfile(&["/opt/entrypoint".into()]);
        assert!(text.contains("COPY --from=subject [\"/[o][p][t]/[e][n]"), "{text}");
        assert!(text.ends_with("[\"/[e][t][c]/[p][a][s][s][w][d]\", \"/account/\"]\n"), "{text}");
    }
}
