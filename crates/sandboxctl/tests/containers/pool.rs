//! Containers that are made ahead: whoever takes one has what a fresh one would have, and nothing of them stays.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::environment::engine;
use crate::everywhere;
use crate::killed::{ours, wait_while};
use crate::machine::Runner;
use crate::place::Place;
use crate::ready;

/// How long a container may take to be made in the background.
const PATIENCE: Duration = Duration::from_secs(60);

/// The pool of a place, with everything in it, until this is dropped.
struct Pool<'a> {
    place: &'a Place,
    runner: Runner,
    size: usize,
}

impl<'a> Pool<'a> {
    /// Fills one.
    fn of(place: &'a Place, runner: Runner, size: usize) -> Self {
        // What a test that fails leaves ends soon.
        place.configure(&format!("[pool]\nsize = {size}\nmax_age = \"5m\"\n"));
        let pool = Self { place, runner, size };
        assert_eq!(pool.fill()["waiting"], size);
        pool
    }

    fn fill(&self) -> Value {
        self.json("fill", self.place.provider())
    }

    fn call(&self, verb: &str, flags: &[&str]) -> Output {
        let program = self.place.path("sandboxctl");
        let words = [&[program.to_str().unwrap(), "pool", verb], flags].concat();
        self.place.outside(&words).output().unwrap()
    }

    fn json(&self, verb: &str, flags: &[&str]) -> Value {
        let said = self.call(verb, &[&["--format", "json"], flags].concat());
        assert!(said.status.success(), "{said:?}");
        serde_json::from_slice::<Value>(&said.stdout).unwrap()["pool"].take()
    }

    /// The plan of a command, as `run` gives it to the process in the background.
    fn plan(&self, flags: &[&str]) -> Vec<u8> {
        let shown =
            self.place.inside(&[flags, &["--dry-run", "--format", "json"]].concat(), &["true"]).output();
        let shown = shown.unwrap();
        assert!(shown.status.success(), "{shown:?}");
        shown.stdout
    }

    /// Does what the process in the background does that was started when the pool had been drained so often.
    fn refill(&self, drains: &str, plan: &[u8]) -> Option<i32> {
        let program = self.place.path("sandboxctl");
        let mut command = self.place.outside(&[program.to_str().unwrap(), "pool", "refill", drains]);
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(plan).unwrap();
        child.wait().unwrap().code()
    }

    /// The ids of those that wait.
    fn waiting(&self) -> Vec<String> {
        let stats = self.json("stats", &[]);
        let waiting = stats["waiting"].as_array().unwrap();
        waiting.iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect()
    }

    /// Waits until so many wait.
    fn wait_for(&self, count: usize) {
        let until = Instant::now() + PATIENCE;
        while self.waiting().len() != count {
            assert!(Instant::now() < until, "{:#}", self.json("stats", &[]));
        }
    }

    /// Waits until the process in the background has filled it, and has ended: before it ends it looks once more whether what waits fits.
    fn wait_until_filled(&self) {
        self.wait_for(self.size);
        // Who fills one waits for whoever does so already.
        assert_eq!(self.fill()["made"], 0);
    }

    /// What a run says of itself.
    fn run(&self, flags: &[&str], argv: &[&str]) -> Value {
        json(&mut self.place.inside(&[&["--format", "json"], flags].concat(), argv))
    }

    /// Ends all that waits when nothing is being made any more, and checks that nothing is left.
    fn end(self) {
        self.wait_for(self.size);
        assert_eq!(self.json("drain", &[])["ended"], self.size);
        let (place, runner) = (self.place, self.runner);
        wait_while(|| !ours(place, runner).is_empty());
        assert_eq!(ours(place, runner), "", "in {runner:?}");
        for kept in ["rendezvous", "pool/taken", "runs"] {
            let directory = place.home().join(".local/state/sandboxctl").join(kept);
            let left: Vec<_> = fs::read_dir(&directory).into_iter().flatten().flatten().collect();
            assert!(left.is_empty(), "in {runner:?}: {kept}: {left:?}");
        }
    }
}

