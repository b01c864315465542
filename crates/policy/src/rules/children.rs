//! What the children of a sandbox may use: parts of what the sandbox itself may use.
//!
//! A limit of a sandbox with children is the limit of the whole family. Each child has its part set aside, whether or not it is there, so that no
//! provider has to move limits of what runs: a sandbox and its children together never use more than was given to the sandbox.

use std::num::NonZeroU32;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::limits::{Bytes, Limits, MIN_MEMORY, MilliCpus};

/// Where the agent asks for a child.
pub const CHILDREN_SOCKET: &str = "/run/sandbox/children.sock";

/// The children that a sandbox may have.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Children {
    /// How many live at once.
    pub max: NonZeroU32,
    /// How many generations there are below the sandbox.
    pub depth: NonZeroU32,
    /// What each of them may use, with those that it has itself.
    pub limits: ChildLimits,
}

/// What a child may use together with its own children; `None` is unlimited, as its sandbox is then.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct ChildLimits {
    pub memory: Option<Bytes>,
    pub cpus: Option<MilliCpus>,
    pub pids: Option<u32>,
    pub timeout: Option<Duration>,
}

/// What was asked for of each child.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct AskedLimits {
    pub memory: Part<Bytes>,
    pub cpus: Part<MilliCpus>,
    pub pids: Part<u32>,
    pub timeout: Option<Duration>,
}

/// What part of a limit each child has.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Part<T> {
    /// As much as the others, and as the sandbox itself.
    #[default]
    Equal,
    Given(T),
    Unlimited,
}

impl<T> Part<T> {
    /// Takes a setting, in which `None` is unlimited; without one the parts are equal.
    pub fn of(setting: Option<Option<T>>) -> Self {
        setting.map_or(Self::Equal, |limit| limit.map_or(Self::Unlimited, Self::Given))
    }

    fn map<U>(self, change: impl FnOnce(T) -> U) -> Part<U> {
        match self {
            Self::Equal => Part::Equal,
            Self::Given(given) => Part::Given(change(given)),
            Self::Unlimited => Part::Unlimited,
        }
    }
}

/// Why the limits of a sandbox cannot be divided.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{children} of {part} leave {left} of {whole} for the sandbox itself, which needs {least}")]
pub struct TooLittle {
    /// Which limit it is: its key in `[limits]` and `[children]`.
    pub limit: &'static str,
    children: String,
    part: String,
    left: String,
    whole: String,
    least: String,
}

impl Children {
    /// Divides what a sandbox may use between it and its children. Returns what is left for itself, and what the children have.
    ///
    /// # Errors
    ///
    /// Every limit of which nothing useful would be left, in this generation or in one below.
    pub fn divide(
        whole: &Limits,
        max: NonZeroU32,
        depth: NonZeroU32,
        asked: AskedLimits,
    ) -> Result<(Limits, Self), Vec<TooLittle>> {
        let mut problems = Vec::new();
        let mut share = |limit, whole: Option<u64>, part: Part<u64>, unit: Unit| {
            share(limit, whole, part, max, unit).unwrap_or_else(|problem| {
                problems.push(*problem);
                (whole, whole)
            })
        };
        let part = asked.memory.map(|bytes| bytes.0);
        let memory = share("memory", whole.memory.map(|bytes| bytes.0), part, MEMORY);
        let part = asked.cpus.map(|cpus| cpus.0.into());
        let cpus = share("cpus", whole.cpus.map(|cpus| cpus.0.into()), part, CPUS);
        let pids = share("pids", whole.pids.map(u64::from), asked.pids.map(u64::from), PIDS);
        // They are parts of numbers that fit.
        let narrow = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        let own = Limits {
            memory: memory.0.map(Bytes),
            cpus: cpus.0.map(narrow).map(MilliCpus),
            pids: pids.0.map(narrow),
            ..whole.clone()
        };
        let timeouts = asked.timeout.into_iter().chain(whole.timeout);
        let limits = ChildLimits {
            memory: memory.1.map(Bytes),
            cpus: cpus.1.map(narrow).map(MilliCpus),
            pids: pids.1.map(narrow),
            timeout: timeouts.min(),
        };
        if !problems.is_empty() {
            return Err(problems);
        }
        if let Some(below) = NonZeroU32::new(depth.get() - 1) {
            Self::divide(&limits.within(whole), max, below, AskedLimits::default())?;
        }
        Ok((own, Self { max, depth, limits }))
    }

    /// Returns what a child may use for itself, and the children that it may have.
    ///
    /// # Errors
    ///
    /// As for [`Children::divide`]; nothing of a plan that it has made.
    pub fn of_child(&self, whole: &Limits) -> Result<(Limits, Option<Self>), Vec<TooLittle>> {
        let whole = self.limits.within(whole);
        match NonZeroU32::new(self.depth.get() - 1) {
            None => Ok((whole, None)),
            Some(depth) => Self::divide(&whole, self.max, depth, AskedLimits::default())
                .map(|(own, children)| (own, Some(children))),
        }
    }
}

impl ChildLimits {
    /// Returns the limits of a child: these, and whatever else holds for its sandbox.
    fn within(&self, sandbox: &Limits) -> Limits {
        let Self { memory, cpus, pids, timeout } = self.clone();
        Limits { memory, cpus, pids, timeout, ..sandbox.clone() }
    }
}

/// How a limit is counted and shown.
#[derive(Clone, Copy)]
struct Unit {
    /// What a sandbox needs of it.
    least: u64,
    /// What an equal part is a multiple of, where it is that large.
    grain: u64,
    show: fn(u64) -> String,
}

