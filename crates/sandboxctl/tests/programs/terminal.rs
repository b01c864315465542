//! An interactive bash in a terminal.

use std::process::Output;

use crate::Caller;
use crate::place::Place;

/// A person may use it inside as outside. The person is `scripts/terminal.py`.
pub(crate) fn is_used_alike(caller: Caller) {
    let bash = ["bash", "--noprofile", "--norc", "-i"];
    let place = Place::new(caller);
    let inside = place.run(&["--env", "TERM=xterm"], &bash);
    for (name, argv) in [("outside", bash.map(Into::into).to_vec()), ("inside", inside)] {
        let mut words = vec!["python3".into(), "-c".into(), include_str!("scripts/terminal.py").into()];
        words.extend(argv);
        let Output { stdout, stderr, .. } = place.outside(&words).env("TERM", "xterm").output().unwrap();
        let stderr = String::from_utf8_lossy(&stderr);
        assert_eq!(String::from_utf8_lossy(&stdout), "bash ended with 3\n", "{name} by {caller:?}: {stderr}");
    }
}
