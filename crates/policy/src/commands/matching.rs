//! Whether a command matches a pattern.

use super::pattern::{Token, TokenPattern};
use super::simple::Word;

/// Whether a command matches a pattern.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Match {
    Yes,
    /// It does if words that are not known before it runs say so.
    Perhaps,
    No,
}

impl TokenPattern {
    /// Returns whether a command begins with these words. The program may be named by a path.
    pub(super) fn matches(&self, words: &[Word]) -> Match {
        for (position, token) in self.0.iter().enumerate() {
            let Some(word) = words.get(position) else { return Match::No };
            match (token, word.known()) {
                // It may be several words, or none, so nothing is known of what follows.
                (_, None) => return Match::Perhaps,
                (Token::Any, Some(_)) => {}
                (Token::OneOf(all), Some(text)) => {
                    let is_it = |one: &String| one == text || (position == 0 && is_named_by(text, one));
                    if !all.iter().any(is_it) {
                        return Match::No;
                    }
                }
            }
        }
        // Whatever follows, known or not.
        Match::Yes
    }
}

/// Returns whether a path names this program.
fn is_named_by(path: &str, program: &str) -> bool {
    path.rsplit_once('/').is_some_and(|(_, name)| name == program)
}