impl Drop for Pool<'_> {
    fn drop(&mut self) {
        let _ = self.call("drain", &[]);
    }
}

fn json(command: &mut Command) -> Value {
    let output = command.output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
}

#[test]
fn a_warm_container_is_as_a_fresh_one() {
    for (caller, runner) in everywhere("warm containers") {
        let place = Place::on(caller, runner);
        place.write("workspace/.git/hooks/keep", "");
        place.write("workspace/secret.env", "hidden");
        let key = place.write("key", "the value");
        fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
        let script = "id -u; pwd; env | sort; cat /proc/1/environ | wc -c; ls -a /workspace; cat /workspace/secret.env; \
                      echo x 2>&1 >/workspace/.git/hooks/new; ls /proc/self/fd; cat; exit 7";
        let key = format!("file:{}", key.display());
        let settings = format!(
            "[protect]\nhide = [\"*.env\"]\n[env]\nset = {{ GIVEN = \"1\" }}\n[secrets.key]\nmode = \"inject\"\n\
             env_var = \"KEY\"\nsource = {key:?}\n"
        );
        let run = || json(&mut place.inside(&["--format", "json"], &["sh", "-c", script]));
        place.configure(&settings);
        let fresh = run();
        assert_eq!((&fresh["pool"], &fresh["result"]["code"]), (&Value::Null, &7.into()), "{fresh:#}");
        place.configure(&format!("[pool]\nsize = 1\nmax_age = \"5m\"\n{settings}"));
        let pool = Pool { place: &place, runner, size: 1 };
        pool.fill();
        let id = pool.waiting().swap_remove(0);
        let container = containers(&place, runner, &id);
        let told = engine(&place, runner, &["inspect", &container]);
        let warm = run();
        assert_eq!(warm["pool"]["start"], "warm", "in {runner:?} by {caller:?}: {warm:#}");
        assert!(warm["stdout"]["text"].as_str().unwrap().contains("KEY=the value"), "{warm:#}");
        assert!(
            !told.contains("the value") && !told.contains("GIVEN"),
            "in {runner:?} by {caller:?}: {told}"
        );
        // An agent of root's is another one each time.
        let uid =
            |object: &Value| object["stdout"]["text"].as_str().unwrap().lines().next().unwrap().to_owned();
        let same = |object: &Value, what: &str| object[what].to_string().replace(&uid(object), "UID");
        for what in ["stdout", "stderr", "report", "detected", "warnings"] {
            assert_eq!(same(&fresh, what), same(&warm, what), "{what} in {runner:?} by {caller:?}");
        }
        assert_eq!((&warm["result"]["code"], &warm["result"]["ended_by"]), (&7.into(), &"command".into()));
        pool.end();
    }
}

/// The container of a run.
fn containers(place: &Place, runner: Runner, id: &str) -> String {
    let filter = format!("label=sandbox.id={id}");
    engine(place, runner, &["ps", "--all", "--quiet", "--filter", &filter]).trim().to_owned()
}

