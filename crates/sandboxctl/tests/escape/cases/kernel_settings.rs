//! Settings of the kernel, which hold for the whole machine. They are opened for writing, never written.

use crate::attack::{Attack, Control};

#[test]
fn no_setting_is_opened_for_writing() {
    Attack::new(
        r#"
for path in ["/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sys/vm/drop_caches",
             "/proc/sys/kernel/hostname", "/proc/sys/net/ipv4/ip_forward", "/proc/sysrq-trigger"]:
    attempt(path, lambda: os.close(os.open(path, os.O_WRONLY)))
"#,
    )
    .control(Control::OutsideByRoot)
    .gets(&[
        ("/proc/sys/kernel/core_pattern", "ok", "EACCES"),
        ("/proc/sys/kernel/modprobe", "ok|ENOENT", "EACCES|ENOENT"),
        ("/proc/sys/vm/drop_caches", "ok", "EACCES"),
        ("/proc/sys/kernel/hostname", "ok", "EACCES"),
        ("/proc/sys/net/ipv4/ip_forward", "ok", "EACCES"),
        ("/proc/sysrq-trigger", "ok|ENOENT", "EACCES|ENOENT"),
    ]);
}
