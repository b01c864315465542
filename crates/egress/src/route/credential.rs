//! Credentials of routes: the headers that they stand in, and what is taken out to make room.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use policy::rules::credentials;
use policy::rules::network::Host;
use zeroize::Zeroizing;

use super::error::RouteError;
use crate::refusal::Refusal;
use crate::secret::Secret;

/// How a header begins that holds a name and a password.
const BASIC: &str = "Basic ";

/// Returns the name of a header as servers read it that hand it on as a variable (RFC 3875, section 4.1.18): some take every character
/// that no variable has for one of `_`, and so for `-`. Names have small letters here.
pub(crate) fn as_read(name: &str) -> Cow<'_, str> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    if name.chars().all(is_plain) {
        name.into()
    } else {
        name.replace(|letter| !is_plain(letter), "-").into()
    }
}

/// Returns whether a credential can stand in a header, as a server may read its name.
pub(crate) fn is_place(header: &HeaderName) -> bool {
    credentials::HEADERS.contains(&as_read(header.as_str()).as_ref())
}

/// Refuses a query by which a server of this name could take a request for another's, or for one of another method.
pub(crate) fn check_query(host: &Host, query: Option<&str>) -> Result<(), Refusal> {
    let host = host.to_string();
    // Some servers take `;` for `&`.
    let query = query.unwrap_or_default().replace(';', "&");
    for (name, _) in form_urlencoded::parse(query.as_bytes()) {
        if credentials::is_parameter(&host, &name) {
            return Err(Refusal::Malformed("the query has a credential: send the token in a header"));
        }
        if credentials::is_method(&name) {
            return Err(Refusal::Malformed("the query names another method"));
        }
    }
    Ok(())
}

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

    /// Returns whether a server that wants this credential could take what is in such a header for one. None of them is sent on.
    pub(crate) fn is_beside(&self, header: &HeaderName) -> bool {
        as_read(header.as_str()) == as_read(self.header.as_str()) || is_place(header)
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
