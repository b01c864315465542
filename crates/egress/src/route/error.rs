//! Why there is no such route.

/// Why there is no such route.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum RouteError {
    #[error("`{0}` cannot be the name of a route; expected lower-case letters, digits, `-` and `_`")]
    Name(String),
    #[error("`{0}` is no upstream; expected a URL such as `https://api.example.org`")]
    Upstream(String),
    #[error("`{0}` is no name of a header")]
    Header(String),
    #[error("`{0}` is no template; expected one `{{}}`, such as `Bearer {{}}`")]
    Template(String),
    #[error("the credential has a character that no header has, such as a line break")]
    Secret,
    #[error("`{0}` is no method")]
    Method(String),
}
