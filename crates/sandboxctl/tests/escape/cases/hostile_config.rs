//! A cloned repository with a `sandbox.toml` of its own: each key that widens, one by one.

use serde_json::Value;

use crate::machine::Caller;
use crate::place::Place;

/// What a file may not say by itself. Each stands in a file of its own.
const WIDENING: [&str; 34] = [
    "provider = \"local\"",
    "require_os_sandbox = false",
    "agent.user = \"root\"",
    "agent.user = \"0\"",
    "agent.user = \"1000:0\"",
    "image.dockerfile = \"Dockerfile\"",
    "image.ca_certificates = \"ca.pem\"",
    "container.runtime = \"runsc\"",
    "container.host_path_prefix = \"/x\"",
    "shared_dirs.x = { host = \"..\", guest = \"/x\" }",
    "shared_dirs.x = { host = \"../home/keys\", guest = \"/x\", mode = \"ro\" }",
    "shared_dirs.x = { host = \"/var/tmp\", guest = \"/x\" }",
    "shared_dirs.x = { host = \"~/keys\", guest = \"/x\" }",
    "shared_dirs.x = { host = \"link\", guest = \"/x\" }",
    "shared_dirs.x = { host = \"dangling\", guest = \"/x\" }",
    "env.pass = [\"AWS_SECRET_ACCESS_KEY\"]",
    "env.pass = [\"SSH_AUTH_SOCK\"]",
    "secrets.x = { mode = \"inject\", env_var = \"X\", source = \"env:X\" }",
    "secrets.x = { mode = \"inject\", env_var = \"X\", source = \"file:~/keys/token\" }",
    "secrets.x = { mode = \"inject\", env_var = \"X\", source = \"command:touch owned\" }",
    "network.mode = \"open\"",
    "network.mode = \"allowlist\"",
    "network.allow = [\"example.org\"]",
    "limits.pids = 100000",
    "limits.pids = \"unlimited\"",
    "limits.output_bytes = \"10g\"",
    "limits.tmp_size = \"100g\"",
    "protect.allow = [\".git/config\"]",
    "protect.allow = [\"sandbox.toml\"]",
    "protect.depth = 0",
    "native.require = []",
    "native.require = [\"mount\"]",
    "native.expose = [\"/opt\"]",
    "native.expose = [\"~/.ssh\"]",
];

#[test]
fn no_key_that_widens_holds_without_trust() {
    // Nothing is started, so no feature of the machine is needed: it runs by everybody who can be had.
    let root = rustix::process::geteuid().is_root().then_some(Caller::Root);
    for caller in root.into_iter().chain([Caller::Normal]) {
        let place = Place::new(caller);
        place.write("home/keys/token", "a key");
        std::os::unix::fs::symlink("../home/keys", place.workspace().join("link")).unwrap();
        std::os::unix::fs::symlink("../home/nothing", place.workspace().join("dangling")).unwrap();
        for line in WIDENING {
            place.write("workspace/sandbox.toml", &format!("{line}\n"));
            let (code, error) = run(&place, &["--format=json"]);
            assert_eq!((code, error.as_str()), (2, "config.untrusted"), "by {caller:?}: {line}");
            // The control: with trust it may fail for many reasons, but not for this one.
            let (_, error) = run(&place, &["--format=json", "--trust", "--dry-run"]);
            assert_ne!(error, "config.untrusted", "the control, by {caller:?}: {line}");
        }
        assert!(!place.workspace().join("owned").exists());
    }
}

fn run(place: &Place, flags: &[&str]) -> (i32, String) {
    let output = place.inside(flags, &["true"]).output().unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    (output.status.code().unwrap(), answer["error"]["code"].as_str().unwrap_or_default().to_owned())
}
