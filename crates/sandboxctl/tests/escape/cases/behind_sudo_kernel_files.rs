//! Files of the kernel that a user behind sudo names: for some of them the effective user counts, which stays root.

use std::fs;
use std::os::unix::fs::symlink;

use super::behind_sudo_records::Sudo;

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

#[test]
fn root_ends_no_container_that_the_user_has_noted() {
    let Some(sudo) = Sudo::new("pools under sudo") else { return };
    let output = sudo.call(&["pool", "drain"]);
    assert!(!output.status.success(), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("under sudo"), "{output:?}");
}
