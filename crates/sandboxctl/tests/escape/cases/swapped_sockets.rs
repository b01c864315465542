//! A socket in a read-only shared directory, which somebody who may write there swaps for a file, over and over, while
//! it is being masked.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::process::{Output, Stdio};

use crate::machine::callers;
use crate::place::Place;

const SWAP: &str = r#"
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
first, second = (name.encode() for name in sys.argv[1:])
print("ready", flush=True)
while libc.renameat2(-100, first, -100, second, 2) == 0:
    pass
"#;

const CONNECT: &str = r#"
import socket
answers = set()
for _ in range(200):
    for name in ["a", "b"]:
        try:
            socket.socket(socket.AF_UNIX).connect("/shared/" + name)
            answers.add("connected")
        except OSError as error:
            answers.add("refused")
print("connected" if "connected" in answers else "refused")
"#;

/// How often it is tried. Without the comparison every second try succeeds.
const TRIES: usize = 30;

#[test]
fn a_socket_that_is_swapped_while_it_is_masked_is_not_reached() {
    for caller in callers("swapped sockets") {
        let place = Place::new(caller);
        place.write("home/shared/b", "");
        let [socket, file] = ["a", "b"].map(|name| place.path("home/shared").join(name));
        let listener = UnixListener::bind(&socket).unwrap();
        fs::set_permissions(&socket, Permissions::from_mode(0o777)).unwrap();
        let shared = format!("{}:/shared:ro", place.path("home/shared").display());
        let run = || {
            let Output { stdout, stderr, .. } =
                place.inside(&["-v", &shared], &["python3", "-c", CONNECT]).output().unwrap();
            let [answer, said] = [stdout, stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
            (answer, said)
        };
        assert_eq!(run().0, "refused\n", "by {caller:?}: it is masked while nobody swaps it");

        let names = [socket.to_str().unwrap(), file.to_str().unwrap()];
        let mut swapper = place
            .command(&["python3", "-c", SWAP, names[0], names[1]])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut stdout = std::io::BufReader::new(swapper.stdout.take().unwrap());
        std::io::BufRead::read_line(&mut stdout, &mut line).unwrap();
        let answers: Vec<_> = (0..TRIES).map(|_| run()).collect();
        swapper.kill().unwrap();
        swapper.wait().unwrap();
        drop(listener);
        for (answer, said) in answers {
            // Either it was not started because of the swap, or the mask is where the socket is.
            let refused =
                answer == "refused\n" || (answer.is_empty() && said.contains("somebody swapped it"));
            assert!(refused, "by {caller:?}: {answer}{said}");
        }
    }
}
