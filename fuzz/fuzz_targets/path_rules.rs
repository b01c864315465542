//! Any path, inside and outside: what is allowed lies in a boundary by component, and no protected path is written.
#![no_main]

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use libfuzzer_sys::fuzz_target;
use policy::plan::BoundaryMode;
use policy::protect::{Protected, RelativePath};
use policy::rules::hide::HidePatterns;
use policy::rules::path::{GuestBoundaries, GuestBoundary, GuestPath, Obeyed, PathAccess, normalise};
use policy::rules::shared_dir::{Caller, PathKind, ShareCandidate, validate};
use policy::rules::verdict::{Decision, Origin};

fuzz_target!(|input: (Vec<u8>, Vec<(String, bool)>, String)| {
    let (bytes, places, protect) = input;
    let path = PathBuf::from(OsString::from_vec(bytes));

    let normal = normalise(&path);
    assert_eq!(normalise(&normal), normal, "normal forms stay as they are");
    if path.is_absolute() {
        assert!(!normal.components().any(|part| matches!(part, Component::ParentDir | Component::CurDir)));
    }

    let added: Vec<RelativePath> = protect.parse().into_iter().collect();
    let protected = Protected::new(&added, &[]).expect("nothing is given up");
    let boundaries: Vec<GuestBoundary> = places
        .iter()
        .filter_map(|(place, writable)| {
            let guest = GuestPath::new(Path::new(place)).ok()?;
            guest.as_mount_point().ok()?;
            let mode = if *writable { BoundaryMode::ReadWrite } else { BoundaryMode::ReadOnly };
            Some(GuestBoundary {
                name: place.clone(),
                guest,
                mode,
                worktrees: Vec::new(),
                obeyed: Obeyed::ByPrograms,
                hidden: HidePatterns::default(),
                origin: Origin::Default,
            })
        })
        .collect();
    if let Ok(rules) = GuestBoundaries::new(boundaries.clone(), protected) {
        for access in [PathAccess::Read, PathAccess::Write, PathAccess::Execute] {
            if rules.decide(&path, access).decision != Decision::Allow {
                continue;
            }
            let holder = boundaries
                .iter()
                .filter(|boundary| normal.starts_with(boundary.guest.as_path()))
                .max_by_key(|boundary| boundary.guest.as_path().components().count());
            let holder = holder.expect("what is allowed lies in a boundary");
            assert!(
                access != PathAccess::Write || holder.mode == BoundaryMode::ReadWrite,
                "{path:?} is read-only"
            );
            let hooks = holder.guest.as_path().join(".git/hooks");
            assert!(access != PathAccess::Write || !normal.starts_with(hooks), "{path:?} is protected");
        }
    }

    let home = Path::new("/home/me");
    let caller = Caller { uid: 1001, homes: &[home], other_homes: &[], allowed_root: None };
    let candidate = ShareCandidate {
        given: &path,
        resolved: &normal,
        kind: PathKind::Directory,
        owner: 1001,
        mode: BoundaryMode::ReadWrite,
    };
    if validate(&candidate, &caller).is_ok() {
        assert!(normal.is_absolute() && !home.starts_with(&normal), "{normal:?} holds the home");
        for tree in ["/etc", "/usr", "/proc", "/sys", "/dev", "/boot", "/home/me/.ssh", "/home/me/.aws"] {
            assert!(!normal.starts_with(tree), "{normal:?} lies in {tree}");
        }
    }
});
