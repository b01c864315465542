//! What is mounted: what was validated, where it was meant to be, and nothing else.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use policy::plan::{FileId, Mode};
use rustix::fs::{AtFlags, FileType, OFlags, StatVfsMountFlags, StatxAttributes, StatxFlags};
use rustix::io::Errno;

use super::count;
use crate::mountinfo::{self, Mount};
use crate::start::{Inside, Mounted, Start, What};
use crate::view::file_id;

/// Where engines mount something of their own in every container.
const OF_ENGINES: [&str; 18] = [
    "/",
    "/dev",
    "/dev/console",
    "/dev/full",
    "/dev/mqueue",
    "/dev/null",
    "/dev/pts",
    "/dev/random",
    "/dev/shm",
    "/dev/tty",
    "/dev/urandom",
    "/dev/zero",
    "/etc/hostname",
    "/etc/hosts",
    "/etc/resolv.conf",
    "/run/.containerenv",
    "/run/secrets",
    "/sys/fs/cgroup",
];

/// Trees that the kernel makes, and what engines mount in them: parts that they make read-only or cover, and groups.
const OF_THE_KERNEL: [(&str, &[&[u8]]); 2] =
    [("/proc", &[b"proc", b"tmpfs", b"devtmpfs"]), ("/sys", &[b"sysfs", b"tmpfs", b"cgroup", b"cgroup2"])];

/// What was validated is what is mounted, nothing else is, and the root changes no more.
pub(super) fn probe(start: &Start) -> Result<String, String> {
    let expected = &start.outside.mounts;
    let mut all = String::new();
    if let Inside::Engine { places, .. } = &start.inside {
        let text = std::fs::read(mountinfo::PATH).map_err(|error| format!("{}: {error}", mountinfo::PATH))?;
        if let Some(stray) = stray(&text, expected, places) {
            return Err(format!(
                "something is mounted on {} that nobody asked for: the image has a link on the way to a mount point, or \
                 somebody has put one into a shared directory meanwhile",
                stray.display()
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
    let seen = look_at(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let wrong = match what {
        What::File(validated) | What::Parent(validated) if seen.file_id != *validated => {
            "is not what was validated"
        }
        What::File(_) if !seen.is_mounted => "is not mounted",
        What::Cover if seen.is_socket || !seen.is_mounted => "is a socket that should be covered",
        What::File(_) | What::Cover if *mode == Mode::ReadOnly && !seen.is_read_only => "can be written",
        What::File(_) | What::Parent(_) | What::Cover => return Ok(()),
    };
    Err(format!("{} {wrong}", path.display()))
}

/// What lies at a path.
struct Seen {
    file_id: FileId,
    is_socket: bool,
    is_mounted: bool,
    is_read_only: bool,
}

fn look_at(path: &Path) -> Result<Seen, Errno> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, rustix::fs::Mode::empty())?;
    let stat = rustix::fs::statx(&file, c"", AtFlags::EMPTY_PATH, StatxFlags::TYPE)?;
    let mount = rustix::fs::fstatvfs(&file)?;
    Ok(Seen {
        is_socket: FileType::from_raw_mode(stat.stx_mode.into()) == FileType::Socket,
        is_mounted: stat.stx_attributes.contains(StatxAttributes::MOUNT_ROOT),
        is_read_only: mount.f_flag.contains(StatVfsMountFlags::RDONLY),
        file_id: file_id(file)?,
    })
}

/// The first mount that nobody has asked for.
fn stray(mountinfo: &[u8], expected: &[Mounted], places: &[PathBuf]) -> Option<PathBuf> {
    let of_the_kernel = |mount: &Mount<'_>| {
        OF_THE_KERNEL.iter().any(|(tree, kinds)| mount.point.starts_with(tree) && kinds.contains(&mount.kind))
    };
    let mut covered = HashSet::new();
    let mut is_known = |mount: &Mount<'_>| {
        let point = &mount.point;
        expected.iter().any(|one| one.path == *point && !matches!(one.what, What::Parent(_)))
            // What is mounted there a second time is not what was asked for.
            || (places.contains(point) && covered.insert(point.clone()))
            || (!places.contains(point) && OF_ENGINES.iter().any(|own| point == Path::new(own)))
            || of_the_kernel(mount)
    };
    mountinfo::parse(mountinfo).find(|mount| !is_known(mount)).map(|mount| mount.point)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_asked_for_is_found() {
        let id = FileId { device: 1, inode: 2 };
        let mounted = |path: &str, what| Mounted { path: path.into(), what, mode: Mode::ReadWrite };
        let expected = [
            mounted("/workspace", What::File(id)),
            mounted("/workspace/d/s", What::Cover),
            mounted("/workspace/d", What::Parent(id)),
        ];
        let usual = [
            "/ ro - overlay",
            "/proc rw - proc",
            "/proc/keys rw - tmpfs",
            "/sys/fs/cgroup/memory ro - cgroup",
            "/dev/pts rw - devpts",
            "/etc/hosts rw - ext4",
            "/tmp rw - tmpfs",
            "/workspace rw - ext4",
            "/workspace/d/s ro - devtmpfs",
        ];
        let found = |more: &[&str]| {
            let entries = usual.iter().chain(more).map(|entry| {
                let (place, kind) = entry.split_once(" - ").unwrap();
                format!("1 0 8:1 / {place} - {kind} source rw\n")
            });
            let text = entries.collect::<String>();
            stray(text.as_bytes(), &expected, &["/tmp".into()])
        };
        assert_eq!(found(&[]), None);
        for more in [
            "/home/me/.ssh rw - ext4",
            "/workspace/other rw - ext4",
            "/workspace/d rw - ext4",
            "/proc/1 rw - ext4",
            "/sys/kernel/debug rw - debugfs",
            "/dev/mapper rw - devtmpfs",
            "/tmp/x rw - tmpfs",
            "/tmp rw - ext4",
        ] {
            let place = more.split(' ').next().map(PathBuf::from);
            assert_eq!(found(&[more]), place);
        }
    }
}
