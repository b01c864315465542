//! References and remotes by their names, and lists of git that say they are large.

use super::repositories::{committed, git, move_all};
use super::*;

#[test]
fn a_reference_whose_name_is_obeyed_goes_in_every_form() {
    const NAME: &str = "v1$(touch${IFS}x)";
    let tags = |boundary: &Boundary| git(&boundary.host, &["tag", "--points-at", "HEAD"]);
    let packed = |boundary: &Boundary| {
        git(&boundary.host, &["tag", NAME]);
        git(&boundary.host, &["pack-refs", "--all"]);
    };
    let linked = |boundary: &Boundary| {
        let (target, tag) = ("refs/tags/plain", format!(".git/refs/tags/{NAME}"));
        boundary.link(target, &tag).directory(".git/refs/tags/refs/tags");
        fs::copy(
            boundary.host.join(".git/refs/tags/plain"),
            boundary.host.join(".git/refs/tags/refs/tags/plain"),
        )
        .unwrap();
    };
    for form in ["packed-refs", "refs/tags"] {
        let (boundary, _) = committed();
        git(&boundary.host, &["tag", "plain"]);
        let baseline = boundary.baseline();
        if form == "packed-refs" {
            packed(&boundary);
        } else {
            linked(&boundary);
        }
        assert!(tags(&boundary).contains(NAME), "the control: {form}");
        let found = move_all(&boundary, &baseline);
        assert!(found.iter().any(|one| one.path.starts_with(Path::new(".git").join(form))), "{found:?}");
        let left = tags(&boundary);
        assert!(!left.contains(NAME) && left.contains("plain"), "{form}: {left}");
        assert_eq!(boundary.compare(&baseline), [], "{form}");
    }
}

#[test]
fn a_remote_whose_name_is_obeyed_goes_though_it_is_empty() {
    for name in ["upstream;evil", "a$(evil)"] {
        let (boundary, _) = committed();
        let baseline = boundary.baseline();
        boundary.write(&format!(".git/remotes/{name}"), "").directory(&format!(".git/branches/{name}"));
        boundary.write(".git/remotes/empty", "");
        let mut found = boundary.paths(&baseline);
        found.sort();
        assert_eq!(found, [format!(".git/branches/{name}"), format!(".git/remotes/{name}")]);
    }
}

#[test]
fn files_that_say_they_are_large_do_not_keep_a_search() {
    const FILES: usize = 60;
    let (boundary, _) = committed();
    let baseline = boundary.baseline();
    for number in 0..FILES {
        let git = format!("m/{number}/.git");
        boundary.bare(&git);
        File::create(boundary.host.join(&git).join("packed-refs")).unwrap().set_len(64 << 20).unwrap();
    }
    boundary.write(".envrc", "evil");
    // Which of them are too large depends on their order; that they are is reported, and they stay.
    let found = boundary.compare(&baseline);
    let (stay, go): (Vec<_>, Vec<_>) = found.iter().partition(|one| one.stays());
    assert_eq!(go.iter().map(|one| one.path.as_path()).collect::<Vec<_>>(), [Path::new(".envrc")]);
    assert!((FILES - 4..FILES).contains(&stay.len()), "{}", stay.len());
    assert!(stay.iter().all(|one| one.path.ends_with("packed-refs")));
}
