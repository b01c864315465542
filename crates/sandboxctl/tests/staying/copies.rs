//! Files that are copied into persistent sandboxes, out of them, and from one to another.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use crate::place::Place;
use crate::{Staying, error_code, everywhere, name, ours, said};

/// Copies something.
fn cp(place: &Place, words: &[&str]) -> Output {
    ours(place, &[&["cp", "--format", "json"], words].concat()).output().unwrap()
}

/// Copies something, which succeeds.
fn copy(place: &Place, words: &[&str]) {
    said(&cp(place, words));
}

#[test]
fn a_tree_comes_back_as_it_went() {
    for (caller, runner) in everywhere("copies of trees") {
        let place = Place::on(caller, runner);
        let who = format!("in {runner:?} by {caller:?}");
        let sandbox = Staying::create(&place, &[]);
        let there = |path: &str| format!("{}:{path}", name(&place));
        let bytes: Vec<u8> = (0..=255_u8).cycle().take(300_000).collect();
        place.write("tree/deep/program", "#!/bin/sh\necho runs\n");
        fs::write(place.write("tree/bytes", ""), &bytes).unwrap();
        fs::set_permissions(place.path("tree/deep/program"), fs::Permissions::from_mode(0o755)).unwrap();
        symlink("bytes", place.path("tree/link")).unwrap();
        let tree = place.path("tree");
        copy(&place, &[tree.to_str().unwrap(), &there("/tmp/new")]);
        assert_eq!(sandbox.prints(&["/tmp/new/deep/program"]), "runs\n", "{who}");
        assert_eq!(sandbox.prints(&["readlink", "/tmp/new/link"]), "bytes\n", "{who}");
        // Into a directory that is there, and what it contains.
        copy(&place, &[tree.to_str().unwrap(), &there("/tmp")]);
        sandbox.prints(&["cmp", "/tmp/tree/bytes", "/tmp/new/bytes"]);
        let contents = format!("{}/.", tree.display());
        sandbox.prints(&["mkdir", "/tmp/into"]);
        copy(&place, &[&contents, &there("/tmp/into")]);
        sandbox.prints(&["cmp", "/tmp/into/bytes", "/tmp/new/bytes"]);
        // One file, and back.
        copy(&place, &[&there("/tmp/new/bytes"), "bytes"]);
        assert!(fs::read(place.workspace().join("bytes")).unwrap() == bytes, "{who}");
        copy(&place, &[&there("/tmp/new"), "."]);
        let back = place.workspace().join("new");
        assert!(fs::read(back.join("bytes")).unwrap() == bytes, "{who}");
        assert_eq!(fs::metadata(back.join("deep/program")).unwrap().permissions().mode() & 0o777, 0o755);
        assert_eq!(fs::read_link(back.join("link")).unwrap(), Path::new("bytes"));
        // What a link leads to, where that is asked for.
        copy(&place, &["-L", &there("/tmp/new/link"), "followed"]);
        assert!(fs::read(place.workspace().join("followed")).unwrap() == bytes, "{who}");
        // It has the name that was asked for. Whoever made the link does not choose one.
        sandbox.prints(&["sh", "-c", "echo evil >/tmp/.envrc; ln -s .envrc /tmp/harmless"]);
        copy(&place, &["-L", &there("/tmp/harmless"), "."]);
        assert_eq!(fs::read_to_string(place.workspace().join("harmless")).unwrap(), "evil\n", "{who}");
        assert!(!place.workspace().join(".envrc").exists(), "{who}");
        // Whose it is: the caller's.
        let owner = said(&place.outside(&["stat", "-c", "%u", "new/bytes"]).output().unwrap());
        let caller_id = said(&place.outside(&["id", "-u"]).output().unwrap());
        assert_eq!(owner, caller_id, "{who}");
    }
}

#[test]
fn an_archive_goes_by_the_streams() {
    for (caller, runner) in everywhere("archives") {
        let place = Place::on(caller, runner);
        let who = format!("in {runner:?} by {caller:?}");
        let sandbox = Staying::create(&place, &[]);
        let there = |path: &str| format!("{}:{path}", name(&place));
        place.write("workspace/archived/file", "content\n");
        let program = place.path("sandboxctl");
        let (program, to) = (program.to_str().unwrap(), there("/tmp"));
        let pipeline = format!("tar -c archived | {program} cp - {to}");
        said(&place.outside(&["sh", "-c", &pipeline]).output().unwrap());
        assert_eq!(sandbox.prints(&["cat", "/tmp/archived/file"]), "content\n", "{who}");
        let pipeline = format!("{program} cp {}/archived - | tar -tv", there("/tmp"));
        let listed = said(&place.outside(&["sh", "-c", &pipeline]).output().unwrap());
        assert!(listed.contains(" archived/file\n"), "{who}: {listed}");
        // A stream that is cut off is an error.
        let cut = format!("tar -c archived | head -c 700 | {program} cp --format json - {to}");
        let output = place.outside(&["sh", "-c", &cut]).output().unwrap();
        assert_eq!(error_code(&output), "copy.failed", "{who}");
    }
}

