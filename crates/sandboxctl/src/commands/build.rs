//! `build`: the image of container providers, made by buildx as `[image]` says.

use std::env;
use std::ffi::OsString;
use std::fmt::Display;
use std::io::{self, IsTerminal};
use std::os::fd::AsFd;
use std::path::PathBuf;

use policy::build_spec::{BuildFlags, BuildSpec, ImageSource};
use policy::config::ImageTable;
use policy::config::overrides::Overrides;
use policy::config::problem::{self, Located, Problem};
use policy::text::escape;
use policy::text::json_bytes::JsonBytes;
use sandbox::host::programs::Programs;
use sandbox::image::{self, BuildError, BuildProgress, BuildRequest, Built, Detail, Files};
use serde_json::{Value, json};

use crate::cli::{BuildArgs, Format};
use crate::context::Context;
use crate::error::CommandError;
use crate::exit_code::ExitCode;
use crate::shell_words::quoted;
use crate::ui::Ui;
use crate::{consent, directories, files, load};

mod failure;

pub(crate) fn build(ui: &Ui, context: &Context, args: &BuildArgs) -> Result<ExitCode, CommandError> {
    let (spec, files, programs) = spec(context, args)?;
    let surroundings = context.engines(programs);
    let request = BuildRequest {
        spec: &spec,
        files: &files,
        surroundings: &surroundings,
        temporary: &env::temp_dir(),
        epoch: context.variable("SOURCE_DATE_EPOCH"),
        metadata_file: args.metadata_file.as_deref(),
        detail: if ui.format() == Format::Json { Detail::Platforms } else { Detail::Whole },
    };
    // Whoever wants JSON reads by a program, also where stderr is a terminal.
    let draws = ui.format() == Format::Text && !ui.is_quiet() && io::stderr().is_terminal();
    let stderr = io::stderr();
    let display = if draws { image::Display::Terminal(stderr.as_fd()) } else { image::Display::Lines };
    if args.dry_run {
        let (variable, words) =
            image::command(&request, display).map_err(|error| failure::command_error(&error, &spec))?;
        ui.note(match spec.source {
            ImageSource::Stock { .. } => "the build context is carried inside sandboxctl, and comes on stdin",
            ImageSource::Own { .. } => "before this, the entrypoint is built to disk, if it is wanted, and the image is checked there",
        });
        let shown = json!({ "environment": variable, "command": words.iter().map(|word| JsonBytes::from(word.as_os_str())).collect::<Vec<_>>(), "build_spec": spec });
        ui.data(&shown, |_| format!("{}\n", line(variable, &words)))?;
        return Ok(ExitCode::Success);
    }
    let mut on_line = |line: &str| ui.note(line);
    let built = match image::build(&request, &mut BuildProgress { display, on_line: &mut on_line }) {
        Ok(built) => built,
        Err(error @ BuildError::Ended(signal)) => {
            ui.failure(&failure::command_error(&error, &spec));
            return Ok(ExitCode::Signal(signal));
        }
        Err(error) => return Err(failure::command_error(&error, &spec)),
    };
    ui.data(&output(&spec, &built), |_| text(&spec, &built))?;
    Ok(ExitCode::Success)
}

/// Reads the build spec from the file and the flags, the files that it names, and the programs that may be run for it.
fn spec(context: &Context, args: &BuildArgs) -> Result<(BuildSpec, Files, Programs), CommandError> {
    let flags = BuildFlags {
        platform: args.platform.clone(),
        tag: args.tag.clone(),
        push: args.push,
        load: args.load,
        base: args.base.clone(),
        build_arg: args.build_arg.clone(),
        secret: args.secret.clone(),
        cache_from: args.cache_from.clone(),
        cache_to: args.cache_to.clone(),
        no_cache: args.no_cache,
        sbom: args.sbom.clone(),
        provenance: args.provenance.clone(),
        builder: args.builder.clone(),
    };
    let file = files::project(context, args.source.config.as_deref())?;
    let settings = load::settings(context, file.as_ref(), &Overrides::default())?;
    if let Some(file) = &file {
        consent::require(
            context,
            &args.source,
            file,
            &settings.widenings,
            &settings.needed_to_build(!args.tag.is_empty()),
        )?;
    }
    let spec = BuildSpec::new(&settings.effective, &flags).map_err(CommandError::problems)?;
    let programs = context.programs(directories::writable(context, settings.effective.settings()));
    let files = files_of(context, &settings.effective.settings().image, &programs)?;
    Ok((spec, files, programs))
}

/// Reads what the build spec names, with the rights of the caller.
fn files_of(context: &Context, image: &ImageTable, programs: &Programs) -> Result<Files, CommandError> {
    let failed = |key: &str, path: &Located<PathBuf>, error: &dyn Display, hint: &str| {
        let message = format!("{} cannot be read: {error}", escape::path(&path.value));
        CommandError::problems(vec![
            Problem::new(&path.location, key, problem::ProblemCode::Host, message).hinting(hint),
        ])
    };
    let mut files = Files::default();
    if let Some(path) = &image.dockerfile {
        let hint = "write it, or leave `image.dockerfile` out for the stock image";
        files.dockerfile = sandbox::host::small_file::read(&path.value, context.caller)
            .map_err(|error| failed("image.dockerfile", path, &error, hint))?;
    }
    if let Some(path) = &image.ca_certificates {
        let hint = "name the file of your proxy's certificate, outside of what is shared";
        let content = programs.writable().read(&path.value, context.caller);
        files.ca_certificates =
            Some(content.map_err(|error| failed("image.ca_certificates", path, &error, hint))?);
    }
    Ok(files)
}

fn output(spec: &BuildSpec, built: &Built) -> Value {
    let platforms = built.platforms.iter();
    json!({
        "image": {
            "tags": spec.tags,
            "digest": built.digest,
            "platforms": platforms
                .map(|(platform, digest)| json!({ "platform": platform, "digest": digest }))
                .collect::<Vec<_>>(),
            "loaded": spec.destination.loads(),
            "pushed": spec.destination.pushes(),
            "builder": built.builder,
        }
    })
}

/// Lists the names of the image, each with its digest where it has one.
fn text(spec: &BuildSpec, built: &Built) -> String {
    let digest = built.digest.as_ref().map(|digest| format!("@{digest}")).unwrap_or_default();
    spec.tags.iter().map(|tag| format!("{tag}{digest}\n")).collect::<Vec<_>>().concat()
}

fn lossy(words: &[OsString]) -> Vec<String> {
    words.iter().map(|word| word.to_string_lossy().into_owned()).collect()
}

/// Formats a command line as a shell takes it.
fn line(variable: Option<String>, words: &[OsString]) -> String {
    let words = lossy(words).into_iter().map(|word| quoted(&word));
    variable.into_iter().chain(words).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_can_be_given_to_a_shell() {
        let words = ["docker", "--build-arg", "PACKAGES=a b", "it's", ""].map(OsString::from);
        let shown = line(Some("A=1".to_owned()), &words);
        assert_eq!(shown, r"A=1 docker --build-arg 'PACKAGES=a b' 'it'\''s' ''");
    }
}
