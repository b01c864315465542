//! What is mounted: what was validated, where it was meant to be, and nothing else.

use std::collections::HashSet;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use policy::plan::{BoundaryMode, Execution, FileId};
use policy::text::escape;
use rustix::fs::{AtFlags, CWD, FileType, OFlags, StatVfsMountFlags, StatxAttributes, StatxFlags};
use rustix::io::Errno;

use crate::file_id::file_id;
use crate::kernel_file::KernelFileSystem;
use crate::mount::mountinfo::{self, MountInfo};
use crate::protocol::{ExpectedMount, InitSpec, MountedFile, Rootfs};

/// Something that an engine mounts by itself.
///
/// Its place alone says nothing, because a `VOLUME` of an image comes to lie wherever a link of the image leads. Which
/// file system it is and which part of that, no image chooses: its volumes are directories named `_data`.
struct EngineMount {
    kinds: FsTypes,
    part: MountedPart,
}

/// Which kinds of file system.
enum FsTypes {
    /// Whatever the engine keeps its files in.
    Any,
    Of(&'static [&'static [u8]]),
}

/// Which part of a file system is mounted.
enum MountedPart {
    Any,
    Whole,
    /// What is called so in there.
    Named(&'static str),
}

impl EngineMount {
    const fn new(kinds: &'static [&'static [u8]], part: MountedPart) -> Self {
        Self { kinds: FsTypes::Of(kinds), part }
    }

    /// Describes a file or directory that the engine keeps for this container.
    const fn kept(name: &'static str) -> Self {
        Self { kinds: FsTypes::Any, part: MountedPart::Named(name) }
    }

    /// Describes a device node of the host's, or of the container's own `/dev`.
    const fn node(name: &'static str) -> Self {
        Self::new(&[b"tmpfs", b"devtmpfs"], MountedPart::Named(name))
    }

    fn is(&self, mount: &MountInfo<'_>) -> bool {
        let of_kind = match self.kinds {
            FsTypes::Any => true,
            FsTypes::Of(kinds) => kinds.contains(&mount.kind),
        };
        of_kind
            && match self.part {
                MountedPart::Any => true,
                MountedPart::Whole => mount.root == Path::new("/"),
                MountedPart::Named(name) => mount.root.ends_with(name),
            }
    }
}

/// Where engines mount something of their own in every container, and what that is.
const OF_ENGINES: [(&str, EngineMount); 16] = [
    ("/", EngineMount { kinds: FsTypes::Any, part: MountedPart::Any }),
    ("/dev", EngineMount::new(&[b"tmpfs"], MountedPart::Whole)),
    ("/dev/console", EngineMount::new(&[b"devpts"], MountedPart::Any)),
    ("/dev/full", EngineMount::node("full")),
    ("/dev/mqueue", EngineMount::new(&[b"mqueue"], MountedPart::Whole)),
    ("/dev/null", EngineMount::node("null")),
    ("/dev/pts", EngineMount::new(&[b"devpts"], MountedPart::Whole)),
    ("/dev/random", EngineMount::node("random")),
    ("/dev/tty", EngineMount::node("tty")),
    ("/dev/urandom", EngineMount::node("urandom")),
    ("/dev/zero", EngineMount::node("zero")),
    ("/etc/hostname", EngineMount::kept("hostname")),
    ("/etc/hosts", EngineMount::kept("hosts")),
    ("/etc/resolv.conf", EngineMount::kept("resolv.conf")),
    ("/run/.containerenv", EngineMount::kept(".containerenv")),
    ("/run/secrets", EngineMount::kept("run/secrets")),
];

/// Trees that the kernel makes, and what engines mount in them: parts that they make read-only or cover, and groups.
const OF_THE_KERNEL: [(&str, &[EngineMount]); 2] = [
    ("/proc", &[EngineMount::new(&[b"proc"], MountedPart::Any), EMPTY, NOTHING, SHARED_EMPTY]),
    (
        "/sys",
        &[
            EngineMount::new(&[b"sysfs", b"cgroup", b"cgroup2"], MountedPart::Any),
            EMPTY,
            NOTHING,
            SHARED_EMPTY,
        ],
    ),
];

/// What covers a directory.
const EMPTY: EngineMount = EngineMount::new(&[b"tmpfs"], MountedPart::Whole);

/// What covers a file.
const NOTHING: EngineMount = EngineMount::node("null");

/// What covers a directory where crun runs the container.
const SHARED_EMPTY: EngineMount = EngineMount::kept(".empty-directory");

