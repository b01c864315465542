//! Leases: whoever opens a leased file on the host waits until it is given back, or for 45 seconds (fcntl(2)).

use crate::attack::Attack;

#[test]
fn no_file_is_leased() {
    Attack::new(
        r#"
import fcntl
file = os.open("leased", os.O_RDWR | os.O_CREAT, 0o600)
attempt("F_SETLEASE", lambda: fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK))
"#,
    )
    .gets(&[("F_SETLEASE", "ok", "EPERM")]);
}
