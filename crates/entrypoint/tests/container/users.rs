//! Who the agent may be.

use crate::image::Image;
use crate::{Feature, offers};

#[test]
fn a_bad_user_starts_nothing() {
    if !offers(Feature::Root) {
        return;
    }
    let image = Image::new();
    for bad in [
        "", ":", "0:", ":0", "-1", "+0", " 0", "0x0", "0day", "4294967295", "4294967296", "2147483648",
        "bogus", "bogus:0", "0:bogus", "0:0day", "agent:bogus", "agent:-1", "1000:4294967296", "Agent", "-u",
        "0", "0:0", "root", "toor",
    ] {
        let message = image.start().env("AGENT_USER", bad).sh("id").refused();
        assert!(message.starts_with("entrypoint: AGENT_USER"), "{bad:?}: {message}");
    }
}

#[test]
fn root_is_given_by_name_and_with_a_permission() {
    if !offers(Feature::Root) {
        return;
    }
    let image = Image::new();
    let allowed = |user: &str| {
        image.start().env("AGENT_ALLOW_ROOT", "1").env("AGENT_USER", user).sh("id -u; echo $HOME")
    };
    assert_eq!(allowed("root").well(), "0\n/root\n");
    for user in ["0", "toor", "0:0"] {
        assert!(allowed(user).refused().contains("AGENT_USER=root and AGENT_ALLOW_ROOT=1"), "{user}");
    }
    // The permission alone asks for nothing.
    assert_eq!(image.start().env("AGENT_ALLOW_ROOT", "1").sh("id -u").well(), "1000\n");
}

#[test]
fn an_image_without_an_agent_does_not_run_as_root() {
    if !offers(Feature::Root) {
        return;
    }
    let image = Image::new();
    image.write("etc/passwd", "root:x:0:0:root:/root:/bin/bash\n");
    let message = image.start().sh("id").refused();
    assert!(message.contains("there is no user `agent` in /etc/passwd"), "{message}");
    // Nor where the name is another one for root.
    image.write("etc/passwd", "agent:x:0:0::/root:/bin/bash\n");
    let message = image.start().sh("id").refused();
    assert!(message.contains("agent is root"), "{message}");
}

#[test]
fn a_number_without_an_entry_is_not_in_roots_group() {
    if !offers(Feature::Root) {
        return;
    }
    let script = "id -u; id -g; id -G; echo $USER $HOME $SHELL";
    let expected = "54321\n54321\n54321\n54321 / /bin/sh\n";
    let image = Image::new();
    assert_eq!(image.start().env("AGENT_USER", "54321").sh(script).well(), expected);
    // As in an image from scratch.
    std::fs::remove_file(image.path("etc/passwd")).unwrap();
    std::fs::remove_file(image.path("etc/group")).unwrap();
    assert_eq!(image.start().env("AGENT_USER", "54321").sh(script).well(), expected);
    let message = image.start().env("AGENT_USER", "agent").sh(script).refused();
    assert!(message.contains("no user `agent`"), "{message}");
}

#[test]
fn a_number_that_an_engine_has_put_into_roots_group_is_reported() {
    if !offers(Feature::Root) {
        return;
    }
    let image = Image::new();
    let started = |through: &str| image.start().through(through).sh("id -u; id -g");
    let kept = started("setpriv --reuid 54321 --regid 0 --clear-groups");
    assert_eq!(kept.out, "54321\n0\n", "{kept:?}");
    assert!(
        kept.err.contains("note: the agent keeps group 0") && kept.err.contains("--user 54321:54321"),
        "{kept:?}"
    );
    let another = started("setpriv --reuid 54321 --regid 54321 --clear-groups");
    assert_eq!(another.out, "54321\n54321\n", "{another:?}");
    assert!(!another.err.contains("group 0"), "the control: {another:?}");
}

#[test]
fn a_number_and_a_group_are_what_they_say() {
    if !offers(Feature::Root) {
        return;
    }
    let image = Image::new();
    let seen =
        |user: &str| image.start().env("AGENT_USER", user).sh("id -u; id -g; id -G; echo $USER").well();
    assert_eq!(seen("54321:44"), "54321\n44\n44\n54321\n");
    assert_eq!(seen("agent:video"), "1000\n44\n44\nagent\n");
    assert_eq!(seen("1000"), "1000\n1000\n1000 29 44\nagent\n");
}
