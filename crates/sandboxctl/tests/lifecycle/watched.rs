//! How soon the guard of protected paths notices what a program of the host replaces, whatever the agent does against it.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use crate::machine::{Caller, callers};
use crate::place::Place;
use crate::ready;

/// After how long the guard has asked the kernel for notifications, and the first search for new files is over.
const POLLING_PHASE: Duration = Duration::from_millis(2500);

/// What is replaced is noticed in this time, on a machine with much to do. One look a second takes longer, right after a look.
const SOON: Duration = Duration::from_millis(700);

const REPOSITORIES: [&str; 3] = ["a", "b", "c"];

const EVIL: &str = "[core]\n\tfsmonitor = touch owned\n";

fn repository(place: &Place, path: &str) {
    place.write(&format!("workspace/{path}/.git/HEAD"), "ref: refs/heads/main\n");
    place.write(&format!("workspace/{path}/.git/config"), "[core]\n\tbare = false\n");
    for directory in ["objects", "refs"] {
        place.write(&format!("workspace/{path}/.git/{directory}/keep"), "");
    }
}

/// A place with repositories, whose sandboxes run on when something is replaced.
fn repositories(caller: Caller) -> Place {
    let place = Place::new(caller);
    place.configure("[protect]\non_replaced = \"warn\"\n");
    for path in REPOSITORIES {
        repository(&place, path);
    }
    place
}

/// Replaces one configuration after the other, and asserts that this is noticed soon, and so is what is written into it then. What was found is
/// not looked at again.
fn assert_noticed_soon(place: &Place, mut client: Child, who: &str) {
    std::thread::sleep(POLLING_PHASE);
    let mut said = BufReader::new(client.stderr.take().unwrap()).lines().map(Result::unwrap);
    for path in REPOSITORIES {
        let config = format!("{path}/.git/config");
        let draft =
            place.write(&format!("workspace/{config}.lock"), "[core]\n\tbare = false\n[user]\n\tname = x\n");
        let began = Instant::now();
        fs::rename(draft, place.workspace().join(&config)).unwrap();
        assert!(
            said.any(|line| line.contains(&config) && line.contains("was replaced on the host")),
            "{who}"
        );
        let took = began.elapsed();
        assert!(took < SOON, "{config}, {who}: {took:?}");
        let began = Instant::now();
        fs::write(place.workspace().join(&config), EVIL).unwrap();
        assert!(said.any(|line| line.contains(&config) && line.contains("core.fsmonitor")), "{who}");
        let took = began.elapsed();
        assert!(took < SOON, "{config} is written, {who}: {took:?}");
    }
    client.stdin.as_mut().unwrap().write_all(b"go\n").unwrap();
    let rest: Vec<_> = said.collect();
    assert!(client.wait().unwrap().success(), "{who}: {rest:?}");
}

/// Takes all inotify instances of the user's, in the namespace of the test.
const TAKES_INSTANCES: &str = r#"
import ctypes, sys
call = ctypes.CDLL(None, use_errno=True).inotify_init1
taken = 0
while call(0) >= 0:
    taken += 1
print("ready", flush=True)
sys.stdin.readline()
"#;

/// A command in a user namespace in which a user has so few inotify instances.
fn with_instances(place: &Place, number: usize, command: &Command) -> Command {
    let script = format!(
        "echo {number} >/proc/sys/user/max_inotify_instances && exec setpriv --ambient-caps=-all --inh-caps=-all \"$@\""
    );
    let start = ["unshare", "--user", "--map-current-user", "--keep-caps", "sh", "-c", &script, "sh"];
    let words = start.into_iter().map(Into::into);
    let words = words.chain([command.get_program().to_owned()]);
    let words = words.chain(command.get_args().map(ToOwned::to_owned));
    place.outside(&words.collect::<Vec<_>>())
}

#[test]
fn an_agent_that_takes_all_instances_of_inotify_does_not_slow_the_guard_down() {
    for caller in
        callers("inotify instances that are used up").into_iter().filter(|one| *one == Caller::Normal)
    {
        // Without any, the guard looks by itself.
        for number in [0, 8] {
            let who = format!("{number} instances, by {caller:?}");
            let place = repositories(caller);
            let mut inside = Command::new(place.path("sandboxctl"));
            inside.args(["run", "--", "python3", "-c", TAKES_INSTANCES]);
            let client = ready::start(&mut with_instances(&place, number, &inside));
            assert_noticed_soon(&place, client, &who);
        }
    }
}

#[test]
fn an_agent_that_closes_a_directory_while_it_is_to_be_watched_does_not_slow_the_guard_down() {
    for caller in callers("directories that are closed") {
        let place = repositories(caller);
        place.write("workspace/sub/deep/x.key", "KEY=1");
        let agent = "chmod 000 sub/deep; echo ready; read -r go; chmod 755 sub/deep";
        let client = ready::start(&mut place.inside(&["--hide", "x.key"], &["sh", "-c", agent]));
        assert_noticed_soon(&place, client, &format!("by {caller:?}"));
        let mode = std::os::unix::fs::PermissionsExt::mode(
            &place.workspace().join("sub/deep").metadata().unwrap().permissions(),
        );
        assert_eq!(mode & 0o777, 0o755, "the control: it was closed, by {caller:?}");
    }
}

#[test]
fn more_repositories_than_were_there_do_not_slow_the_guard_down() {
    for caller in callers("many repositories") {
        let place = repositories(caller);
        // As an agent makes them in a run before.
        let make = "for number in $(seq 700); do git=n/$number/.git; mkdir -p $git/objects $git/refs $git/hooks; \
                    echo 'ref: refs/heads/main' >$git/HEAD; printf '[core]\\n\\tbare = false\\n' >$git/config; done";
        assert!(place.outside(&["sh", "-c", make]).status().unwrap().success());
        let agent = "echo ready; read -r go";
        let client = ready::start(&mut place.inside(&[""; 0], &["sh", "-c", agent]));
        assert_noticed_soon(&place, client, &format!("by {caller:?}"));
    }
}
