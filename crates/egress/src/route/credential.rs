//! Credentials of routes: the headers that they stand in, and what is taken out to make room.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::header::{AUTHORIZATION, COOKIE, HeaderMap, HeaderName, HeaderValue};
use zeroize::Zeroizing;

use super::error::RouteError;
use crate::secret::Secret;

/// Headers that a credential can stand in. None of them is sent on.
pub(crate) const CREDENTIALS: [HeaderName; 7] = [
    AUTHORIZATION,
    COOKIE,
    HeaderName::from_static("api-key"),
    HeaderName::from_static("cookie2"),
    HeaderName::from_static("x-api-key"),
    HeaderName::from_static("x-auth-token"),
    HeaderName::from_static("x-goog-api-key"),
];

/// How a header begins that holds a name and a password.
const BASIC: &str = "Basic ";

/// A credential, and how a server wants to be shown it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Credential {
    pub(crate) header: HeaderName,
    /// What the header says before the secret, and after it.
    around: (String, String),
    secret: Secret,
}

impl Credential {
    /// Makes one for this header, whose value is the template with the secret in place of `{}`.
    ///
    /// # Errors
    ///
    /// There is no such header, no place for the secret, or the secret has characters that no header has.
    pub fn new(header: &str, template: &str, secret: Secret) -> Result<Self, RouteError> {
        let header = header.parse().map_err(|_| RouteError::Header(header.to_owned()))?;
        let around = match template.split_once("{}") {
            Some((before, after)) if !after.contains("{}") => (before.to_owned(), after.to_owned()),
            _ => return Err(RouteError::Template(template.to_owned())),
        };
        let made = Self { header, around, secret };
        made.add(&mut HeaderMap::new())?;
        Ok(made)
    }

    pub(crate) fn add(&self, headers: &mut HeaderMap) -> Result<(), RouteError> {
        let (before, after) = &self.around;
        let value = Zeroizing::new(format!("{before}{}{after}", self.secret.value()));
        // RFC 7617: what has a colon is not encoded yet.
        let value = match (before.strip_prefix(BASIC), value.strip_prefix(BASIC)) {
            (Some(before), Some(pair)) if before.contains(':') || after.contains(':') => {
                let encoded = Zeroizing::new(STANDARD.encode(pair));
                Zeroizing::new(format!("{BASIC}{}", *encoded))
            }
            _ => value,
        };
        let mut value = HeaderValue::from_str(&value).map_err(|_| RouteError::Secret)?;
        value.set_sensitive(true);
        headers.insert(self.header.clone(), value);
        Ok(())
    }
}
