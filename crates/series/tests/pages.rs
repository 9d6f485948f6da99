// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pages: well-formed, without addresses, all that was given in them.
#![allow(clippy::unwrap_used)] // a test fails by panicking

use ccctl_series::{
    page, svg, Axis, Cell, Figure, Grid, Line, Link, Mark, Matrix, Page, Panel, Part, Point, Scale, Style,
};
use roxmltree::{Document, Node, ParsingOptions};

const HARD: &str = "</script><b>\"a\" & 'b' ]]> http";

fn figure() -> Figure {
    let axis = |label: &str| Axis { label: label.into(), unit: HARD.into(), scale: Scale::Linear };
    let points = vec![Point::at(0.0, 1.5), Point::at(1.0, f64::NAN), Point { x: 2.0, y: 1e6, error: 0.25 }];
    let line = Line { label: HARD.into(), style: Style::Steps, points };
    let panel = Panel { y: axis("y"), lines: vec![line], marks: vec![Mark { x: 1.25, label: HARD.into() }] };
    Figure { title: HARD.into(), subtitle: HARD.into(), x: axis("x"), panels: vec![panel] }
}

fn everything() -> Page {
    let row = |name: &str, value: &str, holds| vec![name.into(), value.into(), Cell::verdict(HARD, holds)];
    let grid = Grid {
        caption: HARD.into(),
        head: ["name", "rate", HARD].map(str::to_owned).to_vec(),
        rows: vec![row("reno", "1.5 ± 0.1", true), row(HARD, "-", false), row("7", "\u{2212}3 %", true)],
    };
    let folded = vec![Part::Heading("Folded".into()), Part::Matrix(Matrix { title: HARD.into(), ..Matrix::default() })];
    Page {
        title: HARD.into(),
        subtitle: HARD.into(),
        parts: vec![
            Part::Heading(HARD.into()),
            Part::Text(format!("{HARD}\n\nsecond")),
            Part::Verbatim(format!("  {HARD}\n")),
            Part::Facts(vec![(HARD.into(), HARD.into())]),
            Part::Grid(grid),
            Part::Command(HARD.into()),
            Part::Figure(figure()),
            Part::Links { label: "values".into(), links: vec![Link { name: HARD.into(), path: "a/b.csv".into() }] },
            Part::Group { title: HARD.into(), is_open: true, parts: folded },
        ],
    }
}

fn parse(text: &str) -> Document<'_> {
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    Document::parse_with_options(text, options).unwrap()
}

fn tags<'a>(document: &'a Document<'a>, name: &'a str) -> impl Iterator<Item = Node<'a, 'a>> + 'a {
    document.descendants().filter(move |node| node.tag_name().name() == name)
}

#[test]
fn a_page_is_well_formed_and_keeps_its_words() {
    let text = page(&everything());
    let document = parse(&text);
    let holding = |name| tags(&document, name).filter(|node| node.text() == Some(HARD)).count();
    for (name, count) in
        [("title", 3), ("h1", 1), ("h2", 1), ("p", 2), ("dt", 1), ("dd", 1), ("caption", 1), ("summary", 1), ("pre", 1)]
    {
        assert_eq!(holding(name), count, "{name}");
    }
    assert_eq!(tags(&document, "pre").next().unwrap().text(), Some(format!("  {HARD}\n").as_str()));
    let contents = tags(&document, "nav").next().unwrap();
    let links = contents.descendants().filter_map(|link| link.attribute("href"));
    let links: Vec<_> = links.map(|address| address[1..].to_owned()).collect();
    let ids: Vec<_> = tags(&document, "h2").map(|heading| heading.attribute("id").unwrap().to_owned()).collect();
    assert_eq!(links, ids);
    assert_eq!(links.len(), 2, "headings in groups are in the contents");
    parse(&page(&Page::default()));
}

