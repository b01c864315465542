//! What of the host decides whether a sandbox starts and what limits it: settings of the kernel, and control groups.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use policy::rules::limits::Limits;
use rustix::process::{Resource, getrlimit};
use serde::Serialize;

use crate::host::cgroups::{CGROUPS, DELEGATE, SCOPE, VERSION_2, has_version_2};

/// One thing of the host that decides what a sandbox can be.
#[derive(Debug, Eq, PartialEq, Serialize)]
pub struct HostCheck {
    /// What was looked at.
    pub name: &'static str,
    /// Whether it stands in the way of nothing.
    pub good: bool,
    pub found: String,
    pub fix: Option<String>,
}

/// Checks the settings that decide which namespaces and limits there can be, below `root`, which is `/` outside of tests.
pub(super) fn host_checks(root: &Path, uid: u32) -> Vec<HostCheck> {
    let mut checks = vec![namespace_limit(root)];
    checks.extend(overcommit(root));
    checks.extend(open_files(root, getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX)));
    // Root may do all this whatever these say.
    if uid != 0 {
        checks.extend(unprivileged_clone(root));
        checks.extend(apparmor(root));
        checks.push(cgroups(root, uid));
    }
    checks
}

/// Checks `user.max_user_namespaces`, see namespaces(7): without the file the kernel has no user namespaces at all.
fn namespace_limit(root: &Path) -> HostCheck {
    let name = "user.max_user_namespaces";
    match setting(root, name) {
        Ok(value) if value == "0" => HostCheck {
            name,
            good: false,
            found: "0: no user namespace may be made".to_owned(),
            fix: Some(format!("sudo sysctl -w {name}=15000")),
        },
        Ok(value) => HostCheck { name, good: true, found: value, fix: None },
        Err(error) => HostCheck {
            name,
            good: false,
            found: format!(
                "cannot be read ({error}): this kernel has no user namespaces, or /proc is restricted"
            ),
            fix: None,
        },
    }
}

/// Checks whether memory is counted before it is used (`vm.overcommit_memory`, see proc(5)): one count for the machine then bounds what
/// everybody may map.
fn overcommit(root: &Path) -> Option<HostCheck> {
    let name = "vm.overcommit_memory";
    let found = "2: a sandbox can map all that the machine may commit, whatever its limits; others then start nothing until it ends";
    let is_strict = setting(root, name).is_ok_and(|value| value == "2");
    let fix = Some(format!("sudo sysctl -w {name}=0"));
    is_strict.then(|| HostCheck { name, good: false, found: found.to_owned(), fix })
}

/// Checks whether a sandbox can open all files that the machine may have open (`fs.file-max`, see proc(5)), if a process may have so many
/// `descriptors`. A mapped file stays open without one.
fn open_files(root: &Path, descriptors: u64) -> Option<HostCheck> {
    let name = "fs.file-max";
    let number = |name| setting(root, name).ok()?.parse::<u64>().ok();
    let of_machine = number(name)?;
    let of_process = number("vm.max_map_count")?.saturating_add(descriptors);
    let processes = Limits::default().pids.map_or(u64::MAX, u64::from);
    let found = format!(
        "{of_machine}: a sandbox of {processes} processes can open more files, at some 200 bytes of its memory each; others then open none until it ends"
    );
    // What systemd sets: memory bounds it then.
    let fix = Some(format!("sudo sysctl -w {name}={}", i64::MAX));
    let is_short = of_machine < of_process.saturating_mul(processes);
    is_short.then_some(HostCheck { name, good: false, found, fix })
}

/// Checks `kernel.unprivileged_userns_clone`, which exists on Debian's kernels and those made from them.
fn unprivileged_clone(root: &Path) -> Option<HostCheck> {
    let name = "kernel.unprivileged_userns_clone";
    let value = setting(root, name).ok()?;
    let good = value != "0";
    Some(HostCheck { name, good, found: value, fix: (!good).then(|| format!("sudo sysctl -w {name}=1")) })
}

/// Checks `kernel.apparmor_restrict_unprivileged_userns`, which exists on Ubuntu from 23.10: a user namespace then has no
/// rights unless a profile grants it.
fn apparmor(root: &Path) -> Option<HostCheck> {
    let name = "kernel.apparmor_restrict_unprivileged_userns";
    let value = setting(root, name).ok()?;
    let good = value == "0";
    Some(HostCheck { name, good, found: value, fix: (!good).then(|| format!("sudo sysctl -w {name}=0")) })
}

/// The controllers that a user's limits need, see cgroups(7).
const CONTROLLERS: [&str; 3] = ["cpu", "memory", "pids"];

/// Checks whether the user may limit memory, processors and processes of everything inside together.
fn cgroups(root: &Path, uid: u32) -> HostCheck {
    let check = |good, found: String, fix: Option<&str>| HostCheck {
        name: "cgroups",
        good,
        found,
        fix: fix.map(str::to_owned),
    };
    let tree = root.join(CGROUPS);
    if !has_version_2(root) {
        return check(false, "version 1, which only root may use for limits".to_owned(), Some(VERSION_2));
    }
    // In version 2 there is one line, `0::` and the path, see cgroups(7).
    let own = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let own = own.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or_default();
    let directory = tree.join(own);
    if directory.metadata().map_or(u32::MAX, |metadata| metadata.uid()) != uid {
        return check(false, format!("/{own} was not delegated to you"), Some(SCOPE));
    }
    let there = fs::read_to_string(directory.join("cgroup.controllers")).unwrap_or_default();
    let is_missing = |name: &&str| !there.split_whitespace().any(|controller| controller == *name);
    let missing: Vec<&str> = CONTROLLERS.into_iter().filter(is_missing).collect();
    if missing.is_empty() {
        check(true, format!("/{own} is yours, with cpu, memory and pids"), None)
    } else {
        check(false, format!("/{own} is yours, without {}", missing.join(", ")), Some(DELEGATE))
    }
}

