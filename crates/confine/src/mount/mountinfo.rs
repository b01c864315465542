//! What is mounted, and where: `/proc/self/mountinfo`, see `proc_pid_mountinfo(5)`.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use crate::kernel_file::KernelFileSystem;

/// The file.
pub(crate) const PATH: &str = "/proc/self/mountinfo";

/// What a line of it says.
#[derive(Debug)]
pub(crate) struct MountInfo<'a> {
    /// The device of its file system, as the kernel numbers it here.
    pub(crate) device: &'a [u8],
    /// Which directory of its file system is mounted.
    pub(crate) root: PathBuf,
    pub(crate) point: PathBuf,
    pub(crate) flags: &'a [u8],
    pub(crate) kind: &'a [u8],
    /// The options of the file system, not of the mount.
    pub(crate) options: &'a [u8],
}

/// Lists the mount points beneath a directory, as this process sees them.
pub fn beneath(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let text = KernelFileSystem::Processes.read(PATH)?;
    let points = parse(&text).map(|mount| mount.point);
    Ok(points.filter(|point| point.starts_with(directory) && point != directory).collect())
}

/// Another path by which a directory, or something in it, is reached, because it is mounted more than once.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct OtherPath {
    pub path: PathBuf,
    /// What is reached by it, relative to the directory: empty for the directory itself.
    pub beneath: PathBuf,
}

impl OtherPath {
    /// Returns whether it leads to the directory itself.
    pub fn is_whole(&self) -> bool {
        self.beneath.as_os_str().is_empty()
    }

    /// Returns what a path leads to that begins with this one, relative to the directory.
    pub fn leads(&self, path: &Path) -> Option<PathBuf> {
        let rest = path.strip_prefix(&self.path).ok()?;
        // Joined to nothing, a path would end with a slash.
        Some(self.beneath.components().chain(rest.components()).collect())
    }
}

/// Lists the other paths by which a directory, or something in it, is reached from outside of it, because it is mounted more than once.
pub fn elsewhere(directory: &Path) -> io::Result<Vec<OtherPath>> {
    let mut others = other_paths(&[directory])?.pop().unwrap_or_default();
    others.retain(|other| !other.path.starts_with(directory));
    Ok(others)
}

/// Lists for each of these paths all others by which it, or something in it, is reached. What is mounted over another one may cover them.
pub fn other_paths(paths: &[impl AsRef<Path>]) -> io::Result<Vec<Vec<OtherPath>>> {
    let text = KernelFileSystem::Processes.read(PATH)?;
    let mounts: Vec<_> = parse(&text).collect();
    Ok(paths.iter().map(|path| reached(&mounts, path.as_ref())).collect())
}

fn reached(mounts: &[MountInfo<'_>], path: &Path) -> Vec<OtherPath> {
    // Of two at one point the later one covers the other.
    let of = mounts.iter().filter(|mount| path.starts_with(&mount.point));
    let Some(own) = of.max_by_key(|mount| mount.point.components().count()) else { return Vec::new() };
    let Ok(below) = path.strip_prefix(&own.point) else { return Vec::new() };
    let place: PathBuf = own.root.components().chain(below.components()).collect();
    let same = mounts.iter().filter(|mount| mount.device == own.device && mount.point != own.point);
    let other = |mount: &MountInfo<'_>| {
        let (path, beneath) = if let Ok(below) = place.strip_prefix(&mount.root) {
            (mount.point.components().chain(below.components()).collect(), PathBuf::new())
        } else {
            (mount.point.clone(), mount.root.strip_prefix(&place).ok()?.to_owned())
        };
        Some(OtherPath { path, beneath })
    };
    same.filter_map(other).filter(|other| other.path != path).collect()
}

/// Parses every mount in the text of the file. Skips lines that make no sense.
pub(crate) fn parse(text: &[u8]) -> impl Iterator<Item = MountInfo<'_>> {
    text.split(|byte| *byte == b'\n').filter_map(line)
}

/// Lists every mount in the text whose kind begins so. Lines of others are not taken apart.
pub(crate) fn of_kind<'a>(text: &'a [u8], kind: &[u8]) -> impl Iterator<Item = MountInfo<'a>> {
    const SEPARATOR: &[u8] = b" - ";
    let is_of_kind = move |line: &&[u8]| {
        let mut ends = line.windows(SEPARATOR.len()).enumerate();
        let end = ends.find(|(_, window)| *window == SEPARATOR).map(|(at, _)| at + SEPARATOR.len());
        end.is_some_and(|end| line[end..].starts_with(kind))
    };
    text.split(|byte| *byte == b'\n').filter(is_of_kind).filter_map(line)
}

