//! How the command is found and what it finds.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::image::Image;
use crate::{Feature, offers};

#[test]
fn pid_1_is_the_agent() {
    if !offers(Feature::Root) {
        return;
    }
    let image = Image::new();
    assert_eq!(image.start().run(&["cat", "/proc/1/comm", "/proc/self/comm"]).well(), "cat\ncat\n");
    assert_eq!(image.start().run(&["readlink", "/proc/self"]).well(), "1\n");
}

#[test]
fn only_three_descriptors_are_open() {
    if !offers(Feature::Root) {
        return;
    }
    let image = Image::new();
    for mode in ["0", "1"] {
        // One of these opens descriptors 7 and 9 for whoever comes next; `ls` itself adds 3.
        let start = image
            .start()
            .env("AGENT_INIT", mode)
            .through("/bin/bash -c exec%7</etc;exec%9</;exec%\"$0\"%\"$@\"");
        let seen = start.run(&["ls", "/proc/self/fd"]);
        assert_eq!(seen.out, "0\n1\n2\n3\n", "{seen:?}");
    }
}

#[test]
fn standard_streams_can_be_opened_by_name() {
    if !offers(Feature::Root) {
        return;
    }
    let image = Image::new();
    for mode in ["0", "1"] {
        let ended = image.start().env("AGENT_INIT", mode).sh("echo told > /dev/stderr");
        assert_eq!((ended.code, ended.err.as_str()), (0, "told\n"), "{ended:?}");
        let ended =
            image.start().env("AGENT_INIT", mode).on_a_terminal().sh("echo told > /dev/stderr; id -u");
        assert_eq!((ended.code, ended.out.as_str()), (0, "told\r\n1000\r\n"), "{ended:?}");
    }
}

#[test]
fn files_that_are_streams_keep_their_owner() {
    if !offers(Feature::Root) {
        return;
    }
    let image = Image::new();
    image.write("tmp/out", "");
    let start = image.start().through("/bin/bash -c exec%\"$0\"%\"$@\"%</dev/null%>/tmp/out");
    assert_eq!(start.sh("id -u").code, 0);
    let owner = |path: &str| std::os::unix::fs::MetadataExt::uid(&fs::metadata(path).unwrap());
    assert_eq!(owner(image.path("tmp/out").to_str().unwrap()), 0);
    assert_eq!(owner("/dev/null"), 0);
    assert_eq!(fs::read_to_string(image.path("tmp/out")).unwrap(), "1000\n");
}

#[test]
fn the_working_directory_is_the_one_that_was_asked_for() {
    if !offers(Feature::Root) {
        return;
    }
    let image = Image::new();
    assert_eq!(image.start().env("AGENT_WORKDIR", "/workspace").run(&["pwd"]).well(), "/workspace\n");
    assert_eq!(image.start().run(&["pwd"]).well(), "/\n");
    for (bad, why) in
        [("/nowhere", "cannot enter /nowhere"), ("/root", "cannot enter /root"), ("tmp", "absolute path")]
    {
        let message = image.start().env("AGENT_WORKDIR", bad).run(&["pwd"]).refused();
        assert!(message.contains(why), "{message}");
    }
    // Root may stay where it is; the agent may not be there.
    let message = image.start().through("/usr/bin/env --chdir=/root").run(&["pwd"]).refused();
    assert!(message.contains("cannot enter /root as the agent"), "{message}");
}

#[test]
fn why_a_command_is_not_executed_is_a_code_and_a_sentence() {
    if !offers(Feature::Root) {
        return;
    }
    let image = Image::new();
    image.program("tmp/orphan", "#!/nowhere/python\n");
    image.program("tmp/nothing", "not a program\n");
    image.write("tmp/text", "#!/bin/sh\n");
    for (command, code, why) in [
        ("no-such-command", 127, "was not found; looked in /usr/local/bin"),
        ("bash -l", 127, "its arguments stand in AGENT_ARGS"),
        ("/tmp/no-such-file", 127, "there is no `/tmp/no-such-file`"),
        ("/tmp/text", 126, "executable file (chmod a+x)"),
        ("/tmp", 126, "Permission denied"),
        ("/root/secret", 126, "uid 1000"),
        ("/tmp/orphan", 126, "the interpreter or loader that it names"),
        ("/tmp/nothing", 126, "a script without `#!`"),
    ] {
        for mode in ["0", "1"] {
            let ended = image.start().env("AGENT_COMMAND", command).env("AGENT_INIT", mode).run(&[]);
            assert_eq!(ended.code, code, "{ended:?}");
            assert!(ended.err.starts_with("entrypoint: ") && ended.err.contains(why), "{ended:?}");
        }
    }
}

#[test]
fn the_command_is_looked_up_as_the_agent() {
    if !offers(Feature::Root) {
        return;
    }
    let image = Image::new();
    // Root would find this one; for the agent it is a place it may not search, and the next one counts.
    image.copy("/usr/bin/false", "root/true");
    let ended = image.start().run(&["env", "PATH=/root:/usr/bin", "true"]);
    assert_eq!(ended.code, 0, "{ended:?}");
}

#[test]
fn arguments_keep_their_words() {
    if !offers(Feature::Root) {
        return;
    }
    let image = Image::new();
    let start =
        image.start().env("AGENT_COMMAND", "printf").env("AGENT_ARGS", r#"["[%s]", "two words", "", "ä\n"]"#);
    assert_eq!(start.run(&["ignored"]).well(), "[two words][][ä\n]");
    let start = image.start().env("AGENT_COMMAND", "false");
    assert_eq!(start.run(&["--", "printf", "[%s]", "a b"]).well(), "[a b]");
}

#[test]
fn without_a_command_nothing_starts() {
    if !offers(Feature::Root) {
        return;
    }
    let image = Image::new();
    assert!(image.start().run(&[]).refused().contains("there is no command"));
    assert!(image.start().run(&["--help"]).refused().contains("the settings are variables"));
    let message = image.start().env("AGENT_INIT", "yes").env("AGENT_USER", "-1").run(&[]).refused();
    assert_eq!(message.lines().count(), 3, "{message}");
}

#[test]
fn a_set_uid_copy_serves_nobody() {
    if !offers(Feature::Root) {
        return;
    }
    let image = Image::new();
    fs::set_permissions(image.path("entrypoint"), PermissionsExt::from_mode(0o4755)).unwrap();
    let start = image.start().through("setpriv --reuid 1000 --regid 1000 --clear-groups");
    assert!(start.sh("id").refused().contains("must not be"), "set-uid");
}
