# SPDX-License-Identifier: MIT OR Apache-2.0
# The recipes are short: what takes more than a line is a script, so that nothing here needs just.

# list the recipes
default:
    @just --list --unsorted

# install what is missing on Debian 12
setup:
    scripts/setup

# build target/release/ccctl and target/release/ccctl-lab
build:
    cargo build --release --package ccctl --package ccctl-lab

# what a release consists of, or a part of it: [--arch x86-64|arm64] [--only deb,...] [--sign KEY] [--twice] (root; Debian 12)
dist *ARGS:
    scripts/dist {{ ARGS }}

# load cubic, send real traffic over it, show it, unload it (root)
quickstart:
    scripts/quickstart

# style and native tests of what you changed: about a minute
check *BASE:
    scripts/check {{ BASE }}

# all tests, as CI runs them, or parts: lint native kernel packages notebook sanitizers fuzz benches guests (root)
test *PARTS:
    scripts/test {{ PARTS }}

# the tests on the running kernel with all swaps and kills (root): long
test-long:
    CCCTL_LONG=1 scripts/test kernel

# tests without the kernel: catalogue, arithmetic, algorithms on their vectors
test-native:
    scripts/test native

# the Python package, and its notebook on a trace of a real connection; --write keeps what it shows (root)
test-notebook *ARGS:
    scripts/test-notebook {{ ARGS }}

# from an edit of an algorithm to live traffic on it, with the time of each step (root)
time-loop *ARGS:
    scripts/time-loop {{ ARGS }}

# the same C files under AddressSanitizer and UBSan
test-sanitized:
    scripts/test-sanitized

# fuzz all targets, or these: [SECONDS] [NAME...]; one input again: NAME FILE (docs/internals/fuzzing.md)
fuzz *ARGS:
    scripts/fuzz {{ ARGS }}

# tests on the running kernel, in network namespaces of their own (root)
test-kernel *ARGS:
    cargo test --workspace --test suite --test kernel -- --test-threads=1 {{ ARGS }}

# attacks by other users, peers and authors of files: SECURITY.md (root)
test-attacks *WORD:
    scripts/test-attacks {{ WORD }}

# tests in Debian's kernels under QEMU: VERSION..., --short (downloads kernels; docs/reference/kernel-matrix.md)
test-kernels *ARGS:
    scripts/test-kernels {{ ARGS }}

# native tests of the crates below the laboratory on arm64, under qemu-user: [CRATE...] (root: installs the cross compiler)
test-arm64 *CRATES:
    scripts/test-arm64 {{ CRATES }}

# a release in emulated machines with systemd: [--short] [--release FOLDER | --deb FILE] [bookworm|trixie] (downloads; docs/internals/package-tests.md)
test-packages *ARGS:
    scripts/test-packages {{ ARGS }}

# Linux's own modules beside our algorithms: [--short] [--write] [ALGORITHM...] (downloads a kernel; docs/results/module-comparison.md)
compare-modules *ARGS:
    scripts/compare-modules {{ ARGS }}

# rustfmt, clang-format, shellcheck, clippy, links of the docs
lint:
    scripts/lint

# bring Rust and C into shape
fmt:
    cargo fmt --all
    find bpf xdp crates -name '*.[ch]' -not -path '*/target/*' -exec clang-format -i {} +

# costs in instructions, in a guest in virtual time: [--check | --update] [NAME...] (downloads a kernel; docs/results/costs.md)
bench-exact *ARGS:
    scripts/bench-exact {{ ARGS }}

# CPU time per gigabyte and per hook call, against the kernel's own modules (root)
bench-ack *ARGS:
    cargo bench --package ccctl --bench ack -- {{ ARGS }}

# time of load, tune, swap, unload, and migration of 10,000 sockets (root)
bench-load *ARGS:
    cargo bench --package ccctl --bench load -- {{ ARGS }}

# time to list and to move 100,000 sockets, beside ss (root)
bench-sockets *ARGS:
    cargo bench --package ccctl --bench sockets -- {{ ARGS }}

# connections per second with 0 to 1,000 rules, against none (root)
bench-policy *ARGS:
    cargo bench --package ccctl --bench policy -- {{ ARGS }}

