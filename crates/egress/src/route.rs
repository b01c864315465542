//! Routes to providers: a request for `/NAME/…` on the explicit listener goes to one upstream, with a credential that the sandbox never sees.

use hyper::header::{HeaderMap, HeaderName};
use hyper::{Method, Uri};
use policy::rules::network::{HostPattern, HostRule, Pattern, Request};
use policy::rules::verdict::Origin;
use policy::rules::{provider, url_path};

pub use self::credential::Credential;
use self::credential::as_read;
pub(crate) use self::credential::{check_query, is_place};
pub use self::error::RouteError;
pub use self::upstream::Upstream;
use crate::refusal::Refusal;
use crate::secret::Secret;

mod credential;
mod error;
mod upstream;

/// Where a route leads, and for what.
#[derive(Clone, Debug)]
pub struct Route {
    /// The first part of its paths.
    pub name: String,
    pub upstream: Upstream,
    /// What is added. Without one nothing is: a server that wants none.
    pub credential: Option<Credential>,
    /// What a request must bring to be sent on, in any header that a credential could stand in. Without one all requests are.
    pub token: Option<Secret>,
    /// Requests that pass. Others are refused.
    pub allowed: Vec<Allowed>,
}

/// Requests that pass.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Allowed {
    pub methods: Vec<Method>,
    /// A path; with `/*` at its end every path below it.
    pub path: String,
}

/// Headers by which some servers do something else than what the request says: those of proxies, variables of CGI (gunicorn), those of
/// frameworks (Next.js), and of stores, for which they name what is copied, joined or led to (`OpenStack` Swift).
const STEERING: [&str; 37] = [
    "base-url", "destination", "forwarded", "http-method", "path-info", "path-translated", "request-method",
    "request-uri", "script-name", "x-copy-from", "x-envoy-original-host", "x-envoy-original-path",
    "x-forward-host", "x-forwarded", "x-host", "x-http-destinationurl", "x-http-method", "x-invoke-path",
    "x-matched-path", "x-method", "x-middleware-override-headers", "x-middleware-rewrite",
    "x-middleware-subrequest", "x-now-route-matches", "x-object-manifest", "x-original-host",
    "x-original-method", "x-original-path", "x-original-uri", "x-original-url", "x-override-url",
    "x-request-method", "x-rewrite-url", "x-script-name", "x-symlink-target", "x-tunneled-method",
    "x-waws-unencoded-url",
];

/// How those of other stores end (`x-amz-copy-source`, `x-goog-copy-source`, `x-ms-copy-source`, `x-ms-rename-source`), and those that say
/// what they are (`x-http-method-override`, `x-http-host-override`).
const STEERING_ENDS: [&str; 3] = ["-copy-source", "-override", "-rename-source"];

impl Route {
    /// Makes one that lets nothing pass yet.
    ///
    /// # Errors
    ///
    /// The name cannot be part of a path, or the upstream is no URL of a server.
    pub fn new(name: &str, upstream: &str) -> Result<Self, RouteError> {
        let is_part =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_');
        if name.is_empty() || !name.bytes().all(is_part) {
            return Err(RouteError::Name(name.to_owned()));
        }
        let upstream = Upstream::new(upstream)?;
        Ok(Self { name: name.to_owned(), upstream, credential: None, token: None, allowed: Vec::new() })
    }

    /// Makes one as the table of providers has it.
    ///
    /// # Errors
    ///
    /// The credential cannot stand in a header.
    pub fn of(
        provider: &provider::CredentialProvider,
        secret: Option<Secret>,
        token: Option<Secret>,
    ) -> Result<Self, RouteError> {
        let form = secret.as_ref().and_then(|secret| provider.form(secret.value()));
        let credential = match (form, secret) {
            (Some(form), Some(secret)) => Some(Credential::new(form.header, form.template, secret)?),
            _ => None,
        };
        let allowed: Result<_, _> =
            provider.allowed.iter().map(|one| Allowed::new(one.methods, one.path)).collect();
        Ok(Self { credential, token, allowed: allowed?, ..Self::new(provider.name, provider.upstream)? })
    }

    /// Returns the rule that lets its upstream be reached.
    pub(crate) fn rule(&self) -> HostRule {
        let (host, port) = (self.upstream.host.clone(), Some(self.upstream.port));
        HostRule::new(Pattern::Hosts(HostPattern::Exact { host, port }), Origin::Default)
    }

    /// Returns whether a request brings the token.
    pub(crate) fn admits(&self, headers: &HeaderMap) -> bool {
        let Some(token) = &self.token else { return true };
        let places = headers.iter().filter(|(name, _)| self.takes(name));
        // All are looked at, whichever fits.
        places.fold(false, |found, (_, value)| {
            let value = value.as_bytes();
            let bare = match value.split_at_checked(7) {
                Some((scheme, rest)) if scheme.eq_ignore_ascii_case(b"Bearer ") => rest,
                _ => value,
            };
            found | token.is(bare)
        })
    }

