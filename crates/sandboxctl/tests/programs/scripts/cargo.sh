# A small crate without dependencies, built, tested and run.
set -eu
mkdir -p crate/src
cat > crate/Cargo.toml <<'MANIFEST'
[package]
name = "small"
version = "0.1.0"
edition = "2021"
MANIFEST
cat > crate/src/main.rs <<'PROGRAM'
fn main() {
    println!("{}", double(21));
}

fn double(number: u32) -> u32 {
    number * 2
}

#[test]
fn doubles() {
    assert_eq!(double(1), 2);
}
PROGRAM
cd crate
cargo build --offline --quiet
./target/debug/small
cargo test --offline --quiet > /dev/null
cargo run --offline --quiet
