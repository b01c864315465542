//! Trees of files as a stream of tar: packed beneath one directory, unpacked beneath another one.
//!
//! Both sides work beneath descriptors, name by name, and follow no link: whoever rearranges a tree meanwhile leads them nowhere
//! else. What is no file, directory or link is left out. Bits that give somebody else's rights are not copied.

pub use self::destination::{Destination, Source, destination};
pub use self::draft::{DirectoryId, DraftName, remove_draft};
pub use self::entry::{Copied, Kind, TreeError};
pub use self::pack::pack;
pub use self::unpack::Unpacking;

mod destination;
mod draft;
mod entry;
mod pack;
mod unpack;

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use std::ffi::OsStr;
    use std::os::fd::{AsFd, OwnedFd};
    use std::path::Path;

    use rustix::fs::{FileType, Mode};

    use super::*;

    fn open(path: &Path) -> OwnedFd {
        fs::File::open(path).unwrap().into()
    }

    fn unpack(to: Destination, stream: impl std::io::Read) -> Result<Unpacking, TreeError> {
        let mut unpacking = Unpacking::begin(to, DraftName::generate().unwrap())?;
        unpacking.read(stream)?;
        Ok(unpacking)
    }

    /// Packs a name of a directory, and unpacks it in another one.
    fn copy(from: &Path, name: &str, to: &Path, wanted: &str) -> Result<Copied, TreeError> {
        let mut stream = Vec::new();
        let packed = pack(open(from).as_fd(), OsStr::new(name), Path::new(name), &mut stream)?;
        let source = Source { kind: Kind::Directory, base: name.into(), is_contents: false };
        let destination = destination(&to.join(wanted), &source, |path| Ok(open(path)))?;
        let copied = unpack(destination, &stream[..])?.commit()?;
        Ok(Copied { skipped: packed.skipped, ..copied })
    }

    #[test]
    fn a_tree_is_copied_as_it_is() {
        let place = tempfile::tempdir().unwrap();
        let (from, to) = (place.path().join("from"), place.path().join("to"));
        fs::create_dir_all(from.join("tree/deep/er")).unwrap();
        fs::create_dir(&to).unwrap();
        fs::write(from.join("tree/file"), "content").unwrap();
        fs::write(from.join("tree/deep").join("n".repeat(200)), vec![7; 100_000]).unwrap();
        fs::set_permissions(from.join("tree/file"), fs::Permissions::from_mode(0o4751)).unwrap();
        fs::set_permissions(from.join("tree/deep/er"), fs::Permissions::from_mode(0o500)).unwrap();
        symlink("/etc/passwd", from.join("tree/link")).unwrap();
        rustix::fs::mknodat(open(&from.join("tree")), "pipe", FileType::Fifo, Mode::RUSR, 0).unwrap();
        let copied = copy(&from, "tree", &to, "").unwrap();
        assert_eq!((copied.entries, copied.bytes, copied.skipped), (6, 100_007, 1));
        assert_eq!(fs::read_to_string(to.join("tree/file")).unwrap(), "content");
        assert_eq!(fs::read(to.join("tree/deep").join("n".repeat(200))).unwrap(), vec![7; 100_000]);
        let mode = |path: &str| fs::metadata(to.join(path)).unwrap().permissions().mode() & 0o7777;
        assert_eq!((mode("tree/file"), mode("tree/deep/er")), (0o751, 0o500));
        assert_eq!(fs::read_link(to.join("tree/link")).unwrap(), Path::new("/etc/passwd"));
        let before = fs::metadata(from.join("tree/file")).unwrap().modified().unwrap();
        let after = fs::metadata(to.join("tree/file")).unwrap().modified().unwrap();
        assert!(before.duration_since(after).unwrap_or_default() < std::time::Duration::from_secs(1));
        // Again, onto what is there, and under another name.
        fs::write(from.join("tree/file"), "new").unwrap();
        copy(&from, "tree", &to, "").unwrap();
        assert_eq!(fs::read_to_string(to.join("tree/file")).unwrap(), "new");
        copy(&from, "tree", &to, "other").unwrap();
        copy_contents(&from, &to);
        assert_eq!(fs::read_to_string(to.join("other/file")).unwrap(), "new");
    }

    /// Copies what a directory contains into one that is there, and into one that is not.
    fn copy_contents(from: &Path, to: &Path) {
        for wanted in ["there", "new"] {
            fs::create_dir_all(to.join("there")).unwrap();
            let mut stream = Vec::new();
            pack(open(from).as_fd(), OsStr::new("tree"), Path::new("tree"), &mut stream).unwrap();
            let source = Source { kind: Kind::Directory, base: "tree".into(), is_contents: true };
            let destination = destination(&to.join(wanted), &source, |path| Ok(open(path))).unwrap();
            unpack(destination, &stream[..]).unwrap().commit().unwrap();
            assert_eq!(fs::read_to_string(to.join(wanted).join("file")).unwrap(), "new");
        }
    }

    #[test]
    fn a_stream_leads_nowhere_else() {
        let place = tempfile::tempdir().unwrap();
        let outside = place.path().join("outside");
        fs::create_dir(&outside).unwrap();
        let hostile = |build: &dyn Fn(&mut tar::Builder<Vec<u8>>)| {
            let mut builder = tar::Builder::new(Vec::new());
            build(&mut builder);
            let to = tempfile::tempdir_in(place.path()).unwrap();
            let source = Source { kind: Kind::Directory, base: "x".into(), is_contents: true };
            let destination = destination(to.path(), &source, |path| Ok(open(path))).unwrap();
            let stream = builder.into_inner().unwrap();
            unpack(destination, &stream[..]).and_then(|mut unpacking| unpacking.commit())
        };
        let file = |builder: &mut tar::Builder<Vec<u8>>, path: &str| {
            let mut header = tar::Header::new_gnu();
            header.set_size(1);
            header.set_mode(0o644);
            // Raw: the library would refuse some of these.
            header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
            header.set_cksum();
            builder.append(&header, &b"x"[..]).unwrap();
        };
        let link = |builder: &mut tar::Builder<Vec<u8>>, kind, path: &str, target: &Path| {
            let mut header = tar::Header::new_gnu();
            header.set_entry_type(kind);
            header.set_size(0);
            header.set_mode(0o777);
            builder.append_link(&mut header, path, target).unwrap();
        };
        assert!(hostile(&|builder| file(builder, "x/ok")).is_ok(), "the control");
        for path in ["../escaped", "/escaped", "x/../../escaped"] {
            assert!(hostile(&|builder| file(builder, path)).is_err(), "{path}");
        }
        let through = hostile(&|builder| {
            link(builder, tar::EntryType::Symlink, "x/l", &outside);
            file(builder, "x/l/escaped");
        });
        assert!(through.is_err());
        let secret = place.path().join("secret");
        fs::write(&secret, "kept").unwrap();
        let hard = hostile(&|builder| {
            link(builder, tar::EntryType::Link, "x/h", &secret);
        });
        assert!(hard.is_err());
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
        assert!(!place.path().join("escaped").exists() && !Path::new("/escaped").exists());
    }

    #[test]
    fn a_name_leads_nowhere_else() {
        let place = tempfile::tempdir().unwrap();
        let to = place.path().join("to");
        fs::create_dir_all(place.path().join("tree")).unwrap();
        fs::create_dir(&to).unwrap();
        let mut stream = Vec::new();
        pack(open(place.path()).as_fd(), OsStr::new("tree"), Path::new("tree"), &mut stream).unwrap();
        let absolute = place.path().join("absolute").into_os_string();
        let copied = |base: &OsStr, kind| {
            let source = Source { kind, base: base.to_owned(), is_contents: false };
            let destination = destination(&to, &source, |path| Ok(open(path)))?;
            unpack(destination, &stream[..])?.commit()
        };
        for base in [OsStr::new("../escaped"), OsStr::new(".."), OsStr::new("a/b"), &absolute] {
            for kind in [Kind::Directory, Kind::File, Kind::Link] {
                let refused = copied(base, kind).unwrap_err();
                assert_eq!(refused.source.to_string(), "its name leads elsewhere", "{base:?}");
            }
        }
        assert_eq!(fs::read_dir(&to).unwrap().count(), 0);
        assert!(!place.path().join("escaped").exists() && !place.path().join("absolute").exists());
        copied(OsStr::new("tree"), Kind::Directory).unwrap();
        assert!(to.join("tree").is_dir(), "the control");
    }

    #[test]
    fn a_header_without_end_is_not_kept_in_memory() {
        use std::io::Read;
        for (kind, refused) in [(b'L', true), (b'K', true), (b'x', true), (b'g', false), (b'7', false)] {
            let mut header = tar::Header::new_gnu();
            header.set_entry_type(tar::EntryType::new(kind));
            header.set_size(32 << 20);
            header.set_mode(0o600);
            header.set_cksum();
            let mut read = 0;
            let stream = header.as_bytes().chain(std::io::repeat(b'a').take(32 << 20));
            let stream = stream.chain(std::io::repeat(0).take(1024));
            let counted = Counted { stream, read: &mut read };
            let to = tempfile::tempdir().unwrap();
            let result = unpack(Destination::within(open(to.path())), counted);
            assert_eq!(result.is_err(), refused, "{}: {result:?}", char::from(kind));
            assert_eq!(read < 16 << 20, refused, "{}: {read} bytes", char::from(kind));
        }
    }

    struct Counted<'a, R> {
        stream: R,
        read: &'a mut u64,
    }

    impl<R: std::io::Read> std::io::Read for Counted<'_, R> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let read = self.stream.read(buffer)?;
            *self.read += read as u64;
            Ok(read)
        }
    }

    #[test]
    fn what_is_not_whole_leaves_nothing() {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir(place.path().join("tree")).unwrap();
        fs::write(place.path().join("tree/file"), vec![1; 10_000]).unwrap();
        let mut stream = Vec::new();
        pack(open(place.path()).as_fd(), OsStr::new("tree"), Path::new("tree"), &mut stream).unwrap();
        let to = place.path().join("to");
        fs::create_dir(&to).unwrap();
        for length in [0, 100, 512, 1000, 5000] {
            let source = Source { kind: Kind::Directory, base: "tree".into(), is_contents: false };
            let destination = destination(&to, &source, |path| Ok(open(path))).unwrap();
            match unpack(destination, &stream[..length]) {
                // Whoever has sent it has not said that it is whole.
                Ok(unpacked) => drop(unpacked),
                Err(error) => assert!(!error.path.as_os_str().is_empty(), "{error}"),
            }
            assert_eq!(fs::read_dir(&to).unwrap().count(), 0, "{length}");
        }
    }

    /// Does something when so many bytes of a stream were read.
    struct Halfway<'a, R> {
        stream: R,
        left: usize,
        act: Option<&'a dyn Fn()>,
    }

    impl<R: std::io::Read> std::io::Read for Halfway<'_, R> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            if self.left == 0 {
                if let Some(act) = self.act.take() {
                    act();
                }
                return self.stream.read(buffer);
            }
            let most = buffer.len().min(self.left);
            let read = self.stream.read(&mut buffer[..most])?;
            self.left -= read;
            Ok(read)
        }
    }

    /// Gives the name of one directory to another.
    fn exchange(directory: &Path, one: &str, other: &str) {
        let directory = open(directory);
        rustix::fs::renameat_with(&directory, one, &directory, other, rustix::fs::RenameFlags::EXCHANGE)
            .unwrap();
    }

    #[test]
    fn a_directory_that_comes_into_the_place_of_another_is_left_alone() {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir_all(place.path().join("tree/sub")).unwrap();
        for name in ["tree/a", "tree/sub/secret", "tree/sub/z"] {
            fs::write(place.path().join(name), vec![1; 4096]).unwrap();
        }
        let mut stream = Vec::new();
        pack(open(place.path()).as_fd(), OsStr::new("tree"), Path::new("tree"), &mut stream).unwrap();
        let source = Source { kind: Kind::Directory, base: "tree".into(), is_contents: false };
        let private = |to: &Path| {
            fs::create_dir_all(to.join("private")).unwrap();
            fs::write(to.join("private/secret"), "kept").unwrap();
            fs::set_permissions(to.join("private"), fs::Permissions::from_mode(0o700)).unwrap();
        };
        let is_left_alone = |directory: &Path| {
            assert_eq!(fs::read_dir(directory).unwrap().count(), 1, "{}", directory.display());
            assert_eq!(fs::read_to_string(directory.join("secret")).unwrap(), "kept");
            assert_eq!(fs::metadata(directory).unwrap().permissions().mode() & 0o777, 0o700);
        };

        // One that was not there is made under another name.
        let to = place.path().join("new");
        private(&to);
        let draft = || {
            let mut names =
                fs::read_dir(&to).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
            names.find(|name| name.starts_with(".sandboxctl-cp-")).unwrap()
        };
        let name = std::cell::OnceCell::new();
        let swap = || exchange(&to, name.get_or_init(draft), "private");
        let halfway = Halfway { stream: &stream[..], left: 2048, act: Some(&swap) };
        let wanted = destination(&to, &source, |path| Ok(open(path))).unwrap();
        let refused = unpack(wanted, halfway).and_then(|mut unpacking| unpacking.commit()).unwrap_err();
        assert_eq!(refused.source.to_string(), "another directory has come into its place");
        is_left_alone(&to.join(name.get().unwrap()));
        assert_eq!(fs::read_dir(to.join("private")).unwrap().count(), 0, "what was made is removed");

        // One that is there gets another one's place.
        let to = place.path().join("there");
        private(&to);
        fs::create_dir_all(to.join("tree/sub")).unwrap();
        let swap = || {
            let (above, tree) = (open(&to), open(&to.join("tree")));
            let exchange = rustix::fs::RenameFlags::EXCHANGE;
            rustix::fs::renameat_with(&above, "private", &tree, "sub", exchange).unwrap();
        };
        // The second file in it comes when the first has been unpacked.
        let names = stream.windows(9).enumerate().filter(|(_, bytes)| bytes == b"tree/sub/");
        let until = names.map(|(at, _)| at).next_back().unwrap();
        let halfway = Halfway { stream: &stream[..], left: until, act: Some(&swap) };
        let wanted = destination(&to, &source, |path| Ok(open(path))).unwrap();
        let refused = unpack(wanted, halfway).and_then(|mut unpacking| unpacking.commit()).unwrap_err();
        assert_eq!(refused.source.to_string(), "another directory has come into its place");
        is_left_alone(&to.join("tree/sub"));
    }

    /// Checks that being killed meanwhile leaves no part of it. On a file system that has files without a name, as all that this runs on.
    #[test]
    fn a_file_has_no_name_until_it_is_whole() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("file"), vec![1; 100_000]).unwrap();
        let mut stream = Vec::new();
        pack(open(place.path()).as_fd(), OsStr::new("file"), Path::new("file"), &mut stream).unwrap();
        let source = Source { kind: Kind::File, base: "file".into(), is_contents: false };
        let to = place.path().join("to");
        fs::create_dir(&to).unwrap();
        for before in [vec![], vec!["file"]] {
            let names = || {
                let names = fs::read_dir(&to).unwrap();
                names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect::<Vec<_>>()
            };
            let look = || assert_eq!(names(), before, "halfway");
            let halfway = Halfway { stream: &stream[..], left: 50_000, act: Some(&look) };
            let wanted = destination(&to, &source, |path| Ok(open(path))).unwrap();
            unpack(wanted, halfway).and_then(|mut unpacking| unpacking.commit()).unwrap();
            assert_eq!(names(), ["file"]);
            assert_eq!(fs::read(to.join("file")).unwrap(), vec![1; 100_000]);
        }
    }

    #[test]
    fn what_a_killed_copy_has_left_is_removed_and_nothing_else() {
        let place = tempfile::tempdir().unwrap();
        let directory = open(place.path());
        let name = DraftName::generate().unwrap();
        let path = place.path().join(String::from(name.clone()));
        let remove = |made| remove_draft(directory.as_fd(), &name, made);
        remove(None).expect("nothing is there");

        fs::write(&path, "whole").unwrap();
        remove(None).unwrap();
        symlink(place.path(), &path).unwrap();
        remove(None).unwrap();
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);

        fs::create_dir_all(path.join("deep")).unwrap();
        fs::write(path.join("deep/file"), "").unwrap();
        symlink("/", path.join("link")).unwrap();
        let made = DirectoryId::of(open(&path)).unwrap();
        assert_eq!(remove(None), Err(rustix::io::Errno::NOTEMPTY), "it is not known whose that is");
        fs::rename(&path, place.path().join("elsewhere")).unwrap();
        fs::create_dir_all(path.join("of somebody else")).unwrap();
        assert_eq!(remove(Some(made)), Err(rustix::io::Errno::NOTEMPTY));
        fs::remove_dir(path.join("of somebody else")).unwrap();
        remove(Some(made)).expect("it is empty");
        fs::rename(place.path().join("elsewhere"), &path).unwrap();
        // It had the mode that it was to have, just before it was to have its name.
        fs::set_permissions(&path, fs::Permissions::from_mode(0o100)).unwrap();
        remove(Some(made)).unwrap();
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
    }

    /// Tries another user's directory as root alone: nobody else has one.
    #[test]
    fn a_directory_of_somebody_else_is_not_taken_for_one_just_made() {
        let place = tempfile::tempdir().unwrap();
        let theirs = place.path().join("theirs");
        fs::create_dir(&theirs).unwrap();
        let is_fresh = || draft::is_fresh(&open(place.path()), &open(&theirs)).unwrap();
        assert!(is_fresh(), "the control");
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(&theirs, Some(1001), None).unwrap();
            assert!(!is_fresh());
        }
        fs::write(theirs.join("file"), "").unwrap();
        assert!(!is_fresh());
    }

    #[test]
    fn what_is_not_whole_is_removed_whatever_its_modes_are() {
        let place = tempfile::tempdir().unwrap();
        let tree = place.path().join("tree");
        fs::create_dir_all(tree.join("closed")).unwrap();
        fs::write(tree.join("closed/file"), "").unwrap();
        for closed in [&tree.join("closed"), &tree] {
            fs::set_permissions(closed, fs::Permissions::from_mode(0o500)).unwrap();
        }
        let mut stream = Vec::new();
        pack(open(place.path()).as_fd(), OsStr::new("tree"), Path::new("tree"), &mut stream).unwrap();
        let to = place.path().join("to");
        fs::create_dir(&to).unwrap();
        let source = Source { kind: Kind::Directory, base: "tree".into(), is_contents: false };
        let wanted = destination(&to, &source, |path| Ok(open(path))).unwrap();
        let unpacking = unpack(wanted, &stream[..]).unwrap();
        // Something has come into its place meanwhile.
        fs::create_dir(to.join("tree")).unwrap();
        unpacking.abandon().unwrap();
        assert_eq!(fs::read_dir(&to).unwrap().count(), 1);
        for closed in [&tree, &tree.join("closed")] {
            fs::set_permissions(closed, fs::Permissions::from_mode(0o700)).unwrap();
        }
    }

    #[test]
    fn a_name_of_no_draft_is_none() {
        let name = String::from(DraftName::generate().unwrap());
        assert!(DraftName::try_from(name.clone()).is_ok(), "the control");
        for other in
            [&name[1..], "", "..", ".sandboxctl-cp-", ".sandboxctl-cp-0123456789abcde/", &format!("{name}0")]
        {
            assert!(DraftName::try_from(other.to_owned()).is_err(), "{other}");
        }
    }
}
