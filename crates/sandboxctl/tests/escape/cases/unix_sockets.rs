//! Unix sockets: whoever reaches the socket of an engine, a message bus or a key agent has what they have.

use std::fs::{self, Permissions};
use std::mem;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::Path;

use crate::attack::Attack;

#[test]
fn no_socket_of_the_host_answers() {
    Attack::new(
        r#"
def connect(path):
    socket.socket(socket.AF_UNIX).connect(path)

home = sys.argv[1]
attempt("outside of every boundary", lambda: connect(home + "/agent.sock"))
attempt("in a boundary", lambda: connect("docker.sock"))
attempt("deeper in a boundary", lambda: connect("run/deep/docker.sock"))
attempt("by a link in a boundary", lambda: connect("link.sock"))
attempt("rename it free", lambda: (os.rename("docker.sock", "free.sock"), connect("free.sock")))
attempt("rename its directory", lambda: (os.rename("run", "away"), connect("away/deep/docker.sock")))
attempt("by a second name", lambda: (os.link("other.sock", "second.sock"), connect("second.sock")))
"#,
    )
    .prepare(|place| {
        place.write("workspace/run/deep/file", "");
        listen(&place.path("home/agent.sock"));
        for name in ["docker.sock", "other.sock", "run/deep/docker.sock"] {
            listen(&place.workspace().join(name));
            place.give(&place.workspace().join(name));
        }
        std::os::unix::fs::symlink("docker.sock", place.workspace().join("link.sock")).unwrap();
        vec![place.home().to_str().unwrap().to_owned()]
    })
    .in_every_network()
    .gets(&[
        ("outside of every boundary", "ok", "ENOENT"),
        ("in a boundary", "ok", "ECONNREFUSED"),
        ("deeper in a boundary", "ok", "ECONNREFUSED"),
        ("by a link in a boundary", "ok", "ECONNREFUSED"),
        ("rename it free", "ok", "EBUSY"),
        ("rename its directory", "ok", "EBUSY"),
        ("by a second name", "ok", "EXDEV"),
    ]);
}

#[test]
fn the_addresses_of_bus_and_key_agent_do_not_enter() {
    Attack::new(
        r#"
for name in ["SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "DOCKER_HOST", "XDG_RUNTIME_DIR"]:
    def look():
        if name not in os.environ:
            raise Held("unset")
    attempt(name, look)
"#,
    )
    .after_shell(
        "export SSH_AUTH_SOCK=/run/agent DBUS_SESSION_BUS_ADDRESS=unix:path=/run/bus \
         DOCKER_HOST=${DOCKER_HOST-unix:///var/run/docker.sock} XDG_RUNTIME_DIR=${XDG_RUNTIME_DIR-/run/user/1001}",
    )
    .gets(&[
        ("SSH_AUTH_SOCK", "ok", "unset"),
        ("DBUS_SESSION_BUS_ADDRESS", "ok", "unset"),
        ("DOCKER_HOST", "ok", "unset"),
        ("XDG_RUNTIME_DIR", "ok", "unset"),
    ]);
}

/// A socket that everybody may connect to, for as long as this process lives.
fn listen(path: &Path) {
    let listener = UnixListener::bind(path).unwrap();
    fs::set_permissions(path, Permissions::from_mode(0o777)).unwrap();
    mem::forget(listener);
}