    /// Checks that a request is one that passes, and returns what is asked of the upstream. The path is what is below the route's name.
    ///
    /// # Errors
    ///
    /// The method and the path are not what the route is for, or the query could hold a credential.
    pub fn resolve(&self, method: &Method, path: &str, query: Option<&str>) -> Result<Uri, Refusal> {
        let matches =
            |one: &Allowed, path: &str| one.methods.contains(method) && url_path::matches(&one.path, path);
        let normal = url_path::normal(path);
        if !normal.is_some_and(|path| self.allowed.iter().any(|one| matches(one, &path))) {
            return Err(Refusal::Operation { route: self.name.clone(), allowed: self.listing() });
        }
        check_query(&self.upstream.host, query)?;
        let query = query.map(|query| format!("?{query}")).unwrap_or_default();
        let uri = format!("{}{}{path}{query}", self.upstream.origin(), self.upstream.prefix);
        uri.parse().map_err(|_| Refusal::Malformed("the path is none"))
    }

    /// Returns a request to its upstream as rules look at it.
    pub(crate) fn request(&self, method: &Method, path: &str) -> Request {
        let path = format!("{}{path}", self.upstream.prefix);
        Request { scheme: self.upstream.scheme, method: method.to_string(), path }
    }

    /// Takes out what could be a credential of the sandbox's own, and adds the route's.
    pub(crate) fn credit(&self, headers: &mut HeaderMap) -> Result<(), RouteError> {
        let gone = headers.keys().filter(|name| self.takes(name) || is_steering(name.as_str())).cloned();
        for name in gone.collect::<Vec<_>>() {
            headers.remove(name);
        }
        match &self.credential {
            Some(credential) => credential.add(headers),
            None => Ok(()),
        }
    }

    /// Returns whether the upstream could take what is in such a header for a credential.
    fn takes(&self, header: &HeaderName) -> bool {
        self.credential.as_ref().map_or_else(|| is_place(header), |credential| credential.is_beside(header))
    }

    fn listing(&self) -> Vec<String> {
        let one = |allowed: &Allowed| {
            let methods: Vec<&str> = allowed.methods.iter().map(Method::as_str).collect();
            format!("{} /{}{}", methods.join("|"), self.name, allowed.path)
        };
        self.allowed.iter().map(one).collect()
    }
}

/// Returns whether a server may take a header for something else than it is called: for one with `-` in place of other characters, for
/// another method or path, or for the word of a proxy in front of it.
pub(crate) fn is_steering(name: &str) -> bool {
    as_read(name) != name
        || name.starts_with("x-forwarded-")
        || STEERING.contains(&name)
        || STEERING_ENDS.iter().any(|end| name.ends_with(end))
}

/// Splits the path of a request into the route that it names and what is below it.
pub(crate) fn find<'a, 'b>(routes: &'a [Route], path: &'b str) -> Option<(&'a Route, &'b str)> {
    let below = path.strip_prefix('/')?;
    let (name, rest) = match below.find('/') {
        Some(slash) => below.split_at(slash),
        None => (below, "/"),
    };
    Some((routes.iter().find(|route| route.name == name)?, rest))
}

