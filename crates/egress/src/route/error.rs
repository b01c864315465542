//! Why there is no such route.

/// Why there is no such route.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum RouteError {
    /// The name cannot be part of a path.
    #[error("`{0}` cannot be the name of a route; expected lower-case letters, digits, `-` and `_`")]
    Name(String),
    /// The upstream is no URL of a server.
    #[error("`{0}` is no upstream; expected a URL such as `https://api.example.org`")]
    Upstream(String),
    /// The header is none.
    #[error("`{0}` is no name of a header")]
    Header(String),
    /// The template has no place for the credential, or several.
    #[error("`{0}` is no template; expected one `{{}}`, such as `Bearer {{}}`")]
    Template(String),
    /// The credential cannot stand in a header.
    #[error("the credential has a character that no header has, such as a line break")]
    Secret,
    /// The method is none.
    #[error("`{0}` is no method")]
    Method(String),
}
