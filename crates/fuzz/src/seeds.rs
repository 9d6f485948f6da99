// SPDX-License-Identifier: GPL-2.0-only
//! Inputs to begin with: what the repository ships, and what the programs themselves write.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ccctl_series::{Column, Table, Values};

use crate::Target;

/// Writes a target's seeds, each under its number.
pub(crate) fn write(target: Target, folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    for (number, seed) in (target.seeds)().iter().enumerate() {
        fs::write(folder.join(number.to_string()), seed)?;
    }
    Ok(())
}

/// The root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The files of a folder that end so, by name.
fn files(folder: &str, ending: &str) -> Vec<Vec<u8>> {
    let folder = root().join(folder);
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("it can be read").path()).collect();
    paths.retain(|path| path.to_string_lossy().ends_with(ending));
    paths.sort();
    paths.iter().map(|path| fs::read(path).expect("it can be read")).collect()
}

pub(crate) fn algorithms() -> Vec<Vec<u8>> {
    files("crates/fuzz/seeds/algorithms", "")
}

pub(crate) fn simulation() -> Vec<Vec<u8>> {
    files("crates/fuzz/seeds/simulation", "")
}

pub(crate) fn scenario() -> Vec<Vec<u8>> {
    files("configs/scenarios", ".toml")
}

/// Rules that differ in one word each.
const RULES: &str = r#"rule = [
{ cgroup = "/a", use = "reno" }, { cgroup = "/a/b", use = "reno" }, { cgroup = "/b", use = "reno" },
{ cgroup = "/a", dst = "10.0.0.1", use = "reno" }, { cgroup = "/a", dst = "10.0.0.0/24", use = "reno" },
{ cgroup = "/a", port = 443, use = "cubic=1,reno=2" }, { cgroup = "/a", dst = "fd00::/8", use = "x|reno" },
]
"#;

/// The shipped file as it is and with its examples in force, and those of the daemon's tests.
pub(crate) fn configuration() -> Vec<Vec<u8>> {
    let shipped = include_str!("../../../configs/ccctl.toml");
    let examples = shipped.lines().filter_map(|line| line.strip_prefix("# "));
    let examples = examples.filter(|line| (line.starts_with('[') || line.contains(" = ")) && !line.ends_with('.'));
    let (default, rest): (Vec<&str>, Vec<&str>) = examples.partition(|line| line.starts_with("default"));
    let mut seeds = files("crates/cli/tests/seeds/config", ".toml");
    seeds.extend([shipped.into(), [default, rest].concat().join("\n").into_bytes(), RULES.into()]);
    seeds
}

pub(crate) fn requests() -> Vec<Vec<u8>> {
    files("crates/cli/tests/seeds/api", ".http")
}

/// Every form of a rule; see [`crate::rules`].
pub(crate) fn rules() -> Vec<Vec<u8>> {
    let lines = [
        "/system.slice/nginx.service - - web",
        "/ - 443 cubic",
        "/a/b 10.0.0.0/8 - yeah|cubic",
        "/a fd00::/8 80 yeah=10,cubic=90",
        "/a ::ffff:10.1.2.3 - bulk|web|reno=1,cubic=1000000",
        "/b/ 0.0.0.0/0 65535 not_there|reno",
    ];
    lines.iter().map(|line| line.as_bytes().to_vec()).chain([lines.join("\n").into_bytes()]).collect()
}

/// An algorithm with one hook and no state, one with its own tables, one with a state of many fields.
pub(crate) fn objects() -> Vec<Vec<u8>> {
    ["reno", "scalable", "cubic", "bbr"]
        .iter()
        .filter_map(|name| ccctl_catalog::algorithm(name))
        .map(|algorithm| algorithm.object().to_vec())
        .collect()
}