/// As a browser sees it, which ends a script at the first end tag whatever is around it.
#[test]
fn scripts_end_where_they_should() {
    let text = page(&everything());
    assert_eq!(text.matches("<script").count(), 2);
    assert_eq!(text.to_lowercase().matches("</script").count(), 2);
    assert_eq!(text.matches("]]>").count(), 1, "the mark around the script is closed once");
}

#[test]
fn a_page_asks_for_nothing_from_elsewhere() {
    let text = page(&everything());
    let document = parse(&text);
    let fetches = ["src", "srcset", "href", "action", "data", "poster", "background", "style"];
    for node in document.descendants() {
        for attribute in node.attributes().filter(|attribute| fetches.contains(&attribute.name())) {
            // A link to a section, or to a file next to the page, which is opened by a click only.
            let is_link = node.has_tag_name("a") && attribute.name() == "href";
            let is_near = attribute.value().starts_with("#s") || attribute.value() == "a/b.csv";
            assert!(is_link && is_near, "{attribute:?}");
        }
    }
    let scripts_and_styles = tags(&document, "script").chain(tags(&document, "style"));
    for code in scripts_and_styles.filter(|node| node.attribute("type").is_none()) {
        for address in ["http", "//www", "url(", "@import", "fetch(", "XMLHttpRequest", "import("] {
            assert!(!code.text().unwrap().contains(address), "{address}");
        }
    }
    let policy = tags(&document, "meta").find_map(|meta| meta.attribute("content").filter(|text| text.contains("src")));
    assert!(policy.unwrap().starts_with("default-src 'none';"));
}

#[test]
fn the_values_of_a_figure_are_beside_it() {
    let text = page(&everything());
    let document = parse(&text);
    let chart = tags(&document, "figure").find(|node| node.attribute("class") == Some("chart")).unwrap();
    let data = chart.children().find(|node| node.has_tag_name("script")).unwrap().text().unwrap();
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    let line = &data["panels"][0]["lines"][0];
    assert_eq!(line["label"], HARD);
    assert_eq!(line["x"], serde_json::json!([0, 1, 2]));
    assert_eq!(line["y"], serde_json::json!([1.5, null, 1_000_000]));
    assert_eq!(line["errors"], serde_json::json!([0, 0, 0.25]));
    assert_eq!(data["panels"][0]["marks"][0]["x"], serde_json::json!([1.25]));
    assert_eq!((&data["x"]["low"], &data["x"]["high"]), (&serde_json::json!(0.0), &serde_json::json!(2.0)));
    // The script finds the paths of lines and marks by these.
    let has = |class: &str, number: &str, value: &str| {
        let is_it = |node: &Node| node.attribute("class") == Some(class) && node.attribute(number) == Some(value);
        chart.descendants().find(is_it).is_some()
    };
    assert!(has("line", "data-line", "0") && has("error", "data-line", "0"));
    assert!(has("plot", "data-panel", "0") && has("marks", "data-panel", "0"));
}

/// Many points are reduced, and the one that stands out is kept.
#[test]
fn long_lines_are_reduced_with_their_peaks() {
    let points = (0..300_000).map(|number| Point::at(f64::from(number), if number == 123_456 { 9.0 } else { 1.0 }));
    let mut figure = figure();
    figure.panels[0].lines[0].points = points.collect();
    let text = page(&Page { parts: vec![Part::Figure(figure)], ..Page::default() });
    let document = parse(&text);
    let json = tags(&document, "script").next().unwrap().text().unwrap();
    let data: serde_json::Value = serde_json::from_str(json).unwrap();
    let x = data["panels"][0]["lines"][0]["x"].as_array().unwrap();
    assert!(x.len() < 33_000 && x.contains(&serde_json::json!(123_456)), "{}", x.len());
}

