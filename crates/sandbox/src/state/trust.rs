//! Trust: which configuration files their owner has said yes to, and to what.
//!
//! A file is trusted as it was shown: by its resolved path, the SHA-256 of its content, and the list of what it widens,
//! with where its paths led. One byte more, or a directory that has become a link, and the question is asked again.

use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::host::acting::ActingAs;
use crate::host::beneath;
use crate::host::identity::Identity;
use crate::host::small_file::{Links, open_regular};
use crate::state::directory::{StateDir, StateError};

/// The name under which a project's file is looked for.
pub const FILE_NAME: &str = "sandbox.toml";

/// The largest file that is read. Configuration is written by hand.
const MAX_SIZE: u64 = 1 << 20;

/// Why a file cannot be used, or trust not be kept.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    #[error(
        "{path} belongs to uid {owner}; only files of your own (uid {caller}) or of root are used; \
         copy it, read it, and use the copy"
    )]
    Owner { path: PathBuf, owner: u32, caller: u32 },
    /// Root would believe what others write.
    #[error(
        "{path} can be written by others than root; take that away (`setfacl -b`, `chmod go-w`), or call without sudo as its owner"
    )]
    Shared { path: PathBuf },
    #[error("{path} is {what}; a configuration is a regular file of at most {} bytes", MAX_SIZE)]
    NotConfiguration { path: PathBuf, what: &'static str },
    #[error("read {path}: {source}")]
    Read { path: PathBuf, source: io::Error },
    #[error(
        "the store of trusted files cannot be read: {source}; remove {name} in the state directory and trust again"
    )]
    Damaged { name: &'static str, source: serde_json::Error },
    #[error(transparent)]
    State(#[from] StateError),
}

/// A configuration file as it was read, once: what is shown is what is trusted is what is applied.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Candidate {
    /// Where it lies, with every link resolved.
    pub path: PathBuf,
    pub content: Vec<u8>,
}

/// The SHA-256 of a file's content, as hexadecimal digits.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Digest(String);

/// What the store says about a file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Trust {
    /// Its owner said yes to just this content, and to all that it widens.
    Trusted,
    /// Its owner said yes to this content, which has come to widen more: these are the lines that were not shown.
    Widened(Vec<String>),
    /// Its owner said yes to other content at this path.
    Changed,
    /// Nobody was asked yet.
    Unknown,
}

/// What was said yes to.
#[derive(Debug, Deserialize, Serialize)]
#[serde(from = "Stored")]
struct Consent {
    content: Digest,
    widens: Vec<String>,
}

/// The forms that a consent was ever stored in.
#[derive(Deserialize)]
#[serde(untagged)]
enum Stored {
    Listed {
        content: Digest,
        widens: Vec<String>,
    },
    /// What was shown was not kept: it stands for nothing that widens.
    Unlisted(Digest),
}

impl From<Stored> for Consent {
    fn from(stored: Stored) -> Self {
        match stored {
            Stored::Listed { content, widens } => Self { content, widens },
            Stored::Unlisted(content) => Self { content, widens: Vec::new() },
        }
    }
}

/// The store of trusted files.
#[derive(Debug)]
pub struct Store(StateDir);

/// Where a search for a project's file has ended.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum SearchEnd {
    File(PathBuf),
    /// After this directory, which is a repository without one.
    Repository(PathBuf),
}

/// What a search for a project's file has found.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Searched {
    /// The file that counts.
    pub file: Option<PathBuf>,
    /// Where the search has ended, unless it was at the home directory or the root.
    pub end: Option<SearchEnd>,
    /// Files further up, which do not count, the nearest first.
    pub above: Vec<PathBuf>,
}

