//! A program, run outside and inside, and what must not differ.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::Caller;
use crate::machine::callers;
use crate::place::Place;
use crate::toolchain;

/// A script of `scripts/` and what it needs.
pub(crate) struct Program {
    argv: &'static [&'static str],
    prepare: fn(&Place),
    toolchain: Option<PathBuf>,
}

impl Program {
    /// A command, run in a workspace that holds all scripts.
    pub(crate) fn new(argv: &'static [&'static str]) -> Self {
        Self { argv, prepare: |_| (), toolchain: None }
    }

    /// What has to lie on the host first.
    pub(crate) fn prepare(mut self, prepare: fn(&Place)) -> Self {
        self.prepare = prepare;
        self
    }

    /// Lets the caller have a Rust toolchain in its home, wherever it really lies.
    pub(crate) fn with_toolchain(mut self, toolchain: PathBuf) -> Self {
        self.toolchain = Some(toolchain);
        self
    }

    /// Runs it outside and inside by every caller: same exit code, same output, all files the caller's.
    pub(crate) fn runs_alike(&self) {
        for caller in callers(self.argv[1]) {
            let (outside, inside) = (self.place(caller), self.place(caller));
            let expected = self.run(&outside, outside.outside(self.argv));
            assert!(expected.0 == Some(0), "outside by {caller:?}: {}", expected.2);
            let got = self.run(&inside, inside.inside(&[""; 0], self.argv));
            assert_eq!(
                (got.0, &got.1),
                (expected.0, &expected.1),
                "{} by {caller:?}: {}",
                self.argv[1],
                got.2
            );
            let owner = inside.workspace().metadata().unwrap().uid();
            for path in everything(&inside.workspace()) {
                assert_eq!(path.symlink_metadata().unwrap().uid(), owner, "{} by {caller:?}", path.display());
            }
        }
    }

    fn place(&self, caller: Caller) -> Place {
        let place = Place::new(caller);
        for script in everything(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/scripts"))) {
            let name = script.file_name().unwrap().to_str().unwrap();
            place.write(&format!("workspace/{name}"), &fs::read_to_string(&script).unwrap());
        }
        (self.prepare)(&place);
        place
    }

    /// Exit code, standard output with the same paths on both sides, standard error.
    fn run(&self, place: &Place, mut command: Command) -> (Option<i32>, String, String) {
        if let Some(toolchain) = &self.toolchain {
            command = toolchain::lend(place, toolchain, &command);
        }
        let Output { status, stdout, stderr } = command.output().unwrap();
        let text =
            |bytes| String::from_utf8_lossy(bytes).replace(place.workspace().to_str().unwrap(), "/workspace");
        (status.code(), text(&stdout), text(&stderr))
    }
}

fn everything(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| {
            if path.is_dir() && !path.is_symlink() {
                [vec![path.clone()], everything(&path)].concat()
            } else {
                vec![path]
            }
        })
        .collect()
}