/// Checks that what was validated is mounted, that nothing else is, and that the root can no longer change.
pub(super) fn probe(spec: &InitSpec) -> Result<String, String> {
    let expected = &spec.expected.mounts;
    let mut all = String::new();
    if let Rootfs::Engine { tmpfs, other_mounts, .. } = &spec.rootfs {
        let text = KernelFileSystem::Processes
            .read(mountinfo::PATH)
            .map_err(|error| format!("{}: {error}", mountinfo::PATH))?;
        if let Some(replaced) = replaced(&text, tmpfs) {
            return Err(format!(
                "what is mounted on {} is not what was asked for: a VOLUME of the image lies there, or a link leads there",
                escape::path(replaced)
            ));
        }
        if let Some(stray) = stray(&text, expected, tmpfs, other_mounts) {
            return Err(format!(
                "something is mounted on {} that nobody asked for: the image has a link on the way to a mount point, \
                 somebody has put one into a shared directory meanwhile, or the engine's own settings add mounts",
                escape::path(&stray)
            ));
        }
        all.push_str(", and nothing else is mounted");
    }
    expected.iter().try_for_each(compare)?;
    let compared = match expected.len() {
        1 => "1 mount".to_owned(),
        number => format!("{number} mounts"),
    };
    let root = rustix::fs::statvfs(c"/").map_err(|error| format!("/: {error}"))?;
    if !root.f_flag.contains(StatVfsMountFlags::RDONLY) {
        return Err("the root can be written".into());
    }
    let no_exec = match expected.iter().filter(|one| one.execution == Execution::Refused).count() {
        0 => String::new(),
        number => format!(", {number} of them noexec"),
    };
    Ok(format!("a root of its own, read-only; {compared} compared{no_exec}{all}"))
}

fn compare(expected: &ExpectedMount) -> Result<(), String> {
    let ExpectedMount { path, file, .. } = expected;
    let failed = |error| format!("{}: {error}", escape::path(path));
    let (wrong, place) = match file {
        MountedFile::Validated(validated) => {
            let seen = MountPoint::at(CWD, path).map_err(failed)?;
            let wrong = (seen.file_id != *validated).then_some("is not what was validated");
            (wrong.or_else(|| seen.wrong(expected)), path.as_path())
        }
        MountedFile::Mask { directory } | MountedFile::Hidden { directory, .. } => {
            let (above, name) = (path.parent().unwrap_or(path), path.file_name().unwrap_or_default());
            let opened = open(CWD, above).map_err(failed)?;
            if file_id(&opened).map_err(failed)? == *directory {
                // Looked at from there: the path may lead elsewhere now.
                let seen = MountPoint::at(&opened, Path::new(name)).map_err(failed)?;
                let wrong = match file {
                    MountedFile::Hidden { file, .. } => {
                        (seen.file_id == *file).then_some("is there, and should be hidden")
                    }
                    _ => seen.is_socket.then_some("is a socket that should be covered"),
                };
                (wrong.or_else(|| seen.wrong(expected)), path.as_path())
            } else {
                (Some("is not what was validated"), above)
            }
        }
    };
    wrong.map_or(Ok(()), |wrong| Err(format!("{} {wrong}", escape::path(place))))
}

/// What lies somewhere.
struct MountPoint {
    file_id: FileId,
    is_socket: bool,
    is_mounted: bool,
    flags: StatVfsMountFlags,
}

impl MountPoint {
    fn at(directory: impl AsFd, path: &Path) -> Result<Self, Errno> {
        let file = open(directory, path)?;
        let stat = rustix::fs::statx(&file, c"", AtFlags::EMPTY_PATH, StatxFlags::TYPE)?;
        let mount = rustix::fs::fstatvfs(&file)?;
        Ok(Self {
            is_socket: FileType::from_raw_mode(stat.stx_mode.into()) == FileType::Socket,
            is_mounted: stat.stx_attributes.contains(StatxAttributes::MOUNT_ROOT),
            flags: mount.f_flag,
            file_id: file_id(file)?,
        })
    }

    /// Returns what is wrong with how it is mounted.
    fn wrong(&self, expected: &ExpectedMount) -> Option<&'static str> {
        if !self.is_mounted {
            return Some("is not mounted");
        }
        if expected.execution == Execution::Refused && !self.flags.contains(StatVfsMountFlags::NOEXEC) {
            return Some("has programs that can be executed");
        }
        (expected.mode == BoundaryMode::ReadOnly && !self.flags.contains(StatVfsMountFlags::RDONLY))
            .then_some("can be written")
    }
}

fn open(directory: impl AsFd, path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(directory, path, flags, rustix::fs::Mode::empty())
}

/// Returns the first path that should be a fresh tmpfs and is not: it has no size limit, or an image's volume or a link
/// has taken its place.
fn replaced<'a>(mountinfo: &[u8], tmpfs: &'a [PathBuf]) -> Option<&'a PathBuf> {
    let is_fresh = |mount: &MountInfo<'_>| {
        let has = |flag: &[u8]| mount.flags.split(|byte| *byte == b',').any(|one| one == flag);
        mount.kind == b"tmpfs" && mount.root == Path::new("/") && has(b"nosuid") && has(b"nodev")
    };
    tmpfs.iter().find(|place| {
        let mut there = mountinfo::parse(mountinfo).filter(|mount| mount.point == **place);
        !(there.next().is_some_and(|mount| is_fresh(&mount)) && there.next().is_none())
    })
}

