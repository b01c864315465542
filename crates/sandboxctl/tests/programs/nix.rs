//! Programs of Nix: a profile in the `PATH` leads into the store, which the preset shows.

use std::process::Command;

use crate::machine::{Feature, callers, is_there};
use crate::place::Place;

/// A program that needs nothing but a shell, as its builder does, so that nothing is downloaded.
const EXPRESSION: &str = r#"derivation {
  name = "sandboxctl-test-tool";
  system = builtins.currentSystem;
  builder = "/bin/sh";
  args = [ "-c" "/bin/mkdir -p $out/bin; printf '#!/bin/sh\\necho made by Nix\\n' > $out/bin/tool-of-nix; /bin/chmod +x $out/bin/tool-of-nix" ];
}"#;

/// Nix as root alone: without a daemon, and without users that build.
fn nix(place: &Place, words: &[&str]) -> Command {
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).current_dir(place.workspace()).env_clear();
    command.env("PATH", "/usr/bin:/bin").env("HOME", place.path("root"));
    command.env("NIX_CONFIG", "sandbox = false\nbuild-users-group =\nsubstitute = false");
    command
}

#[test]
fn a_program_of_a_profile_runs_with_the_preset() {
    let test = "a program of Nix";
    if !is_there(Feature::Programs, test) || !is_there(Feature::Root, test) {
        return;
    }
    for caller in callers(test) {
        let place = Place::new(caller);
        let expression = place.write("workspace/tool.nix", EXPRESSION);
        let profile = place.path("profile");
        let (profile, expression) = (profile.to_str().unwrap(), expression.to_str().unwrap());
        let made = nix(&place, &["nix-env", "--profile", profile, "-i", "-f", expression]).output().unwrap();
        assert!(made.status.success(), "{made:?}");
        let path = format!("{profile}/bin:/usr/bin:/bin");
        let run = |mut command: Command| {
            let output = command.env("PATH", &path).output().unwrap();
            let [said, warned] =
                [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
            (said, warned)
        };
        assert_eq!(run(place.outside(&["tool-of-nix"])).0, "made by Nix\n", "{caller:?}: the control");
        let (said, error) = run(place.inside(&[""; 0], &["tool-of-nix"]));
        assert_eq!(said, "", "{caller:?}");
        assert!(error.contains("which `--expose nix` shows"), "{caller:?}: {error}");
        let (said, error) = run(place.inside(&["--expose", "nix"], &["tool-of-nix"]));
        assert_eq!(said, "made by Nix\n", "{caller:?}: {error}");
        // Nobody writes to the store, not even root's agent.
        let write = "touch /nix/store/x || echo refused";
        let (said, _) = run(place.inside(&["--expose", "nix"], &["sh", "-c", write]));
        assert_eq!(said, "refused\n", "{caller:?}");
    }
}