#[test]
fn it_goes_from_one_sandbox_to_another() {
    let test = "copies between sandboxes";
    for (caller, runner) in everywhere(test) {
        let place = Place::on(caller, runner);
        let sandbox = Staying::create(&place, &[]);
        let other = format!("{}-other", name(&place));
        let words = [&["create", "--name", &other], place.provider()].concat();
        said(&ours(&place, &words).output().unwrap());
        sandbox.prints(&["sh", "-c", "mkdir /tmp/d; echo from one >/tmp/d/file"]);
        let (from, to) = (format!("{}:/tmp/d", name(&place)), format!("{other}:/tmp/e"));
        copy(&place, &[&from, &to]);
        let read = ours(&place, &["exec", &other, "--", "cat", "/tmp/e/file"]).output().unwrap();
        assert_eq!(said(&read), "from one\n", "in {runner:?} by {caller:?}");
        said(&ours(&place, &["rm", "--force", &other]).output().unwrap());
    }
}

#[test]
fn nothing_is_copied_that_a_command_could_not_write_or_read() {
    for (caller, runner) in everywhere("what copies may do") {
        let place = Place::on(caller, runner);
        let who = format!("in {runner:?} by {caller:?}");
        place.write("workspace/.git/HEAD", "ref: refs/heads/main\n");
        for directory in ["objects/x", "refs/x"] {
            place.write(&format!("workspace/.git/{directory}"), "");
        }
        place.write("workspace/.git/config", "[core]\n\tbare = false\n");
        place.write("payload", "[core]\n\tfsmonitor = /tmp/x\n");
        let sandbox = Staying::create(&place, &[]);
        let there = |path: &str| format!("{}:{path}", name(&place));
        let payload = place.path("payload");
        let payload = payload.to_str().unwrap();
        copy(&place, &[payload, &there("/workspace/new")]);
        for protected in ["/workspace/.git/config", "/usr/bin/new", "/etc/passwd", "/proc/1/comm"] {
            let output = cp(&place, &[payload, &there(protected)]);
            assert_eq!(error_code(&output), "copy.failed", "{protected} {who}");
        }
        let config = fs::read_to_string(place.workspace().join(".git/config")).unwrap();
        assert_eq!(config, "[core]\n\tbare = false\n", "{who}");
        // The memory of PID 1 is nobody's to read.
        let output = cp(&place, &[&there("/proc/1/environ"), "environ"]);
        assert_eq!(error_code(&output), "copy.failed", "{who}");
        for missing in ["/tmp/missing", "/dev/null"] {
            let output = cp(&place, &[&there(missing), "x"]);
            assert_eq!(error_code(&output), "copy.failed", "{missing} {who}");
            assert!(!place.workspace().join("x").exists());
        }
        drop(sandbox);
    }
}

#[test]
fn links_of_the_agent_lead_nobody_elsewhere() {
    for (caller, runner) in everywhere("links and copies") {
        let place = Place::on(caller, runner);
        let who = format!("in {runner:?} by {caller:?}");
        let secret = place.write("outside/secret", "kept outside\n");
        place.give(&place.path("outside"));
        let sandbox = Staying::create(&place, &[]);
        let there = |path: &str| format!("{}:{path}", name(&place));
        let outside = place.path("outside");
        let script = format!(
            "ln -s {0} out; ln -s {0}/secret link; mkdir tree; ln -s {0} tree/out; echo x >tree/file",
            outside.display()
        );
        sandbox.prints(&["sh", "-c", &script]);
        assert!(place.workspace().join("link").exists(), "the control {who}");
        // From the host: a path that the agent has made a link of, at its end and on the way.
        let output = cp(&place, &["out/secret", &there("/tmp/stolen")]);
        assert_eq!(error_code(&output), "copy.failed", "{who}");
        copy(&place, &["link", &there("/tmp/as-link")]);
        let inside = sandbox.exec(&[], &["cat", "/tmp/as-link"]).output().unwrap();
        assert!(!inside.status.success(), "{who}: {inside:?}");
        // From inside: links lead to what is there inside.
        let output = cp(&place, &["-L", &there("/workspace/link"), "copied"]);
        assert_eq!(error_code(&output), "copy.failed", "{who}");
        // To the host: into what is a link there, and over one.
        let output = cp(&place, &[&there("/workspace/tree/file"), "out/escaped"]);
        assert_eq!(error_code(&output), "copy.failed", "{who}");
        let output = cp(&place, &[&there("/workspace/tree"), "out/"]);
        assert_eq!(error_code(&output), "copy.failed", "{who}");
        copy(&place, &[&there("/workspace/tree/file"), "link"]);
        assert_eq!(fs::read_to_string(&secret).unwrap(), "kept outside\n", "{who}");
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 1, "{who}");
        // A file of the stream where a link of an earlier copy lies.
        copy(&place, &[&there("/workspace/tree"), "copy"]);
        sandbox.prints(&["sh", "-c", "rm tree/out; mkdir tree/out; echo x >tree/out/escaped"]);
        let output = cp(&place, &[&there("/workspace/tree/."), "copy"]);
        assert_eq!(error_code(&output), "copy.failed", "{who}");
        assert!(
            String::from_utf8_lossy(&output.stdout).contains("a link or a file is in its place"),
            "{who}: {output:?}"
        );
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 1, "{who}");
    }
}

