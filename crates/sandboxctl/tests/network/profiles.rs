//! A day's work of published agents, set up by their profiles: one command, in which the agent changes a file, runs the project's tests
//! and commits, with a key that it never sees. The provider is a mock, which asks for the one tool call that does all of it.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::clients::Servers;
use crate::internet::{Internet, text};
use crate::machine::{Feature, is_there};
use crate::place::Place;
use crate::{image_with_clients, in_docker, natively, toolchain};

/// The real credential.
const VALUE: &str = "sk-the-real-one-4f1d9c27";

/// An agent, its credential, and the words of a command that needs no answer of anybody's.
struct Agent {
    profile: &'static str,
    variable: &'static str,
    command: &'static [&'static str],
}

const CLAUDE: Agent = Agent {
    profile: "claude-code",
    variable: "ANTHROPIC_API_KEY",
    command: &["claude", "-p", "go", "--dangerously-skip-permissions"],
};

const CODEX: Agent = Agent {
    profile: "codex",
    variable: "OPENAI_API_KEY",
    command: &["codex", "exec", "--model", "gpt-5", "go"],
};

/// What the model has the agent do.
const WORK: &str = "set -e
cd /workspace
sed -i 's/a - b/a + b/' sums.py
python3 -B -m unittest -q test_sums
git add sums.py
git commit -q -m 'Add, do not subtract'
printenv ANTHROPIC_API_KEY OPENAI_API_KEY >key || true
touch \"$HOME/of-the-agent\"
";

fn installed() -> PathBuf {
    PathBuf::from(std::env::var("SANDBOX_TEST_AGENTS").unwrap())
}

/// Makes a project of the caller's, which has a mistake, a test that finds it, and a history.
fn project(place: &Place) {
    place.write("home/.gitconfig", "[user]\n\tname = The Caller\n\temail = caller@example.org\n");
    place.write("workspace/sums.py", "def add(a, b):\n    return a - b\n");
    place.write(
        "workspace/test_sums.py",
        "import unittest, sums\n\n\nclass Sums(unittest.TestCase):\n    def test_adds(self):\n        self.assertEqual(sums.add(2, 2), 4)\n",
    );
    place.write("workspace/look.sh", WORK);
    place.write("workspace/.gitignore", "look.sh\nkey\nmade.txt\n*.pem\nca*\n__pycache__\n");
    let script = "git init -q -b main . && git add -A && git commit -q -m 'Begin'";
    let made = place.outside(&["sh", "-c", script]).output().unwrap();
    assert!(made.status.success(), "{made:?}");
}

/// Runs the command of an agent, and looks at what it has done.
fn check(place: &Place, internet: &Internet, who: &str, agent: &Agent, mut command: Command) {
    let servers = Servers::start(internet, place, &["models"]);
    // The proxy believes the authority of the mock.
    command.env(agent.variable, VALUE).env("SSL_CERT_FILE", place.workspace().join("ca.pem"));
    let output = internet.command(&command).output().unwrap();
    let who = format!("{who}: {}{}", text(&output), String::from_utf8_lossy(&output.stderr));
    drop(servers);
    assert!(output.status.success() && who.contains("all done"), "{who}");
    let log = place.outside(&["git", "log", "--format=%an <%ae> %s"]).output().unwrap();
    assert_eq!(
        text(&log),
        "The Caller <caller@example.org> Add, do not subtract\nThe Caller <caller@example.org> Begin\n",
        "{who}"
    );
    let status = place.outside(&["git", "status", "--porcelain"]).output().unwrap();
    assert_eq!(text(&status), "", "{who}");
    assert!(fs::read_to_string(place.workspace().join("sums.py")).unwrap().contains("a + b"), "{who}");
    // It has a token in place of the key, and its home directory is persistent.
    let key = fs::read_to_string(place.workspace().join("key")).unwrap();
    assert!(key.trim().len() > 20 && !key.contains(VALUE), "{who}: {key}");
    let homes = fs::read_dir(place.home().join(".local/state/sandboxctl/homes")).unwrap();
    let homes: Vec<_> = homes.map(|home| home.unwrap().path()).collect();
    assert!(homes.len() == 1 && homes[0].join("files/of-the-agent").exists(), "{who}: {homes:?}");
}

/// Works natively, as each caller.
fn works(agent: &Agent) {
    let test = format!("a day's work of {}", agent.profile);
    if !is_there(Feature::Agents, &test) || !is_there(Feature::Node, &test) {
        return;
    }
    natively(&test, |place, internet, who| {
        project(place);
        // A directory of programs that no preset knows.
        place.write(
            "home/.config/sandboxctl/sandbox.toml",
            "[native]\nexpose = [\"~/toolchain\", \"~/toolchain/js/node_modules/.bin\"]\n",
        );
        let inside = place.inside(&["--agent", agent.profile], agent.command);
        check(place, &internet, who, agent, toolchain::lend(place, &installed(), &inside));
    });
}

/// Works in Docker, where the programs are in the image, or shared as here.
fn works_in_docker(agent: &Agent) {
    let test = format!("a day's work of {} in a container", agent.profile);
    if !is_there(Feature::Agents, &test) {
        return;
    }
    in_docker(&test, |place, internet, who| {
        project(place);
        place.write("home/.config/sandboxctl/sandbox.toml", &image_with_clients());
        // The engine has to see them, and the caller.
        let agents = place.write("agents/here", "").with_file_name("");
        let link = Command::new("cp").arg("-rl").arg(installed().join("js")).arg(&agents).status();
        if !link.unwrap().success() {
            let copied = Command::new("cp").arg("-r").arg(installed().join("js")).arg(&agents).status();
            assert!(copied.unwrap().success());
        }
        let flags = [
            format!("--agent={}", agent.profile),
            format!("--volume={}:/agents:ro", place.path("agents").display()),
        ];
        let program = format!("/agents/js/node_modules/.bin/{}", agent.command[0]);
        let command: Vec<_> =
            std::iter::once(program.as_str()).chain(agent.command[1..].iter().copied()).collect();
        check(place, &internet, who, agent, place.inside(&flags, &command));
    });
}

#[test]
fn claude_code_changes_a_file_tests_and_commits() {
    works(&CLAUDE);
}

#[test]
fn codex_changes_a_file_tests_and_commits() {
    works(&CODEX);
}

#[test]
fn claude_code_changes_a_file_tests_and_commits_in_a_container() {
    works_in_docker(&CLAUDE);
}

#[test]
fn codex_changes_a_file_tests_and_commits_in_a_container() {
    works_in_docker(&CODEX);
}