/// Returns the first mount that nobody has requested.
fn stray(
    mountinfo: &[u8],
    expected: &[ExpectedMount],
    tmpfs: &[PathBuf],
    other_mounts: &[PathBuf],
) -> Option<PathBuf> {
    let of_the_kernel = |mount: &MountInfo<'_>| {
        let is = |(tree, owns): &(&str, &[EngineMount])| {
            mount.point.starts_with(tree) && owns.iter().any(|own| own.is(mount))
        };
        OF_THE_KERNEL.iter().any(is)
    };
    let of_engines = |mount: &MountInfo<'_>| {
        OF_ENGINES.iter().any(|(place, own)| mount.point == Path::new(place) && own.is(mount))
    };
    let mut seen = HashSet::new();
    let mut is_known = |mount: &MountInfo<'_>| {
        let point = &mount.point;
        // What was validated is compared with what is on top.
        let is_expected = expected.iter().any(|one| one.path == *point);
        let is_place = tmpfs.contains(point) || other_mounts.contains(point);
        let is_first = seen.insert(point.clone());
        is_expected
            || of_the_kernel(mount)
            // Whatever is mounted on an engine's own is not an engine's.
            || (is_first && of_engines(mount))
            || (is_place && !OF_ENGINES.iter().any(|(place, _)| point == Path::new(place)))
    };
    mountinfo::parse(mountinfo).find(|mount| !is_known(mount)).map(|mount| mount.point)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_should_be_fresh_is_a_tmpfs_of_its_own() {
        let fresh = [PathBuf::from("/tmp")];
        let found = |text: &str| replaced(text.as_bytes(), &fresh).is_some();
        let good = "1 0 0:1 / /tmp rw,nosuid,nodev - tmpfs tmpfs rw,size=4k\n";
        assert!(!found(good));
        assert!(found(""), "it is not there");
        assert!(found(&[good, good].concat()), "something covers it");
        for bad in [
            "1 0 8:1 /v/_data /tmp rw,nosuid,nodev - ext4 /dev/vda rw\n",
            "1 0 0:1 / /tmp rw,nodev - tmpfs tmpfs rw\n",
            "1 0 0:1 /part /tmp rw,nosuid,nodev - tmpfs tmpfs rw\n",
        ] {
            assert!(found(bad), "{bad}");
        }
    }

    #[test]
    fn what_nobody_asked_for_is_found() {
        let id = FileId { device: 1, inode: 2 };
        let mounted = |path: &str, file| ExpectedMount {
            path: path.into(),
            file,
            mode: BoundaryMode::ReadWrite,
            execution: Execution::Allowed,
        };
        let expected = [
            mounted("/workspace", MountedFile::Validated(id)),
            mounted("/workspace/d/s", MountedFile::Mask { directory: id }),
        ];
        let usual = [
            "/ / ro - overlay",
            "/ /proc rw - proc",
            "/sys /proc/sys ro - proc",
            "/null /proc/keys rw - tmpfs",
            "/ /proc/acpi ro - tmpfs",
            "/crun/.empty-directory /proc/scsi ro - tmpfs",
            "/ /sys/fs/cgroup/memory ro - cgroup",
            "/ /dev/pts rw - devpts",
            "/var/lib/engine/c1/hosts /etc/hosts rw - ext4",
            "/ /tmp rw - tmpfs",
            "/volumes/v1/_data /data rw - ext4",
            "/srv /workspace rw - ext4",
            "/null /workspace/d/s ro - devtmpfs",
        ];
        let found = |more: &[&str]| {
            let entries = usual.iter().chain(more).map(|entry| {
                let (place, kind) = entry.split_once(" - ").unwrap();
                format!("1 0 8:1 {place} - {kind} source rw\n")
            });
            let text = entries.collect::<String>();
            stray(text.as_bytes(), &expected, &["/tmp".into()], &["/data".into()])
        };
        assert_eq!(found(&[]), None);
        assert_eq!(found(&["/userdata/run/secrets /run/secrets ro - ext4"]), None);
        for more in [
            "/ /home/me/.ssh rw - ext4",
            "/ /workspace/other rw - ext4",
            "/ /workspace/d rw - ext4",
            "/ /proc/1 rw - ext4",
            "/ /sys/kernel/debug rw - debugfs",
            "/mapper /dev/mapper rw - devtmpfs",
            "/ /tmp/x rw - tmpfs",
            "/var/lib/engine/c1/hosts /etc/hosts rw - ext4",
            "/ /dev rw - ext4",
            "/ /sys/fs/cgroup rw - ext4",
            // Volumes that links of the image have led elsewhere, in whatever file system the engine keeps them.
            "/volumes/v2/_data /run/secrets rw - ext4",
            "/volumes/v2/_data /run/secrets rw - tmpfs",
            "/volumes/v2/_data /run/.containerenv rw - ext4",
            "/volumes/v2/_data /etc/hostname rw - ext4",
            "/volumes/v2/_data /sys/fs/cgroup rw - tmpfs",
            "/volumes/v2/_data /proc/scsi rw - tmpfs",
            "/volumes/v2/_data /dev/zero rw - tmpfs",
        ] {
            let place = more.split(' ').nth(1).map(PathBuf::from);
            assert_eq!(found(&[more]), place, "{more}");
        }
    }
}
