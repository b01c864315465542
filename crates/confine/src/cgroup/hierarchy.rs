//! Where the control groups of this process are: read from `/proc`, without touching them (cgroups(7)).

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::mount::mountinfo::{self, MountInfo};

/// A controller that limits something this program limits.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Controller {
    Memory,
    Cpu,
    /// Processes and threads.
    Pids,
}

/// The directories of this process's own groups, as the mounts show them.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Hierarchy {
    /// Version 1: one directory for each controller that is mounted.
    pub(super) v1: BTreeMap<Controller, PathBuf>,
    /// Version 2: one for all.
    pub(super) v2: Option<Unified>,
}

/// A place in the hierarchy of version 2.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Unified {
    /// Where the hierarchy is mounted: nothing above is part of it.
    pub(super) mount: PathBuf,
    /// The group of this process: the mount or something below.
    pub(super) own: PathBuf,
}

impl Controller {
    pub(super) const ALL: [Self; 3] = [Self::Memory, Self::Cpu, Self::Pids];

    /// Returns its name in mount options and in `cgroup.controllers`.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Cpu => "cpu",
            Self::Pids => "pids",
        }
    }
}

impl Hierarchy {
    /// Reads `/proc/self/mountinfo` and `/proc/self/cgroup`.
    pub fn detect() -> io::Result<Self> {
        let mounts = read(mountinfo::PATH)?;
        let groups = read("/proc/self/cgroup")?;
        Ok(Self::parse(&mounts, &String::from_utf8_lossy(&groups)))
    }

    /// Finds the groups in the text of those two files. Lines that make no sense are passed over.
    pub fn parse(mountinfo: &[u8], cgroup: &str) -> Self {
        let mounts: Vec<MountInfo> = mountinfo::of_kind(mountinfo, b"cgroup").collect();
        let mut found = Self::default();
        for line in cgroup.lines() {
            // hierarchy-ID:controller-list:cgroup-path; version 2 is number 0 without controllers.
            let mut fields = line.splitn(3, ':');
            let (Some(id), Some(controllers), Some(group)) = (fields.next(), fields.next(), fields.next())
            else {
                continue;
            };
            if id == "0" && controllers.is_empty() {
                let mount = |mount: &MountInfo| {
                    let own = shows(mount, group).filter(|_| mount.kind == b"cgroup2")?;
                    Some(Unified { mount: mount.point.clone(), own })
                };
                found.v2 = mounts.iter().find_map(mount);
                continue;
            }
            for controller in Controller::ALL {
                let name = controller.name();
                if controllers.split(',').any(|one| one == name) {
                    let own =
                        mounts.iter().filter(|mount| has(mount, name)).find_map(|mount| shows(mount, group));
                    found.v1.extend(own.map(|own| (controller, own)));
                }
            }
        }
        found
    }
}

/// Reads a file of `/proc` in as few calls as can be: the kernel makes the text again for each.
fn read(path: &str) -> io::Result<Vec<u8>> {
    let mut text = Vec::with_capacity(32 << 10);
    fs::File::open(path)?.read_to_end(&mut text)?;
    Ok(text)
}

/// Returns whether a mount is one of version 1 with this controller.
fn has(mount: &MountInfo<'_>, controller: &str) -> bool {
    mount.kind == b"cgroup"
        && mount.options.split(|byte| *byte == b',').any(|one| one == controller.as_bytes())
}