/// Finds a project's file that this user could find, from `start` upward.
///
/// The search ends after the directory that holds `.git`, and before the home directory: a project's file
/// never governs more than its project. `start` has its links resolved, and so has `home`; `directory` is the one that it was
/// when it was resolved.
pub fn find(
    start: &Path,
    directory: impl AsFd,
    home: Option<&Path>,
    reader: Identity,
) -> io::Result<Searched> {
    let _acting = ActingAs::user(reader)?;
    let mut up = PathBuf::from(".");
    let mut searched = Searched::default();
    for above in start.ancestors() {
        if Some(above) == home {
            break;
        }
        // Also a link that leads nowhere: whoever reads it says so, and nobody wonders why it is ignored.
        let is_there =
            |name| rustix::fs::statat(&directory, up.join(name), AtFlags::SYMLINK_NOFOLLOW).is_ok();
        if is_there(FILE_NAME) {
            let path = above.join(FILE_NAME);
            if searched.end.is_some() {
                searched.above.push(path);
            } else {
                searched.end = Some(SearchEnd::File(path.clone()));
                searched.file = Some(path);
            }
        } else if searched.end.is_none() && is_there(".git") {
            searched.end = Some(SearchEnd::Repository(above.into()));
        }
        up.push("..");
    }
    Ok(searched)
}

/// Reads a configuration file for `caller`, who or root must own it.
pub fn read(path: &Path, caller: Identity) -> Result<Candidate, TrustError> {
    read_by(path, path, caller)
}

/// Reads the same by another path, such as one from the working directory.
pub fn read_by(reached: &Path, path: &Path, caller: Identity) -> Result<Candidate, TrustError> {
    let failed = |source| TrustError::Read { path: path.into(), source };
    let _acting = ActingAs::user(caller).map_err(failed)?;
    let Some(mut file) = open_regular(CWD, reached, Links::Followed).map_err(failed)? else {
        return Err(TrustError::NotConfiguration { path: path.into(), what: "no regular file" });
    };
    // Which file it is, is read from what was opened: links may lead elsewhere by now.
    let resolved = beneath::path_of(&file).map_err(|errno| failed(errno.into()))?;
    let metadata = file.metadata().map_err(failed)?;
    if metadata.uid() != caller.uid && metadata.uid() != 0 {
        return Err(TrustError::Owner { path: resolved, owner: metadata.uid(), caller: caller.uid });
    }
    // Of others than root it is their own affair who writes in their project.
    if caller.uid == 0 && may_be_written_by_others(&file, &metadata) {
        return Err(TrustError::Shared { path: resolved });
    }
    let mut content = Vec::new();
    Read::by_ref(&mut file).take(MAX_SIZE + 1).read_to_end(&mut content).map_err(failed)?;
    if content.len() as u64 > MAX_SIZE {
        return Err(TrustError::NotConfiguration { path: resolved, what: "too large" });
    }
    Ok(Candidate { path: resolved, content })
}

/// Returns whether others than root may write a file of root's, by its mode or an access control list (acl(5)).
fn may_be_written_by_others(file: &File, metadata: &Metadata) -> bool {
    let listed = rustix::fs::fgetxattr(file, c"system.posix_acl_access", &mut [0_u8; 0][..]);
    let has_list = !matches!(listed, Err(Errno::NODATA | Errno::OPNOTSUPP));
    let forbidden = if metadata.gid() != 0 || has_list { 0o022 } else { 0o002 };
    metadata.mode() & forbidden != 0
}

impl Candidate {
    /// Computes the hash by which it is trusted: of its content and, where links take paths that it names elsewhere than
    /// they say, of each such key with where it leads.
    pub fn digest<'a>(&self, leads: impl IntoIterator<Item = (&'a str, &'a Path)>) -> Digest {
        use std::os::unix::ffi::OsStrExt;
        let mut hash = Sha256::new_with_prefix(&self.content);
        for (key, path) in leads {
            // A NUL is in no key, no path, and no TOML.
            for part in [b"\0", key.as_bytes(), b"\0", path.as_os_str().as_bytes()] {
                hash.update(part);
            }
        }
        Digest(format!("{:x}", hash.finalize()))
    }
}

impl Digest {
    /// Returns it as text, to be shown, and compared with what a pipeline expects.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Store {
    const NAME: &'static str = "trusted.json";
    const LOCK: &'static str = "trusted.lock";

    /// Opens the store within a state directory.
    pub fn new(state: StateDir) -> Self {
        Self(state)
    }

    /// Checks whether its owner has agreed to this file, and to what these lines say that it widens.
    pub fn check(&self, candidate: &Candidate, widens: &[String]) -> Result<Trust, TrustError> {
        Ok(match self.load()?.get(&key(&candidate.path)) {
            None => Trust::Unknown,
            Some(consent) if consent.content != candidate.digest([]) => Trust::Changed,
            Some(consent) => {
                let new = |line: &&String| !consent.widens.contains(line);
                let new: Vec<String> = widens.iter().filter(new).cloned().collect();
                if new.is_empty() { Trust::Trusted } else { Trust::Widened(new) }
            }
        })
    }