fn setting(root: &Path, name: &str) -> io::Result<String> {
    let path = root.join("proc/sys").join(name.replace('.', "/"));
    fs::read_to_string(path).map(|value| value.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes a host with these settings, where cgroups stand in the way of nothing.
    fn host(settings: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), "proc/self/cgroup", "0::/mine\n");
        write(root.path(), "sys/fs/cgroup/cgroup.controllers", "cpu memory pids\n");
        write(root.path(), "sys/fs/cgroup/mine/cgroup.controllers", "cpuset cpu io memory pids\n");
        for (name, value) in settings {
            write(root.path(), &format!("proc/sys/{}", name.replace('.', "/")), &format!("{value}\n"));
        }
        root
    }

    fn write(root: &Path, name: &str, text: &str) {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Returns who owns what the tests create.
    fn own_uid() -> u32 {
        tempfile::tempdir().unwrap().path().metadata().unwrap().uid()
    }

    fn bad(settings: &[(&str, &str)], uid: u32) -> Vec<String> {
        let root = host(settings);
        let checks = host_checks(root.path(), uid);
        // The files belong to whoever runs the tests, not to `uid`.
        let settings = checks.into_iter().filter(|check| check.name != "cgroups");
        settings.filter(|check| !check.good).map(|check| check.fix.unwrap_or_default()).collect()
    }

    #[test]
    fn the_fix_for_cgroups_fits_what_is_missing() {
        let root = host(&[]);
        let uid = own_uid();
        assert!(cgroups(root.path(), uid).good);
        assert_eq!(cgroups(root.path(), uid + 1).fix.as_deref(), Some(SCOPE));
        assert_eq!(crate::host::cgroups::remedy_for_limits(root.path()), SCOPE);
        write(root.path(), "sys/fs/cgroup/mine/cgroup.controllers", "memory pids\n");
        let check = cgroups(root.path(), uid);
        assert_eq!(
            (check.found.as_str(), check.fix.as_deref()),
            ("/mine is yours, without cpu", Some(DELEGATE))
        );
        fs::remove_file(root.path().join("sys/fs/cgroup/cgroup.controllers")).unwrap();
        assert_eq!(cgroups(root.path(), uid).fix.as_deref(), Some(VERSION_2));
        assert_eq!(crate::host::cgroups::remedy_for_limits(root.path()), VERSION_2);
    }

    #[test]
    fn an_open_host_has_nothing_to_fix() {
        let settings = [("user.max_user_namespaces", "15000"), ("vm.overcommit_memory", "0")];
        assert!(bad(&settings, 1001).is_empty());
    }

    #[test]
    fn names_the_command_for_each_closed_setting() {
        let settings = [
            ("user.max_user_namespaces", "0"),
            ("vm.overcommit_memory", "2"),
            ("kernel.unprivileged_userns_clone", "0"),
            ("kernel.apparmor_restrict_unprivileged_userns", "1"),
        ];
        assert_eq!(
            bad(&settings, 1001),
            [
                "sudo sysctl -w user.max_user_namespaces=15000",
                "sudo sysctl -w vm.overcommit_memory=0",
                "sudo sysctl -w kernel.unprivileged_userns_clone=1",
                "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
            ]
        );
    }

    #[test]
    fn the_machine_has_more_open_files_than_a_sandbox() {
        let fix = |of_machine: &str, descriptors| {
            let root = host(&[("fs.file-max", of_machine), ("vm.max_map_count", "65530")]);
            open_files(root.path(), descriptors).and_then(|check| check.fix)
        };
        let systemd = "9223372036854775807";
        let command = Some(format!("sudo sysctl -w fs.file-max={systemd}"));
        // The kernel's own for 24 GB, and for 640 GB; a process may have as many mappings as descriptors, and more.
        for (of_machine, descriptors) in [("2466170", 4096), ("66000000", 4096), ("80000000", 524_288)] {
            assert_eq!(fix(of_machine, descriptors), command, "{of_machine} {descriptors}");
        }
        for (of_machine, descriptors) in [(systemd, 524_288), ("80000000", 4096)] {
            assert_eq!(fix(of_machine, descriptors), None, "{of_machine} {descriptors}");
        }
        assert_eq!(open_files(host(&[]).path(), 4096), None);
    }

    #[test]
    fn settings_that_bind_only_users_do_not_bind_root() {
        let settings = [("user.max_user_namespaces", "15000"), ("kernel.unprivileged_userns_clone", "0")];
        assert!(bad(&settings, 0).is_empty());
    }

    #[test]
    fn a_kernel_without_user_namespaces_is_distinguished() {
        let root = host(&[]);
        let checks = host_checks(root.path(), 1001);
        assert!(checks[0].found.contains("no user namespaces"), "{checks:?}");
    }
}