impl Allowed {
    /// Makes one of methods and a path; with `/*` at its end every path below it.
    ///
    /// # Errors
    ///
    /// A method is none.
    pub fn new(methods: &[&str], path: &str) -> Result<Self, RouteError> {
        let parse = |method: &&str| method.parse().map_err(|_| RouteError::Method((*method).to_owned()));
        Ok(Self { methods: methods.iter().map(parse).collect::<Result<_, _>>()?, path: path.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;
    use policy::rules::credentials;
    use zeroize::Zeroizing;

    use super::*;

    fn secret(text: &str) -> Secret {
        Secret::from(Zeroizing::new(text.to_owned()))
    }

    fn anthropic() -> Route {
        let provider = provider::CredentialProvider::named("anthropic").unwrap();
        Route::of(provider, Some(secret("sk-real")), Some(secret("token"))).unwrap()
    }

    #[test]
    fn a_route_is_found_by_the_first_part_of_the_path() {
        let routes = [anthropic()];
        for (path, rest) in [
            ("/anthropic/v1/messages", Some("/v1/messages")),
            ("/anthropic/", Some("/")),
            ("/anthropic", Some("/")),
            ("/anthropicx/v1", None),
            ("//anthropic/v1", None),
            ("/Anthropic/v1", None),
            ("/", None),
            ("*", None),
        ] {
            assert_eq!(find(&routes, path).map(|(_, rest)| rest), rest, "{path}");
        }
    }

    #[test]
    fn only_what_is_allowed_reaches_the_upstream_and_no_path_leads_elsewhere() {
        let route = anthropic();
        let resolve = |method: &str, path: &str, query| {
            route.resolve(&method.parse().unwrap(), path, query).map(|uri| uri.to_string()).ok()
        };
        assert_eq!(
            resolve("POST", "/v1/messages", Some("beta=true")).as_deref(),
            Some("https://api.anthropic.com/v1/messages?beta=true")
        );
        assert!(resolve("GET", "/v1/models/claude-x", None).is_some());
        for (method, path) in [
            ("GET", "/v1/messages"),
            ("POST", "/v1/messages/batches"),
            ("POST", "/v1/organizations/me"),
            ("POST", "/v1/messagesx"),
            ("GET", "/v1/models/../organizations"),
            ("GET", "/v1/models/%2e%2e/organizations"),
            ("GET", "/v1/models/%2E%2E%2Forganizations"),
            ("GET", "/v1/models/..%5corganizations"),
            ("GET", "/v1/models/..;/organizations"),
            ("GET", "/v1/models//organizations"),
            ("GET", "//v1/models"),
            ("GET", "/v1/models/\\..\\organizations"),
            ("CONNECT", "/v1/messages"),
            ("TRACE", "/v1/messages"),
        ] {
            assert_eq!(resolve(method, path, None), None, "{method} {path}");
        }
        for query in [
            "key=x", "a=b&access_token=x", "k%65y=x", "API_KEY=x", "a=b;key=x", "$key=x", "%24key=x",
            "private_token=x", "access_token[]=x", "access_token%00a=x", "[access_token]=x", "%u006bey=x",
            "$httpMethod=DELETE",
        ] {
            assert_eq!(resolve("POST", "/v1/messages", Some(query)), None, "{query}");
        }
    }

    #[test]
    fn the_token_counts_in_every_header_of_credentials_and_in_no_other() {
        let route = anthropic();
        let admits = |name: &'static str, value: &'static str| {
            route.admits(&HeaderMap::from_iter([(
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            )]))
        };
        for (name, value) in [
            ("x-api-key", "token"),
            ("authorization", "Bearer token"),
            ("authorization", "bearer token"),
            ("x-goog-api-key", "token"),
        ] {
            assert!(admits(name, value), "{name}: {value}");
        }
        for (name, value) in [
            ("x-api-key", "token2"),
            ("x-api-key", ""),
            ("x-api-key", "sk-real"),
            ("authorization", "Basic token"),
            ("x-other", "token"),
        ] {
            assert!(!admits(name, value), "{name}: {value}");
        }
        assert!(!route.admits(&HeaderMap::new()));
    }

    #[test]
    fn what_the_sandbox_brings_is_replaced_by_the_credential() {
        let route = anthropic();
        let mut headers = HeaderMap::new();
        for name in credentials::HEADERS.iter().copied().map(HeaderName::from_static) {
            headers.append(name.clone(), HeaderValue::from_static("token"));
            headers.append(name, HeaderValue::from_static("another"));
        }
        headers.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
        route.credit(&mut headers).unwrap();
        assert_eq!(headers.len(), 2, "{headers:?}");
        assert_eq!(headers["x-api-key"], "sk-real");
        assert!(!format!("{headers:?} {route:?}").contains("sk-real"));
        assert!(!format!("{route:?}").contains("token\""));
    }

    #[test]
    fn what_names_another_path_does_not_reach_the_upstream() {
        let route = anthropic();
        let mut headers = HeaderMap::new();
        let steering = [
            "script-name", "script_name", "path-info", "x-script-name", "x-matched-path",
            "x-amz-copy-source", "x-goog-copy-source", "x-ms-rename-source", "x-object-manifest",
            "x-forwarded-prefix", "x.custom",
        ];
        for name in steering.into_iter().chain(["x-custom", "x-copy-source-range"]) {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static("/private"));
        }
        route.credit(&mut headers).unwrap();
        let mut left: Vec<_> = headers.keys().map(HeaderName::as_str).collect();
        left.sort_unstable();
        assert_eq!(left, ["x-api-key", "x-copy-source-range", "x-custom"]);
        assert!(STEERING.is_sorted());
    }

    #[test]
    fn what_is_no_route_is_refused() {
        for name in ["", "a/b", "A", "..", "a b"] {
            assert!(Route::new(name, "https://api.example.org").is_err(), "{name}");
        }
        for upstream in [
            "api.example.org", "ftp://api.example.org", "https://", "https://me@api.example.org",
            "https://api.example.org:0", "https://api.example.org:x", "https://api.example.org/a/../b",
            "https://api.example.org/?a", "https://0x7f.1/",
        ] {
            assert!(Route::new("a", upstream).is_err(), "{upstream}");
        }
        for (header, template, value) in
            [("a b", "{}", "x"), ("a", "", "x"), ("a", "{}{}", "x"), ("a", "{}", "x\r\nb: c")]
        {
            assert!(Credential::new(header, template, secret(value)).is_err(), "{header} {template}");
        }
        let route = Route::new("a", "http://[::1]:8080/v1/").unwrap();
        assert_eq!(route.upstream.origin() + &route.upstream.prefix, "http://[::1]:8080/v1");
    }
}
