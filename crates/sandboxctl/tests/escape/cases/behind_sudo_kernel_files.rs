//! Files of the kernel that a user behind sudo names: for some of them the effective user counts, which stays root.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use super::behind_sudo_records::{Sudo, open_for_everybody};
use crate::machine::NORMAL;

/// Harmless, and root's alone to write.
const SETTING: &str = "/proc/sys/kernel/domainname";

#[test]
fn no_setting_of_the_kernel_is_written_or_read_by_a_link_of_the_users() {
    let Some(sudo) = Sudo::new("settings of the kernel under sudo") else { return };
    let before = fs::read_to_string(SETTING).unwrap();
    // The controls: root may write it, and the user may not.
    fs::write(SETTING, &before).unwrap();
    let alone = sudo.0.outside(&["sh", "-c", &format!("echo x >{SETTING}")]).output().unwrap();
    assert!(!alone.status.success(), "{alone:?}");

    sudo.0.write("man/other", "");
    let link = sudo.0.path("man/sandboxctl.1");
    symlink(SETTING, &link).unwrap();
    std::os::unix::fs::lchown(&link, Some(1001), Some(1001)).unwrap();
    let directory = sudo.0.path("man");
    let output = sudo.call(&["man", "--output-dir", directory.to_str().unwrap()]);
    let after = fs::read_to_string(SETTING).unwrap();
    fs::write(SETTING, &before).unwrap();
    assert_eq!(after, before, "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("a file of the kernel's"), "{output:?}");

    let output = sudo.call(&["batch", "/proc/sys/kernel/usermodehelper/bset"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("a file of the kernel's"), "{output:?}");
}

/// The user behind sudo says at the control socket that `/workspace` is a directory of the kernel's, in which root alone may read.
#[test]
fn no_directory_of_the_kernel_is_taken_for_one_of_a_sandbox() {
    let Some(sudo) = Sudo::new("directories of the kernel under sudo") else { return };
    let shared = sudo.0.path("shared");
    fs::create_dir(&shared).unwrap();
    fs::write(shared.join("bset"), "4294967295\n").unwrap();
    sudo.works(&["create", "--name", "base"]);
    let control = sudo.record().with_file_name("control");
    let kept = control.with_file_name("kept");
    fs::rename(&control, &kept).unwrap();
    // The control: whoever listens there is believed.
    for (opened, is_read) in [(&*shared, true), (Path::new("/proc/sys/kernel/usermodehelper"), false)] {
        open_for_everybody(&control, NORMAL, opened);
        for words in [
            &["fs", "read", "base", "/workspace/bset"][..],
            &["fs", "search", "base", "[0-9]", "/workspace"],
            &["fs", "list", "base", "/workspace"],
        ] {
            let output = sudo.call(words);
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            let is_shown = said.contains("4294967295") || words[1] == "list" && said.contains("bset");
            assert_eq!(is_shown, is_read, "{words:?} {opened:?}: {output:?}");
        }
        fs::remove_file(&control).unwrap();
    }
    fs::rename(&kept, &control).unwrap();
    let copied = sudo.call(&["cp", "/proc/sys/kernel/usermodehelper/bset", "base:/tmp/"]);
    let said = String::from_utf8_lossy(&copied.stderr).into_owned();
    assert!(!copied.status.success() && said.contains("a file of the kernel's"), "{copied:?}");
    sudo.works(&["rm", "--force", "base"]);
}

/// Anybody may open `/proc/PID/stat`; where the stack of a process of root's is, it says only to whoever reads it as root.
#[test]
fn standard_input_is_read_with_the_rights_of_the_user() {
    let Some(sudo) = Sudo::new("files of the kernel as standard input under sudo") else { return };
    sudo.works(&["create", "--name", "base"]);
    // It waits for its input to end, and is there once it has answered.
    let mut of_root = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    of_root.stdin.as_mut().unwrap().write_all(b"x").unwrap();
    of_root.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    let stat = format!("/proc/{}/stat", of_root.id());
    let start_of_stack = |stat: &str| stat.split(' ').nth(27).unwrap().to_owned();
    let input = || Stdio::from(File::open(&stat).unwrap());
    // The controls: who reads it decides.
    let as_root = start_of_stack(&fs::read_to_string(&stat).unwrap());
    assert_ne!(as_root, "0");
    let alone = sudo.0.outside(&["cat"]).stdin(input()).output().unwrap();
    assert_eq!(start_of_stack(&String::from_utf8_lossy(&alone.stdout)), "0");

    let written = sudo.call_with(input(), &["fs", "write", "base", "/workspace/stat"]);
    assert!(written.status.success(), "{written:?}");
    let seen = fs::read_to_string(sudo.0.workspace().join("stat")).unwrap();
    drop(of_root.stdin.take());
    of_root.wait().unwrap();
    assert_eq!(start_of_stack(&seen), "0");
    sudo.works(&["rm", "--force", "base"]);
}

#[test]
fn root_ends_no_container_that_the_user_has_noted() {
    let Some(sudo) = Sudo::new("pools under sudo") else { return };
    let output = sudo.call(&["pool", "drain"]);
    assert!(!output.status.success(), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("under sudo"), "{output:?}");
    let output = sudo.call(&["pool", "refill", "0"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("is not started by sudo"), "{output:?}");
}
