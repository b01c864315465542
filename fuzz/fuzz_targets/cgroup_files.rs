//! Any text as `/proc/self/mountinfo` and `/proc/self/cgroup`: reading ends without a panic, and what shows no control group
//! changes nothing of what is found, wherever it stands.
#![no_main]

use confine::cgroup::Hierarchy;
use libfuzzer_sys::fuzz_target;

const MOUNTED: &[u8] = b"\n30 24 0:26 / /groups rw - cgroup2 none rw\n";
const GROUP: &str = "0::/inner\n";

fuzz_target!(|files: (Vec<u8>, String)| {
    let (mountinfo, cgroup) = files;
    let _ = Hierarchy::parse(&mountinfo, &cgroup);

    let found = Hierarchy::parse(MOUNTED, GROUP);
    if !mountinfo.windows(6).any(|bytes| bytes == b"cgroup") {
        for text in [[MOUNTED, &mountinfo].concat(), [&mountinfo, MOUNTED].concat()] {
            assert_eq!(found, Hierarchy::parse(&text, GROUP), "{}", String::from_utf8_lossy(&text));
        }
    }
});