    /// Trusts this file with just this content, and with all that these lines say.
    pub fn trust(&self, candidate: &Candidate, widens: Vec<String>) -> Result<(), TrustError> {
        let consent = Consent { content: candidate.digest([]), widens };
        self.edit(|trusted| trusted.insert(key(&candidate.path), consent))?;
        Ok(())
    }

    /// Removes trust; returns whether there was any. The file need not exist any more.
    pub fn untrust(&self, path: &Path) -> Result<bool, TrustError> {
        let acting = ActingAs::user(self.0.owner());
        let path = acting.and_then(|_acting| beneath::resolve(path)).unwrap_or_else(|_| path.into());
        Ok(self.edit(|trusted| trusted.remove(&key(&path)))?.is_some())
    }

    fn load(&self) -> Result<BTreeMap<String, Consent>, TrustError> {
        match self.0.read(Self::NAME)? {
            None => Ok(BTreeMap::new()),
            Some(text) => serde_json::from_slice(&text)
                .map_err(|source| TrustError::Damaged { name: Self::NAME, source }),
        }
    }

    fn edit<T>(&self, change: impl FnOnce(&mut BTreeMap<String, Consent>) -> T) -> Result<T, TrustError> {
        let _lock = self.0.lock(Self::LOCK)?;
        let mut trusted = self.load()?;
        let result = change(&mut trusted);
        let text = serde_json::to_vec_pretty(&trusted)
            .map_err(|source| TrustError::Damaged { name: Self::NAME, source })?;
        self.0.write(Self::NAME, &text)?;
        Ok(result)
    }
}