const MEMORY: Unit = Unit { least: MIN_MEMORY.0, grain: 1 << 20, show: |number| Bytes(number).to_string() };
const CPUS: Unit = Unit {
    least: 10,
    grain: 1,
    show: |number| MilliCpus(u32::try_from(number).unwrap_or(u32::MAX)).to_string(),
};
/// PID 1, a shell, and a program.
const PIDS: Unit = Unit { least: 3, grain: 1, show: |number| number.to_string() };

/// Divides one limit. Returns what the sandbox keeps, and what each child has.
fn share(
    limit: &'static str,
    whole: Option<u64>,
    part: Part<u64>,
    max: NonZeroU32,
    unit: Unit,
) -> Result<(Option<u64>, Option<u64>), Box<TooLittle>> {
    let max = u64::from(max.get());
    let (whole, part) = match (whole, part) {
        (None, Part::Given(part)) => return Ok((None, Some(part))),
        (None, Part::Equal | Part::Unlimited) => return Ok((None, None)),
        (Some(whole), Part::Given(part)) => (whole, part),
        (Some(whole), Part::Equal) => {
            let part = whole / (max + 1);
            (whole, if part > unit.grain { part / unit.grain * unit.grain } else { part })
        }
        // It has the whole of what its sandbox has, which is too much.
        (Some(whole), Part::Unlimited) => (whole, whole),
    };
    let left = whole.saturating_sub(part.saturating_mul(max));
    if left < unit.least || part < unit.least {
        let show = |number| (unit.show)(number);
        return Err(Box::new(TooLittle {
            limit,
            children: if max == 1 { "a child".to_owned() } else { format!("{max} children") },
            part: show(part),
            left: show(left),
            whole: show(whole),
            least: show(unit.least),
        }));
    }
    Ok((Some(left), Some(part)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(number: u32) -> NonZeroU32 {
        NonZeroU32::new(number).unwrap()
    }

    fn limits() -> Limits {
        Limits {
            memory: Some(Bytes(1 << 30)),
            cpus: Some(MilliCpus(2000)),
            pids: Some(256),
            timeout: Some(Duration::from_secs(60)),
            ..Limits::default()
        }
    }

    #[test]
    fn a_sandbox_and_its_children_have_together_what_the_sandbox_was_given() {
        let (own, children) =
            Children::divide(&limits(), number(3), number(1), AskedLimits::default()).unwrap();
        assert_eq!((own.memory, children.limits.memory), (Some(Bytes(256 << 20)), Some(Bytes(256 << 20))));
        assert_eq!((own.cpus, children.limits.cpus), (Some(MilliCpus(500)), Some(MilliCpus(500))));
        assert_eq!((own.pids, children.limits.pids), (Some(64), Some(64)));
        assert_eq!(children.limits.timeout, Some(Duration::from_secs(60)));
        let asked = AskedLimits { memory: Part::Given(Bytes(100 << 20)), ..AskedLimits::default() };
        let (own, children) = Children::divide(&limits(), number(2), number(1), asked).unwrap();
        assert_eq!(own.memory, Some(Bytes(824 << 20)));
        assert_eq!(children.limits.memory, Some(Bytes(100 << 20)));
        // What has no limit is not divided.
        let (own, children) = Children::divide(&Limits::default(), number(2), number(1), asked).unwrap();
        assert_eq!((own.memory, children.limits.memory), (None, Some(Bytes(100 << 20))));
    }

    #[test]
    fn every_generation_has_parts_of_the_one_above() {
        let whole = limits();
        let (_, children) = Children::divide(&whole, number(1), number(3), AskedLimits::default()).unwrap();
        let (child, grandchildren) = children.of_child(&whole).unwrap();
        assert_eq!(child.memory, Some(Bytes(256 << 20)));
        let grandchildren = grandchildren.unwrap();
        assert_eq!((grandchildren.depth, grandchildren.limits.memory), (number(2), Some(Bytes(256 << 20))));
        let (grandchild, last) = grandchildren.of_child(&child).unwrap();
        assert_eq!(grandchild.memory, Some(Bytes(128 << 20)));
        let (last, none) = last.unwrap().of_child(&grandchild).unwrap();
        assert_eq!((last.memory, none), (Some(Bytes(128 << 20)), None));
    }

    #[test]
    fn too_little_is_refused_in_every_generation() {
        let refused = |limits: &Limits, max, depth, asked| {
            let problems = Children::divide(limits, number(max), number(depth), asked).unwrap_err();
            problems.into_iter().map(|problem| (problem.limit, problem.to_string())).collect::<Vec<_>>()
        };
        let asked = AskedLimits { memory: Part::Given(Bytes(512 << 20)), ..AskedLimits::default() };
        let said = "2 children of 512m leave 0 of 1g for the sandbox itself, which needs 4m";
        assert_eq!(refused(&limits(), 2, 1, asked), [("memory", said.to_owned())]);
        let asked = AskedLimits { pids: Part::Unlimited, ..AskedLimits::default() };
        let said = "a child of 256 leave 0 of 256 for the sandbox itself, which needs 3";
        assert_eq!(refused(&limits(), 1, 1, asked), [("pids", said.to_owned())]);
        let small = Limits { memory: Some(Bytes(20 << 20)), ..limits() };
        assert!(
            Children::divide(&small, number(2), number(1), AskedLimits::default()).is_ok(),
            "the control"
        );
        assert_eq!(refused(&small, 2, 2, AskedLimits::default()).len(), 1);
    }
}
