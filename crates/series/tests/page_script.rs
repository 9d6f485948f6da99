// SPDX-License-Identifier: MIT OR Apache-2.0
//! The script of a page draws what Rust drew, as long as nothing is zoomed. Needs `node`, which `scripts/setup` installs.
#![allow(clippy::unwrap_used)] // a test fails by panicking

use std::io::Write;
use std::process::{Command, Stdio};

use ccctl_series::{page, Axis, Figure, Line, Mark, Page, Panel, Part, Point, Scale, Style};
use roxmltree::{Document, Node, ParsingOptions};
use serde_json::Value as Json;

const SCRIPT: &str = include_str!("../src/page/page.js");

/// Before the script: a page without anything on it.
const STAGE: &str = "globalThis.document = { querySelectorAll: () => [] }; globalThis.addEventListener = () => {};";

/// After it: a chart whose paths are only remembered. It draws itself, and half of itself.
const ACT: &str = r#"
const data = JSON.parse(require("fs").readFileSync(0));
const draw = (low, high) => {
  const nodes = {};
  const node = (name) => (nodes[name] ??= { setAttribute(_, value) { this.d = value; } });
  const svg = {
    querySelector: (plot) => ({ querySelector: (path) => node(plot + path) }),
    querySelectorAll: (paths) => [0, 1, 2, 3].map((place) => node(paths + place)),
  };
  const chart = Object.create(Chart.prototype);
  Object.assign(chart, { data, svg, axis: data.x, full: [data.x.low, data.x.high], low, high });
  data.panels.forEach((panel, number) => chart.draw(panel, number));
  const labels = ticks(data.x, low, high, 8).map(([, label]) => label);
  return { paths: Object.fromEntries(Object.entries(nodes).map(([name, { d }]) => [name, d ?? null])), labels };
};
const { low, high } = data.x;
// The vertical axes of a part.
const follow = (low, high) => {
  const chart = Object.create(Chart.prototype);
  return Object.assign(chart, { data, axis: data.x, full: [data.x.low, data.x.high], low, high }).follow();
};
// What is shown at a place, of the whole or of a part.
const look = (px, view = [low, high]) => {
  const chart = Object.create(Chart.prototype);
  Object.assign(chart, { data, axis: data.x, full: [low, high], low: view[0], high: view[1] });
  const x = chart.snap(chart.at(px));
  return chart.rows(x, px).map(([, name, value]) => `${name}: ${value}`);
};
console.log(JSON.stringify(eval(process.argv[1])));
"#;

/// The whole, and its first half.
const HALVES: &str = "[draw(low, high), draw(low, (low + high) / 2)]";

fn run(data: &str) -> Json {
    run_act(data, HALVES)
}

/// What the script says to an expression of JavaScript.
fn run_act(data: &str, act: &str) -> Json {
    let code = format!("{STAGE}\n{SCRIPT}\n{ACT}");
    let mut command = Command::new("node");
    command.args(["-e", &code, act]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut node = command.spawn().expect("node is missing: scripts/setup installs it");
    node.stdin.take().unwrap().write_all(data.as_bytes()).unwrap();
    let output = node.wait_with_output().unwrap();
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).unwrap()
}

fn figure(x: Scale, y: Scale) -> Figure {
    let styles = [Style::Straight, Style::Steps, Style::Points, Style::Dashed, Style::Bars];
    let value = |number: u32| match number {
        7 | 12 | 14 => f64::NAN,
        20 => 0.0,
        number => 3.0 + f64::from(number * 37 % 101) * 20_000.0,
    };
    let point =
        |number: u32| Point { x: f64::from(number) * 0.37, y: value(number), error: f64::from(number % 2) * 1e5 };
    let line = |style: Style| Line { label: format!("{style:?}"), style, points: (0..30).map(point).collect() };
    let axis = |scale| Axis { label: "a".into(), unit: "s".into(), scale };
    let marks = (1..9).map(|number| Mark { x: f64::from(number), label: format!("mark {}", number % 4) });
    let panel = Panel { y: axis(y), lines: styles.map(line).to_vec(), marks: marks.collect() };
    Figure { title: String::new(), subtitle: String::new(), x: axis(x), panels: vec![panel.clone(), panel] }
}

