//! The version of what is stored: a program reads the form that it knows, and no other.

use serde::{Deserialize, Serialize};

/// The form of something that is stored: this one.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(into = "u32", try_from = "u32")]
pub struct Version<const NUMBER: u32>;

impl<const NUMBER: u32> From<Version<NUMBER>> for u32 {
    fn from(_: Version<NUMBER>) -> Self {
        NUMBER
    }
}

impl<const NUMBER: u32> TryFrom<u32> for Version<NUMBER> {
    type Error = String;

    fn try_from(number: u32) -> Result<Self, Self::Error> {
        if number == NUMBER {
            Ok(Self)
        } else {
            Err(format!("version {number}, and this program knows {NUMBER}"))
        }
    }
}
