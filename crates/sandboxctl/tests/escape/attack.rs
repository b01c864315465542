//! An attack, what it gets where the layer that stops it is taken away, and what it gets inside.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::process::Output;

use crate::machine::{Caller, Runner, callers, runners};
use crate::place::Place;

/// What one attempt of an attack answers: its name; in the control; inside. An answer is `ok`, the name of an
/// errno, or a word of the attack's own; `|` stands between those of different kernels.
pub(crate) type Attempt = (&'static str, &'static str, &'static str);

/// Where the layer that stops the attack is missing.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Control {
    /// On the host, by the same caller. For what harms nothing.
    Outside,
    /// On the host by root, since the host itself refuses a normal user. For what harms nothing.
    OutsideByRoot,
    /// In namespaces of unshare(1), as their root: no seccomp filter, no landlock, all capabilities. For what
    /// would harm the host. The words are more flags of unshare.
    Namespaces(&'static [&'static str]),
    /// In a sandbox of bubblewrap. The words are more of its flags.
    Bubblewrap(&'static [&'static str]),
}

const UNSHARE: &[&str] = &[
    "unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--mount-proc", "--net", "--ipc",
    "--uts",
];
const BUBBLEWRAP: &[&str] =
    &["bwrap", "--dev-bind", "/", "/", "--unshare-all", "--proc", "/proc", "--tmpfs", "/run"];

/// A program that tries to get out.
pub(crate) struct Attack {
    python: &'static str,
    control: Control,
    before: &'static str,
    flags: &'static [&'static str],
    shell: &'static str,
    prepare: fn(&Place) -> Vec<String>,
    attempts: Vec<Attempt>,
    elsewhere: Vec<Elsewhere>,
    without: Vec<Runner>,
    networks: &'static [&'static [&'static str]],
}

/// Flags for each network that a native sandbox can have: none, and an allow-list, with which there are a proxy, a DNS server and listeners.
const NETWORKS: &[&[&str]] = &[&[], &["--allow-host=allowed.example.org"]];