/// Letters as they are, numbers apart.
fn parts(path: &str) -> (String, Vec<f64>) {
    let letters = path.chars().filter(char::is_ascii_alphabetic).collect();
    let numbers = path.replace(|letter: char| letter.is_ascii_alphabetic(), " ").replace('-', " -");
    (letters, numbers.split_whitespace().map(|number| number.parse().unwrap()).collect())
}

fn assert_same(rust: &str, script: &str, what: &str) {
    let ((letters, numbers), (found_letters, found)) = (parts(rust), parts(script));
    assert_eq!(letters, found_letters, "{what}:\n{rust}\n{script}");
    let is_near = |(a, b): (&f64, &f64)| (a - b).abs() < 0.15; // both round to tenths, halves in different ways
    assert!(numbers.len() == found.len() && numbers.iter().zip(&found).all(is_near), "{what}:\n{rust}\n{script}");
}

fn attribute<'a>(node: Node<'a, '_>, name: &str) -> &'a str {
    node.attribute(name).unwrap_or_default()
}

#[test]
fn the_script_draws_what_is_there_already() {
    let names = Scale::Names(["a", "b", "c"].map(str::to_owned).to_vec());
    let mut compared = 0;
    for x in [Scale::Linear, Scale::Logarithmic, names] {
        for y in [Scale::Linear, Scale::Logarithmic] {
            let figure = figure(x.clone(), y.clone());
            let what = format!("{x:?} {y:?}");
            let text = page(&Page { parts: vec![Part::Figure(figure)], ..Page::default() });
            let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
            let document = Document::parse_with_options(&text, options).unwrap();
            let json = document.descendants().find(|node| node.attribute("type") == Some("application/json")).unwrap();
            let drawn = run(json.text().unwrap());
            for path in document.descendants().filter(|node| node.has_attribute("data-line")) {
                let plot = attribute(path.parent().unwrap(), "data-panel");
                let (class, line) = (attribute(path, "class"), attribute(path, "data-line"));
                let name = format!("svg.plot[data-panel=\"{plot}\"]path.{class}[data-line=\"{line}\"]");
                let script = drawn[0]["paths"][&name].as_str().unwrap_or_else(|| panic!("{name} in {drawn}"));
                assert_same(attribute(path, "d"), script, &format!("{what} {name}"));
                compared += 1;
            }
            let labels = |node: &Node| node.attribute("class") == Some("x");
            let ruler = document.descendants().find(labels).unwrap().descendants().filter_map(|node| {
                node.is_text().then(|| node.text().unwrap().trim().to_owned()).filter(|text| !text.is_empty())
            });
            assert_eq!(drawn[0]["labels"], serde_json::json!(ruler.collect::<Vec<_>>()), "{what}");
        }
    }
    // Six figures of two panels: five lines, and their error bars.
    assert_eq!(compared, 6 * 2 * 10);
}