/// ACKs over IPv4 and IPv6, with and without VLAN tags, options, SACK blocks and extension headers; see [`crate::frames`].
pub(crate) fn frames() -> Vec<Vec<u8>> {
    let time_stamps = [1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2];
    let two_sacks = [&[1, 1, 5, 18][..], &[7; 16]].concat();
    let mut frames = Vec::new();
    for options in [&[][..], &time_stamps, &two_sacks, &[2, 4, 5, 180]] {
        frames.push(ethernet(&[], 0x0800, &ipv4(&tcp(options))));
        frames.push(ethernet(&[0x8100], 0x0800, &ipv4(&tcp(options))));
        frames.push(ethernet(&[0x88a8, 0x8100], 0x86dd, &ipv6(&[], &tcp(options))));
        frames.push(ethernet(&[], 0x86dd, &ipv6(&[0, 43, 60, 44, 51], &tcp(options))));
    }
    // How it comes: all at once, with room for metadata, with a stamp, in two parts.
    let shapes = [[0, 0, 0, 0], [2, 0, 8, 0], [6, 0, 8, 0], [1, 60, 0, 9], [10, 0, 8, 1]];
    shapes.iter().flat_map(|shape| frames.iter().map(|frame| [&shape[..], frame].concat())).collect()
}

fn tcp(options: &[u8]) -> Vec<u8> {
    let header =
        [0x9c, 0x40, 0x14, 0x51, 0, 0, 0, 1, 0, 0, 0, 2, (20 + options.len() as u8) << 2, 0x10, 1, 0, 0, 0, 0, 0];
    [&header[..], options].concat()
}

fn ipv4(payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x45, 0, 0, 20 + payload.len() as u8, 0, 1, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    packet.extend(payload);
    packet
}

/// With extension headers of eight bytes each.
fn ipv6(extensions: &[u8], payload: &[u8]) -> Vec<u8> {
    let next: Vec<u8> = extensions.iter().copied().chain([6]).collect();
    let mut packet = vec![0x60, 0, 0, 0, 0, (8 * extensions.len() + payload.len()) as u8, next[0], 64];
    packet.extend([0xfd; 32]);
    for number in &next[1..] {
        packet.extend([*number, 0, 0, 0, 0, 0, 0, 0]);
    }
    packet.extend(payload);
    packet
}

fn ethernet(tags: &[u16], ethertype: u16, packet: &[u8]) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
    for tag in tags {
        frame.extend(tag.to_be_bytes());
        frame.extend([0, 5]);
    }
    frame.extend(ethertype.to_be_bytes());
    frame.extend(packet);
    frame
}

/// A small table in each format, as it is written.
pub(crate) fn series() -> Vec<Vec<u8>> {
    let folder = std::env::temp_dir().join(format!("ccctl-fuzz-seeds-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder for files");
    let mut seeds = Vec::new();
    for (format, extension) in crate::series::EXTENSIONS.iter().enumerate() {
        let path = folder.join("table").with_extension(extension);
        for table in [table(), Table::default()] {
            ccctl_series::write(&table, &path).expect("it is a table");
            seeds.push([&[format as u8][..], &fs::read(&path).expect("it was written")].concat());
        }
    }
    fs::remove_dir_all(&folder).expect("it is ours");
    seeds
}

fn table() -> Table {
    let mut table = Table::default();
    let mut add = |name: &str, unit: &str, values| {
        table.add(Column { name: name.to_owned(), unit: unit.to_owned(), values }).expect("columns of one length");
    };
    let words = ["interval", "timeout", "closed"].map(|word| Some(word.to_owned()));
    add("time_s", "s", Values::Float(vec![Some(0.0), Some(0.25), Some(f64::INFINITY)]));
    add("event", "", Values::Text(words.to_vec()));
    add("cookie", "", Values::Integer(vec![Some(7), Some(7), None]));
    add("cwnd_pkts", "packets", Values::Integer(vec![Some(10), Some(i64::MAX), Some(1)]));
    add("state.k_q10s", "2^-10 s", Values::Integer(vec![Some(0), None, Some(1 << 40)]));
    table.facts.insert("kernel".to_owned(), "6.18".to_owned());
    table
}
