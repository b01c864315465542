//! The session keyring of whoever calls, whose keys the processes of its user may read.

use crate::machine::callers;
use crate::place::Place;

/// Joins a session keyring, adds a key to it that only who possesses it may see, and executes its arguments.
const WITH_KEY: &str = "
import ctypes, os, platform, sys
add, keyctl = {'x86_64': (248, 250), 'aarch64': (217, 219)}[platform.machine()]
call = ctypes.CDLL(None).syscall
assert call(keyctl, 1, None) != -1
key = call(add, b'user', b'a-key-of-the-callers', b'v', 1, -3)
assert key != -1 and call(keyctl, 5, key, 0x3f000000) != -1
os.execv(sys.argv[1], sys.argv[1:])
";

#[test]
fn no_key_of_the_callers_session_enters() {
    for caller in callers("session keyrings") {
        let place = Place::new(caller);
        let keys = |words: Vec<std::ffi::OsString>| {
            let start = ["python3", "-c", WITH_KEY].map(std::ffi::OsString::from).to_vec();
            let output = place.outside(&[start, words].concat()).output().unwrap();
            assert!(output.status.success(), "by {caller:?}: {output:?}");
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        let outside = keys(["/bin/cat", "/proc/keys"].map(Into::into).to_vec());
        assert!(outside.contains("a-key-of-the-callers"), "the control, by {caller:?}: {outside}");
        let inside = keys(place.run(&["--quiet"], &["cat", "/proc/keys"]));
        assert!(!inside.contains("a-key-of-the-callers"), "by {caller:?}: {inside}");
    }
}
