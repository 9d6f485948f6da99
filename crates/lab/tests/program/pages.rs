// SPDX-License-Identifier: GPL-2.0-only
//! Pages, tables and comparisons of folders say what `summary.json` says.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use crate::scratch::{files, Scratch};
use ccctl_testbed::eventually;
use roxmltree::{Document, Node, ParsingOptions};
use serde_json::Value;

fn parsed(text: &str) -> Document<'_> {
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    Document::parse_with_options(text, options).unwrap()
}

fn text_of(node: Node<'_, '_>) -> String {
    node.descendants().filter(Node::is_text).filter_map(|it| it.text()).collect()
}

/// Head and rows of each table.
fn tables(page: &Document<'_>) -> Vec<(Vec<String>, Vec<Vec<String>>)> {
    let cells = |node: Node<'_, '_>, name: &str| -> Vec<String> {
        node.children().filter(|cell| cell.has_tag_name(name)).map(text_of).collect()
    };
    let table = |table: Node<'_, '_>| {
        let rows: Vec<Node<'_, '_>> = table.descendants().filter(|row| row.has_tag_name("tr")).collect();
        (cells(rows[0], "th"), rows[1..].iter().map(|row| cells(*row, "td")).collect())
    };
    page.descendants().filter(|node| node.has_tag_name("table")).map(table).collect()
}

/// "1.234 ± 0.05"
fn numbers(cell: &str) -> Vec<f64> {
    cell.split(" ± ").map(|number| number.trim().parse().unwrap()).collect()
}

fn near(a: f64, b: f64, digits: i32) -> bool {
    (a - b).abs() <= 0.51 * 10_f64.powi(1 - digits) * a.abs().max(b.abs())
}

#[test]
fn the_page_holds_what_the_summary_says() {
    let scratch = Scratch::new("page");
    scratch.done(&["run", "./small.toml"]);
    let text = String::from_utf8(scratch.bytes("ccctl-lab/small/index.html")).unwrap();
    let page = parsed(&text);
    let summary = scratch.json("ccctl-lab/small/summary.json");
    let tables = tables(&page);
    assert!(text_of(page.root()).contains("ccctl lab run ./small.toml"));
    assert!(text_of(page.root()).contains("small & <simple>"));

    let (head, rows) = tables.iter().find(|(head, _)| head.contains(&"repeats".to_owned())).unwrap();
    assert_eq!(rows.len(), 4);
    for (row, point) in rows.iter().zip(summary["points"].as_array().unwrap()) {
        let cell = |name: &str| &row[head.iter().position(|it| it.split(" (").next() == Some(name)).unwrap()];
        assert_eq!(cell("algorithm"), point["place"]["algorithm"].as_str().unwrap());
        assert_eq!(cell("repeats"), "3");
        let headed = [
            ("asymmetry:a/b", "Asymmetry A of a and b"),
            ("goodput:a", "Goodput of the a flow"),
            ("utilisation:l", "Use of link l"),
        ];
        for (name, heading) in headed {
            let (shown, value) = (numbers(cell(heading)), &point["measures"][name]);
            assert!(near(shown[0], value["mean"].as_f64().unwrap(), 4), "{name}: {shown:?} {value}");
            assert!(near(shown[1], value["half_width_95"].as_f64().unwrap(), 2), "{name}: {shown:?} {value}");
        }
    }

    let (_, rows) = tables.iter().find(|(head, _)| head.contains(&"paper ± standard error".to_owned())).unwrap();
    assert_eq!((rows[0][0].as_str(), rows[0][4].as_str()), ("Goodput of the a flow", "50"));
    let ours = summary["points"][0]["measures"]["goodput:a"]["mean"].as_f64().unwrap();
    assert!(near(numbers(&rows[0][5])[0], ours, 4));
    let off: f64 = rows[0][6].parse().unwrap();
    assert!((off - 100.0 * (ours / 50.0 - 1.0)).abs() < 0.06, "{off} {ours}");

    let (_, rows) = tables.iter().find(|(head, _)| head[..2] == ["id", "statement"]).unwrap();
    assert!(rows[0][0] == "T-1" && rows[0][3].ends_with("holds") && !rows[0][3].contains("not"));
    assert!(rows[1][0] == "T-2" && rows[1][3].ends_with("does not hold"));
    // Three measures over the sweep in one picture each, and four runs over time.
    let pictures = page.descendants().filter(|node| node.has_tag_name("figure")).count();
    assert_eq!(pictures, 3 + 4);
    let drawn = fs::read_dir(scratch.path("ccctl-lab/small/figures")).unwrap().flatten().count();
    assert_eq!(drawn, 3 + 4);
}

