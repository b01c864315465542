//! What is mounted: what was validated, where it was meant to be, and nothing else.

use std::collections::HashSet;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use policy::plan::{BoundaryMode, FileId};
use policy::text::escape;
use rustix::fs::{AtFlags, CWD, FileType, OFlags, StatVfsMountFlags, StatxAttributes, StatxFlags};
use rustix::io::Errno;

use super::count;
use crate::kernel_file::FileSystem;
use crate::mountinfo::{self, Mount};
use crate::start::{Inside, Mounted, Start, What};
use crate::view::file_id;

/// Something that an engine mounts by itself.
///
/// Its place alone says nothing, because a `VOLUME` of an image comes to lie wherever a link of the image leads. Which
/// file system it is and which part of that, no image chooses: its volumes are directories named `_data`.
struct Own {
    kinds: Kinds,
    part: Part,
}

/// Which kinds of file system.
enum Kinds {
    /// Whatever the engine keeps its files in.
    Any,
    /// One of these.
    Of(&'static [&'static [u8]]),
}

/// Which part of a file system is mounted.
enum Part {
    /// Whatever is.
    Any,
    /// All of it.
    Whole,
    /// What is called so in there.
    Named(&'static str),
}

impl Own {
    const fn new(kinds: &'static [&'static [u8]], part: Part) -> Self {
        Self { kinds: Kinds::Of(kinds), part }
    }

    /// A file or directory that the engine keeps for this container.
    const fn kept(name: &'static str) -> Self {
        Self { kinds: Kinds::Any, part: Part::Named(name) }
    }

    /// A device node of the host's, or of the container's own `/dev`.
    const fn node(name: &'static str) -> Self {
        Self::new(&[b"tmpfs", b"devtmpfs"], Part::Named(name))
    }

    fn is(&self, mount: &Mount<'_>) -> bool {
        let of_kind = match self.kinds {
            Kinds::Any => true,
            Kinds::Of(kinds) => kinds.contains(&mount.kind),
        };
        of_kind
            && match self.part {
                Part::Any => true,
                Part::Whole => mount.root == Path::new("/"),
                Part::Named(name) => mount.root.ends_with(name),
            }
    }
}

/// Where engines mount something of their own in every container, and what that is.
const OF_ENGINES: [(&str, Own); 16] = [
    ("/", Own { kinds: Kinds::Any, part: Part::Any }),
    ("/dev", Own::new(&[b"tmpfs"], Part::Whole)),
    ("/dev/console", Own::new(&[b"devpts"], Part::Any)),
    ("/dev/full", Own::node("full")),
    ("/dev/mqueue", Own::new(&[b"mqueue"], Part::Whole)),
    ("/dev/null", Own::node("null")),
    ("/dev/pts", Own::new(&[b"devpts"], Part::Whole)),
    ("/dev/random", Own::node("random")),
    ("/dev/tty", Own::node("tty")),
    ("/dev/urandom", Own::node("urandom")),
    ("/dev/zero", Own::node("zero")),
    ("/etc/hostname", Own::kept("hostname")),
    ("/etc/hosts", Own::kept("hosts")),
    ("/etc/resolv.conf", Own::kept("resolv.conf")),
    ("/run/.containerenv", Own::kept(".containerenv")),
    ("/run/secrets", Own::kept("run/secrets")),
];

/// Trees that the kernel makes, and what engines mount in them: parts that they make read-only or cover, and groups.
const OF_THE_KERNEL: [(&str, &[Own]); 2] = [
    ("/proc", &[Own::new(&[b"proc"], Part::Any), EMPTY, NOTHING, SHARED_EMPTY]),
    ("/sys", &[Own::new(&[b"sysfs", b"cgroup", b"cgroup2"], Part::Any), EMPTY, NOTHING, SHARED_EMPTY]),
];

/// What covers a directory.
const EMPTY: Own = Own::new(&[b"tmpfs"], Part::Whole);

/// What covers a file.
const NOTHING: Own = Own::node("null");

/// What covers a directory where crun runs the container.
const SHARED_EMPTY: Own = Own::kept(".empty-directory");

/// What was validated is what is mounted, nothing else is, and the root changes no more.
pub(super) fn probe(start: &Start) -> Result<String, String> {
    let expected = &start.outside.mounts;
    let mut all = String::new();
    if let Inside::Engine { fresh, places, .. } = &start.inside {
        let text = FileSystem::Processes
            .read(mountinfo::PATH)
            .map_err(|error| format!("{}: {error}", mountinfo::PATH))?;
        if let Some(replaced) = replaced(&text, fresh) {
            return Err(format!(
                "what is mounted on {} is not what was asked for: a VOLUME of the image lies there, or a link leads there",
                escape::path(replaced)
            ));
        }
        if let Some(stray) = stray(&text, expected, fresh, places) {
            return Err(format!(
                "something is mounted on {} that nobody asked for: the image has a link on the way to a mount point, \
                 somebody has put one into a shared directory meanwhile, or the engine's own settings add mounts",
                escape::path(&stray)
            ));
        }
        all.push_str(", and nothing else is mounted");
    }
    expected.iter().try_for_each(compare)?;
    let root = rustix::fs::statvfs(c"/").map_err(|error| format!("/: {error}"))?;
    if !root.f_flag.contains(StatVfsMountFlags::RDONLY) {
        return Err("the root can be written".into());
    }
    Ok(format!("a root of its own, read-only; {} compared{all}", count(expected.len(), "mount", "mounts")))
}