#[test]
fn what_came_since_it_was_made_is_protected_hidden_and_seen() {
    for (caller, runner) in everywhere("what changes while a container waits") {
        let place = Place::on(caller, runner);
        let pool = Pool::of(&place, runner, 1);
        // The control: nothing has changed.
        assert_eq!(pool.run(&[], &["true"])["pool"]["start"], "warm", "in {runner:?} by {caller:?}");
        pool.wait_until_filled();

        place.write("workspace/.git/hooks/keep", "");
        let run = pool.run(&[], &["sh", "-c", "echo x >/workspace/.git/hooks/post-checkout"]);
        assert_eq!(run["pool"]["start"], "cold", "in {runner:?} by {caller:?}: {run:#}");
        assert_ne!(run["result"]["code"], 0, "in {runner:?} by {caller:?}: {run:#}");
        assert!(!place.workspace().join(".git/hooks/post-checkout").exists());
        pool.wait_until_filled();

        // Another file of the same name, which may have the number of the one that was there.
        place.configure("[pool]\nsize = 1\nmax_age = \"5m\"\n[protect]\nhide = [\".env\"]\n");
        place.write("workspace/.env", "secret");
        pool.fill();
        for content in ["first", "second", "third"] {
            fs::remove_file(place.workspace().join(".env")).unwrap();
            place.write("workspace/.env", content);
            let run = pool.run(&[], &["cat", "/workspace/.env"]);
            assert_eq!(run["pool"]["start"], "cold", "in {runner:?} by {caller:?}: {run:#}");
            assert_eq!(run["stdout"]["text"], "", "in {runner:?} by {caller:?}: {run:#}");
            pool.wait_until_filled();
        }

        // Another directory of the same name.
        fs::rename(place.workspace(), place.path("before")).unwrap();
        place.write("workspace/new", "");
        let run = pool.run(&[], &["ls", "/workspace"]);
        assert_eq!(run["pool"]["start"], "cold", "in {runner:?} by {caller:?}: {run:#}");
        assert_eq!(run["stdout"]["text"], "new\n", "in {runner:?} by {caller:?}: {run:#}");
        pool.wait_until_filled();
        let run = pool.run(&[], &["ls", "/workspace"]);
        assert_eq!(run["pool"]["start"], "warm", "in {runner:?} by {caller:?}: {run:#}");
        pool.end();
    }
}

#[test]
fn only_a_plan_that_wants_the_same_takes_one() {
    // Who calls which engine makes no difference to that.
    for (caller, runner) in everywhere("plans that take warm containers").into_iter().take(1) {
        let place = Place::on(caller, runner);
        let other = place.path("other");
        fs::create_dir(&other).unwrap();
        place.give(&other);
        let share = format!("{}:/other", other.display());
        let pool = Pool::of(&place, runner, 1);
        for (flags, expected) in [
            (&["--memory", "700m"][..], "cold"),
            (&["--pids-limit", "99"], "cold"),
            (&["--network", "open"], "cold"),
            (&["--volume", &share], "cold"),
            (&["--workdir", "/tmp"], "warm"),
            (&["--timeout", "20s"], "warm"),
            (&["--env", "A=1"], "warm"),
            (&["--name", "chosen"], "warm"),
        ] {
            let run = pool.run(flags, &["true"]);
            assert_eq!(run["pool"]["start"], expected, "{flags:?} in {runner:?} by {caller:?}: {run:#}");
            // Each plan has its own in the background.
            let until = Instant::now() + PATIENCE;
            while pool.run(flags, &["true"])["pool"]["start"] != "warm" {
                assert!(Instant::now() < until, "{flags:?} in {runner:?} by {caller:?}");
            }
            pool.fill();
        }
    }
}

#[test]
fn each_is_taken_once_and_replaced() {
    for (caller, runner) in everywhere("warm containers that several want") {
        let place = Place::on(caller, runner);
        let pool = Pool::of(&place, runner, 2);
        let before = pool.waiting();
        let start = || {
            let mut command = place.inside(
                &["--format", "json"],
                &["sh", "-c", "cat /proc/self/mountinfo | grep -Eo '/sandboxctl-[0-9a-f]{16}'"],
            );
            command.stdout(std::process::Stdio::piped()).spawn().unwrap()
        };
        let all: Vec<_> = (0..4).map(|_| start()).collect();
        let mut used = Vec::new();
        let mut warm = 0;
        for child in all {
            let output = child.wait_with_output().unwrap();
            let run: Value = serde_json::from_slice(&output.stdout).unwrap();
            assert_eq!(run["result"]["code"], 0, "in {runner:?} by {caller:?}: {run:#}");
            warm += u32::from(run["pool"]["start"] == "warm");
            used.push(run["stdout"]["text"].as_str().unwrap().lines().next().unwrap().to_owned());
        }
        used.sort();
        used.dedup();
        assert_eq!(used.len(), 4, "one container for each, in {runner:?} by {caller:?}");
        assert!(warm >= 2, "in {runner:?} by {caller:?}: {warm}");
        assert!(before.iter().all(|id| used.contains(&format!("/sandboxctl-{id}"))), "{before:?} {used:?}");
        pool.wait_for(2);
        let stats = pool.json("stats", &[]);
        assert_eq!(stats["starts"]["warm"]["count"], warm, "{stats:#}");
        assert_eq!(stats["starts"]["cold"]["count"], 4 - warm, "{stats:#}");
        assert!(stats["starts"]["warm"]["p95_ms"].as_f64().unwrap() > 0.0, "{stats:#}");
        pool.end();
    }
}

