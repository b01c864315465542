//! The smallest program there can be: it makes one system call and exits with the error.
//!
//! No library stands between the test and the kernel, so registers can hold what no libc would put there.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

/// How the program ended.
#[derive(Debug, Eq, PartialEq)]
pub(crate) enum Ended {
    /// The call succeeded.
    Done,
    /// The call failed with this number.
    Refused(i32),
    /// A signal killed the program.
    Killed(i32),
}

/// Makes the call from a new process of the calling thread, which inherits the filters of that thread.
pub(crate) fn call(number: u64, args: [u64; 6]) -> Ended {
    run(&machine_code(number, args))
}

/// Makes the 32-bit call `getpid` from a 64-bit program.
#[cfg(target_arch = "x86_64")]
pub(crate) fn call_of_i386() -> Ended {
    // mov eax, 20; int 0x80; xor edi, edi; mov eax, 60; syscall
    run(&[0xb8, 20, 0, 0, 0, 0xcd, 0x80, 0x31, 0xff, 0xb8, 60, 0, 0, 0, 0x0f, 0x05])
}

#[cfg(target_arch = "x86_64")]
fn machine_code(number: u64, args: [u64; 6]) -> Vec<u8> {
    let mut code = Vec::new();
    // mov rax, rdi, rsi, rdx, r10, r8, r9: the whole 64 bits of each.
    let registers =
        [[0x48, 0xb8], [0x48, 0xbf], [0x48, 0xbe], [0x48, 0xba], [0x49, 0xba], [0x49, 0xb8], [0x49, 0xb9]];
    for (register, value) in registers.iter().zip(std::iter::once(number).chain(args)) {
        code.extend_from_slice(register);
        code.extend_from_slice(&value.to_le_bytes());
    }
    // syscall; xor edi, edi; test rax, rax; jns +4; mov edi, eax; neg edi; mov eax, 60; syscall
    code.extend_from_slice(&[0x0f, 0x05, 0x31, 0xff, 0x48, 0x85, 0xc0, 0x79, 0x04, 0x89, 0xc7, 0xf7, 0xdf]);
    code.extend_from_slice(&[0xb8, 60, 0, 0, 0, 0x0f, 0x05]);
    code
}

#[cfg(target_arch = "aarch64")]
fn machine_code(number: u64, args: [u64; 6]) -> Vec<u8> {
    let mut code: Vec<u32> = Vec::new();
    // movz and three movk for each of x8 and x0 to x5.
    for (register, value) in (8_u32..9).chain(0..6).zip(std::iter::once(number).chain(args)) {
        for part in 0..4_u32 {
            let operation = if part == 0 { 0xd280_0000 } else { 0xf280_0000 };
            let immediate = u32::try_from(value >> (16 * part) & 0xffff).unwrap();
            code.push(operation | part << 21 | immediate << 5 | register);
        }
    }
    // svc #0; cmp x0, #0; csneg w0, wzr, w0, ge; movz x8, #93; svc #0
    code.extend_from_slice(&[0xd400_0001, 0xf100_001f, 0x5a80_a7e0, 0xd280_0ba8, 0xd400_0001]);
    code.iter().flat_map(|instruction| instruction.to_le_bytes()).collect()
}

fn run(code: &[u8]) -> Ended {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("program");
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o700).open(&path).unwrap();
    file.write_all(&executable(code)).unwrap();
    drop(file);
    fs::set_permissions(&path, Permissions::from_mode(0o700)).unwrap();
    let status = loop {
        // Another thread's child may still hold our descriptor for writing, between its fork and its exec.
        match Command::new(&path).status() {
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => std::thread::yield_now(),
            other => break other.unwrap(),
        }
    };
    match (status.code(), status.signal()) {
        (Some(0), _) => Ended::Done,
        (Some(error), _) => Ended::Refused(error),
        (None, signal) => Ended::Killed(signal.unwrap()),
    }
}

/// An ELF file with one segment, which holds the file's own headers and the code (elf(5)).
fn executable(code: &[u8]) -> Vec<u8> {
    const BASE: u64 = 0x40_0000;
    const HEADERS: u64 = 64 + 56;
    let machine: u16 = if cfg!(target_arch = "x86_64") { 62 } else { 183 };
    let mut elf = b"\x7fELF\x02\x01\x01".to_vec();
    elf.resize(16, 0);
    elf.extend_from_slice(&2_u16.to_le_bytes());
    elf.extend_from_slice(&machine.to_le_bytes());
    elf.extend_from_slice(&1_u32.to_le_bytes());
    for word in [BASE + HEADERS, 64, 0] {
        elf.extend_from_slice(&word.to_le_bytes());
    }
    elf.extend_from_slice(&0_u32.to_le_bytes());
    for half in [64_u16, 56, 1, 64, 0, 0] {
        elf.extend_from_slice(&half.to_le_bytes());
    }
    let size = HEADERS + code.len() as u64;
    elf.extend_from_slice(&1_u32.to_le_bytes());
    elf.extend_from_slice(&5_u32.to_le_bytes());
    for word in [0, BASE, BASE, size, size, 0x1000] {
        elf.extend_from_slice(&word.to_le_bytes());
    }
    elf.extend_from_slice(code);
    elf
}
