//! Who the agent may be, in images with users and without.

use crate::container::Start;
use crate::engine::Engine;
use crate::image::Image;

#[test]
fn a_bad_user_starts_nothing() {
    if !Engine::Docker.is_declared() {
        return;
    }
    // One container for all of them: the entrypoint is no less root's in its middle than at its start.
    let script = r#"
        for user in '' : 0: :0 -1 +0 ' 0' 0x0 0day 4294967295 4294967296 2147483648 bogus 0:bogus 0:0day \
            agent:bogus 0 0:0 root agent 1000 54321:44
        do
            seen=$(AGENT_USER=$user entrypoint id -u 2>/dev/null)
            echo "$seen/$?/$user"
        done"#;
    let seen = Start::new().without_the_entrypoint().sh(script).well();
    let (refused, started): (Vec<_>, Vec<_>) = seen.lines().partition(|line| line.starts_with("/125/"));
    assert_eq!(refused.len(), 19, "{seen}");
    assert_eq!(started, ["1000/0/agent", "1000/0/1000", "54321/0/54321:44"]);
}

#[test]
fn an_image_from_scratch_has_numbers_only() {
    if !Engine::Docker.is_declared() {
        return;
    }
    let start = || Start::with(Engine::Docker, Image::Scratch);
    let who = "id -u; id -g; id -G; echo $USER $HOME $SHELL";
    // What the engine itself does with such a number leaves it in root's group.
    let control = start().flags("--user 54321").without_the_entrypoint().run(&["id", "-g"]);
    assert_eq!(control.well(), "0\n");
    assert_eq!(start().env("AGENT_USER", "54321").sh(who).well(), "54321\n54321\n54321\n54321 / /bin/sh\n");
    let already = start().flags("--user 54321:54321 --cap-drop ALL").sh(who).well();
    assert_eq!(already, "54321\n54321\n54321\n54321 / /bin/sh\n");
    assert!(start().sh(who).refused().contains("there is no user `agent`"));
    assert!(start().env("AGENT_USER", "0").sh(who).refused().contains("AGENT_ALLOW_ROOT=1"));
}

#[test]
fn both_families_give_the_agent_what_is_its_own() {
    if !Engine::Docker.is_declared() {
        return;
    }
    let who = "pwd; echo $HOME $USER $LOGNAME $SHELL; id -u; id -G";
    for image in [Image::Debian, Image::Alpine] {
        let seen = |flags: &str| Start::with(Engine::Docker, image).flags(flags).sh(who).well();
        let expected = "/workspace\n/home/agent agent agent /bin/sh\n1000\n1000 29 44\n";
        assert_eq!(seen(""), expected);
        assert_eq!(seen("--user agent --cap-drop ALL"), expected);
        // The control: for root the engine has set something else.
        let root = Start::with(Engine::Docker, image).without_the_entrypoint().sh(who).well();
        assert_eq!(root, "/workspace\n/root\n0\n0\n");
        let elsewhere = Start::with(Engine::Docker, image).env("AGENT_WORKDIR", "/tmp").run(&["pwd"]);
        assert_eq!(elsewhere.well(), "/tmp\n");
    }
}