/// A line of two values seen by halves: the second is where it was, twice as far right.
#[test]
fn half_of_the_axis_is_twice_as_wide() {
    let points = vec![Point::at(0.0, 1.0), Point::at(4.0, 3.0), Point::at(5.0, 2.0), Point::at(10.0, 2.0)];
    let mut figure = figure(Scale::Linear, Scale::Linear);
    figure.panels[0].lines = vec![Line { label: "cwnd".into(), style: Style::Straight, points }];
    figure.panels.truncate(1);
    figure.panels[0].marks = vec![Mark { x: 5.0, label: "loss".into() }];
    let text = page(&Page { parts: vec![Part::Figure(figure)], ..Page::default() });
    let json = text.split("<script type=\"application/json\">").nth(1).unwrap().split("</script>").next().unwrap();
    let drawn = run(json);
    let path =
        |view: usize| drawn[view]["paths"]["svg.plot[data-panel=\"0\"]path.line[data-line=\"0\"]"].as_str().unwrap();
    let (whole, half) = (parts(path(0)).1, parts(path(1)).1);
    assert_eq!((whole.len(), half.len()), (8, 8), "{whole:?} {half:?}");
    for place in [0, 2, 4, 6] {
        assert!((half[place] - 2.0 * whole[place]).abs() < 0.3, "{whole:?} {half:?}");
        assert!((half[place + 1] - whole[place + 1]).abs() < 0.15, "{whole:?} {half:?}");
    }
    let labels = ["0", "0.5", "1.0", "1.5", "2.0", "2.5", "3.0", "3.5", "4.0", "4.5", "5.0"];
    assert_eq!(drawn[1]["labels"], serde_json::json!(labels));
}

/// The values of a page's only figure, as its script gets them.
fn json_of(figure: Figure) -> String {
    let text = page(&Page { parts: vec![Part::Figure(figure)], ..Page::default() });
    text.split("<script type=\"application/json\">").nth(1).unwrap().split("</script>").next().unwrap().to_owned()
}

/// Two algorithms over a buffer of 20, 60 and 100 % of a BDP, one of them without a value at 60.
fn swept() -> Figure {
    let points = |values: &[(f64, f64, f64)]| values.iter().map(|&(x, y, error)| Point { x, y, error }).collect();
    let line = |label: &str, values: &[_]| Line { label: label.into(), style: Style::Straight, points: points(values) };
    let axis = |label: &str, unit: &str, scale| Axis { label: label.into(), unit: unit.into(), scale };
    let lines = vec![
        line("cubic", &[(20.0, 0.101_234_5, 0.0), (60.0, 0.191_234_5, 0.020_123), (100.0, 0.279_72, 0.850_286)]),
        line("reno", &[(20.0, 0.5, 0.1), (100.0, 0.7, 0.1)]),
    ];
    let panel = Panel { y: axis("asymmetry", "", Scale::Within(-1.0, 1.0)), lines, marks: vec![] };
    Figure {
        title: "a".into(),
        subtitle: String::new(),
        x: axis("buffer", "% BDP", Scale::Linear),
        panels: vec![panel],
    }
}

/// Under the pointer stand the values of one abscissa, the nearest that was measured, and that abscissa; never a value of
/// another place.
#[test]
fn the_pointer_shows_the_point_that_it_is_near() {
    let data = json_of(swept());
    let width: f64 = serde_json::from_str::<Json>(&data).unwrap()["width"].as_f64().unwrap();
    let at = |percent: f64| run_act(&data, &format!("look({})", width * (percent - 20.0) / 80.0));
    for percent in [50.0, 60.1268, 68.0, 75.0] {
        assert_eq!(at(percent), serde_json::json!(["buffer: 60 % BDP", "cubic: 0.1912 \u{b1} 0.02"]), "{percent}");
    }
    // An interval that would leave what an asymmetry can be ends there.
    assert_eq!(at(99.0)[1], "cubic: 0.2797 (-0.5706 to 1)");
    assert_eq!(at(99.0)[2], "reno: 0.7 \u{b1} 0.1");
    assert_eq!(at(20.0)[0], "buffer: 20 % BDP");
}

/// Of steps, the last value before holds; of lines whose points are elsewhere, none is shown.
#[test]
fn steps_hold_under_the_pointer() {
    let mut figure = swept();
    let steps = [(10.0, 1.0), (70.0, 2.0), (100.0, 3.0)].map(|(x, y)| Point::at(x, y)).to_vec();
    figure.panels[0].lines.push(Line { label: "mode".into(), style: Style::Steps, points: steps });
    let data = json_of(figure);
    let x = &serde_json::from_str::<Json>(&data).unwrap();
    let (width, low) = (x["width"].as_f64().unwrap(), x["x"]["low"].as_f64().unwrap());
    let told = run_act(&data, &format!("look({})", width * (61.0 - low) / (100.0 - low)));
    assert_eq!(told, serde_json::json!(["buffer: 60 % BDP", "cubic: 0.1912 \u{b1} 0.02", "mode: 1"]));
}