#[test]
fn columns_of_numbers_are_aligned_and_verdicts_are_not_only_colours() {
    let text = page(&everything());
    let document = parse(&text);
    let heads: Vec<_> = tags(&document, "th").map(|head| head.attribute("class").unwrap()).collect();
    assert_eq!(heads, ["", "number", ""]);
    let verdicts: Vec<_> = tags(&document, "td").filter_map(|cell| cell.first_element_child()?.text()).collect();
    assert_eq!(verdicts, ["\u{2713}", "\u{2717}", "\u{2713}"]);
}

/// Two runs of each point: a line through the means, and the runs as dots of the same colour, without an entry of their own.
#[test]
fn dots_that_belong_to_a_line_have_its_colour_and_no_entry() {
    let line = |label: &str, style, values: &[(f64, f64)]| Line {
        label: label.into(),
        style,
        points: values.iter().map(|&(x, y)| Point::at(x, y)).collect(),
    };
    let lines = vec![
        line("cubic", Style::Straight, &[(0.0, 2.0), (1.0, 3.0)]),
        line("reno", Style::Straight, &[(0.0, 4.0), (1.0, 5.0)]),
        line("reno (runs)", Style::Points, &[(0.0, 3.0), (0.0, 5.0), (1.0, 4.0), (1.0, 6.0)]),
    ];
    let axis = |scale| Axis { label: "goodput".into(), unit: "Mbit/s".into(), scale };
    let panel = Panel { y: axis(Scale::Within(0.0, f64::INFINITY)), lines, marks: vec![] };
    let figure = Figure { title: String::new(), subtitle: String::new(), x: axis(Scale::Linear), panels: vec![panel] };
    let text = svg(&figure);
    let document = Document::parse(&text).unwrap();
    let words: Vec<_> = document.descendants().filter_map(|node| node.text()).map(str::trim).collect();
    assert!(words.contains(&"cubic") && words.contains(&"reno") && !words.contains(&"reno (runs)"), "{words:?}");
    let colour = |line: &str| {
        let node = document.descendants().find(|node| node.attribute("data-line") == Some(line)).unwrap();
        node.attribute("fill").filter(|fill| *fill != "none").or(node.attribute("stroke")).unwrap().to_owned()
    };
    assert_eq!(colour("1"), colour("2"));
    assert_ne!(colour("0"), colour("1"));
}

/// By its title, so that an address stays the same when other figures come and go; equal titles have numbers.
#[test]
fn every_figure_has_an_address() {
    let titled = |title: &str| Part::Figure(Figure { title: title.into(), subtitle: String::new(), ..figure() });
    let matrix = Matrix { title: "Goodput (Mbit/s)".into(), subtitle: "buffer = 20 % BDP".into(), ..Matrix::default() };
    let parts = vec![titled("Goodput (Mbit/s)"), titled("Goodput (Mbit/s)"), Part::Matrix(matrix), titled("\u{fc}")];
    let text = page(&Page { parts, ..Page::default() });
    let document = parse(&text);
    let ids: Vec<_> = tags(&document, "figure").map(|figure| figure.attribute("id").unwrap().to_owned()).collect();
    assert_eq!(
        ids,
        ["figure-goodput-mbit-s", "figure-goodput-mbit-s-2", "figure-goodput-mbit-s-buffer-20-bdp", "figure-"]
    );
}

/// Rows with sentences are written below each other on a phone, and then each cell has its head.
#[test]
fn cells_of_tables_with_sentences_carry_their_heads() {
    let grid = |text: &str| {
        let rows = vec![vec![Cell::from("S4-B1"), Cell::from(text)]];
        Grid { caption: String::new(), head: ["id", "a \"claim\""].map(str::to_owned).to_vec(), rows }
    };
    let long = "CUBIC leaves the late flow less than a half of what it has itself";
    let text = page(&Page { parts: vec![Part::Grid(grid(long)), Part::Grid(grid("short"))], ..Page::default() });
    let document = parse(&text);
    let heads: Vec<_> = tags(&document, "td").map(|cell| cell.attribute("data-head")).collect();
    assert_eq!(heads, [Some("id"), Some("a \"claim\""), None, None]);
}