fn compare(Mounted { path, what, mode }: &Mounted) -> Result<(), String> {
    let failed = |error| format!("{}: {error}", escape::path(path));
    let (wrong, place) = match what {
        What::File(validated) => {
            let seen = Seen::at(CWD, path).map_err(failed)?;
            let wrong = (seen.file_id != *validated).then_some("is not what was validated");
            (wrong.or_else(|| seen.wrong(*mode)), path.as_path())
        }
        What::Cover { directory } => {
            let (above, name) = (path.parent().unwrap_or(path), path.file_name().unwrap_or_default());
            let opened = open(CWD, above).map_err(failed)?;
            if file_id(&opened).map_err(failed)? == *directory {
                // Looked at from there: the path may lead elsewhere now.
                let seen = Seen::at(&opened, Path::new(name)).map_err(failed)?;
                let wrong = seen.is_socket.then_some("is a socket that should be covered");
                (wrong.or_else(|| seen.wrong(*mode)), path.as_path())
            } else {
                (Some("is not what was validated"), above)
            }
        }
    };
    wrong.map_or(Ok(()), |wrong| Err(format!("{} {wrong}", escape::path(place))))
}

/// What lies somewhere.
struct Seen {
    file_id: FileId,
    is_socket: bool,
    is_mounted: bool,
    is_read_only: bool,
}

impl Seen {
    fn at(directory: impl AsFd, path: &Path) -> Result<Self, Errno> {
        let file = open(directory, path)?;
        let stat = rustix::fs::statx(&file, c"", AtFlags::EMPTY_PATH, StatxFlags::TYPE)?;
        let mount = rustix::fs::fstatvfs(&file)?;
        Ok(Self {
            is_socket: FileType::from_raw_mode(stat.stx_mode.into()) == FileType::Socket,
            is_mounted: stat.stx_attributes.contains(StatxAttributes::MOUNT_ROOT),
            is_read_only: mount.f_flag.contains(StatVfsMountFlags::RDONLY),
            file_id: file_id(file)?,
        })
    }

    /// What is wrong with how it is mounted.
    fn wrong(&self, mode: BoundaryMode) -> Option<&'static str> {
        if !self.is_mounted {
            return Some("is not mounted");
        }
        (mode == BoundaryMode::ReadOnly && !self.is_read_only).then_some("can be written")
    }
}

fn open(directory: impl AsFd, path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(directory, path, flags, rustix::fs::Mode::empty())
}

/// The first place that should be fresh and is not: without a size, or with what somebody else has put there.
fn replaced<'a>(mountinfo: &[u8], fresh: &'a [PathBuf]) -> Option<&'a PathBuf> {
    let is_fresh = |mount: &Mount<'_>| {
        let has = |flag: &[u8]| mount.flags.split(|byte| *byte == b',').any(|one| one == flag);
        mount.kind == b"tmpfs" && mount.root == Path::new("/") && has(b"nosuid") && has(b"nodev")
    };
    fresh.iter().find(|place| {
        let mut there = mountinfo::parse(mountinfo).filter(|mount| mount.point == **place);
        !(there.next().is_some_and(|mount| is_fresh(&mount)) && there.next().is_none())
    })
}

/// The first mount that nobody has asked for.
fn stray(mountinfo: &[u8], expected: &[Mounted], fresh: &[PathBuf], places: &[PathBuf]) -> Option<PathBuf> {
    let of_the_kernel = |mount: &Mount<'_>| {
        let is = |(tree, owns): &(&str, &[Own])| {
            mount.point.starts_with(tree) && owns.iter().any(|own| own.is(mount))
        };
        OF_THE_KERNEL.iter().any(is)
    };
    let of_engines = |mount: &Mount<'_>| {
        OF_ENGINES.iter().any(|(place, own)| mount.point == Path::new(place) && own.is(mount))
    };
    let mut seen = HashSet::new();
    let mut is_known = |mount: &Mount<'_>| {
        let point = &mount.point;
        // What was validated is compared with what is on top.
        let is_expected = expected.iter().any(|one| one.path == *point);
        let is_place = fresh.contains(point) || places.contains(point);
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
        let mounted = |path: &str, what| Mounted { path: path.into(), what, mode: BoundaryMode::ReadWrite };
        let expected =
            [mounted("/workspace", What::File(id)), mounted("/workspace/d/s", What::Cover { directory: id })];
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
