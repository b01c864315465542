//! The bearer token of the HTTP transport.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use sandbox::host::identity::Identity;
use sandbox::host::small_file;
use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

use crate::session::random_hex;

/// The fewest characters that a token has: what is shorter can be guessed.
const FEWEST: usize = 32;

/// The longest file that is read as a token.
const MOST: u64 = 4096;

/// A token. Its value is shown nowhere by itself.
pub struct Token(Zeroizing<String>);

/// Why there is no token.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    #[error("the token file cannot be used: {0}")]
    File(#[from] io::Error),
    #[error(
        "the token file can be read by others (its mode is {0:03o}); `chmod 600` it, and use another token: this one may be known"
    )]
    Readable(u32),
    #[error("the token file belongs to user {0}, who knows the token; name a file of your own")]
    Foreign(u32),
    #[error(
        "a token has at least {FEWEST} characters, all of them visible ASCII; remove the file, and a new one is made"
    )]
    Weak,
    #[error("a token file has at most {MOST} bytes; remove the file, and a new one is made")]
    TooLong,
}

impl Token {
    /// Makes one of 256 random bits.
    ///
    /// # Errors
    ///
    /// The kernel gives no random bytes.
    pub fn generate() -> io::Result<Self> {
        Ok(Self(Zeroizing::new(random_hex::<32>()?)))
    }

    /// Reads the token from a file of the caller's or root's that nobody else may read; where there is none, makes one and writes it there.
    ///
    /// # Errors
    ///
    /// The file cannot be used, somebody else has written it, others may read it, or its token can be guessed.
    pub fn from_file(path: &Path) -> Result<Self, TokenError> {
        match small_file::open(path) {
            Ok(Some(file)) => Self::read(file),
            Ok(None) => Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file").into()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let token = Self::generate()?;
                let mut file = small_file::create_new(path, 0o600)?;
                file.write_all(token.0.as_bytes())?;
                file.write_all(b"\n")?;
                Ok(token)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn read(file: File) -> Result<Self, TokenError> {
        let metadata = file.metadata()?;
        if ![0, Identity::own().uid].contains(&metadata.uid()) {
            return Err(TokenError::Foreign(metadata.uid()));
        }
        if metadata.mode() & 0o077 != 0 {
            return Err(TokenError::Readable(metadata.mode() & 0o777));
        }
        let mut text = Zeroizing::new(String::new());
        file.take(MOST + 1).read_to_string(&mut text)?;
        if text.len() as u64 > MOST {
            return Err(TokenError::TooLong);
        }
        let token = text.trim_end_matches(['\n', '\r']);
        if token.len() < FEWEST || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(TokenError::Weak);
        }
        Ok(Self(Zeroizing::new(token.to_owned())))
    }

    /// Returns the value, to be shown to the person who runs the server.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Returns whether a header has this token, in a time that does not depend on how much of it is right.
    pub(super) fn is_in(&self, header: &[u8]) -> bool {
        let Some((scheme, given)) = header.split_at_checked(7) else { return false };
        scheme.eq_ignore_ascii_case(b"Bearer ") && bool::from(given.ct_eq(self.0.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_file_that_is_not_there_is_made_for_its_owner_alone_and_read_again() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("token");
        let made = Token::from_file(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(Token::from_file(&path).unwrap().reveal(), made.reveal());
        assert_eq!(made.reveal().len(), 64);
        assert_ne!(Token::generate().unwrap().reveal(), made.reveal());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(matches!(Token::from_file(&path), Err(TokenError::Readable(0o640))));
    }

    #[test]
    fn one_that_another_user_has_made_or_leads_to_is_refused() {
        use std::os::unix::fs::{chown, lchown, symlink};

        let place = tempfile::tempdir().unwrap();
        let (path, link) = (place.path().join("token"), place.path().join("link"));
        Token::from_file(&path).unwrap();
        symlink("token", &link).unwrap();
        assert!(Token::from_file(&link).is_ok(), "the control");
        // Only root can give files away.
        if lchown(&link, Some(1001), Some(1001)).is_err() {
            return;
        }
        assert!(matches!(Token::from_file(&link), Err(TokenError::File(_))));
        lchown(&link, Some(0), Some(0)).unwrap();
        chown(&path, Some(1001), Some(1001)).unwrap();
        for path in [path, link] {
            assert!(matches!(Token::from_file(&path), Err(TokenError::Foreign(1001))), "{path:?}");
        }
    }

    #[test]
    fn what_is_no_file_is_refused_and_not_waited_for() {
        let place = tempfile::tempdir().unwrap();
        let pipe = place.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        for path in [&*pipe, place.path()] {
            assert!(matches!(Token::from_file(path), Err(TokenError::File(_))), "{path:?}");
        }
    }

    #[test]
    fn one_that_can_be_guessed_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("token");
        for text in ["", "short", &"a b".repeat(20)] {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
            assert!(matches!(Token::from_file(&path), Err(TokenError::Weak)), "{text:?}");
        }
        fs::write(&path, "x".repeat(5000)).unwrap();
        assert!(matches!(Token::from_file(&path), Err(TokenError::TooLong)), "it is not cut");
    }

    #[test]
    fn only_the_whole_token_is_right() {
        let token = Token(Zeroizing::new("0123456789".to_owned()));
        assert!(token.is_in(b"Bearer 0123456789"));
        assert!(token.is_in(b"bearer 0123456789"));
        for wrong in [
            &b""[..],
            b"Bearer ",
            b"0123456789",
            b"Bearer 012345678",
            b"Bearer 01234567890",
            b"Basic 0123456789",
            b"Bearer  0123456789",
        ] {
            assert!(!token.is_in(wrong), "{wrong:?}");
        }
    }
}
