//! `trust` and `untrust`: what a project's file widens, and whether its owner wants that.

use policy::overrides::Overrides;
use serde_json::json;

use crate::cli::{Format, TrustArgs, UntrustArgs};
use crate::consent;
use crate::context::Context;
use crate::error::{Code, CommandError};
use crate::exit_code::ExitCode;
use crate::files;
use crate::load;
use crate::ui::{self, Ui};

pub(crate) fn trust(ui: &Ui, context: &Context, args: &TrustArgs) -> Result<ExitCode, CommandError> {
    let file = files::required(context, args.file.as_deref())?;
    let settings = load::settings(context, Some(&file), &Overrides::default())?;
    let (label, widenings, hash) = (&file.label, &settings.widenings, consent::hash(&file.candidate));
    let answer = |trusted: bool, text: &str| {
        let object =
            json!({ "file": file.candidate.path, "hash": hash, "widens": widenings, "trusted": trusted });
        ui.data(&object, |_| text.to_owned())
    };
    // What widens nothing by itself may still need trust together with a flag such as `--provider local`.
    let shown = if widenings.is_empty() {
        format!("{label} widens nothing by itself, and needs no trust for that")
    } else {
        format!("{label} widens what a sandbox may do:\n{}", consent::list(widenings))
    };
    if args.show {
        let trusted = consent::store(context)?.check(&file.candidate)? == sandbox::trust::Trust::Trusted;
        let state = if trusted { "trusted" } else { "not trusted" };
        answer(trusted, &format!("{shown}\n{hash} is {state}\n"))?;
        return Ok(ExitCode::Success);
    }
    if args.answers.yes {
        // Programs get the list in the one object.
        if ui.format() == Format::Text {
            ui.note(&shown);
        }
    } else {
        // Nobody is asked about what they were not shown, however quiet it should be.
        ui::tell(&shown);
        if args.answers.no_input || !ui::can_ask() {
            return Err(CommandError::message(
                Code::ConfigUntrusted,
                format_args!("{label} stays untrusted: nobody can be asked"),
            )
            .hint("read the file, then say `--yes`"));
        }
        if !ui::confirm(&format!("trust {label} with just this content?"))? {
            return Err(CommandError::message(
                Code::ConfigUntrusted,
                format_args!("{label} stays untrusted"),
            ));
        }
    }
    // What was shown is what was read, and its hash is what is kept.
    consent::store(context)?.trust(&file.candidate)?;
    answer(true, &format!("trusted {label}, {hash}\n"))?;
    Ok(ExitCode::Success)
}

pub(crate) fn untrust(ui: &Ui, context: &Context, args: &UntrustArgs) -> Result<ExitCode, CommandError> {
    // A file that is gone may still be named: its trust is what is taken back.
    let path = match &args.file {
        Some(path) => context.absolute(path),
        None => files::required(context, None)?.candidate.path,
    };
    let was_trusted = consent::store(context)?.untrust(&path)?;
    let state = if was_trusted { "is no longer trusted" } else { "was not trusted" };
    ui.data(&json!({ "file": path, "was_trusted": was_trusted }), |_| {
        format!("{} {state}\n", path.display())
    })?;
    Ok(ExitCode::Success)
}