/// Of four points one: the heading says so, and each figure has its values beside it.
#[test]
fn a_page_says_what_it_has_and_where_its_values_are() {
    let scratch = Scratch::new("part-of-a-page");
    scratch.done(&["run", "./small.toml", "--only", "buffer=20 % BDP", "--repeats", "1"]);
    let text = String::from_utf8(scratch.bytes("ccctl-lab/small/index.html")).unwrap();
    let page = parsed(&text);
    let tag = |name: &str| page.descendants().find(|node| node.has_tag_name(name)).unwrap();
    assert_eq!(text_of(tag("h1")), "small & <simple> (2 of 4 points)");
    let command = page.descendants().find(|node| node.attribute("class") == Some("command")).unwrap();
    assert_eq!(text_of(command), "ccctl lab run ./small.toml --only 'buffer=20 % BDP' --repeats 1");
    let titles: Vec<String> = page.descendants().filter(|it| it.has_tag_name("summary")).map(text_of).collect();
    assert!(titles.contains(&"Goodput of the a flow (Mbit/s)".to_owned()), "{titles:?}");
    let links = page.descendants().filter(|node| node.has_tag_name("a")).filter_map(|node| node.attribute("href"));
    let files: Vec<&str> = links.filter(|address| !address.starts_with('#')).collect();
    for file in &files {
        assert!(scratch.path("ccctl-lab/small").join(file).is_file(), "{file} of {files:?}");
    }
    for file in
        ["measures.csv", "figures/goodput-a.svg", "series/p00001-r1/flow-a-1.csv", "series/p00001-r1/link-l.csv"]
    {
        assert!(files.contains(&file), "{file} of {files:?}");
    }
    assert!(text.contains("loss, a (cubic)"), "losses are marked in the runs over time");
}

#[test]
fn report_draws_the_same_again() {
    let scratch = Scratch::new("report");
    scratch.done(&["run", "./small.toml", "--repeats", "1"]);
    let folder = scratch.path("ccctl-lab/small");
    let before = files(&folder);
    for name in ["index.html", "measures.csv", "runs.csv"] {
        fs::remove_file(folder.join(name)).unwrap();
    }
    fs::remove_dir_all(folder.join("figures")).unwrap();
    let said = scratch.done(&["report", "ccctl-lab/small"]);
    assert_eq!(said.trim(), "ccctl-lab/small/index.html");
    assert!(before == files(&folder));
}

#[test]
fn tables_have_a_row_for_each_measure() {
    let scratch = Scratch::new("tables");
    scratch.done(&["run", "./small.toml", "--series", "none"]);
    let summary = scratch.json("ccctl-lab/small/summary.json");
    let points = summary["points"].as_array().unwrap();
    let measures: usize = points.iter().map(|point| point["measures"].as_object().unwrap().len()).sum();
    let csv = String::from_utf8(scratch.bytes("ccctl-lab/small/measures.csv")).unwrap();
    let rows: Vec<&str> = csv.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(rows.len(), 1 + measures);
    assert_eq!(rows[0], "point,algorithm,buffer,measure,unit,repeats,mean,standard_error,half_width_95");
    let csv = String::from_utf8(scratch.bytes("ccctl-lab/small/runs.csv")).unwrap();
    assert_eq!(csv.lines().filter(|line| !line.starts_with('#')).count(), 1 + 3 * measures);
}

/// A difference is judged by its definition, worked out here from both summaries.
#[test]
fn compare_puts_two_folders_side_by_side() {
    let scratch = Scratch::new("compare");
    scratch.done(&["run", "./small.toml", "--out", "a", "--series", "none"]);
    scratch.done(&["run", "./small.toml", "--out", "b", "--series", "none", "--seed", "77"]);
    let same = scratch.done(&["compare", "a/small", "a/small", "--fail"]);
    assert!(same.contains("0 of 12 differ"), "{same}");

    let arguments = ["compare", "a/small", "b/small", "--tolerance", "0.01", "--page", "both.html"];
    let comparison: Value = serde_json::from_str(&scratch.done(&[&arguments[..], &["--json"]].concat())).unwrap();
    let (a, b) = (scratch.json("a/small/summary.json"), scratch.json("b/small/summary.json"));
    let rows = comparison["differences"].as_array().unwrap();
    assert_eq!(rows.len(), 4 * 3);
    let mut differing = 0;
    for (number, row) in rows.iter().enumerate() {
        let value = |summary: &Value, what: &str| {
            let of_point = &summary["points"][number / 3]["measures"];
            of_point[row["measure"].as_str().unwrap()][what].as_f64().unwrap()
        };
        let difference = (value(&b, "mean") - value(&a, "mean")).abs();
        let expected = if difference <= 1e-4 * value(&a, "mean").abs() {
            ["within-tolerance", "equal"]
        } else if difference <= value(&a, "half_width_95") + value(&b, "half_width_95") {
            ["within-intervals"; 2]
        } else {
            differing += 1;
            ["differs"; 2]
        };
        assert!(expected.contains(&row["verdict"].as_str().unwrap()), "{row}");
    }
    let code = scratch.lab(&[&arguments[..], &["--fail"]].concat()).status.code();
    assert_eq!(code, Some(if differing > 0 { 6 } else { 0 }));
    let page = String::from_utf8(scratch.bytes("both.html")).unwrap();
    assert!(text_of(parsed(&page).root()).contains("cubic (second)"));
}

