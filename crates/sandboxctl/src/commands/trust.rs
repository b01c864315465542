//! `trust` and `untrust`: what a project's file widens, and whether its owner wants that.

use std::path::Path;

use policy::Policy;
use policy::config::overrides::Overrides;
use policy::config::trust::Applies;
use policy::text::escape;
use policy::text::json_bytes::JsonBytes;
use sandbox::state::trust::{SearchEnd, Searched, Trust};
use serde_json::json;

use crate::cli::{Format, TrustArgs, UntrustArgs};
use crate::consent;
use crate::context::Context;
use crate::error::{Code, CommandError};
use crate::exit_code::ExitCode;
use crate::files;
use crate::load;
use crate::precedence;
use crate::text;
use crate::ui::{self, Ui};

pub(crate) fn trust(ui: &Ui, context: &Context, args: &TrustArgs) -> Result<ExitCode, CommandError> {
    let (file, searched) = files::searched(context, args.file.as_deref())?;
    let Some(file) = file else {
        return match &searched.end {
            Some(SearchEnd::Repository(repository)) if !searched.above.is_empty() => {
                without_file(ui, context, args, &searched, repository)
            }
            _ => Err(files::none_found()),
        };
    };
    let settings = load::settings(context, Some(&file), &Overrides::default())?;
    // Which provider runs it is not known yet, so what stands against it now is only said.
    for problem in Policy::new(&settings.effective, &context.cwd).err().unwrap_or_default() {
        ui.warning(format_args!("it would not run as it stands: {problem}"));
    }
    let (label, widenings, hash) = (&file.label, settings.shown(), consent::hash(&file, &settings.widenings));
    let locally: Vec<_> =
        settings.widenings.iter().filter(|widening| widening.applies == Applies::Locally).collect();
    let answer = |trusted: bool, text: &str| {
        let object = json!({
            "file": JsonBytes::from(file.candidate.path.as_path()),
            "hash": hash,
            "widens": widenings,
            "widens_without_isolation": locally,
            "trusted": trusted,
        });
        ui.data(&object, |_| text.to_owned())
    };
    let mut shown = if widenings.is_empty() {
        format!("{label} widens nothing by itself, and needs no trust for that")
    } else {
        format!("{label} widens what a sandbox may do:\n{}", consent::list(widenings.iter().copied()))
    };
    // What is said yes to is all of it, whichever flags the next command has.
    let beside = locally.iter().copied().filter(|one| !widenings.contains(one));
    let beside = consent::list(beside);
    if !beside.is_empty() {
        shown = format!("{shown}\nwith `--provider local`, which isolates nothing, it also:\n{beside}");
    }
    if args.show {
        let trust = consent::check(context, &file, &widenings)?;
        let state = match &trust {
            Trust::Trusted => format!("{hash} is trusted"),
            Trust::Widened(new) => {
                let new: Vec<_> = new.iter().map(|line| text::one_line(&format!("  {line}"))).collect();
                format!("{hash} was trusted for another list; new is:\n{}", new.join("\n"))
            }
            Trust::Changed => format!("{hash} is not trusted; other content was"),
            Trust::Unknown => format!("{hash} is not trusted"),
        };
        answer(trust == Trust::Trusted, &format!("{shown}\n{state}\n"))?;
        return Ok(ExitCode::Success);
    }
    if args.answers.yes {
        // Programs get the list in the one object.
        if ui.format() == Format::Text {
            ui.note(&shown);
        }
    } else {
        // Nobody is asked about what they were not shown, however quiet it should be.
        ui::print(&shown);
        ask(
            args,
            Code::ConfigUntrusted,
            &format!("{label} stays untrusted"),
            &format!("trust {label} with just this content?"),
        )?;
    }
    // What was shown is what was read, and just that is kept.
    consent::record(context, &file, &settings.widenings)?;
    let named = Searched { end: Some(SearchEnd::File(file.candidate.path.clone())), ..Searched::default() };
    precedence::note(context, if searched.end.is_some() { &searched } else { &named })?;
    answer(true, &format!("trusted {label}, {hash}\n"))?;
    Ok(ExitCode::Success)
}

/// Records that a repository has no file of its own, and that none of those above counts in it.
fn without_file(
    ui: &Ui,
    context: &Context,
    args: &TrustArgs,
    searched: &Searched,
    repository: &Path,
) -> Result<ExitCode, CommandError> {
    let above: Vec<_> = searched.above.iter().map(|path| format!("  {}", escape::path(path))).collect();
    let place = escape::path(repository);
    let shown = format!(
        "{place} is a repository without a sandbox.toml, and none from above counts in it:\n{}",
        above.join("\n")
    );
    let answer = |trusted: bool, text: &str| {
        let above: Vec<_> = searched.above.iter().map(|path| JsonBytes::from(path.as_path())).collect();
        let object = json!({ "repository": JsonBytes::from(repository), "above": above, "trusted": trusted });
        ui.data(&object, |_| text.to_owned())
    };
    if args.show {
        answer(false, &format!("{shown}\n"))?;
        return Ok(ExitCode::Success);
    }
    if args.answers.yes {
        if ui.format() == Format::Text {
            ui.note(&shown);
        }
    } else {
        ui::print(&shown);
        ask(args, Code::ConfigSuperseded, "nothing was recorded", "use no sandbox.toml there?")?;
    }
    precedence::note(context, searched)?;
    answer(true, &format!("{place} has no sandbox.toml\n"))?;
    Ok(ExitCode::Success)
}

/// Asks a person, who has been shown what the question is about.
fn ask(args: &TrustArgs, code: Code, otherwise: &str, question: &str) -> Result<(), CommandError> {
    if args.answers.no_input || !ui::can_ask() {
        return Err(CommandError::message(code, format_args!("{otherwise}: nobody can be asked"))
            .hint("read the file, then say `--yes`"));
    }
    if ui::confirm(question)? { Ok(()) } else { Err(CommandError::message(code, otherwise)) }
}

pub(crate) fn untrust(ui: &Ui, context: &Context, args: &UntrustArgs) -> Result<ExitCode, CommandError> {
    // A file that is gone may still be named: its trust is what is taken back.
    let path = match &args.file {
        Some(path) => context.absolute(path),
        None => files::required(context, None)?.candidate.path,
    };
    let was_trusted = consent::store(context)?.untrust(&path)?;
    let state = if was_trusted { "is no longer trusted" } else { "was not trusted" };
    ui.data(&json!({ "file": JsonBytes::from(path.as_path()), "was_trusted": was_trusted }), |_| {
        format!("{} {state}\n", escape::path(&path))
    })?;
    Ok(ExitCode::Success)
}
