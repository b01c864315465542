//! Projects as people have them: their suites have the same counts inside and outside.

use std::process::Command;

use crate::compare::Program;
use crate::machine::{Feature, is_there};
use crate::place::Place;
use crate::toolchain;

/// Copies something of the published projects into the workspace of a place, as its owner's: by a script, with the two as arguments.
fn copy(place: &Place, script: &str) {
    let projects = std::env::var("SANDBOX_TEST_AGENTS").unwrap() + "/projects";
    let script = format!("{script} && chown -R --reference=\"$2\" \"$2\"");
    let mut command = Command::new("sh");
    command.args(["-ec", &script, "sh", &projects]).arg(place.workspace());
    assert!(command.status().unwrap().success(), "{script}");
}

fn wheels(place: &Place) {
    copy(place, "cp -R \"$1/wheels\" \"$2\"");
}

#[test]
fn the_suite_of_attrs_has_the_same_counts() {
    if is_there(Feature::Agents, "the suite of attrs") {
        let program = Program::new(&["sh", "python-suite.sh", "attrs-25.3.0"]);
        let prepare = |place: &Place| {
            wheels(place);
            copy(place, "tar -xzf \"$1/attrs-25.3.0.tar.gz\" -C \"$2\" --no-same-owner");
        };
        program.prepare(prepare).runs_alike();
    }
}

#[test]
fn the_suite_of_click_has_the_same_counts() {
    if is_there(Feature::Agents, "the suite of click") {
        let program = Program::new(&["sh", "python-suite.sh", "click-8.2.1"]);
        let prepare = |place: &Place| {
            wheels(place);
            copy(place, "tar -xzf \"$1/click-8.2.1.tar.gz\" -C \"$2\" --no-same-owner");
        };
        program.prepare(prepare).runs_alike();
    }
}

#[test]
fn a_project_of_uv_is_synchronised_and_tested() {
    if is_there(Feature::Agents, "a project of uv") {
        Program::new(&["sh", "uv.sh"]).prepare(wheels).runs_alike();
    }
}

#[test]
fn a_site_of_django_starts_and_answers() {
    if is_there(Feature::Agents, "a site of Django") {
        Program::new(&["sh", "django.sh"]).prepare(wheels).runs_alike();
    }
}

#[test]
fn a_project_of_jest_has_the_same_counts() {
    let test = "a project of jest";
    if is_there(Feature::Agents, test) && is_there(Feature::Node, test) {
        let prepare = |place: &Place| copy(place, "cp -R \"$1/jest/node_modules\" \"$2\"");
        Program::new(&["sh", "jest.sh"]).prepare(prepare).runs_alike();
    }
}

#[test]
fn a_c_project_is_checked_in_parallel() {
    if is_there(Feature::Gcc, "a C project") {
        Program::new(&["sh", "make.sh"]).runs_alike();
    }
}

#[test]
fn a_cargo_workspace_has_the_same_counts() {
    let test = "a cargo workspace";
    if is_there(Feature::Cargo, test) && is_there(Feature::Root, test) {
        let program = Program::new(&["sh", "cargo-workspace.sh"]).prepare(|place| {
            place.write("workspace/sandbox.toml", "[native]\nexpose = [\"rust\"]\n");
        });
        program.with_toolchain(toolchain::sysroot()).runs_alike();
    }
}

#[test]
fn a_go_module_has_the_same_counts() {
    if is_there(Feature::Programs, "a Go module") {
        Program::new(&["sh", "go.sh"]).runs_alike();
    }
}

#[test]
fn a_project_of_maven_is_packaged_offline() {
    if is_there(Feature::Programs, "a project of Maven") {
        Program::new(&["sh", "maven.sh"]).runs_alike();
    }
}

#[test]
fn chromium_takes_the_same_screenshot() {
    if is_there(Feature::Programs, "Chromium") {
        Program::new(&["sh", "chromium.sh"]).runs_alike();
    }
}
