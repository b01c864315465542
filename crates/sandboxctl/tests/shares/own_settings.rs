//! The caller's own settings, of which a link leads into what an agent may write to.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::machine::callers;
use crate::place::Place;
use crate::{error, said};

const SETTINGS: &str = "version = 1\n";

/// Returns a place in whose `workspace` the caller keeps dotfiles, and makes the link of the settings to them.
fn place(caller: crate::machine::Caller, leads_to: &str) -> Place {
    let place = Place::new(caller);
    let settings = place.home().join(".config/sandboxctl");
    fs::create_dir_all(&settings).unwrap();
    let _ = fs::remove_file(settings.join("sandbox.toml"));
    symlink(place.path("workspace").join(leads_to), settings.join("sandbox.toml")).unwrap();
    place
}

/// Returns what an agent can make of these paths: it writes to each, or puts another file in its place.
fn attacked(place: &Place, paths: &[&str]) -> String {
    let attack = "for path in \"$@\"; do
        { echo >>$path || mv $path $path.old || ln -sf x $path; } 2>/dev/null && echo $path
        done; true";
    let output = place.inside(&["--quiet"], &[&["sh", "-c", attack, "sh"], paths].concat()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    said(&output).trim_end().to_owned()
}

#[test]
fn what_they_are_a_link_to_is_read_only() {
    for caller in callers("settings that are a link") {
        let place = place(caller, "dotfiles/sandboxctl.toml");
        place.write("workspace/dotfiles/sandboxctl.toml", SETTINGS);
        place.write("workspace/dotfiles/other.toml", SETTINGS);
        let changed = attacked(&place, &["dotfiles/sandboxctl.toml", "dotfiles/other.toml"]);
        assert_eq!(changed, "dotfiles/other.toml", "with the control, by {caller:?}");
    }
}

#[test]
fn links_on_the_way_to_them_stay_where_they_are() {
    for caller in callers("links to settings") {
        let place = place(caller, "dotfiles/now/sandboxctl.toml");
        place.write("outside/sandboxctl.toml", SETTINGS);
        place.write("workspace/dotfiles/real/file", "");
        symlink("real", place.path("workspace/dotfiles/now")).unwrap();
        symlink(place.path("outside/sandboxctl.toml"), place.path("workspace/dotfiles/real/sandboxctl.toml"))
            .unwrap();
        symlink("real", place.path("workspace/dotfiles/other")).unwrap();
        let replaced = "for name in now other real/sandboxctl.toml; do \
            ln -sfn /tmp dotfiles/$name 2>/dev/null && echo $name; done; true";
        let output = place.inside(&["--quiet"], &["sh", "-c", replaced]).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let leads = |name: &str| fs::read_link(place.path("workspace/dotfiles").join(name)).unwrap();
        assert_eq!(leads("other"), Path::new("/tmp"), "the control, by {caller:?}: {output:?}");
        // What was replaced meanwhile is put back.
        assert_eq!(leads("now"), Path::new("real"), "by {caller:?}: {output:?}");
        assert_eq!(leads("real/sandboxctl.toml"), place.path("outside/sandboxctl.toml"), "by {caller:?}");
    }
}

#[test]
fn settings_with_a_second_name_are_refused() {
    for caller in callers("settings with a second name") {
        let place = place(caller, "dotfiles/sandboxctl.toml");
        place.write("workspace/dotfiles/sandboxctl.toml", SETTINGS);
        let output = place.inside(&["--quiet"], &["true"]).output().unwrap();
        assert!(output.status.success(), "the control, by {caller:?}: {output:?}");
        fs::hard_link(place.path("workspace/dotfiles/sandboxctl.toml"), place.path("workspace/spare"))
            .unwrap();
        let output = place.inside(&["--quiet"], &["true"]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "by {caller:?}: {output:?}");
        assert!(error(&output).contains("has a second name"), "{output:?}");
    }
}