#[test]
fn one_that_nobody_takes_ends_by_itself() {
    for (caller, runner) in everywhere("warm containers that nobody wants") {
        let place = Place::on(caller, runner);
        place.configure("[pool]\nsize = 1\nmax_age = \"1s\"\n");
        let pool = Pool { place: &place, runner, size: 1 };
        assert_eq!(pool.fill()["made"], 1);
        pool.wait_for(0);
        wait_while(|| !ours(&place, runner).is_empty());
        // What it had of ours on the host, the next command removes.
        place.configure("");
        assert!(place.inside(&["--quiet"], &["true"]).status().unwrap().success());
        for kept in ["rendezvous", "runs"] {
            let directory = place.home().join(".local/state/sandboxctl").join(kept);
            assert_eq!(fs::read_dir(directory).unwrap().count(), 0, "{kept} in {runner:?} by {caller:?}");
        }
    }
}

#[test]
fn why_the_background_could_make_none_is_said() {
    for (caller, runner) in everywhere("pools that cannot be filled").into_iter().take(1) {
        let place = Place::on(caller, runner);
        let pool = Pool::of(&place, runner, 1);
        let failure = || pool.json("stats", &[])["failure"].take();
        assert_eq!(failure(), Value::Null);

        // What was shared is gone before the plan is carried out.
        let gone = place.path("gone");
        fs::create_dir(&gone).unwrap();
        place.give(&gone);
        let share = format!("{}:/gone", gone.display());
        let plan = pool.plan(&["--volume", &share]);
        fs::remove_dir(&gone).unwrap();
        assert_ne!(pool.refill("0", &plan), Some(0));
        let said = failure();
        assert!(said.as_str().is_some_and(|why| why.contains(gone.to_str().unwrap())), "{said}");

        // The next one that can be carried out takes that back.
        assert_eq!(pool.refill("0", &pool.plan(&[])), Some(0));
        assert_eq!(failure(), Value::Null);
    }
}

#[test]
fn what_was_begun_before_a_drain_makes_none() {
    for (caller, runner) in everywhere("pools that are drained while they are filled").into_iter().take(1) {
        let place = Place::on(caller, runner);
        let pool = Pool::of(&place, runner, 1);
        let plan = pool.plan(&[]);
        assert_eq!(pool.json("drain", &[])["ended"], 1);
        assert_eq!(pool.refill("0", &plan), Some(0));
        assert_eq!(pool.waiting().len(), 0, "in {runner:?} by {caller:?}");
        // The control: what was begun since then makes one.
        assert_eq!(pool.refill("1", &plan), Some(0));
        assert_eq!(pool.waiting().len(), 1, "in {runner:?} by {caller:?}");
    }
}

