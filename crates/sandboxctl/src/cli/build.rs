//! What `build` takes. Names are those of buildx where it has the same flag.

use std::path::PathBuf;

use clap::Args;

use super::source::ConfigSource;

#[derive(Args, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "flags, as they are typed")]
pub(crate) struct BuildArgs {
    #[command(flatten)]
    pub(crate) source: ConfigSource,
    /// Build for these platforms; a list with commas, or several times
    #[arg(long, value_name = "OS/ARCH")]
    pub(crate) platform: Vec<String>,
    /// Name the image; several times for several names
    #[arg(short, long, value_name = "NAME[:TAG]")]
    pub(crate) tag: Vec<String>,
    /// Push it to the registry that its name says
    #[arg(long)]
    pub(crate) push: bool,
    /// Hand it to the engine of this machine, which is done anyway unless `--push` is said
    #[arg(long)]
    pub(crate) load: bool,
    /// Start from this image
    #[arg(long, value_name = "IMAGE")]
    pub(crate) base: Option<String>,
    /// Set an argument of the build, or let the caller's variable be one; everybody can read it in the image
    #[arg(long, value_name = "NAME[=VALUE]")]
    pub(crate) build_arg: Vec<String>,
    /// Show a secret to steps that ask for it; it stays in no layer
    #[arg(long, value_name = "id=ID[,src=FILE|,env=NAME]")]
    pub(crate) secret: Vec<String>,
    /// Take finished steps from this cache
    #[arg(long, value_name = "CACHE")]
    pub(crate) cache_from: Vec<String>,
    /// Keep finished steps in this cache
    #[arg(long, value_name = "CACHE")]
    pub(crate) cache_to: Vec<String>,
    /// Attest what is in the image
    #[arg(long, value_name = "true|false|OPTIONS", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) sbom: Option<String>,
    /// Attest how the image was made; buildx does so in short where it can
    #[arg(long, value_name = "true|false|mode=max", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) provenance: Option<String>,
    /// Write what buildx knows of the image into this file
    #[arg(long, value_name = "FILE")]
    pub(crate) metadata_file: Option<PathBuf>,
    /// Do every step again
    #[arg(long)]
    pub(crate) no_cache: bool,
    /// Use this builder, and look for no other
    #[arg(long, value_name = "NAME")]
    pub(crate) builder: Option<String>,
    /// Print the command line of buildx and build nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}