fn line(line: &[u8]) -> Option<MountInfo<'_>> {
    let mut fields = line.split(|byte| *byte == b' ').skip(2);
    let device = fields.next()?;
    let (root, point, flags) = (unescape(fields.next()?), unescape(fields.next()?), fields.next()?);
    // Some fields there may be or not, and then this one.
    fields.find(|field| *field == b"-")?;
    let kind = fields.next()?;
    Some(MountInfo { device, root, point, flags, kind, options: fields.nth(1)? })
}

/// Undoes the octal escapes of blanks, line ends and backslashes.
fn unescape(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&byte, after)) = rest.split_first() {
        let code = after.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(code) if byte == b'\\' => {
                bytes.push(code);
                rest = &after[3..];
            }
            _ => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    PathBuf::from(OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are() {
        let text = b"1 0 8:1 /a\\040b /c\\134d\\012e rw shared:1 master:2 - ext4 /dev/vda rw\n\
                     2 0 0:2 / /\xff ro - tmpfs tmpfs rw,size=4k\nnonsense\n";
        let mounts: Vec<MountInfo> = parse(text).collect();
        assert_eq!(mounts.len(), 2);
        assert_eq!((&mounts[0].root, &mounts[0].point), (&"/a b".into(), &"/c\\d\ne".into()));
        assert_eq!(mounts[1].point, PathBuf::from(OsString::from_vec(b"/\xff".to_vec())));
        assert_eq!((mounts[0].device, mounts[1].device), (&b"8:1"[..], &b"0:2"[..]));
        assert_eq!((mounts[1].kind, mounts[1].options), (&b"tmpfs"[..], &b"rw,size=4k"[..]));
    }

    #[test]
    fn what_is_mounted_twice_is_reached_by_both_paths() {
        let text = b"1 0 8:1 / / rw - ext4 /dev/vda rw\n2 1 8:1 /home/u/s /mnt/s rw - ext4 /dev/vda rw\n\
                     3 1 8:1 /home /mnt/homes rw - ext4 /dev/vda rw\n4 1 8:1 /home/u/s/lib /mnt/lib rw - ext4 /dev/vda rw\n\
                     5 1 8:2 /home/u/s /mnt/other rw - ext4 /dev/vdb rw\n6 1 8:1 /etc /home/u/s/etc rw - ext4 /dev/vda rw\n";
        let other = |(path, beneath): (&str, &str)| OtherPath { path: path.into(), beneath: beneath.into() };
        let reached = |path: &str| reached(&parse(text).collect::<Vec<_>>(), Path::new(path));
        assert_eq!(
            reached("/home/u/s"),
            [("/mnt/s", ""), ("/mnt/homes/u/s", ""), ("/mnt/lib", "lib")].map(other)
        );
        assert_eq!(
            reached("/mnt/homes/u/s"),
            [("/home/u/s", ""), ("/mnt/s", ""), ("/mnt/lib", "lib")].map(other)
        );
        assert_eq!(reached("/mnt/other/x"), []);
        let again = b"1 0 8:1 / / rw - ext4 /dev/vda rw\n2 1 8:1 /p /p/a/b rw - ext4 /dev/vda rw\n\
                      3 1 8:1 /p/c /p/c rw - ext4 /dev/vda rw\n";
        let within = |path: &str| super::reached(&parse(again).collect::<Vec<_>>(), Path::new(path));
        assert_eq!(within("/p/x"), [other(("/p/a/b/x", ""))]);
        // What covers itself is one path.
        assert_eq!(within("/p/c/x"), [other(("/p/a/b/c/x", ""))]);
        let lib = other(("/mnt/lib", "lib"));
        assert_eq!(lib.leads(Path::new("/mnt/lib/x")), Some("lib/x".into()));
        assert_eq!(lib.leads(Path::new("/mnt/libs")), None);
        let itself = other(("/mnt/s", "")).leads(Path::new("/mnt/s"));
        assert_eq!(itself.map(PathBuf::into_os_string), Some("".into()));
    }
}