/// Who else runs it, and what one attempt gets there.
pub(crate) type Elsewhere = (&'static [Runner], &'static str, &'static str);

/// Every engine.
pub(crate) const CONTAINERS: &[Runner] = &[Runner::Docker, Runner::RootlessDocker, Runner::Podman];

impl Attack {
    /// An attack in Python, written with `attempt.py`.
    pub(crate) fn new(python: &'static str) -> Self {
        let nothing = |_: &Place| Vec::new();
        Self {
            python,
            control: Control::Outside,
            before: "",
            flags: &[],
            shell: "",
            prepare: nothing,
            attempts: Vec::new(),
            elsewhere: Vec::new(),
            without: Vec::new(),
            networks: &NETWORKS[..1],
        }
    }

    /// Tries it with an allow-list too, which must change nothing.
    pub(crate) fn in_every_network(mut self) -> Self {
        self.networks = NETWORKS;
        self
    }

    /// What attempts get elsewhere than in a native sandbox, where that is another answer.
    pub(crate) fn elsewhere(mut self, answers: &[Elsewhere]) -> Self {
        self.elsewhere = answers.to_vec();
        self
    }

    /// Where it is not tried, because what it tries does not hold there and the report says so, or has no meaning.
    pub(crate) fn not_in(mut self, runners: &[Runner]) -> Self {
        self.without = runners.to_vec();
        self
    }

    /// Where its control runs; without it, on the host.
    pub(crate) fn control(mut self, control: Control) -> Self {
        self.control = control;
        self
    }

    /// What has to be set up in the control first, in Python.
    pub(crate) fn before_the_control(mut self, python: &'static str) -> Self {
        self.before = python;
        self
    }

    /// Flags of `sandboxctl run`.
    pub(crate) fn flags(mut self, flags: &'static [&'static str]) -> Self {
        self.flags = flags;
        self
    }

    /// What a shell of the caller does first, in the control too: it opens files and sets variables.
    pub(crate) fn after_shell(mut self, script: &'static str) -> Self {
        self.shell = script;
        self
    }

    /// What has to lie on the host first. The words become the arguments of the attack.
    pub(crate) fn prepare(mut self, prepare: fn(&Place) -> Vec<String>) -> Self {
        self.prepare = prepare;
        self
    }

    /// Runs it by every caller, and compares all it got with what it must get.
    pub(crate) fn gets(mut self, attempts: &[Attempt]) {
        self.attempts = attempts.to_vec();
        let test = std::thread::current().name().unwrap_or_default().to_owned();
        for caller in callers(&test) {
            // What the host itself refuses a normal user shows nothing about the sandbox.
            if !matches!((self.control, caller), (Control::OutsideByRoot, Caller::Normal)) {
                let place = Place::new(caller);
                let attack = self.lay_out(&place, self.before);
                let (start, more): (&[&str], &[&str]) = match self.control {
                    Control::Outside | Control::OutsideByRoot => (&[], &[]),
                    Control::Namespaces(more) => (UNSHARE, more),
                    Control::Bubblewrap(more) => (BUBBLEWRAP, more),
                };
                let mut argv: Vec<OsString> = start.iter().chain(more).map(OsString::from).collect();
                if let Control::Bubblewrap(_) = self.control {
                    // In a tmpfs: a mount point in the root would be made on the host.
                    argv.extend(["--bind".into(), place.workspace().into()]);
                    argv.extend(["/run/workspace", "--chdir", "/run/workspace"].map(OsString::from));
                }
                argv.extend(attack.into_iter().map(OsString::from));
                self.compare(&place, argv, "the control", |attempt| attempt.1);
            }
            for runner in runners(caller, &test).into_iter().filter(|runner| !self.without.contains(runner)) {
                for network in self.networks {
                    let place = Place::on(caller, runner);
                    let attack = self.lay_out(&place, "");
                    let what = format!("inside, in {runner:?} with {network:?}");
                    let flags = [*network, self.flags].concat();
                    self.compare(&place, place.run(&flags, &attack), &what, |attempt| {
                        let own = self
                            .elsewhere
                            .iter()
                            .find(|(runners, name, _)| runners.contains(&runner) && *name == attempt.0);
                        own.map_or(attempt.2, |(.., answer)| answer)
                    });
                }
            }
        }
    }

    fn lay_out(&self, place: &Place, before: &str) -> Vec<String> {
        let script = [include_str!("attempt.py"), before, self.python].join("\n");
        place.write("workspace/attack.py", &script);
        let words = ["python3", "attack.py"].map(str::to_owned).into_iter();
        words.chain((self.prepare)(place)).collect()
    }

    fn compare(
        &self,
        place: &Place,
        argv: Vec<OsString>,
        what: &str,
        wanted: impl Fn(&Attempt) -> &'static str,
    ) {
        let shell = ["sh", "-c", &format!("{}\nexec \"$@\"", self.shell), "sh"].map(OsString::from);
        let argv: Vec<OsString> = shell.into_iter().chain(argv).collect();
        let Output { stdout, stderr, .. } = place.outside(&argv).output().expect("the attack can be started");
        let (stdout, stderr) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
        let got: BTreeMap<&str, &str> = stdout.lines().filter_map(|line| line.split_once(": ")).collect();
        let wanted: BTreeMap<&str, &str> =
            self.attempts.iter().map(|attempt| (attempt.0, wanted(attempt))).collect();
        let differ: Vec<String> = wanted
            .keys()
            .chain(got.keys())
            .collect::<BTreeSet<_>>()
            .into_iter()
            .filter(|name| match (wanted.get(*name), got.get(*name)) {
                (Some(wanted), Some(got)) => !wanted.split('|').any(|wanted| wanted == *got),
                _ => true,
            })
            .map(|name| format!("{name}: wanted {:?}, got {:?}", wanted.get(name), got.get(name)))
            .collect();
        let caller = place.caller;
        assert!(differ.is_empty(), "{what}, by {caller:?}:\n{}\n--- stderr\n{stderr}", differ.join("\n"));
    }
}