#[test]
fn a_copy_that_is_cut_off_leaves_nothing_half_made() {
    for (caller, runner) in everywhere("copies that are cut off") {
        let place = Place::on(caller, runner);
        let sandbox = Staying::create(&place, &[]);
        let there = |path: &str| format!("{}:{path}", name(&place));
        // It grows without end, and its copy has the size that it had.
        said(
            &sandbox
                .exec(&["--detach"], &["sh", "-c", "mkdir /tmp/d; while :; do echo more; done >/tmp/d/log"])
                .output()
                .unwrap(),
        );
        sandbox.prints(&["sh", "-c", "until test -s /tmp/d/log; do :; done"]);
        copy(&place, &[&there("/tmp/d"), "grown"]);
        assert!(fs::metadata(place.workspace().join("grown/log")).unwrap().len() > 0);
        let mut client = ours(&place, &["cp", "-", &there("/tmp")]).stdin(Stdio::piped()).spawn().unwrap();
        sandbox.wait_until("it copies", |seen| seen["status"]["commands"] == 2);
        client.kill().unwrap();
        client.wait().unwrap();
        sandbox.wait_until("it has ended", |seen| seen["status"]["commands"] == 1);
        assert_eq!(
            sandbox.prints(&["sh", "-c", "ls -A /tmp | grep cp; true"]),
            "",
            "in {runner:?} by {caller:?}"
        );
        said(&ours(&place, &["stop", "--time", "0", &name(&place)]).output().unwrap());
        let output = cp(&place, &[&there("/tmp/d"), "late"]);
        assert_eq!(error_code(&output), "sandbox.state");
    }
}

#[test]
fn what_has_failed_first_is_what_is_said() {
    for (caller, runner) in everywhere("errors of copies") {
        let who = format!("in {runner:?} by {caller:?}");
        let place = Place::on(caller, runner);
        let sandbox = Staying::create(&place, &[]);
        // More than a pipe holds, so that whoever writes it learns that nobody reads.
        sandbox.prints(&["sh", "-c", "head -c 1000000 /dev/zero >/tmp/big; echo x >/tmp/file"]);
        let there = |path: &str| format!("{}:{path}", name(&place));
        let output = cp(&place, &[&there("/tmp/big"), &there("/tmp/file/in-no-directory")]);
        assert_eq!(error_code(&output), "copy.failed", "{who}");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.contains("Not a directory") && !said.contains("Broken pipe"), "{who}: {said}");
        // And what is written to a stream that nobody reads.
        let program = place.path("sandboxctl");
        let script = "\"$0\" cp --format json \"$1\" - 2>error | true; exit ${PIPESTATUS[0]}";
        let output = place
            .outside(&["bash", "-c", script, program.to_str().unwrap(), &there("/tmp/big")])
            .output()
            .unwrap();
        let error = fs::read_to_string(place.workspace().join("error")).unwrap();
        assert!(!output.status.success() && !error.contains("/tmp/big"), "{who}: {output:?} {error}");
    }
}

