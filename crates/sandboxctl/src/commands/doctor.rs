//! `doctor`: what of a sandbox this machine can carry out.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::Path;
use std::{env, io};

use anyhow::Context as _;
use policy::plan::FileId;
use policy::text::escape;
use sandbox::boundary::resolve::Lead;
use sandbox::doctor::{self, Diagnosis, Patient};
use sandbox::host::acting::ActingAs;
use sandbox::host::identity::Identity;
use sandbox::state::record::RunId;

use crate::context::Context;
use crate::error::CommandError;
use crate::exit_code::ExitCode;
use crate::ui::Ui;
use crate::{directories, report};

pub(crate) fn doctor(ui: &Ui, context: &Context) -> Result<ExitCode, CommandError> {
    // Of a name that nobody can take beforehand.
    let id = RunId::generate().context("cannot make a name for the sandbox")?;
    // Where links lead by the caller's rights, and none of /proc to where root stands.
    let temporary = env::temp_dir();
    let lead = Lead::of(&temporary, context.caller)
        .with_context(|| format!("cannot use {} to try a sandbox with", escape::path(&temporary)))?;
    let directory = lead.path().join(format!("sandboxctl-doctor-{}", id.as_str()));
    let diagnosis = make(&directory, context.caller).and_then(|file_id| {
        let patient = Patient {
            process: context.process,
            caller: context.caller,
            state: &context.state(),
            locks: Context::locks(),
            engines: &context.engines(context.programs(directories::around(context))),
            directory: (&directory, file_id),
        };
        let diagnosis = doctor::examine(patient);
        let _acting = ActingAs::user(context.caller)?;
        fs::remove_dir(&directory)?;
        Ok(diagnosis)
    });
    let diagnosis = diagnosis
        .with_context(|| format!("cannot use {} to try a sandbox with", escape::path(&directory)))?;
    ui.data(&diagnosis, text)?;
    Ok(if diagnosis.healthy { ExitCode::Success } else { ExitCode::Unavailable })
}

/// Makes an empty directory of the caller's: under sudo the user behind it, as whom it is searched.
fn make(path: &Path, caller: Identity) -> io::Result<FileId> {
    let _acting = ActingAs::user(caller)?;
    // A directory that is there already, whoever made it, is an error: in /tmp everybody may.
    DirBuilder::new().mode(0o700).create(path)?;
    let metadata = path.symlink_metadata()?;
    Ok(FileId { device: metadata.dev(), inode: metadata.ino() })
}

fn text(diagnosis: &Diagnosis) -> String {
    let mut lines = Vec::new();
    let mut line = |name: &str, state: &str, found: &str, fix: Option<&String>| {
        lines.push(format!("{name:<12}  {state:<8}  {found}\n"));
        lines.extend(fix.map(|fix| format!("{:<12}  {:<8}  {fix}\n", "", "to fix:")));
    };
    for check in &diagnosis.layers {
        line(&check.layer.to_string(), report::status(check.status), &check.reason, check.fix.as_ref());
    }
    if let Some(failure) = &diagnosis.failure {
        line("sandbox", "failed", &failure.message, failure.fix.as_ref());
    }
    for check in &diagnosis.host {
        let state = if check.good { "good" } else { "bad" };
        line("host", state, &format!("{}: {}", check.name, check.found), check.fix.as_ref());
    }
    for check in &diagnosis.engines {
        let state = if check.answers { "answers" } else { "absent" };
        line("engine", state, &format!("{}: {}", check.name, check.found), check.fix.as_ref());
    }
    let starts = if diagnosis.healthy { "starts" } else { "does not start" };
    lines.push(format!("\na sandbox with every required layer {starts} on this machine\n"));
    lines.concat()
}
