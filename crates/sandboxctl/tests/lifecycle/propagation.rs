//! A host whose mounts are shared, as systemd makes them: what root's client copies of one would be its peer.

use std::fs;

use crate::machine::{Caller, callers};
use crate::place::Place;

/// Runs a sandbox, mounts something in its shared directory meanwhile, and looks for what has passed in either direction.
///
/// The mounts of a host that shares them already are private first: what else is mounted there meanwhile would come here.
const SCRIPT: &str = r#"
set -eu
mount --make-rshared /
notes=$1; workspace=$2; shift 2
grep -q ' / / .* shared:' /proc/self/mountinfo || { echo 'no shared mount: the test shows nothing'; exit 1; }
cat /proc/self/mountinfo > "$notes/before"
# Nothing is there that was not. What others remove the directory of meanwhile goes by itself.
same() { if grep -vxFf "$notes/before" /proc/self/mountinfo; then exit 1; fi; }
mkfifo "$notes/in" "$notes/out"
"$@" < "$notes/in" > "$notes/out" & client=$!
exec 3> "$notes/in" 4< "$notes/out"
read -r ready <&4
[ "$ready" = ready ]
same
mount -t tmpfs tmpfs "$workspace/sub"
touch "$workspace/sub/late"
echo go >&3; exec 3>&-
read -r seen <&4
wait $client
umount "$workspace/sub"
same
echo "seen inside: $seen"
"#;

#[test]
fn no_mount_passes_between_a_sandbox_and_its_host() {
    if !rustix::process::geteuid().is_root() || !callers("shared mounts").contains(&Caller::Root) {
        return;
    }
    for owner in [Caller::Root, Caller::Normal] {
        let place = Place::new(owner);
        for file in ["HEAD", "config", "objects/info/x", "refs/x", "hooks/x"] {
            place.write(&format!("workspace/.git/{file}"), "ref: refs/heads/main\n");
        }
        fs::create_dir(place.workspace().join("sub")).unwrap();
        fs::create_dir(place.path("notes")).unwrap();
        let inside = ["sh", "-c", "echo ready; read -r go; ls sub | wc -l"];
        let words = ["unshare", "--mount", "--propagation", "private", "sh", "-c", SCRIPT, "sh"];
        let mut words: Vec<std::ffi::OsString> = words.map(Into::into).into();
        words.extend([place.path("notes").into(), place.workspace().into()]);
        words.extend(place.run(&["--quiet"], &inside));
        let mut command = place.command(&words);
        let output = command.env("XDG_STATE_HOME", place.path("state")).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && said == "seen inside: 0\n", "{owner:?}: {said}{output:?}");
    }
}
