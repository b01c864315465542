//! Servers that get a credential with requests which are intercepted: the agent brings a token for it, or nothing.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::header::{COOKIE, HeaderMap, HeaderName};
use policy::rules::network::Host;
use zeroize::Zeroizing;

use crate::refusal::Refusal;
use crate::route::{Credential, RouteError, Upstream, check_query, is_steering};
use crate::secret::Secret;

/// How values begin that hold a token as it is.
const SCHEMES: [&str; 2] = ["bearer ", "token "];

/// How a value begins that holds a name and a password (RFC 7617).
const BASIC: &str = "basic ";

/// A server, and the credential for what is at its URL or below it.
#[derive(Clone, Debug)]
pub struct Credited {
    pub(crate) name: String,
    server: Upstream,
    pub(crate) credential: Credential,
    token: Secret,
}

impl Credited {
    /// Makes one. The name is for people.
    ///
    /// # Errors
    ///
    /// The URL is none of a server.
    pub fn new(name: &str, url: &str, credential: Credential, token: Secret) -> Result<Self, RouteError> {
        Ok(Self { name: name.to_owned(), server: Upstream::new(url)?, credential, token })
    }

    /// Returns whether a request for this path gets the credential.
    ///
    /// # Errors
    ///
    /// Servers could read the path in two ways, and not every path gets it: what passed without it could be one that the server takes for
    /// one with it, and bring another.
    pub(crate) fn is_for(&self, host: &str, port: u16, path: &str) -> Result<bool, Refusal> {
        let is_same = host.parse::<Host>().is_ok_and(|host| host == self.server.host);
        if !is_same || port != self.server.port {
            return Ok(false);
        }
        self.server.has(path).ok_or(Refusal::Malformed(
            "what is below one path of this server gets a credential, and servers read this path in two ways: write it without `//`, `..`, `;` and escaped slashes, dots and percent signs",
        ))
    }

    /// Returns whether both are the same server with the same credential, be its value another one.
    pub(crate) fn is_of(&self, other: &Self) -> bool {
        self.name == other.name && self.server == other.server
    }

    /// Puts the credential in the place of the token, or of nothing.
    pub(crate) fn credit(&self, headers: &mut HeaderMap, query: Option<&str>) -> Result<(), Refusal> {
        check_query(&self.server.host, query)?;
        let beside = headers.iter().filter(|(name, _)| self.credential.is_beside(name));
        // A cookie is sent by clients that were given one, so it is left out in silence.
        for (place, value) in beside.filter(|(name, _)| **name != COOKIE) {
            if !self.is_token(value.as_bytes()) {
                return Err(Refusal::Credential(self.name.clone(), place.clone()));
            }
        }
        let is_gone = |name: &&HeaderName| self.credential.is_beside(name) || is_steering(name.as_str());
        for name in headers.keys().filter(is_gone).cloned().collect::<Vec<_>>() {
            headers.remove(name);
        }
        self.credential.add(headers).map_err(Refusal::unreachable)
    }

