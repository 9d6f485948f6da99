// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl plot` on a trace that is written here: what it lists, draws and refuses. Needs no privileges.
#![allow(clippy::unwrap_used)] // a test fails by panicking

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use roxmltree::{Document, Node};
use serde_json::Value;

struct Folder(PathBuf);

impl Folder {
    /// With `t.csv`: a cubic and a bbr socket of 40 rows each, the second's last rate 40 times the others.
    fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("plot-{name}-{}", std::process::id()));
        drop(fs::remove_dir_all(&path));
        fs::create_dir_all(&path).unwrap();
        let mut text =
            "time_s,event,cookie,source,destination,congestion_control,command,cwnd_pkts,srtt_us,acked_bytes,\
                        retransmits_pkts,delivery_rate_bytes_per_s\n"
                .to_owned();
        for row in 0..40 {
            for (cookie, name, cwnd, rate) in [(71, "cubic", 10 + row, 1_250_000), (72, "bbr", 300 - row, 2_500_000)] {
                let (time, acked) = (f64::from(row) / 10.0, row * rate / 10);
                let rate = if cookie == 72 && row == 39 { 40 * rate } else { rate };
                let ends = format!("10.0.0.1:{cookie},10.0.0.2:443,{name},iperf3");
                writeln!(text, "{time},sample,{cookie},{ends},{cwnd},20000,{acked},{},{rate}", row / 20).unwrap();
            }
        }
        fs::write(path.join("t.csv"), text).unwrap();
        Self(path)
    }

    fn plot(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ccctl"));
        // Nothing of this machine's PATH: where ccctl-lab is needed, that is a test of its own.
        command.args(["plot", "t.csv"]).args(arguments).current_dir(&self.0).env("PATH", "/nowhere").output().unwrap()
    }

    fn draws(&self, arguments: &[&str]) -> String {
        let output = self.plot(arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn refuses(&self, arguments: &[&str], code: i32, words: &[&str]) {
        let output = self.plot(arguments);
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {text}");
        assert!(text.lines().count() == 2 && words.iter().all(|word| text.contains(word)), "{arguments:?}: {text}");
    }

    fn svg(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

#[test]
fn sockets_have_numbers() {
    let folder = Folder::new("list");
    let text = folder.draws(&["--list"]);
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    // 39 times 125 kB, and 39 times 250 kB.
    assert_eq!(rows[1][..7], ["1", "71", "cubic", "4875000", "1", "40", "iperf3"], "{text}");
    assert_eq!(rows[2][..4], ["2", "72", "bbr", "9750000"], "{text}");
    let answer: Value = serde_json::from_str(&folder.draws(&["--list", "--json"])).unwrap();
    assert_eq!(answer["plot"], Value::Null);
    assert_eq!(answer["traced_sockets"][1]["congestion_controls"], serde_json::json!(["bbr"]));
    assert!(!folder.0.join("t.svg").exists(), "--list draws nothing");
}

#[test]
fn several_sockets_are_in_one_panel() {
    let folder = Folder::new("several");
    let said = folder.draws(&["--by", "socket", "--from", "1s", "--to", "2500ms", "--title", "A & B"]);
    assert!(said.contains("socket 1 of 2: cubic") && said.trim_end().ends_with("t.svg"), "{said}");
    let text = folder.svg("t.svg");
    let document = Document::parse(&text).unwrap();
    let words: Vec<&str> = document.descendants().filter(Node::is_text).filter_map(|node| node.text()).collect();
    for word in ["1: cubic", "2: bbr", "A & B", "cwnd (packets)", "smoothed RTT (ms)", "delivery rate (Mbit/s)", "2.4"]
    {
        assert!(words.contains(&word), "{word} of {words:?}");
    }
    assert!(!words.contains(&"2.6"), "nothing after 2.5 s");
    folder.draws(&["--sockets", "1,72", "--by", "algorithm", "--log", "--out", "log.svg"]);
    // 10, 100 and 1000 packets are equally far apart.
    let log = folder.svg("log.svg");
    assert!(log.contains(">10<") && log.contains(">100<") && log.contains(">cubic<"), "{log}");
}

/// One value of 800 Mbit/s after 39 of 20 Mbit/s: the axis is that of the others, and the figure says what is not in it.
#[test]
fn an_outlier_at_the_end_flattens_nothing() {
    let folder = Folder::new("outlier");
    folder.draws(&["--socket", "2"]);
    let text = folder.svg("t.svg");
    assert!(text.contains("delivery rate, 800 Mbit/s: beyond the axis"), "{text}");
    let document = Document::parse(&text).unwrap();
    let scales = document.descendants().filter(|node| node.attribute("class") == Some("y"));
    let labels = |scale: Node<'_, '_>| -> Vec<f64> {
        scale.descendants().filter_map(|node| node.text()?.trim().parse().ok()).collect()
    };
    let rates = scales.map(labels).next_back().unwrap();
    assert!(rates.contains(&20.0) && rates.iter().all(|label| *label <= 25.0), "{rates:?}");
}

/// A series as `ccctl-lab run` writes it: metadata in comments, and no column that only a trace has.
#[test]
fn a_simulated_flow_and_a_real_one_share_a_figure() {
    let folder = Folder::new("simulated");
    let facts = "# algorithm: cubic\n# flow: 0\n# group: second\n# place: buffer = 40 packets\n# scenario: demo\n";
    let rows =
        "#column time_s: real s\n#column cwnd_pkts: integer packets\n#column state.w_max_pkts: integer packets\n\
                time_s,cwnd_pkts,state.w_max_pkts\n0.0,10,0\n0.1,20,20\n";
    fs::write(folder.0.join("flow-second-1.csv"), [facts, rows].concat()).unwrap();
    folder.draws(&["flow-second-1.csv"]);
    let text = folder.svg("t.svg");
    let document = Document::parse(&text).unwrap();
    let words: Vec<&str> = document.descendants().filter(Node::is_text).filter_map(|node| node.text()).collect();
    for word in ["1: cubic", "2: bbr", "3: cubic (demo)", "cwnd (packets)"] {
        assert!(words.contains(&word), "{word} of {words:?}");
    }
    let listed = folder.draws(&["flow-second-1.csv", "--list"]);
    let flow: Vec<&str> = listed.lines().nth(3).unwrap().split_whitespace().collect();
    assert_eq!(flow.join(" "), "3 - cubic - - 2 - demo (buffer = 40 packets) flow second 0");
    let answer: Value = serde_json::from_str(&folder.draws(&["flow-second-1.csv", "--list", "--json"])).unwrap();
    assert_eq!((&answer["file"], &answer["files"]), (&"t.csv".into(), &vec!["t.csv", "flow-second-1.csv"].into()));
    assert_eq!((&answer["rows"], &answer["traced_sockets"][2]["cookie"]), (&82.into(), &Value::Null));
    assert_eq!(answer["traced_sockets"][2]["scenario"], "demo");
    folder.draws(&["flow-second-1.csv", "--draw", "w_max_pkts", "--sockets", "3", "--out", "state.svg"]);
    assert!(folder.svg("state.svg").contains("w_max_pkts"));
}

#[test]
fn a_figure_for_a_paper_is_a_column_wide() {
    let folder = Folder::new("width");
    for (width, expected) in [("paper-column", "336"), ("wide", "687"), ("500px", "500")] {
        folder.draws(&["--width", width, "--force"]);
        let text = folder.svg("t.svg");
        let document = Document::parse(&text).unwrap();
        assert_eq!(document.root_element().attribute("width"), Some(expected));
        assert_eq!(text.contains("font-weight=\"bold\">bbr: "), width == "500px", "the caption has the title");
    }
    folder.refuses(&["--width", "3.5in"], 2, &["--width", "paper-column, wide"]);
}

#[test]
fn another_picture_is_not_replaced_without_a_word() {
    let folder = Folder::new("force");
    folder.draws(&[]);
    let first = folder.svg("t.svg");
    folder.draws(&[]); // the same again
    folder.refuses(&["--log"], 3, &["t.svg exists and shows something else", "-o FILE", "--force"]);
    assert_eq!(folder.svg("t.svg"), first);
    folder.draws(&["--log", "--force"]);
    assert_ne!(folder.svg("t.svg"), first);
}

#[test]
fn wrong_words_are_answered() {
    let folder = Folder::new("wrong");
    folder.refuses(&["--sockets", "1,3"], 2, &["no socket \"3\"", "from 1 to 2", "--list"]);
    folder.refuses(&["--from", "2"], 2, &["2 has no unit: 2s"]);
    folder.refuses(&["--from", "9s"], 2, &["no row at these times", "0.000s and 3.900s"]);
    folder.refuses(&["-o", "t.gif"], 2, &[".svg, .png or .pdf"]);
    folder.refuses(&["--list", "--log"], 2, &["--list", "--log"]);
}

/// Puts a program there. Another process does it: a child that another test starts meanwhile would hold a file that this one
/// writes, and what is being written cannot be executed.
fn install(program: &Path, place: &Path) {
    assert!(Command::new("install").arg("-m755").args([program, place]).status().unwrap().success());
}

/// PNG and PDF are made by the program beside this one. Here it is a script.
#[test]
fn other_formats_are_made_by_the_laboratory() {
    let folder = Folder::new("formats");
    let programs = folder.0.join("bin");
    fs::create_dir(&programs).unwrap();
    install(Path::new(env!("CARGO_BIN_EXE_ccctl")), &programs.join("ccctl"));
    let plot = |file: &str| {
        let mut command = Command::new(programs.join("ccctl"));
        command
            .args(["plot", "t.csv", "--out", file])
            .current_dir(&folder.0)
            .env("PATH", "/usr/bin:/bin")
            .output()
            .unwrap()
    };
    let missing = plot("t.pdf");
    let text = String::from_utf8(missing.stderr).unwrap();
    assert_eq!(missing.status.code(), Some(4), "{text}");
    for word in ["ccctl-lab is not installed, which is needed to write .pdf", "ccctl-lab into the folder", ".svg"] {
        assert!(text.contains(word), "{text}");
    }
    let script = "#!/bin/sh\n[ \"$1\" = --version ] && exit\necho \"$*\"\ngrep -c '<svg xmlns'\n";
    fs::write(folder.0.join("script"), script).unwrap();
    install(&folder.0.join("script"), &programs.join("ccctl-lab"));
    for format in ["png", "pdf"] {
        let file = format!("t.{format}");
        assert_eq!(plot(&file).status.code(), Some(0));
        assert_eq!(folder.svg(&file), format!("convert - --to {format}\n1\n"));
    }
}
