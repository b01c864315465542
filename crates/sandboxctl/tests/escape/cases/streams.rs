//! Standard streams that hand over more than a stream: a directory to walk out by, a device to talk to.

use std::fs::File;
use std::process::Stdio;

use crate::machine::callers;
use crate::place::Place;

#[test]
fn a_directory_or_a_device_as_a_stream_is_refused() {
    for caller in callers("streams") {
        let place = Place::new(caller);
        place.write("secret", "a secret");
        let read = ["cat", "/proc/self/fd/0/secret"];
        let directory = || Stdio::from(File::open(place.path("")).unwrap());
        assert!(
            place.outside(&read).stdin(directory()).status().unwrap().success(),
            "the control, by {caller:?}: a directory as standard input leads to what lies in it"
        );
        for (name, stream) in
            [("a directory", directory()), ("a device", File::open("/dev/random").unwrap().into())]
        {
            let output = place.inside(&["--format=text"], &read).stdin(stream).output().unwrap();
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(77), "{name}, by {caller:?}: {stderr}");
            assert!(stderr.contains("standard input"), "{name}, by {caller:?}: {stderr}");
        }
        for allowed in ["/dev/null", "/dev/zero", "/dev/full"] {
            let stream = File::open(allowed).unwrap();
            let status = place.inside(&["--quiet"], &["true"]).stdin(stream).status().unwrap();
            assert!(status.success(), "{allowed}, by {caller:?}");
        }
    }
}
