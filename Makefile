# What a person or CI does with this tree. Everything a target needs, it installs from the registries of cargo and npm.

NPM     ?= npm
NPM_CI   = $(NPM) ci --no-audit --no-fund --ignore-scripts --loglevel=error
ENGINE   = connector/pi/node_modules/.installed connector/extension/node_modules/.installed

.PHONY: build engine demo test test-rust test-extension lint soak bench fuzz

## build: the two programs and the launcher, optimised, in target/release
build: engine
	cargo build --release

## engine: pi, the Node it runs on and the extension's one package, from their lock files
engine: $(ENGINE)

%/node_modules/.installed: %/package-lock.json
	cd $* && $(NPM_CI)
	touch $@

## demo: the whole main job on a throwaway data root; CHAT=1 keeps it open for typing
demo: engine
	cargo build --bins
	cargo build --package stories --bin demo
	target/debug/demo $(if $(CHAT),--chat)

## test: everything CI runs
test: lint test-rust test-extension

lint:
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --quiet -- --deny warnings

test-rust: engine
	cargo build --workspace --bins
	cargo test --workspace --no-fail-fast

test-extension: engine
	cd connector/extension && ../pi/node_modules/node-linux-*/bin/node --test

## soak: a million schedules of the simulation, faults of every kind at any step; a failing seed is printed, SEED=n replays it
soak:
	cargo run --release --package simulation --bin soak -- $(if $(SEED),--seed $(SEED),--schedules $(or $(SCHEDULES),1000000))

## bench: ratios against named rivals, interleaved in one run; writes target/bench/report.json
bench: engine
	cargo build --release --bins
	cargo run --release --package bench

## fuzz: the properties with many more cases, then each target of fuzz/ for FUZZ_SECONDS; `make test` replays what was kept
FUZZ_SECONDS ?= 60
FUZZ_CASES   ?= 20000
fuzz:
	PROPTEST_CASES=$(FUZZ_CASES) cargo test --package mosaic-broker --package mosaic-connector --lib
	fuzz/run $(FUZZ_SECONDS)
