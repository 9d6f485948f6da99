// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the tests of metrics share: scrapes, read by a parser of their own.

use std::collections::{BTreeMap, BTreeSet};
use std::net::TcpListener;
use std::process::Command;
use std::time::Duration;

use ccctl_testbed::{eventually, run};

use crate::support::daemon::Daemon;

/// Longest time that any one thing may take on a loaded machine.
pub const LIMIT: Duration = Duration::from_secs(30);
/// The daemon looks at the sockets every 5 s.
pub const LOOKS: Duration = Duration::from_secs(20);

/// The labels that there may be, as the manual has them.
pub const LABELS: [&str; 9] =
    ["algorithm", "name", "cgroup", "ecn_mode", "reason", "cpu", "program", "version", "collector"];

/// One line.
#[derive(Debug, Clone)]
pub struct Line {
    pub name: String,
    pub labels: BTreeMap<String, String>,
    pub value: f64,
}

/// A scrape.
#[derive(Debug, Clone)]
pub struct Scrape(pub Vec<Line>);

impl Scrape {
    /// Reads the text; what is no line of the format is a failure.
    #[track_caller]
    pub fn of(text: &str) -> Self {
        Self(text.lines().filter(|line| !line.starts_with('#')).map(parsed).collect())
    }

    /// Sum of all lines of this name that have these labels.
    pub fn sum(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        self.lines(name, labels).iter().map(|line| line.value).sum()
    }

    /// A whole number.
    pub fn count(&self, name: &str, labels: &[(&str, &str)]) -> u64 {
        self.sum(name, labels) as u64
    }

    pub fn lines(&self, name: &str, labels: &[(&str, &str)]) -> Vec<&Line> {
        let has =
            |line: &&Line| labels.iter().all(|(key, value)| line.labels.get(*key).is_some_and(|have| have == value));
        self.0.iter().filter(|line| line.name == name).filter(has).collect()
    }

    /// Where the values of a histogram lie: lower end of the lowest bucket that holds something, upper end of the highest.
    pub fn range(&self, name: &str, labels: &[(&str, &str)]) -> (f64, f64) {
        let (mut low, mut high, mut before, mut end_before) = (None, 0.0, 0.0, 0.0);
        for line in self.lines(&format!("{name}_bucket"), labels) {
            let end: f64 = line.labels["le"].replace("+Inf", "inf").parse().unwrap();
            if line.value > before {
                low.get_or_insert(end_before);
                high = end;
            }
            (before, end_before) = (line.value, end);
        }
        (low.unwrap_or(f64::NAN), high)
    }

    pub fn names(&self) -> BTreeSet<String> {
        self.0.iter().map(|line| line.name.clone()).collect()
    }
}

/// `NAME{KEY="VALUE",...} NUMBER`
#[track_caller]
fn parsed(line: &str) -> Line {
    let (series, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("{line:?}"));
    let (name, labels) =
        series.split_once('{').map_or((series, ""), |(name, rest)| (name, rest.strip_suffix('}').unwrap()));
    let mut pairs = BTreeMap::new();
    let mut rest = labels;
    while !rest.is_empty() {
        let (key, after) = rest.split_once("=\"").unwrap_or_else(|| panic!("{line:?}"));
        let (value, after) = after.split_once('"').unwrap_or_else(|| panic!("{line:?}")); // no test has quotes in a value
        assert!(pairs.insert(key.to_owned(), value.to_owned()).is_none(), "a label twice: {line:?}");
        rest = after.strip_prefix(',').unwrap_or(after);
    }
    Line { name: name.to_owned(), labels: pairs, value: value.parse().unwrap_or_else(|_| panic!("{line:?}")) }
}

/// Over the daemon's unix socket, in the older format.
#[track_caller]
pub fn scrape(daemon: &Daemon) -> Scrape {
    let (status, text) = fetch(daemon, &[]);
    assert_eq!(status, 200, "{text}");
    Scrape::of(&text)
}

/// The same with more words for curl; gives the HTTP status, too.
pub fn fetch(daemon: &Daemon, more: &[&str]) -> (u16, String) {
    let socket = daemon.socket();
    let mut command = Command::new("curl");
    command.args(["--silent", "--max-time", "20", "--write-out", "\n%{http_code}", "--unix-socket"]);
    command.arg(socket).args(more).arg("http://localhost/metrics");
    answer(&mut command)
}

/// What curl got: the status (0: no answer), and the body.
pub fn answer(command: &mut Command) -> (u16, String) {
    let output = run(command, LIMIT).unwrap();
    let (body, status) = output.stdout.rsplit_once('\n').unwrap_or(("", "0"));
    (status.parse().unwrap_or(0), body.to_owned())
}

/// From a port of this host.
pub fn fetch_port(port: u16, words: &[&str]) -> (u16, String) {
    let mut command = Command::new("curl");
    command.args(["--silent", "--max-time", "20", "--write-out", "\n%{http_code}"]).args(words);
    answer(command.arg(format!("http://127.0.0.1:{port}/metrics")))
}

/// A port that nobody has at this moment.
pub fn free_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port()
}

/// Scrapes until it is so, and gives that scrape.
#[track_caller]
pub fn until(daemon: &Daemon, what: &str, is_so: impl Fn(&Scrape) -> bool) -> Scrape {
    let mut last = scrape(daemon);
    let found = eventually(LOOKS, || {
        last = scrape(daemon);
        is_so(&last).then_some(()).ok_or_else(|| format!("not yet: {what}"))
    });
    found.unwrap_or_else(|error| panic!("{error}\n{:#?}", last.0));
    last
}
