//! The compiler: groups of system calls become a classic BPF program.
//!
//! The kernel runs the program once for every call number when it is loaded (to learn which are always
//! allowed), and for the others at every call. Both cost less with a binary tree over ranges of numbers than
//! with a list: neighbours with the same answer are one range, and a call is found after eight comparisons.
//! The kernel also translates the program to machine code, so a shorter one loads faster: equal ends are
//! shared.
//!
//! No crate compiles this: seccompiler makes a list with no guard against x32 calls, and libseccomp, which makes a tree, is a C
//! library that takes ten times as long at each start as the loading of the filter itself.

use libc::{
    BPF_ABS, BPF_ALU, BPF_AND, BPF_JA, BPF_JEQ, BPF_JGE, BPF_JMP, BPF_JSET, BPF_K, BPF_LD, BPF_RET, BPF_W,
    SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO, SECCOMP_RET_KILL_PROCESS, sock_filter,
};

use super::syscalls::{Case, SeccompAction, SyscallGroup, Test};

/// One more than the greatest number the groups may hold.
const NUMBERS: usize = 512;

/// Where `struct seccomp_data` (linux/seccomp.h) has its fields.
const NUMBER: u32 = 0;
const ARCH: u32 = 4;
const ARGUMENTS: u32 = 16;

/// A run of numbers, from `first` up to the next run, with the same answer.
struct Range<'a> {
    first: u32,
    cases: &'a [Case],
    otherwise: SeccompAction,
}

/// Compiles `groups`; of two that hold a number the later one counts. Numbers in none of them get `unknown`, other
/// architectures die.
pub(super) fn compile<'a>(
    architecture: u32,
    groups: impl Iterator<Item = &'a SyscallGroup>,
    unknown: SeccompAction,
) -> Vec<sock_filter> {
    let mut code =
        Instructions { reversed: Vec::with_capacity(512), answers: Vec::new(), leaves: Vec::new() };
    code.tree(&ranges(groups, unknown));
    code.push(load(NUMBER));
    code.push(statement(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
    code.push(jump(BPF_JEQ, architecture, 1, 0));
    code.push(load(ARCH));
    code.reversed.reverse();
    code.reversed
}

/// Covers all numbers from zero up with as few ranges as it takes.
fn ranges<'a>(groups: impl Iterator<Item = &'a SyscallGroup>, unknown: SeccompAction) -> Vec<Range<'a>> {
    let mut answers: [(&[Case], SeccompAction); NUMBERS] = [(&[], unknown); NUMBERS];
    for group in groups {
        for &call in group.calls {
            let at = usize::try_from(call).expect("call numbers are not negative");
            answers[at] = (group.cases, group.otherwise);
        }
    }
    let mut ranges: Vec<Range<'_>> = Vec::with_capacity(NUMBERS);
    for (first, (cases, otherwise)) in (0..).zip(answers) {
        match ranges.last() {
            Some(last) if last.otherwise == otherwise && same(last.cases, cases) => {}
            _ => ranges.push(Range { first, cases, otherwise }),
        }
    }
    ranges
}

/// Returns whether two lists of cases are the same list. Comparing addresses is cheaper than comparing contents.
fn same(a: &[Case], b: &[Case]) -> bool {
    a.is_empty() && b.is_empty() || std::ptr::eq(a, b)
}

/// A place in the program: how many instructions there are from it to the end.
type Label = usize;

/// The program, made from its end to its beginning: jumps lead forward only, so what they lead to is there
/// already, and what is there already can be led to again.
struct Instructions<'a> {
    reversed: Vec<sock_filter>,
    answers: Vec<(SeccompAction, Label)>,
    /// The latest place of each list of cases.
    leaves: Vec<(&'a [Case], SeccompAction, Label)>,
}