#[test]
fn the_reproduction_has_every_statement() {
    let scratch = Scratch::new("reproduction");
    scratch.done(&["run", "./small.toml", "--repeats", "2", "--series", "none"]);
    let text = scratch.done(&["reproduction", "ccctl-lab/small"]);
    assert!(text.contains("| [small](#small) | 2 | 1 | 1 | 0 | 8 |"), "{text}");
    assert!(
        text.contains("| T-2 | nothing gets through | nowhere |") && text.contains("| **does not hold** |"),
        "{text}"
    );
    assert!(text.contains("**T-2** does not hold. Not explained yet."), "{text}");
    assert!(text.contains("| `goodput:a` | algorithm = cubic, buffer = 20 % BDP | nowhere | Mbit/s | 50 |"), "{text}");
    assert_eq!(scratch.done(&["reproduction", "--record", "record.json", "ccctl-lab/small"]), text);
    fs::remove_dir_all(scratch.path("ccctl-lab")).unwrap();
    assert_eq!(scratch.done(&["reproduction", "--record", "record.json"]), text);
}

/// docs/results/reproduction.md is what the record and the notes say, and no more; so are the pictures of papers' values beside it.
#[test]
fn the_page_of_all_runs_is_that_of_the_record() {
    let (scratch, repository) = (Scratch::new("record"), Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
    let results = repository.join("docs/results");
    let pictures = || fs::read_dir(results.join("reproduction")).unwrap().map(|entry| entry.unwrap().file_name());
    fs::copy(results.join("reproduction.json"), scratch.path("record.json")).unwrap();
    fs::create_dir(scratch.path("reproduction")).unwrap();
    let copied = |name: &OsStr| scratch.path("reproduction").join(name);
    for name in pictures() {
        fs::copy(results.join("reproduction").join(&name), copied(&name)).unwrap();
    }
    let notes = repository.join("configs/reproduction-notes.toml").display().to_string();
    let page =
        scratch.done(&["reproduction", "--record", "record.json", "--notes", &notes, "--figures", "reproduction"]);
    let remedy =
        "ccctl lab reproduction --record docs/results/reproduction.json --notes configs/reproduction-notes.toml \
                  --figures docs/results/reproduction >docs/results/reproduction.md";
    assert!(page == fs::read_to_string(results.join("reproduction.md")).unwrap(), "{remedy}");
    for name in pictures() {
        let is_same = fs::read(copied(&name)).unwrap() == fs::read(results.join("reproduction").join(&name)).unwrap();
        assert!(is_same, "{}: {remedy}", name.display());
    }
}

/// `--open` hands the page to whatever opens pages here: `xdg-open` on a Linux desktop.
#[test]
fn the_page_is_opened_on_request() {
    let scratch = Scratch::new("open");
    let browser = scratch.path("xdg-open");
    fs::write(&browser, "#!/bin/sh\necho \"$1\" >opened.part && mv opened.part opened\n").unwrap();
    fs::set_permissions(&browser, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", scratch.path("").display(), std::env::var("PATH").unwrap());
    let run = ["run", "./small.toml", "--repeats", "1", "--only", "algorithm=cubic", "--open"];
    assert!(scratch.command(&run).env("PATH", path).status().unwrap().success());
    let opened = || fs::read_to_string(scratch.path("opened")).map_err(|error| error.to_string());
    let opened = eventually(Duration::from_secs(20), opened).unwrap();
    assert_eq!(opened.trim(), "ccctl-lab/small/index.html");

    let nothing = scratch.command(&["report", "ccctl-lab/small", "--open"]).env("PATH", "").output().unwrap();
    assert!(nothing.status.success());
    assert!(String::from_utf8_lossy(&nothing.stderr).contains("cannot open ccctl-lab/small/index.html in a browser"));
}
