//! How a start ended, and what the kernel said of the agent in it.

use std::os::unix::process::ExitStatusExt;
use std::process::Output;

/// How it ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        // unshare(1) ends itself by the signal that ended its child.
        let code = output.status.code().unwrap_or_else(|| 128 + output.status.signal().unwrap());
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self { code, out: text(&output.stdout), err: text(&output.stderr) }
    }
}

impl Ended {
    /// The output of an agent that ended well and about which there was nothing to say.
    #[track_caller]
    pub(crate) fn well(self) -> String {
        assert_eq!((self.code, self.err.as_str()), (0, ""), "{}", self.out);
        self.out
    }

    /// The message of a start that was refused.
    #[track_caller]
    pub(crate) fn refused(self) -> String {
        assert_eq!((self.code, self.out.as_str()), (125, ""), "{}", self.err);
        for line in self.err.lines() {
            assert!(line.starts_with("entrypoint: "), "{line}");
        }
        self.err
    }
}

/// The value of a line of `/proc/PID/status`, single spaces between its words.
#[track_caller]
pub(crate) fn field(status: &str, name: &str) -> String {
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.unwrap_or_else(|| panic!("no {name} in {status}")).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Nothing is held, nothing can be gained, and the user is who it should be, in all four places.
#[track_caller]
pub(crate) fn is_agent(status: &str, groups: &str) {
    assert_eq!(field(status, "CapBnd"), "0000000000000000");
    is_agent_within_bounds(status, groups);
}

/// The same, but for a bounding set that there was no right to empty.
#[track_caller]
pub(crate) fn is_agent_within_bounds(status: &str, groups: &str) {
    assert_eq!(field(status, "Uid"), "1000 1000 1000 1000");
    assert_eq!(field(status, "Gid"), "1000 1000 1000 1000");
    assert_eq!(field(status, "Groups"), groups);
    for set in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
        assert_eq!(field(status, set), "0000000000000000", "{set}");
    }
    assert_eq!((field(status, "NoNewPrivs"), field(status, "Seccomp")), ("1".into(), "2".into()));
    assert_eq!((field(status, "SigIgn"), field(status, "SigBlk")), ("0".repeat(16), "0".repeat(16)));
}
