# What people and CI do here. `make run` and `make test` need nothing but Rust, and say what else is missing.

TARGET_DIR := $(or $(CARGO_TARGET_DIR),target)
SANDBOXCTL := $(TARGET_DIR)/release/sandboxctl

.PHONY: help run test fuzz soak check msrv bench dist image generate docs deny advisories clean
.DEFAULT_GOAL := help

help: ## Show these lines
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

run: ## Build, and run a Python program in a sandbox
	@tests/setup cargo cc python3
	cargo build --locked --release -p sandboxctl
	$(SANDBOXCTL) run --config examples/demo/sandbox.toml --create-dirs --report
	@echo
	@echo 'What it left on this machine, in examples/demo/output:'
	@ls -l examples/demo/output
	@tail -n 3 examples/demo/output/primes.txt

test: ## Install what the tests need, and run all of them
	@tests/setup cargo cc gcc git ip node python3 venv script setpriv unshare bwrap
	@# Tests are compiled while all that is fetched comes in. What does not compile `tests/run` says, too.
	@cargo test --locked --quiet --workspace --no-run >/dev/null 2>&1 & trap "kill $$! 2>/dev/null || :" EXIT; set -e; \
	if [ "$$(id -u)" -eq 0 ]; then \
		tests/setup curl dpkg-deb httpx java javac npm openssl pip postgres psql redis-cli redis-server requests ssh sshd; \
		tests/setup chromium go mvn nix-env || echo 'without Chromium, Go, Maven and Nix, tests of them are not run' >&2; \
		tests/agents || echo 'without agents and SDKs, tests of them are not run' >&2; \
	fi; \
	tests/engine || echo 'without an engine, tests of containers are not run' >&2; \
	wait
	@tests/run

fuzz: ## Look for new inputs that break what reads untrusted bytes; SECONDS=60 for each target
	@command -v cargo-fuzz >/dev/null || cargo install --locked cargo-fuzz
	tests/fuzz run $(or $(SECONDS),60)

soak: ## Kill sandboxes at random moments and look for what is left; SECONDS=120, and half of it for persistent sandboxes; SEED=N repeats a sequence
	@tests/setup cargo cc python3 setpriv
	cargo build --locked --release -p sandboxctl
	tests/soak $(SANDBOXCTL) --seconds $(or $(SECONDS),120) $(if $(SEED),--seed $(SEED))
	tests/soak-staying $(SANDBOXCTL) --seconds $$(($(or $(SECONDS),120) / 2)) $(if $(SEED),--seed $(SEED))

check: ## Formatting, lints, licences, generated pages, rules of style, seeds of the fuzz targets, commands of the documentation
	@tests/setup cargo cc c++ git python3 venv
	cargo fmt --all --check
	cargo fmt --manifest-path fuzz/Cargo.toml --check
	cargo clippy --locked --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS='-D warnings' cargo doc --locked --workspace --no-deps --document-private-items --quiet
	@$(MAKE) --no-print-directory deny
	@# Of the whole workspace, or crates would be built again with fewer features.
	cargo test --locked --quiet --workspace --test config_files --test reference --bin sandboxctl --lib -- \
		generated_files_are_fresh the_page_of_tools the_command_reference_is_fresh the_tools_in_the_documentation_are_fresh
	tests/style
	tests/fuzz seeds
	tests/workflows
	@$(MAKE) --no-print-directory docs

msrv: ## Build with the oldest Rust that is supported
	@# No sandbox is started here, so nothing is built to be its PID 1.
	CARGO_TARGET_DIR=$(TARGET_DIR)/msrv SANDBOX_ENTRYPOINT=/bin/true tests/debian cargo check --locked --workspace

docs: ## Run the commands of README.md and docs/, and compare what they print
	cargo build --locked --quiet --workspace --bins
	tests/docs $(TARGET_DIR)/debug/sandboxctl
	@$(TARGET_DIR)/debug/sandboxctl config validate sandbox.toml | grep 'needs no trust'
	@$(TARGET_DIR)/debug/sandboxctl config validate examples/demo/sandbox.toml | grep 'needs no trust'

deny: ## Licences, sources and known flaws of the dependencies
	@# It runs for a second, and is optimised for five minutes.
	@command -v cargo-deny >/dev/null || CARGO_PROFILE_DEV_DEBUG=false cargo install --locked --debug cargo-deny || { \
		echo 'cargo-deny cannot be installed here; do it by hand: cargo install --locked cargo-deny' >&2; exit 1; }
	cargo deny --locked check licenses bans sources
	@if ls -d "$${CARGO_HOME:-$$HOME/.cargo}"/advisory-dbs/*/ >/dev/null 2>&1; then cargo deny --locked --offline check advisories; \
		else echo 'not checked: advisories, because their database is not here; `make advisories` fetches it'; fi

advisories: ## Fetch the database of known flaws, and check the dependencies
	cargo deny --locked check advisories

generate: ## Regenerate the reference pages, the JSON Schema and the code map
	cargo run --locked --quiet -p policy --example generate -- docs
	tests/code-map --write
	GENERATE=1 cargo test --locked --quiet --workspace --lib the_page_of_tools
	GENERATE=1 cargo test --locked --quiet --workspace --test reference
	GENERATE=1 cargo test --locked --quiet --workspace --bin sandboxctl the_command_reference_is_fresh

bench: ## Measure against the peers that are installed; SAVE=1 keeps the table in bench/results
	@tests/setup cargo cc python3 bwrap readelf
	@tests/dist >/dev/null
	cargo build --locked --release -p sandboxctl
	@eval "$$(tests/engine env 2>/dev/null)"; python3 bench/bench.py --static dist/sandboxctl --plain $(SANDBOXCTL) --entrypoint dist/entrypoint $(if $(SAVE),--save)

dist: ## Build the static programs, completions and manual pages into dist/
	@tests/setup cargo cc readelf
	tests/dist

image: ## Build the image of sandbox.toml; FLAGS='--push --tag NAME' adds flags
	@tests/setup cargo cc
	cargo build --locked --release -p sandboxctl
	$(SANDBOXCTL) build $(FLAGS)

clean: ## Remove what was built
	cargo clean
	rm -rf dist examples/demo/output