#[test]
fn a_copy_goes_wherever_the_host_has_a_directory() {
    for (caller, runner) in everywhere("copies to odd directories") {
        let place = Place::on(caller, runner);
        let sandbox = Staying::create(&place, &[]);
        sandbox.prints(&["sh", "-c", "echo content >/tmp/file"]);
        let name = OsStr::from_bytes(b"not \xff UTF-8");
        let directory = place.workspace().join(name);
        fs::create_dir_all(&directory).unwrap();
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o777)).unwrap();
        let there = format!("{}:/tmp/file", crate::name(&place));
        let mut cp = ours(&place, &["cp", "--format", "json", &there]);
        said(&cp.arg(&directory).output().unwrap());
        assert_eq!(
            fs::read_to_string(directory.join("file")).unwrap(),
            "content\n",
            "in {runner:?} by {caller:?}"
        );
    }
}

/// Copies a directory out of a sandbox, and kills the client while it does. Returns what that has left beside the copy's place.
fn killed_copy(place: &Place, from: &str) -> PathBuf {
    let drafts = || -> Vec<PathBuf> {
        let all = fs::read_dir(place.workspace()).unwrap().map(|entry| entry.unwrap().path());
        all.filter(|path| path.file_name().unwrap().as_encoded_bytes().starts_with(b".sandboxctl-cp-"))
            .collect()
    };
    let mut client = ours(place, &["cp", from, "copied"]).spawn().unwrap();
    let draft = loop {
        // From then on its record says which directory it is.
        let has_begun = |draft: &PathBuf| fs::read_dir(draft).unwrap().next().is_some();
        if let Some(draft) = drafts().pop().filter(has_begun) {
            break draft;
        }
        assert!(client.try_wait().unwrap().is_none(), "it has ended without a draft");
    };
    client.kill().unwrap();
    client.wait().unwrap();
    assert!(draft.exists(), "the control: a killed client leaves it");
    draft
}

#[test]
fn what_a_killed_copy_has_left_is_removed_by_the_next_command() {
    for (caller, runner) in everywhere("copies that are killed") {
        let who = format!("in {runner:?} by {caller:?}");
        let place = Place::on(caller, runner);
        let sandbox = Staying::create(&place, &[]);
        // One of the small files comes first, and then so much that it is not copied before the client is killed.
        sandbox.prints(&["sh", "-c", "mkdir /tmp/d; cd /tmp/d; echo x >a; truncate -s 4G b; echo x >c"]);
        let there = format!("{}:/tmp/d", name(&place));
        let prune = || said(&ours(&place, &["prune"]).output().unwrap());
        let records = || {
            let all = fs::read_dir(place.home().join(".local/state/sandboxctl/runs")).unwrap();
            all.filter(|one| {
                one.as_ref().unwrap().file_name().as_encoded_bytes().starts_with(b"sandboxctl-cp-")
            })
            .count()
        };

        let draft = killed_copy(&place, &there);
        assert_eq!(records(), 1, "{who}");
        prune();
        assert!(!draft.exists(), "{who}");
        assert!(!place.workspace().join("copied").exists(), "{who}");

        // Somebody has given its name to a directory of theirs.
        let draft = killed_copy(&place, &there);
        fs::rename(&draft, draft.with_extension("moved")).unwrap();
        fs::create_dir(&draft).unwrap();
        fs::write(draft.join("theirs"), "").unwrap();
        let output = ours(&place, &["prune"]).output().unwrap();
        said(&output);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(errors.contains("a copy that was killed may have left .sandboxctl-cp-"), "{who}: {errors}");
        assert!(draft.join("theirs").exists(), "{who}");
        assert_eq!(records(), 0, "{who}: it is said once");
    }
}

#[test]
fn what_comes_out_has_no_more_rights_than_the_caller_gives() {
    for (caller, runner) in everywhere("rights of what is copied out") {
        let place = Place::on(caller, runner);
        let sandbox = Staying::create(&place, &[]);
        sandbox.prints(&[
            "sh",
            "-c",
            "mkdir -p /tmp/open/in; echo x >/tmp/open/in/f; chmod -R 777 /tmp/open",
        ]);
        let program = place.path("sandboxctl");
        for (umask, directory, file) in [("077", 0o700, 0o700), ("022", 0o755, 0o755)] {
            let script = format!("umask {umask}; rm -rf out; exec \"$0\" cp \"$1:/tmp/open\" out");
            let words = ["sh", "-c", &script, program.to_str().unwrap(), &name(&place)];
            said(&place.outside(&words).output().unwrap());
            let mode = |path: &str| {
                std::os::unix::fs::MetadataExt::mode(&fs::metadata(place.workspace().join(path)).unwrap())
                    & 0o777
            };
            assert_eq!(
                (mode("out/in"), mode("out/in/f")),
                (directory, file),
                "umask {umask} in {runner:?} by {caller:?}"
            );
        }
    }
}
