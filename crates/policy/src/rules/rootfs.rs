//! What a native sandbox has besides what is shared with it: the host's system, and directories of its own.

use crate::config::defaults::HOME;

/// Directories of the host's system that every program expects, mounted read-only.
pub const HOST_SYSTEM: &[&str] = &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];

/// What of the host's `/etc` is needed to run its programs, read-only. None of it holds a secret: the loader's cache, links to
/// alternatives, certificates, the time zone, names of services, protocols and types of files, fonts, and settings of programs in
/// `/usr` that do not start, or do something else, without them.
pub const ETC: &[&str] = &[
    "/etc/ImageMagick-6", "/etc/ImageMagick-7", "/etc/alternatives", "/etc/ca-certificates/extracted",
    "/etc/chromium.d", "/etc/fonts", "/etc/gitconfig", "/etc/java-11-openjdk", "/etc/java-17-openjdk",
    "/etc/java-21-openjdk", "/etc/java-25-openjdk", "/etc/java-8-openjdk", "/etc/ld.so.cache",
    "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime", "/etc/maven", "/etc/mime.types",
    "/etc/os-release", "/etc/pki/ca-trust/extracted", "/etc/pki/tls/certs", "/etc/protocols",
    "/etc/services", "/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/vim",
];

/// Files of `/etc` that each sandbox has of its own: `sandbox` makes them, and a test there compares the two lists.
pub const OWN_ETC: &[&str] = &[
    "/etc/group", "/etc/hostname", "/etc/hosts", "/etc/nsswitch.conf", "/etc/passwd", "/etc/resolv.conf",
    "/etc/shells",
];

/// Where every sandbox has a tmpfs, in a container too: anything may be written there until the sandbox ends.
pub const TMPFS_PATHS: [&str; 4] = ["/dev/shm", HOME, "/run", "/tmp"];

/// File systems that the kernel makes for the sandbox alone. What mounts them is in `sandbox`; this list says that they are there.
pub const OF_THE_KERNEL: &[&str] = &["/dev", "/proc"];

/// Where a kernel with PSI has its files of pressure (Documentation/accounting/psi.rst): whoever writes to one sets a trigger.
pub const PRESSURE: &str = "/proc/pressure";

/// Devices that give nothing away, in `/dev`.
pub const DEVICES: &[&str] = &["full", "null", "random", "tty", "urandom", "zero"];

/// What else is in `/dev`, for terminals and the streams of a process. As above, `sandbox` makes it.
pub const OF_THE_TERMINAL: &[&str] = &["fd", "ptmx", "pts", "stderr", "stdin", "stdout"];
