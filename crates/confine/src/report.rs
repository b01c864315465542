//! The report: what of the plan was enforced, layer by layer, as it was seen from inside.

use policy::plan::Layer;
use serde::{Deserialize, Serialize};

/// How far a layer holds.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// All of it, and a probe from inside has seen it hold.
    Enforced,
    /// Some of it; the reason says what is missing.
    Partly,
    /// Nothing of it.
    Not,
}

/// One line of the report.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Finding {
    pub layer: Layer,
    pub status: Status,
    /// What was seen, or what is missing and why.
    pub reason: String,
}

/// Every layer once, in the order of [`Layer`].
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Report(pub Vec<Finding>);

impl Report {
    /// Adds a line, keeping the order; a layer that is there already keeps the weaker status.
    pub fn add(&mut self, finding: Finding) {
        match self.0.binary_search_by_key(&finding.layer, |line| line.layer) {
            Ok(at) if self.0[at].status.strength() > finding.status.strength() => self.0[at] = finding,
            Ok(_) => {}
            Err(at) => self.0.insert(at, finding),
        }
    }

    /// Returns the finding for one layer.
    pub fn layer(&self, layer: Layer) -> Option<&Finding> {
        self.0.iter().find(|finding| finding.layer == layer)
    }
}

impl Status {
    fn strength(self) -> u8 {
        match self {
            Self::Not => 0,
            Self::Partly => 1,
            Self::Enforced => 2,
        }
    }
}