/// Formats a path as the name of a JSON member. Paths need not be UTF-8; escaping keeps different ones different.
fn key(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt;
    match path.to_str() {
        Some(text) => text.to_owned(),
        None => path.as_os_str().as_bytes().escape_ascii().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use super::*;

    fn store(top: &Path) -> Store {
        Store::new(StateDir::open(&top.join("state"), Identity::own()).unwrap())
    }

    fn write(path: &Path, text: &str) -> Candidate {
        fs::write(path, text).unwrap();
        read(path, Identity::own()).unwrap()
    }

    #[test]
    fn what_was_not_shown_asks_again_and_what_is_gone_does_not() {
        let top = tempfile::tempdir().unwrap();
        let store = store(top.path());
        let file = write(&top.path().join(FILE_NAME), "version = 1\n");
        let lines = |lines: &[&str]| lines.iter().map(ToString::to_string).collect::<Vec<_>>();
        store.trust(&file, lines(&["a", "b"])).unwrap();
        assert_eq!(store.check(&file, &lines(&["a", "b"])).unwrap(), Trust::Trusted);
        assert_eq!(store.check(&file, &lines(&["b"])).unwrap(), Trust::Trusted);
        assert_eq!(store.check(&file, &lines(&["b", "c"])).unwrap(), Trust::Widened(lines(&["c"])));
    }

    #[test]
    fn trust_of_a_time_when_no_list_was_kept_is_trust_in_what_widens_nothing() {
        let top = tempfile::tempdir().unwrap();
        let store = store(top.path());
        let file = write(&top.path().join(FILE_NAME), "version = 1\n");
        let old = serde_json::json!({ key(&file.path): file.digest([]).as_str() });
        store.0.write(Store::NAME, old.to_string().as_bytes()).unwrap();
        assert_eq!(store.check(&file, &[]).unwrap(), Trust::Trusted);
        let widens = ["a".to_owned()];
        assert_eq!(store.check(&file, &widens).unwrap(), Trust::Widened(widens.to_vec()));
    }

    #[test]
    fn one_byte_more_asks_again() {
        let top = tempfile::tempdir().unwrap();
        let store = store(top.path());
        let path = top.path().join(FILE_NAME);
        let first = write(&path, "version = 1\n");
        assert_eq!(store.check(&first, &[]).unwrap(), Trust::Unknown);
        store.trust(&first, vec![]).unwrap();
        assert_eq!(store.check(&first, &[]).unwrap(), Trust::Trusted);
        assert_eq!(store.check(&write(&path, "version = 1\n\n"), &[]).unwrap(), Trust::Changed);
        assert!(store.untrust(&path).unwrap());
        assert!(!store.untrust(&path).unwrap());
        assert_eq!(store.check(&first, &[]).unwrap(), Trust::Unknown);
    }

    #[test]
    fn the_same_content_elsewhere_is_not_trusted() {
        let top = tempfile::tempdir().unwrap();
        let store = store(top.path());
        store.trust(&write(&top.path().join("a"), "x"), vec![]).unwrap();
        assert_eq!(store.check(&write(&top.path().join("b"), "x"), &[]).unwrap(), Trust::Unknown);
    }

    #[test]
    fn a_link_is_trusted_as_what_it_leads_to() {
        let top = tempfile::tempdir().unwrap();
        let store = store(top.path());
        let file = write(&top.path().join("file"), "x");
        symlink("file", top.path().join("link")).unwrap();
        store.trust(&read(&top.path().join("link"), Identity::own()).unwrap(), vec![]).unwrap();
        assert_eq!(store.check(&file, &[]).unwrap(), Trust::Trusted);
        fs::remove_file(top.path().join("link")).unwrap();
        symlink(write(&top.path().join("other"), "x").path, top.path().join("link")).unwrap();
        assert_eq!(
            store.check(&read(&top.path().join("link"), Identity::own()).unwrap(), &[]).unwrap(),
            Trust::Unknown
        );
    }

    #[test]
    fn trust_of_a_file_that_is_gone_can_be_taken_back() {
        let top = tempfile::tempdir().unwrap();
        let store = store(top.path());
        let file = write(&top.path().join("file"), "x");
        store.trust(&file, vec![]).unwrap();
        fs::remove_file(&file.path).unwrap();
        assert!(store.untrust(&file.path).unwrap());
    }

    #[test]
    fn root_refuses_a_file_that_others_can_write() {
        use std::os::unix::fs::PermissionsExt;
        if !crate::host::root_only::can_give_files_away() {
            return;
        }
        let top = tempfile::tempdir().unwrap();
        let path = write(&top.path().join("file"), "x").path;
        let root = Identity { uid: 0, gid: 0 };
        for (mode, gid, is_refused) in
            [(0o644, 0, false), (0o664, 0, false), (0o664, 1001, true), (0o666, 0, true)]
        {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            std::os::unix::fs::chown(&path, Some(0), Some(gid)).unwrap();
            assert_eq!(
                matches!(read(&path, root), Err(TrustError::Shared { .. })),
                is_refused,
                "{mode:o} {gid}"
            );
        }
        // What init makes where the directory gives its owner every new file.
        std::os::unix::fs::chown(&path, Some(0), Some(0)).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o664)).unwrap();
        // Version 2; the owner, user 1001, the group, the mask and others: tag, permissions and id of each.
        let entries: [(u16, u16, u32); 5] =
            [(1, 6, u32::MAX), (2, 6, 1001), (4, 4, u32::MAX), (16, 6, u32::MAX), (32, 4, u32::MAX)];
        let mut list = 2_u32.to_le_bytes().to_vec();
        for (tag, permissions, id) in entries {
            list.extend([tag.to_le_bytes(), permissions.to_le_bytes()].concat());
            list.extend(id.to_le_bytes());
        }
        let set =
            rustix::fs::setxattr(&path, c"system.posix_acl_access", &list, rustix::fs::XattrFlags::empty());
        if set != Err(Errno::OPNOTSUPP) {
            set.unwrap();
            assert!(matches!(read(&path, root), Err(TrustError::Shared { .. })));
        }
    }

    #[test]
    fn refuses_a_file_of_somebody_else_but_not_of_root() {
        if !crate::host::root_only::can_give_files_away() {
            return;
        }
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("f");
        fs::write(&path, "x").unwrap();
        assert!(read(&path, Identity { uid: 1001, gid: 1001 }).is_ok());
        chown(&path, Some(1002), None).unwrap();
        assert!(matches!(
            read(&path, Identity { uid: 1001, gid: 1001 }),
            Err(TrustError::Owner { owner: 1002, caller: 1001, .. })
        ));
        assert!(matches!(read(&path, Identity { uid: 0, gid: 0 }), Err(TrustError::Owner { .. })));
        assert!(read(&path, Identity { uid: 1002, gid: 1002 }).is_ok());
    }

    #[test]
    fn refuses_pipes_directories_and_floods_without_hanging() {
        let top = tempfile::tempdir().unwrap();
        let pipe = top.path().join("pipe");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        )
        .unwrap();
        assert!(matches!(read(&pipe, Identity::own()), Err(TrustError::NotConfiguration { .. })));
        assert!(matches!(read(top.path(), Identity::own()), Err(TrustError::NotConfiguration { .. })));
        let flood = top.path().join("flood");
        fs::File::create(&flood).unwrap().set_len(MAX_SIZE + 1).unwrap();
        assert!(matches!(
            read(&flood, Identity::own()),
            Err(TrustError::NotConfiguration { what: "too large", .. })
        ));
    }

    #[test]
    fn parallel_writers_lose_nothing() {
        let top = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for number in 0..8 {
                let path = top.path();
                scope.spawn(move || {
                    store(path).trust(&write(&path.join(format!("f{number}")), "x"), vec![]).unwrap();
                });
            }
        });
        let store = store(top.path());
        assert_eq!(store.load().unwrap().len(), 8);
        let mode = fs::metadata(top.path().join("state/trusted.json")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn the_digest_is_the_sha_256_of_the_content_and_of_where_links_lead() {
        let candidate = Candidate { path: "/x".into(), content: b"abc".into() };
        assert_eq!(
            candidate.digest([]).as_str(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        let elsewhere = candidate.digest([("a.host", Path::new("/x"))]);
        assert_ne!(elsewhere, candidate.digest([]));
        assert_ne!(elsewhere, candidate.digest([("a.host", Path::new("/y"))]));
        assert_ne!(elsewhere, candidate.digest([("b.host", Path::new("/x"))]));
    }

    #[test]
    fn the_search_ends_at_the_edge_of_the_repository_and_of_the_home_directory() {
        let top = tempfile::tempdir().unwrap();
        let home = top.path().join("home");
        let find = |start: &Path, home: Option<&Path>| {
            find(start, fs::File::open(start).unwrap(), home, Identity::own()).unwrap().file
        };
        let deep = home.join("project/src/deep");
        fs::create_dir_all(&deep).unwrap();
        fs::write(home.join(FILE_NAME), "").unwrap();
        assert_eq!(find(&deep, Some(&home)), None);
        assert_eq!(find(&home, Some(&home)), None);
        assert_eq!(find(&deep, None), Some(home.join(FILE_NAME)));
        fs::write(home.join("project/.git"), "gitdir: x").unwrap();
        assert_eq!(find(&deep, None), None);
        fs::write(home.join("project").join(FILE_NAME), "").unwrap();
        assert_eq!(find(&deep, None), Some(home.join("project").join(FILE_NAME)));
        fs::write(deep.join(FILE_NAME), "").unwrap();
        assert_eq!(find(&deep, None), Some(deep.join(FILE_NAME)));
    }

    #[test]
    fn a_project_s_file_is_looked_for_where_the_search_begins_and_with_the_user_s_rights() {
        let top = tempfile::tempdir().unwrap();
        let start = top.path().join("above/start");
        fs::create_dir_all(&start).unwrap();
        fs::create_dir_all(top.path().join("other/start")).unwrap();
        fs::write(top.path().join("other").join(FILE_NAME), "").unwrap();
        let held = fs::File::open(&start).unwrap();
        fs::rename(top.path().join("above"), top.path().join("moved")).unwrap();
        symlink("other", top.path().join("above")).unwrap();
        let found = |reader| find(&start, &held, Some(top.path()), reader).unwrap().file;
        assert_eq!(found(Identity::own()), None);
        let file = top.path().join("moved").join(FILE_NAME);
        fs::write(&file, "").unwrap();
        assert_eq!(found(Identity::own()), Some(top.path().join("above").join(FILE_NAME)), "the control");
        if crate::host::root_only::can_give_files_away() {
            fs::set_permissions(top.path().join("moved"), fs::Permissions::from_mode(0o700)).unwrap();
            assert_eq!(found(Identity { uid: 1001, gid: 1001 }), None);
        }
    }
}