impl<'a> Instructions<'a> {
    /// Emits a binary search over `ranges`, which are not empty; the number is in the accumulator.
    fn tree(&mut self, ranges: &[Range<'a>]) -> Label {
        if let [range] = ranges {
            return self.leaf(range.cases, range.otherwise);
        }
        let (low, high) = ranges.split_at(ranges.len() / 2);
        let (at_least, less) = (self.tree(high), self.tree(low));
        self.branch(BPF_JGE, high[0].first, at_least, less)
    }

    fn leaf(&mut self, cases: &'a [Case], otherwise: SeccompAction) -> Label {
        let known = self.leaves.iter().rev().find(|leaf| same(leaf.0, cases) && leaf.1 == otherwise);
        if let Some(&(.., label)) = known.filter(|leaf| !cases.is_empty() && self.is_near(leaf.2)) {
            return label;
        }
        let mut next = self.answer(otherwise);
        for case in cases.iter().rev() {
            next = self.case(case, next);
        }
        self.leaves.push((cases, otherwise, next));
        next
    }

    /// Emits one case, which leads on to `otherwise` unless every test holds.
    fn case(&mut self, case: &Case, otherwise: Label) -> Label {
        let mut next = self.answer(case.then);
        for test in case.when.iter().rev() {
            match *test {
                Test::AnyBit { arg, mask } => {
                    self.branch(BPF_JSET, mask, next, otherwise);
                    next = self.push(load_low_half(arg));
                }
                Test::NotNull { arg } => {
                    self.branch(BPF_JEQ, 0, otherwise, next);
                    let high = self.push(load_high_half(arg));
                    self.branch(BPF_JEQ, 0, high, next);
                    next = self.push(load_low_half(arg));
                }
                Test::OneOf { arg, mask, values } => {
                    let mut no = otherwise;
                    for &value in values {
                        no = self.branch(BPF_JEQ, value, next, no);
                    }
                    if mask != u32::MAX {
                        self.push(statement(BPF_ALU | BPF_AND | BPF_K, mask));
                    }
                    next = self.push(load_low_half(arg));
                }
            }
        }
        next
    }

    fn answer(&mut self, action: SeccompAction) -> Label {
        let known = self.answers.iter().rev().find(|known| known.0 == action);
        if let Some(&(_, label)) = known.filter(|known| self.is_near(known.1)) {
            return label;
        }
        let value = match action {
            SeccompAction::Allow => SECCOMP_RET_ALLOW,
            SeccompAction::Refuse(error) => SECCOMP_RET_ERRNO | error.unsigned_abs(),
            SeccompAction::Pretend => SECCOMP_RET_ERRNO,
        };
        let label = self.push(statement(BPF_RET | BPF_K, value));
        self.answers.push((action, label));
        label
    }

    fn branch(&mut self, test: u32, k: u32, yes: Label, no: Label) -> Label {
        let (yes, no) = (self.within_reach(yes), self.within_reach(no));
        let distance = |label| u8::try_from(self.reversed.len() - label).expect("both are within reach");
        let branch = jump(test, k, distance(yes), distance(no));
        self.push(branch)
    }

    /// Returns `label`, or a long jump to it where a branch with its eight bits would not get there.
    fn within_reach(&mut self, label: Label) -> Label {
        let distance = self.reversed.len() - label;
        // One less than the eight bits hold: the other way of the branch may need a long jump in between.
        if distance < usize::from(u8::MAX) {
            return label;
        }
        let distance = u32::try_from(distance).expect("a program is shorter than 4096 instructions");
        self.push(statement(BPF_JMP | BPF_JA, distance))
    }

    /// Returns whether a label is near enough to branch to it rather than to repeat the instruction.
    fn is_near(&self, label: Label) -> bool {
        self.reversed.len() - label < 192
    }

    fn push(&mut self, instruction: sock_filter) -> Label {
        self.reversed.push(instruction);
        self.reversed.len()
    }
}

/// Loads the half of an argument that the kernel reads; both architectures are little-endian, so it comes first.
fn load_low_half(arg: u8) -> sock_filter {
    load(ARGUMENTS + 8 * u32::from(arg))
}

fn load_high_half(arg: u8) -> sock_filter {
    load(ARGUMENTS + 8 * u32::from(arg) + 4)
}

fn load(offset: u32) -> sock_filter {
    statement(BPF_LD | BPF_W | BPF_ABS, offset)
}

fn statement(code: u32, k: u32) -> sock_filter {
    instruction(code, k, 0, 0)
}

fn jump(test: u32, k: u32, jt: u8, jf: u8) -> sock_filter {
    instruction(BPF_JMP | test | BPF_K, k, jt, jf)
}

fn instruction(code: u32, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code: u16::try_from(code).expect("operation codes are 16 bits"), jt, jf, k }
}

#[cfg(test)]
pub(super) mod interpreter {
    //! What the kernel would answer: classic BPF, as far as the compiler speaks it.

    use super::*;

    /// `struct seccomp_data`, as the words that a program loads.
    #[derive(Clone, Copy, Debug, Default)]
    pub(in super::super) struct Call {
        pub(in super::super) number: u32,
        pub(in super::super) arch: u32,
        pub(in super::super) args: [u64; 6],
    }

    impl Call {
        fn word(&self, offset: u32) -> u32 {
            match offset {
                NUMBER => self.number,
                ARCH => self.arch,
                offset => {
                    let at = (offset - ARGUMENTS) as usize;
                    let bytes = self.args[at / 8].to_le_bytes();
                    u32::from_le_bytes(bytes[at % 8..at % 8 + 4].try_into().unwrap())
                }
            }
        }
    }

    /// Runs `program`; the second value counts the instructions it took.
    pub(in super::super) fn run(program: &[sock_filter], call: &Call) -> (u32, usize) {
        let (mut at, mut accumulator, mut steps) = (0, 0, 0);
        loop {
            let op = program[at];
            at += 1;
            steps += 1;
            let code = u32::from(op.code);
            let mut branch = |holds: bool| at += usize::from(if holds { op.jt } else { op.jf });
            match code {
                c if c == BPF_LD | BPF_W | BPF_ABS => accumulator = call.word(op.k),
                c if c == BPF_ALU | BPF_AND | BPF_K => accumulator &= op.k,
                c if c == BPF_JMP | BPF_JA => at += op.k as usize,
                c if c == BPF_JMP | BPF_JEQ | BPF_K => branch(accumulator == op.k),
                c if c == BPF_JMP | BPF_JGE | BPF_K => branch(accumulator >= op.k),
                c if c == BPF_JMP | BPF_JSET | BPF_K => branch(accumulator & op.k != 0),
                c if c == BPF_RET | BPF_K => return (op.k, steps),
                other => panic!("operation {other:#x}"),
            }
        }
    }
}