/// A view between two points has none of them, and the line between them all the same.
#[test]
fn a_view_without_points_shows_the_lines_that_cross_it() {
    let drawn = run_act(&json_of(swept()), "draw(62, 68)");
    for line in 0..2 {
        let name = format!("svg.plot[data-panel=\"0\"]path.line[data-line=\"{line}\"]");
        let path = drawn["paths"][&name].as_str().unwrap();
        let (letters, numbers) = parts(path);
        assert_eq!(letters, "ML", "line {line}: {path}");
        assert!(numbers[0] < 0.0 && numbers[2] > 500.0, "line {line} crosses the view: {path}");
    }
}

/// A window of 1000 packets that falls to 10 at 5 s and stays below 20: after 6 s the axis ends at 20 and its margin of 5 %.
#[test]
fn the_vertical_axis_follows_the_zoom() {
    let mut figure = figure(Scale::Linear, Scale::Linear);
    let points = [(0.0, 1000.0), (5.0, 1000.0), (6.0, 10.0), (8.0, 20.0), (10.0, 10.0)];
    let line = |style| Line { label: "cwnd".into(), style, points: points.map(|(x, y)| Point::at(x, y)).to_vec() };
    let share = Axis { label: "share".into(), unit: "%".into(), scale: Scale::Within(0.0, 100.0) };
    figure.panels[0].lines = vec![line(Style::Straight)];
    figure.panels[1].lines = vec![line(Style::Steps)];
    let mut full = figure.panels[0].clone();
    full.y = share;
    full.lines[0].points = vec![Point::at(0.0, 0.0), Point::at(7.0, 99.0), Point::at(10.0, 98.0)];
    figure.panels.push(full);
    let data = json_of(figure);
    let ends = |act: &str| -> Vec<[f64; 2]> { serde_json::from_value(run_act(&data, act)).unwrap() };
    // The share comes in at 99 * 6 / 7 %, and goes to 99 %.
    let (low, high) = (594.0 / 7.0, 99.0);
    let margin = 0.05 * (high - low);
    let is_near = |found: &[[f64; 2]], expected: &[[f64; 2]]| {
        found.iter().flatten().zip(expected.iter().flatten()).all(|(a, b)| (a - b).abs() < 1e-9)
    };
    let found = ends("follow(6, 10)");
    assert!(is_near(&found, &[[0.0, 21.0], [0.0, 21.0], [low - margin, high + margin]]), "{found:?}");
    // Between two points: 15 to 17.5 packets on the way up, and a step of 10.
    let found = ends("follow(7, 7.5)");
    assert!(is_near(&found[..2], &[[15.0 - 0.125, 17.5 + 0.125], [0.0, 10.5]]), "{found:?}");
    assert!(found[2][1] <= 100.0, "a share ends at 100 %: {found:?}");
}

/// Of several panels, each is named above its values.
#[test]
fn the_pointer_names_the_panels() {
    let mut figure = swept();
    let mut second = figure.panels[0].clone();
    second.y.label = "queue".into();
    second.lines.truncate(1);
    figure.panels.push(second);
    let data = json_of(figure);
    let width: f64 = serde_json::from_str::<Json>(&data).unwrap()["width"].as_f64().unwrap();
    let value = "cubic: 0.1912 \u{b1} 0.02";
    let expected = serde_json::json!(["buffer: 60 % BDP", "asymmetry: ", value, "queue: ", value]);
    assert_eq!(run_act(&data, &format!("look({})", width / 2.0)), expected);
}