/// Returns the path at which a mount shows `group`. In a cgroup namespace a group above its root begins with `/..`, and
/// has none.
fn shows(mount: &MountInfo<'_>, group: &str) -> Option<PathBuf> {
    let below = Path::new(group).strip_prefix(&mount.root).ok()?;
    let inside = below.components().all(|part| matches!(part, std::path::Component::Normal(_)));
    // `join` of an empty path would end in a slash.
    inside.then(|| mount.point.components().chain(below.components()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v1(found: &Hierarchy) -> Vec<(Controller, &str)> {
        found.v1.iter().map(|(controller, own)| (*controller, own.to_str().unwrap())).collect()
    }

    fn v2(found: &Hierarchy) -> Option<(&str, &str)> {
        found.v2.as_ref().map(|unified| (unified.mount.to_str().unwrap(), unified.own.to_str().unwrap()))
    }

    #[test]
    fn pure_version_1_with_two_controllers_on_one_mount() {
        let found = Hierarchy::parse(
            b"25 24 0:21 / /sys/fs/cgroup ro,nosuid shared:8 - tmpfs tmpfs ro,mode=755\n\
             26 25 0:22 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:9 - cgroup cgroup rw,cpu,cpuacct\n\
             27 25 0:23 / /sys/fs/cgroup/memory rw shared:10 - cgroup cgroup rw,memory\n\
             28 25 0:24 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd\n",
            "3:cpu,cpuacct:/user.slice\n2:memory:/\n1:name=systemd:/user.slice/session-1.scope\n",
        );
        assert_eq!(
            v1(&found),
            [
                (Controller::Memory, "/sys/fs/cgroup/memory"),
                (Controller::Cpu, "/sys/fs/cgroup/cpu,cpuacct/user.slice")
            ]
        );
        assert_eq!(v2(&found), None);
    }

    #[test]
    fn hybrid() {
        let found = Hierarchy::parse(
            b"35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n\
             39 31 0:36 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids\n\
             41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n",
            "8:pids:/\n4:memory:/process_api/4870\n0::/\n",
        );
        assert_eq!(
            v1(&found),
            [
                (Controller::Memory, "/sys/fs/cgroup/memory/process_api/4870"),
                (Controller::Pids, "/sys/fs/cgroup/pids")
            ]
        );
        assert_eq!(v2(&found), Some(("/sys/fs/cgroup/unified", "/sys/fs/cgroup/unified")));
    }

    #[test]
    fn version_2_in_a_session_of_a_user() {
        let own = "/user.slice/user-1000.slice/user@1000.service/app.slice/app-term.scope";
        let found = Hierarchy::parse(
            b"30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot\n",
            &format!("0::{own}\n"),
        );
        assert_eq!(v2(&found), Some(("/sys/fs/cgroup", format!("/sys/fs/cgroup{own}").as_str())));
        assert_eq!(v1(&found), []);
    }

    #[test]
    fn the_root_of_version_2() {
        let found = Hierarchy::parse(b"30 24 0:26 / /sys/fs/cgroup rw - cgroup2 none rw\n", "0::/\n");
        assert_eq!(v2(&found), Some(("/sys/fs/cgroup", "/sys/fs/cgroup")));
    }

    #[test]
    fn a_container_that_sees_only_its_own_part() {
        let found = Hierarchy::parse(
            b"714 713 0:30 /docker/4a1 /sys/fs/cgroup/memory ro,nosuid master:11 - cgroup cgroup rw,memory\n",
            "5:memory:/docker/4a1/inner\n",
        );
        assert_eq!(v1(&found), [(Controller::Memory, "/sys/fs/cgroup/memory/inner")]);
    }

    #[test]
    fn a_group_that_no_mount_shows_is_not_found() {
        let found = Hierarchy::parse(
            b"714 713 0:30 /docker/4a1 /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n\
             715 713 0:31 / /sys/fs/cgroup/unified ro - cgroup2 cgroup2 rw\n",
            "5:memory:/docker/4a12\n0::/../sibling\n",
        );
        assert_eq!(found, Hierarchy::default());
    }

    #[test]
    fn blanks_in_mount_points_are_escaped() {
        let found = Hierarchy::parse(b"1 1 0:1 / /my\\040groups rw - cgroup2 c rw\nnonsense\n", "0::/a\nx\n");
        assert_eq!(v2(&found), Some(("/my groups", "/my groups/a")));
    }
}
