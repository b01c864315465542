//! Resource limits, which belong to a whole process: this file is one, and holds one test.

use std::process::Command;

use confine::protocol::RlimitFallback;
use confine::report::Status;
use confine::rlimit::apply;
use policy::plan::Layer;
use policy::rules::limits::Bytes;
use rustix::process::{Resource, getrlimit};

#[test]
fn limits_are_lowered_reported_and_never_raised() {
    let before = getrlimit(Resource::Nofile).maximum;
    let memory = Bytes(1 << 30);
    let findings = apply(&RlimitFallback { memory: Some(memory), pids: Some(4000) }).unwrap();
    let lines: Vec<_> = findings.iter().map(|finding| (finding.layer, finding.status)).collect();
    assert_eq!(lines, [(Layer::Memory, Status::Partly), (Layer::Pids, Status::Partly)]);
    let core = getrlimit(Resource::Core);
    assert_eq!((core.current, core.maximum), (Some(1), Some(1)));
    assert_eq!(getrlimit(Resource::Data).maximum, Some(memory.0));
    assert_eq!(getrlimit(Resource::Nproc).maximum, Some(4000));
    let after = getrlimit(Resource::Nofile);
    assert_eq!(after.maximum, before);
    assert_eq!(after.current, Some(before.map_or(1 << 16, |hard| hard.min(1 << 16))));
    // A second call with more keeps what holds.
    apply(&RlimitFallback { memory: Some(Bytes(2 << 30)), pids: None }).unwrap();
    assert_eq!(getrlimit(Resource::Data).maximum, Some(memory.0));
    // What it is for: a child cannot have more memory than that.
    let grabs = |bytes: u64| {
        let status =
            Command::new("python3").args(["-c", &format!("b = bytearray({bytes})")]).output().unwrap();
        status.status.success()
    };
    assert!(grabs(1 << 20));
    assert!(!grabs(3 << 30));
}