# what the ACK clock and traces cost while they are on, against off; "traces": only these (root)
bench-telemetry *ARGS:
    cargo bench --package ccctl --bench telemetry -- {{ ARGS }}

# time of a scrape at 100 and 100,000 sockets, and what the metrics cost while they are on (root)
bench-metrics *ARGS:
    cargo bench --package ccctl --bench metrics -- {{ ARGS }}

# rate and delay errors of the emulated path, and how much it can carry (root)
bench-path *ARGS:
    cargo bench --package ccctl --bench path -- {{ ARGS }}

# what an ACK costs the sender after a burst of losses; "--figure FILE" draws it (root)
bench-storm *ARGS:
    cargo bench --package ccctl --bench storm -- {{ ARGS }}

# packets per second and memory of the simulator, and ns-3 beside it (after scripts/compare-ns3 --build)
bench-sim *ARGS:
    cargo bench --package ccctl-sim --bench engine -- {{ ARGS }}

# the simulator beside ns-3 on the same dumbbells (downloads ns-3)
compare-ns3 *ARGS:
    scripts/compare-ns3 {{ ARGS }}

# the papers' scenarios, and docs/results/reproduction.md out of what they give; --backend netns: on this kernel (hours; goes on where it was stopped)
reproduce *ARGS:
    scripts/reproduce {{ ARGS }}

# a scenario on a kernel of Debian's in virtual time, as on a machine that does nothing else (minutes a run)
lab-in-guests *ARGS:
    scripts/lab-in-guests {{ ARGS }}

# every algorithm in the simulator and on this kernel, or with --guests in virtual time, and docs/results/cross-validation.md out of both (hours; root; goes on where it was stopped)
cross-validate *ARGS:
    scripts/cross-validate {{ ARGS }}

# S0's figure 1 on this kernel: an H-TCP flow whose ACKs meet a short backlog (root; docs/results/ack-time.md)
ack-stall *ARGS:
    scripts/ack-stall {{ ARGS }}

# an experiment over an emulated path with Debian's nginx, wrk and curl, beside long runs of each arm: [--short] (root; installs them)
experiment-acceptance *ARGS:
    scripts/experiment-acceptance {{ ARGS }}

# how well advice orders algorithms on paths that it does not know: [--short] [--paths N] [--seed N] (root; hours)
advise-score *ARGS:
    scripts/advise-score {{ ARGS }}

# false findings and power of the statistics over 10,000 simulated experiments each, or as many as given (a minute)
error-rates *EXPERIMENTS:
    cargo run --release --package ccctl-inference --example error-rates -- {{ EXPERIMENTS }}

# licences and sources of what each program is made of (needs: cargo install cargo-deny)
deny:
    cargo deny --manifest-path crates/cli/Cargo.toml --config crates/cli/deny.toml check licenses bans sources
    cargo deny --manifest-path crates/lab/Cargo.toml --config crates/lab/deny.toml check licenses bans sources

# the pages of docs/ as a book in target/book, which opens from the disk; --open shows it in a browser
docs *ARGS:
    scripts/docs {{ ARGS }}

# the book: its links, and every page's width in headless Chromium (installs it)
test-docs:
    scripts/test-docs

# pages and figures that are made of the program's own tables, of the simulator and of results
describe:
    scripts/describe-algorithms
    scripts/describe-metrics
    scripts/describe-api

# docs/images/ of terminals and of a trace, from a run with real traffic: [list|why|top|top-socket|trace-yeah]... (root)
pictures *NAMES:
    scripts/pictures {{ NAMES }}

# help, errors, remedies and log of the program in one list, to be read after a change of words; of these crates: [CRATE...]
messages *CRATES:
    scripts/messages {{ CRATES }}

# pictures of screens and pages, to be looked at, from real runs: metrics, top, pages (root)
screens *PARTS:
    scripts/screens {{ PARTS }}

# all types of this machine's kernel, to look things up; no build reads it (needs: bpftool)
vmlinux:
    bpftool btf dump file /sys/kernel/btf/vmlinux format c > vmlinux.h
