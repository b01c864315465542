//! Patterns of commands: the words that a command begins with.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The words that a command begins with, each one word, several of which one is meant (`fetch|pull`), or `*` for any.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct TokenPattern(pub(super) Vec<Token>);

#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Token {
    Any,
    OneOf(Vec<String>),
}

/// Why a list of words is no pattern.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum TokenPatternError {
    #[error("there is no word in it")]
    Empty,
    #[error("an alternative is empty")]
    EmptyAlternative,
    #[error(
        "the program itself cannot be `*`: `[commands] execute` decides about all programs that nothing is known of"
    )]
    AnyProgram,
}

impl TokenPattern {
    /// Makes a pattern of its words.
    ///
    /// # Errors
    ///
    /// It would match no command, or every one.
    pub fn new<T: AsRef<str>>(words: &[T]) -> Result<Self, TokenPatternError> {
        let tokens: Vec<Token> =
            words.iter().map(|word| word.as_ref().parse()).collect::<Result<_, TokenPatternError>>()?;
        match tokens.first() {
            None => Err(TokenPatternError::Empty),
            Some(Token::Any) => Err(TokenPatternError::AnyProgram),
            Some(Token::OneOf(_)) => Ok(Self(tokens)),
        }
    }
}

impl FromStr for Token {
    type Err = TokenPatternError;

    fn from_str(text: &str) -> Result<Self, TokenPatternError> {
        if text == "*" {
            return Ok(Self::Any);
        }
        let all: Vec<_> = text.split('|').map(str::to_owned).collect();
        if all.iter().any(String::is_empty) {
            return Err(TokenPatternError::EmptyAlternative);
        }
        Ok(Self::OneOf(all))
    }
}

impl TryFrom<Vec<String>> for TokenPattern {
    type Error = TokenPatternError;

    fn try_from(words: Vec<String>) -> Result<Self, TokenPatternError> {
        Self::new(&words)
    }
}

impl From<TokenPattern> for Vec<String> {
    fn from(pattern: TokenPattern) -> Self {
        pattern.0.iter().map(Token::to_string).collect()
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("*"),
            Self::OneOf(all) => f.write_str(&all.join("|")),
        }
    }
}

impl fmt::Display for TokenPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<_> = self.0.iter().map(Token::to_string).collect();
        f.write_str(&words.join(" "))
    }
}
