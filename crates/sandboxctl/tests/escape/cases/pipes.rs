//! Pipes that other programs of the caller's use as well: a shell whose script is in one, whoever has written into one before.

use std::ffi::OsString;

use crate::machine::{callers, runners};
use crate::place::Place;

/// Writes into its standard input, also after it has made room for that.
const INJECT: &str = r#"
import fcntl, os
F_SETPIPE_SZ = 1031
for size in (4096, 1 << 16):
    try:
        fcntl.fcntl(0, F_SETPIPE_SZ, size)
        fd = os.open("/proc/self/fd/0", os.O_WRONLY | os.O_NONBLOCK)
        os.write(fd, b"echo injected\n")
    except OSError:
        pass
"#;

/// A script that runs what its arguments say twice.
const SCRIPT: &str = "\"$@\"\necho between\n\"$@\"\necho end\n";

/// Sets a flag of its streams.
const UNBLOCK: &str = r"
import fcntl, os
for fd in range(3):
    fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) | os.O_NONBLOCK)
";

/// Says which streams have that flag when what its arguments say has ended.
const PARENT: &str = r"
import fcntl, os, subprocess, sys
subprocess.run(sys.argv[1:])
print([fd for fd in range(3) if fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_NONBLOCK])
";

/// Reads what others have written into its standard output.
const STEAL: &str = r#"
import os, sys
stolen = b""
try:
    fd = os.open("/proc/self/fd/1", os.O_RDONLY | os.O_NONBLOCK)
    stolen = os.read(fd, 100)
except OSError:
    pass
os.write(2, b"stolen: " + stolen)
"#;

/// Runs a shell script of the caller's on the host and in every kind of sandbox, with the attack as its arguments, and gives
/// its output to `check`: the one of the control, and all others.
fn in_pipelines(test: &str, script: &str, attack: &str, check: impl Fn(bool, &str, &str, &str)) {
    for caller in callers(test) {
        let attempt = |place: &Place, argv: Vec<OsString>, what: &str, is_control| {
            place.write("script", SCRIPT);
            place.write("parent", PARENT);
            let words = ["bash", "-c", script, "bash"].map(OsString::from).into_iter().chain(argv);
            let output = place.outside(&words.collect::<Vec<_>>()).output().unwrap();
            let [stdout, stderr] =
                [output.stdout, output.stderr].map(|said| String::from_utf8(said).unwrap());
            check(is_control, &stdout, &stderr, &format!("{what} by {caller:?}: {stderr}"));
        };
        let argv = ["python3", "-c", attack];
        attempt(&Place::new(caller), argv.map(OsString::from).to_vec(), "the control", true);
        for runner in runners(caller, test) {
            let place = Place::on(caller, runner);
            attempt(&place, place.run(&["--quiet"], &argv), &format!("in {runner:?}"), false);
        }
    }
}

#[test]
fn what_an_agent_writes_to_its_input_is_no_script_of_the_callers() {
    let script = "cat ../script | bash -s \"$@\"";
    in_pipelines("scripts in pipes", script, INJECT, |is_control, stdout, _, what| {
        assert_eq!(stdout.contains("injected"), is_control, "{what}");
        assert!(is_control || stdout == "between\nend\n", "{what}: {stdout}");
    });
}

#[test]
fn flags_that_an_agent_sets_are_those_of_its_own_pipes() {
    let script = ": | python3 ../parent \"$@\" 2>&1 | cat";
    in_pipelines("flags of pipes", script, UNBLOCK, |is_control, stdout, _, what| {
        assert_eq!(stdout, if is_control { "[0, 1, 2]\n" } else { "[]\n" }, "{what}");
    });
}

#[test]
fn what_others_have_written_to_its_output_is_read_by_no_agent() {
    let script = "{ echo secret; \"$@\"; : > done; } | { until [ -e done ]; do sleep 0.1; done; cat; }";
    in_pipelines("output of others", script, STEAL, |is_control, stdout, stderr, what| {
        assert_eq!(stderr.contains("stolen: secret"), is_control, "{what}");
        assert_eq!(stdout, if is_control { "" } else { "secret\n" }, "{what}");
    });
}

#[test]
fn a_file_in_memory_as_a_stream_is_refused() {
    const IN_MEMORY: &str = r#"
import os, subprocess, sys
memory = os.memfd_create("script")
os.write(memory, b"earlier")
reading = os.open(f"/proc/self/fd/{memory}", os.O_RDONLY)
code = subprocess.run(sys.argv[1:], stdin=reading).returncode
print(code, os.pread(memory, 100, 0).decode())
"#;
    const WRITE: &str = "import os; os.write(os.open('/proc/self/fd/0', os.O_WRONLY), b'changed')";
    for caller in callers("files in memory") {
        let place = Place::new(caller);
        let argv = ["python3", "-c", WRITE];
        let run = |argv: Vec<OsString>| {
            let words = ["python3", "-c", IN_MEMORY].map(OsString::from).into_iter().chain(argv);
            let output = place.outside(&words.collect::<Vec<_>>()).output().unwrap();
            [output.stdout, output.stderr].map(|said| String::from_utf8(said).unwrap())
        };
        let [stdout, stderr] = run(argv.map(OsString::from).to_vec());
        assert_eq!(stdout, "0 changed\n", "the control, by {caller:?}: {stderr}");
        let [stdout, stderr] = run(place.run(&["--format=text"], &argv));
        assert_eq!(stdout, "77 earlier\n", "by {caller:?}: {stderr}");
        assert!(stderr.contains("file in memory"), "by {caller:?}: {stderr}");
    }
}