/// A container is its taker's as soon as it can be taken: whoever has made it removes no record of the taker's run.
#[test]
fn one_that_is_taken_at_once_has_a_record_of_its_run() {
    for (caller, runner) in everywhere("warm containers that are taken at once") {
        let place = Place::on(caller, runner);
        let pool = Pool::of(&place, runner, 1);
        let [runs, waiting] =
            ["runs", "pool"].map(|one| place.home().join(".local/state/sandboxctl").join(one));
        for _ in 0..3 {
            pool.json("drain", &[]);
            let program = place.path("sandboxctl");
            let words = [&[program.to_str().unwrap(), "pool", "fill"], place.provider()].concat();
            let mut filler = place.outside(&words).spawn().unwrap();
            // Stopped at once when it is noted, whoever has made it does what it has left to do after it was taken.
            let is_noted = || {
                fs::read_dir(&waiting).unwrap().flatten().any(|one| one.path().join("record.json").exists())
            };
            let until = Instant::now() + PATIENCE;
            while !is_noted() {
                assert!(Instant::now() < until, "in {runner:?} by {caller:?}");
            }
            let filling = Pid::from_child(&filler);
            kill_process(filling, Signal::STOP).unwrap();
            let mut client =
                ready::start(&mut place.inside(&["--quiet"], &["sh", "-c", "echo ready; sleep 1000"]));
            kill_process(filling, Signal::CONT).unwrap();
            assert!(filler.wait().unwrap().success());
            // Of the run, and perhaps of the process that fills the pool again.
            let records = || fs::read_dir(&runs).unwrap().flatten();
            let own = |id: &OsStr| {
                let text = fs::read_to_string(runs.join(id)).unwrap_or_default();
                text.contains(&format!("\"pid\":{}", client.id()))
            };
            assert!(records().any(|one| own(&one.file_name())), "in {runner:?} by {caller:?}");
            client.kill().unwrap();
            client.wait().unwrap();
        }
        drop(pool);
    }
}

#[test]
fn a_warm_container_ends_with_its_client() {
    for (caller, runner) in everywhere("clients of warm containers that are killed") {
        let place = Place::on(caller, runner);
        let pool = Pool::of(&place, runner, 1);
        let id = pool.waiting().swap_remove(0);
        let mut client =
            ready::start(&mut place.inside(&["--name", "w"], &["sh", "-c", "echo ready; sleep 1000"]));
        // The control: it runs in what was made ahead, and is found there by its name.
        let container = containers(&place, runner, &id);
        assert_ne!(container, "", "in {runner:?} by {caller:?}");
        let program = place.path("sandboxctl");
        let exec = place.outside(&[program.to_str().unwrap(), "exec", "w", "--", "pwd"]).output().unwrap();
        assert_eq!(
            String::from_utf8_lossy(&exec.stdout),
            "/workspace\n",
            "in {runner:?} by {caller:?}: {exec:?}"
        );
        client.kill().unwrap();
        client.wait().unwrap();
        wait_while(|| !containers(&place, runner, &id).is_empty());
        pool.wait_for(1);
        assert_eq!(pool.run(&[], &["true"])["pool"]["start"], "warm", "in {runner:?} by {caller:?}");
        pool.end();
    }
}

#[test]
fn a_sandbox_that_stays_may_be_warm() {
    for (caller, runner) in everywhere("persistent warm containers") {
        let place = Place::on(caller, runner);
        let pool = Pool::of(&place, runner, 1);
        let program = place.path("sandboxctl");
        let call =
            |words: &[&str]| place.outside(&[&[program.to_str().unwrap()], words].concat()).output().unwrap();
        let create = [&["create", "--format", "json", "--name", "stays"], place.provider()].concat();
        let made = call(&create);
        let made: Value = serde_json::from_slice(&made.stdout).unwrap_or_else(|_| panic!("{made:?}"));
        assert_eq!(made["sandbox"]["pool"]["start"], "warm", "in {runner:?} by {caller:?}: {made:#}");
        pool.wait_for(1);
        // Other commands of the same user leave it alone.
        assert_eq!(pool.run(&[], &["true"])["result"]["code"], 0);
        let said = call(&["exec", "stays", "--", "sh", "-c", "echo written >/workspace/file; pwd"]);
        assert_eq!(
            String::from_utf8_lossy(&said.stdout),
            "/workspace\n",
            "in {runner:?} by {caller:?}: {said:?}"
        );
        assert_eq!(fs::read_to_string(place.workspace().join("file")).unwrap(), "written\n");
        let removed = call(&["rm", "--force", "stays"]);
        assert!(removed.status.success(), "in {runner:?} by {caller:?}: {removed:?}");
        pool.end();
    }
}
