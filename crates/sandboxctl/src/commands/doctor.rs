//! `doctor`: what of a sandbox this machine can carry out.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::{env, process};

use anyhow::Context as _;
use policy::plan::FileId;
use policy::text::escape;
use sandbox::doctor::{self, Diagnosis, Patient};

use crate::context::Context;
use crate::error::CommandError;
use crate::exit_code::ExitCode;
use crate::ui::Ui;
use crate::{directories, report};

pub(crate) fn doctor(ui: &Ui, context: &Context) -> Result<ExitCode, CommandError> {
    let directory = env::temp_dir().join(format!("sandboxctl-doctor-{}", process::id()));
    // A directory that is there already, whoever made it, is an error: in /tmp everybody may.
    let diagnosis = DirBuilder::new().mode(0o700).create(&directory).and_then(|()| {
        let metadata = directory.metadata()?;
        let file_id = FileId { device: metadata.dev(), inode: metadata.ino() };
        let patient = Patient {
            process: context.process,
            caller: context.caller,
            state: &context.state(),
            locks: Context::locks(),
            engines: &context.engines(context.programs(directories::around(context))),
            directory: (&directory, file_id),
        };
        let diagnosis = doctor::examine(patient);
        fs::remove_dir(&directory)?;
        Ok(diagnosis)
    });
    let diagnosis = diagnosis
        .with_context(|| format!("cannot use {} to try a sandbox with", escape::path(&directory)))?;
    ui.data(&diagnosis, text)?;
    Ok(if diagnosis.healthy { ExitCode::Success } else { ExitCode::Unavailable })
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
