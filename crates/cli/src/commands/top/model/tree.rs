// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sockets by cgroup: a line for each cgroup that has sockets or branches, and its sockets below.

use std::collections::{BTreeMap, BTreeSet};

/// A cgroup of the tree.
#[derive(Debug, Clone, PartialEq)]
pub struct Branch {
    /// From the root of the hierarchy; empty: sockets of an unknown cgroup.
    pub path: String,
    /// What its parent in the tree does not say.
    pub label: String,
    /// Parents in the tree.
    pub depth: usize,
    /// Sockets in it and below.
    pub sockets: usize,
    /// Throughput of these together.
    pub bit_per_s: f64,
    /// What is below is not shown.
    pub is_folded: bool,
}

/// What is on one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// A branch, by its number.
    Branch(usize),
    /// A socket, by its place among all.
    Socket(usize),
}

#[derive(Default)]
struct Sums {
    sockets: usize,
    bit_per_s: f64,
    own: Vec<usize>,
    children: BTreeSet<String>,
}

/// Branches and lines, from sockets in order: place, cgroup and throughput of each.
pub fn tree<'a>(
    sockets: impl Iterator<Item = (usize, &'a str, f64)>,
    folded: &BTreeSet<String>,
) -> (Vec<Branch>, Vec<Place>) {
    let mut sums: BTreeMap<String, Sums> = BTreeMap::new();
    for (place, path, bit_per_s) in sockets {
        add(&mut sums, path, place, bit_per_s);
    }
    let mut grown = Grown { sums: &sums, folded, branches: Vec::new(), lines: Vec::new() };
    for root in sums.keys().filter(|path| parent(path).is_none_or(|parent| !sums.contains_key(parent))) {
        grown.grow(root, 0, 0);
    }
    (grown.branches, grown.lines)
}

fn add(sums: &mut BTreeMap<String, Sums>, path: &str, place: usize, bit_per_s: f64) {
    sums.entry(path.to_owned()).or_default().own.push(place);
    let mut child: Option<&str> = None;
    for ancestor in std::iter::successors(Some(path), |path| parent(path)) {
        let sum = sums.entry(ancestor.to_owned()).or_default();
        sum.sockets += 1;
        sum.bit_per_s += bit_per_s;
        sum.children.extend(child.map(str::to_owned));
        child = Some(ancestor);
    }
}

/// `/system.slice` of `/system.slice/ssh.service`, `/` of `/system.slice`.
fn parent(path: &str) -> Option<&str> {
    match path.rsplit_once('/')? {
        ("", "") => None,
        ("", _) => Some("/"),
        (parent, _) => Some(parent),
    }
}

struct Grown<'a> {
    sums: &'a BTreeMap<String, Sums>,
    folded: &'a BTreeSet<String>,
    branches: Vec<Branch>,
    lines: Vec<Place>,
}

impl Grown<'_> {
    /// A cgroup without sockets of its own and with one child gets no line: the child's has both names. `said`: so much of
    /// the path the parent's line says.
    fn grow(&mut self, path: &str, depth: usize, said: usize) {
        let sums = self.sums; // outlives self's borrow
        let Some(sum) = sums.get(path) else { return };
        if sum.own.is_empty() && sum.children.len() == 1 {
            return sum.children.iter().for_each(|child| self.grow(child, depth, said));
        }
        let is_folded = self.folded.contains(path);
        self.lines.push(Place::Branch(self.branches.len()));
        self.branches.push(Branch {
            path: path.to_owned(),
            label: if path.is_empty() { "unknown cgroup".to_owned() } else { path[said..].to_owned() },
            depth,
            sockets: sum.sockets,
            bit_per_s: sum.bit_per_s,
            is_folded,
        });
        if !is_folded {
            self.lines.extend(sum.own.iter().map(|place| Place::Socket(*place)));
            let said = if path == "/" { 0 } else { path.len() };
            sum.children.iter().for_each(|child| self.grow(child, depth + 1, said));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(folded: &[&str]) -> Vec<String> {
        let sockets = [
            (0, "/user.slice/a", 1.0),
            (1, "/system.slice/ssh.service", 2.0),
            (2, "/user.slice/b", 4.0),
            (3, "/user.slice/a", 8.0),
            (4, "", 0.0),
            (5, "/system.slice/web/worker", 16.0),
        ];
        let folded = folded.iter().map(|path| (*path).to_owned()).collect();
        let (branches, lines) = tree(sockets.into_iter(), &folded);
        let text = |place: &Place| match *place {
            Place::Socket(socket) => socket.to_string(),
            Place::Branch(branch) => {
                let Branch { label, depth, sockets, bit_per_s, .. } = &branches[branch];
                format!("{depth} {label} {sockets} {bit_per_s}")
            }
        };
        lines.iter().map(text).collect()
    }

    #[test]
    fn sums_are_of_all_below_and_chains_are_one_line() {
        let whole = [
            "0 unknown cgroup 1 0",
            "4",
            "0 / 5 31",
            "1 /system.slice 2 18",
            "2 /ssh.service 1 2",
            "1",
            "2 /web/worker 1 16",
            "5",
            "1 /user.slice 3 13",
            "2 /a 2 9",
            "0",
            "3",
            "2 /b 1 4",
            "2",
        ];
        assert_eq!(lines(&[]), whole);
        let folded = ["0 unknown cgroup 1 0", "4", "0 / 5 31", "1 /system.slice 2 18", "1 /user.slice 3 13"];
        assert_eq!(lines(&["/system.slice", "/user.slice"]), folded);
    }

    #[test]
    fn a_path_has_its_parents() {
        assert_eq!((parent("/a/b"), parent("/a"), parent("/"), parent("")), (Some("/a"), Some("/"), None, None));
    }
}
