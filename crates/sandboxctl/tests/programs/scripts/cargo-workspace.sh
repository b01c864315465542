# A cargo workspace of two crates, with tests.
set -e
mkdir -p all/a/src all/b/src && cd all
printf '[workspace]\nmembers = ["a", "b"]\nresolver = "2"\n' >Cargo.toml
printf '[package]\nname = "a"\nversion = "0.1.0"\nedition = "2021"\n' >a/Cargo.toml
printf '[package]\nname = "b"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\na = { path = "../a" }\n' >b/Cargo.toml
printf 'pub fn one() -> u8 { 1 }\n#[test]\nfn is_one() { assert_eq!(one(), 1); }\n' >a/src/lib.rs
printf '#[test]\nfn is_two() { assert_eq!(a::one() + 1, 2); }\n#[test]\nfn fails() { assert_eq!(a::one(), 2); }\n' >b/src/lib.rs
cargo test --offline --quiet --no-fail-fast >out.txt 2>/dev/null || echo "exit code $?"
grep '^test result' out.txt | sed 's/; finished.*//'
