//! Secrets: values that are compared and sent, and shown to nobody.

use std::fmt;

use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// A credential or a token. It is overwritten when it is dropped.
#[derive(Clone)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Returns the value itself.
    pub(crate) fn value(&self) -> &str {
        &self.0
    }

    /// Returns whether this is the value. How long that takes says nothing of it but its length.
    pub(crate) fn is(&self, given: &[u8]) -> bool {
        self.0.as_bytes().ct_eq(given).into()
    }
}

impl From<Zeroizing<String>> for Secret {
    fn from(value: Zeroizing<String>) -> Self {
        Self(value)
    }
}

impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        self.is(other.0.as_bytes())
    }
}

impl Eq for Secret {}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a secret")
    }
}