    fn is_token(&self, value: &[u8]) -> bool {
        let after = |scheme: &str| {
            value
                .split_at_checked(scheme.len())
                .filter(|(start, _)| start.eq_ignore_ascii_case(scheme.as_bytes()))
                .map(|(_, rest)| rest)
        };
        if let Some(encoded) = after(BASIC) {
            let Ok(pair) = STANDARD.decode(encoded).map(Zeroizing::new) else { return false };
            let (user, password) = match pair.iter().position(|byte| *byte == b':') {
                Some(colon) => (&pair[..colon], &pair[colon + 1..]),
                None => (&pair[..], &[][..]),
            };
            // Some clients send it as the user, with no password or one that says so.
            return self.token.is(password)
                || self.token.is(user) && matches!(password, b"" | b"x-oauth-basic");
        }
        self.token.is(SCHEMES.iter().find_map(|scheme| after(scheme)).unwrap_or(value))
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::{AUTHORIZATION, HeaderValue};

    use super::*;

    fn secret(text: &str) -> Secret {
        Secret::from(Zeroizing::new(text.to_owned()))
    }

    fn credited(url: &str) -> Credited {
        let credential =
            Credential::new("authorization", "Basic x-access-token:{}", secret("ghp_real")).unwrap();
        Credited::new("github", url, credential, secret("ghp_token")).unwrap()
    }

    fn sent(headers: &[(HeaderName, String)]) -> Result<HeaderMap, String> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(name, HeaderValue::from_str(value).unwrap());
        }
        let credited = credited("https://example.org").credit(&mut map, None);
        credited.map(|()| map).map_err(|refusal| refusal.to_string())
    }

    fn basic(pair: &str) -> String {
        format!("Basic {}", STANDARD.encode(pair))
    }

    #[test]
    fn the_credential_comes_in_the_place_of_the_token_or_of_nothing() {
        let real = basic("x-access-token:ghp_real");
        for brought in [
            vec![],
            vec![(AUTHORIZATION, "Bearer ghp_token".to_owned())],
            vec![(AUTHORIZATION, "token ghp_token".to_owned())],
            vec![(AUTHORIZATION, basic("x-access-token:ghp_token"))],
            vec![(AUTHORIZATION, basic("ghp_token:"))],
            vec![(AUTHORIZATION, basic("ghp_token:x-oauth-basic"))],
            vec![(COOKIE, "session=of-somebody".to_owned())],
        ] {
            let headers = sent(&brought).unwrap();
            assert_eq!((headers.len(), headers[AUTHORIZATION].to_str().unwrap()), (1, &*real), "{brought:?}");
            assert!(!format!("{headers:?}").contains(&real));
        }
    }

    #[test]
    fn another_credential_than_the_token_is_refused() {
        let [key, private, github] =
            ["x-api-key", "private-token", "x-github-token"].map(HeaderName::from_static);
        for brought in [
            vec![(AUTHORIZATION, "Bearer ghp_real".to_owned())],
            vec![(AUTHORIZATION, "Bearer ghp_token2".to_owned())],
            vec![(AUTHORIZATION, basic("somebody:else"))],
            vec![(AUTHORIZATION, basic("ghp_token:else"))],
            vec![(AUTHORIZATION, "Basic ?".to_owned())],
            vec![(AUTHORIZATION, String::new())],
            vec![(AUTHORIZATION, "Bearer ghp_token".to_owned()), (AUTHORIZATION, "Bearer x".to_owned())],
            vec![(key, "else".to_owned())],
            vec![(private, "else".to_owned())],
            vec![(AUTHORIZATION, "Bearer ghp_token".to_owned()), (github, "else".to_owned())],
        ] {
            let refused = sent(&brought).unwrap_err();
            assert!(refused.contains("the credential `github`"), "{brought:?}: {refused}");
        }
    }

    #[test]
    fn it_is_for_what_is_below_its_url() {
        let all = credited("https://example.org");
        let some = credited("https://example.org:8443/api");
        let [whole, part] = [(&all, 443), (&some, 8443)];
        let is_for =
            |(credited, port): (&Credited, u16), path| credited.is_for("Example.org", port, path).ok();
        for (path, of_part) in [
            ("/", Some(false)),
            ("/api", Some(true)),
            ("/api/x", Some(true)),
            ("/apix", Some(false)),
            ("/api/../x", None),
            ("/api/%2e%2e/x", None),
            ("/api/..;/x", None),
            ("/api%2fx", None),
            ("/api;/x", None),
            ("//api/x", None),
        ] {
            assert_eq!(is_for(whole, path), Some(true), "{path}");
            assert_eq!(is_for(part, path), of_part, "{path}");
        }
        assert!(!all.is_for("example.org", 80, "/").unwrap());
        assert!(!some.is_for("other.example.org", 8443, "//").unwrap());
    }
}
