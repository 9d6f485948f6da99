// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figures drawn: well-formed, inside their panels, the same each time.
#![allow(clippy::unwrap_used)] // a test fails by panicking

use ccctl_series::{matrix_svg, svg, svg_of_width, Axis, Figure, Line, Mark, Matrix, Panel, Point, Scale, Style};
use roxmltree::{Document, Node};

fn axis(scale: Scale) -> Axis {
    Axis { label: "a <b> & \"c\"".into(), unit: "µs".into(), scale }
}

/// Values from a fixed sequence, with all that is not a number among them.
fn noise(count: u32, scale: f64) -> Vec<Point> {
    let mut state: u32 = 12345;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from(state >> 8) / f64::from(1 << 24)
    };
    let value = |number: u32, random: f64| match number % 101 {
        7 => f64::NAN,
        8 => f64::INFINITY,
        9 => f64::NEG_INFINITY,
        10 => 0.0,
        _ => (random - 0.3) * scale,
    };
    (0..count).map(|number| Point { x: f64::from(number), y: value(number, next()), error: next() * scale }).collect()
}

const STYLES: [Style; 5] = [Style::Straight, Style::Steps, Style::Points, Style::Dashed, Style::Bars];

fn figures() -> Vec<Figure> {
    let mut figures = Vec::new();
    let names = Scale::Names(["Open", "<Disorder>", "a long name of a state"].map(str::to_owned).to_vec());
    for x in [Scale::Linear, Scale::Logarithmic, names.clone()] {
        for y in [Scale::Linear, Scale::Logarithmic, names.clone()] {
            for (count, size) in [(0, 1.0), (1, 1.0), (2, 0.0), (300, 5.0), (6_000, 1e9)] {
                let line = |style| Line { label: format!("{style:?} & co"), style, points: noise(count, size) };
                let marks = (0..count.min(200)).map(|x| Mark { x: f64::from(x), label: format!("mark {}", x % 5) });
                let panel = Panel { y: axis(y.clone()), lines: STYLES.map(line).to_vec(), marks: marks.collect() };
                let empty = Panel { y: axis(y.clone()), lines: vec![], marks: vec![] };
                let title = format!("{x:?} {y:?} {count}");
                let panels = vec![panel, empty];
                figures.push(Figure { title, subtitle: "\u{1}<".into(), x: axis(x.clone()), panels });
            }
        }
    }
    figures.push(Figure { title: String::new(), subtitle: String::new(), x: axis(Scale::Linear), panels: vec![] });
    figures
}

/// The ends of a path's strokes. Understands what the pictures use: M L H V in places, a l h v m z from place to place.
fn places(path: &str) -> Vec<(f64, f64)> {
    let mut places = Vec::new();
    let mut here = (0.0, 0.0);
    let starts: Vec<_> = path.match_indices(|letter: char| letter.is_ascii_alphabetic()).map(|(at, _)| at).collect();
    for (number, &start) in starts.iter().enumerate() {
        let end = starts.get(number + 1).copied().unwrap_or(path.len());
        let numbers = path[start + 1..end].replace('-', " -");
        let numbers: Vec<f64> = numbers.split_whitespace().map(|number| number.parse().unwrap()).collect();
        here = match (&path[start..=start], numbers.as_slice()) {
            ("M" | "L", [x, y]) => (*x, *y),
            ("H", [x]) => (*x, here.1),
            ("V", [y]) => (here.0, *y),
            ("m" | "l" | "a", [.., x, y]) => (here.0 + x, here.1 + y),
            ("h", [x]) => (here.0 + x, here.1),
            ("v", [y]) => (here.0, here.1 + y),
            ("Z" | "z", []) => here,
            other => panic!("{other:?} in {path}"),
        };
        places.push(here);
    }
    places
}

fn number(node: Node, name: &str) -> f64 {
    node.attribute(name).unwrap().parse().unwrap()
}

#[test]
fn every_point_is_inside_its_panel_and_every_picture_is_well_formed() {
    let mut checked = 0;
    for figure in figures() {
        let text = svg(&figure);
        let document = Document::parse(&text).unwrap_or_else(|error| panic!("{}: {error}", figure.title));
        let root = document.root_element();
        let (width, height) = (number(root, "width"), number(root, "height"));
        for plot in root.children().filter(|node| node.has_tag_name("svg")) {
            let (plot_width, plot_height) = (number(plot, "width"), number(plot, "height"));
            assert!(number(plot, "x") + plot_width <= width && number(plot, "y") + plot_height <= height);
            for path in plot.children().filter(|node| node.has_tag_name("path")) {
                // A dot at the edge may reach over it by its radius, a mark by half its width.
                for (x, y) in places(path.attribute("d").unwrap()) {
                    let is_inside = (-5.0..=plot_width + 5.0).contains(&x) && (-5.0..=plot_height + 5.0).contains(&y);
                    assert!(is_inside, "{}: {x} {y} of {plot_width} {plot_height}", figure.title);
                    checked += 1;
                }
            }
        }
        let labels = root.descendants().filter(|node| node.has_tag_name("text"));
        for label in labels.filter(|label| label.attribute("transform").is_none()) {
            assert!((0.0..=width).contains(&number(label, "x")) && (0.0..=height).contains(&number(label, "y")));
        }
        assert!(!text.contains("NaN") && !text.contains("inf\""), "{}", figure.title);
    }
    assert!(checked > 100_000, "{checked}");
}

#[test]
fn the_same_figure_gives_the_same_bytes_and_keeps_its_words() {
    for figure in figures() {
        assert_eq!(svg(&figure), svg(&figure.clone()));
    }
    let text = svg(&figures()[0]);
    let document = Document::parse(&text).unwrap();
    let words: Vec<_> = document.descendants().filter(Node::is_text).filter_map(|node| node.text()).collect();
    assert!(words.contains(&"a <b> & \"c\" (µs)"), "{words:?}");
    let child = |name| document.root_element().children().find(|node| node.has_tag_name(name)).unwrap().text().unwrap();
    assert_eq!(child("title"), "Linear Linear 0");
    assert!(child("desc").contains("Steps & co"));
}

/// The places of a line of three values, worked out from the ends of the axes: 0 to 10, and 0 to 105 (5 % above 100).
#[test]
fn places_are_in_proportion() {
    let points = vec![Point::at(0.0, 0.0), Point::at(5.0, 100.0), Point::at(10.0, 50.0)];
    let line = Line { label: "cwnd".into(), style: Style::Straight, points };
    let panel = Panel { y: axis(Scale::Linear), lines: vec![line], marks: vec![Mark { x: 2.5, label: "loss".into() }] };
    let figure = Figure { title: String::new(), subtitle: String::new(), x: axis(Scale::Linear), panels: vec![panel] };
    let text = svg(&figure);
    let document = Document::parse(&text).unwrap();
    let class = |name| document.descendants().find(|node| node.attribute("class") == Some(name)).unwrap();
    let (width, height) = (number(class("plot"), "width"), number(class("plot"), "height"));
    let expected =
        [(0.0, height), (width / 2.0, height * (1.0 - 100.0 / 105.0)), (width, height * (1.0 - 50.0 / 105.0))];
    let found = places(class("line").attribute("d").unwrap());
    assert_eq!(found.len(), 3);
    for (found, expected) in found.iter().zip(expected) {
        assert!((found.0 - expected.0).abs() < 0.06 && (found.1 - expected.1).abs() < 0.06, "{found:?} {expected:?}");
    }
    let mark = places(class("mark").attribute("d").unwrap());
    assert!((mark[0].0 - width / 4.0).abs() < 0.06, "{mark:?}");
}

#[test]
fn steps_go_across_before_they_go_up() {
    let points = vec![Point::at(0.0, 1.0), Point::at(1.0, 2.0)];
    let line = Line { label: "ssthresh".into(), style: Style::Steps, points };
    let panel = Panel { y: axis(Scale::Linear), lines: vec![line], marks: vec![] };
    let figure = Figure { title: String::new(), subtitle: String::new(), x: axis(Scale::Linear), panels: vec![panel] };
    let text = svg(&figure);
    let path = text.split("data-line=\"0\" d=\"").nth(1).unwrap().split('"').next().unwrap();
    let places = places(path);
    assert_eq!(places.len(), 3, "{path}");
    assert!(places[0].1 > places[2].1 && (places[0].1 - places[1].1).abs() < 1e-9, "{places:?}");
}

#[test]
fn a_matrix_has_a_cell_for_each_pair() {
    let matrix = Matrix {
        title: "a <b>".into(),
        rows: vec!["reno".into(), "bic & co".into()],
        columns: vec!["x".into(), "y".into(), "z".into()],
        values: vec![vec![Some(-1.0), Some(0.0), Some(1.0)], vec![None, Some(f64::NAN)]],
        middle: Some(0.0),
        ..Matrix::default()
    };
    let text = matrix_svg(&matrix);
    let document = Document::parse(&text).unwrap();
    let cells: Vec<_> = document.descendants().filter(|node| node.attribute("class") == Some("cell")).collect();
    let colours: Vec<_> = cells.iter().map(|cell| cell.attribute("fill").unwrap()).collect();
    // Ends of the colours, white at the middle, grey where there is no value.
    assert_eq!(colours, ["#0072b2", "#ffffff", "#d55e00", "#f2f2f2", "#f2f2f2", "#f2f2f2"]);
    let words: Vec<_> = document.descendants().filter(Node::is_text).filter_map(|node| node.text()).collect();
    for word in ["reno", "bic & co", "z", "-1.00", "\u{2013}"] {
        assert!(words.contains(&word), "{word} in {words:?}");
    }
    Document::parse(&matrix_svg(&Matrix::default())).unwrap();
}

/// Relative luminance of `#rrggbb` or `#rgb`, by the definition of WCAG 2.2.
fn luminance(colour: &str) -> f64 {
    let digits = &colour[1..];
    let width = digits.len() / 3;
    let linear = |place: usize| {
        let part = &digits[place * width..(place + 1) * width];
        let value = u32::from_str_radix(part, 16).unwrap() * if width == 1 { 17 } else { 1 };
        let share = f64::from(value) / 255.0;
        if share <= 0.04045 {
            share / 12.92
        } else {
            ((share + 0.055) / 1.055).powf(2.4)
        }
    };
    0.2126 * linear(0) + 0.7152 * linear(1) + 0.0722 * linear(2)
}

fn contrast(first: &str, second: &str) -> f64 {
    let (a, b) = (luminance(first), luminance(second));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

/// WCAG's 4.5:1, on light and dark pages, from the weakest to the strongest colours.
#[test]
fn numbers_of_a_matrix_can_be_read_on_their_cells() {
    assert!((contrast("#fff", "#000") - 21.0).abs() < 1e-9 && (contrast("#777777", "#fff") - 4.48).abs() < 0.01);
    for middle in [None, Some(0.0)] {
        let names: Vec<String> = (0..20).map(|number| format!("a{number}")).collect();
        let value = |row: i32, column: i32| Some(f64::from(row * 20 + column) / 200.0 - 1.0);
        let values = (0..20).map(|row| (0..20).map(|column| value(row, column)).collect()).collect();
        let matrix = Matrix { rows: names.clone(), columns: names, values, middle, ..Matrix::default() };
        let text = matrix_svg(&matrix);
        let document = Document::parse(&text).unwrap();
        let class = |name: &str| {
            let is_it = |node: &Node| node.attribute("class") == Some(name);
            document.descendants().filter(is_it).collect::<Vec<_>>()
        };
        let (cells, values) = (class("cell"), class("value"));
        assert_eq!((cells.len(), values.len()), (400, 400));
        for (cell, value) in cells.iter().zip(&values) {
            for colours in ["fill", "data-dark"] {
                let (ground, ink) = (cell.attribute(colours).unwrap(), value.attribute(colours).unwrap());
                assert!(contrast(ground, ink) >= 4.5, "{ink} on {ground}: {}", contrast(ground, ink));
            }
        }
    }
}

fn cells_and_caption(values: &[f64], unit: &str, range: Option<(f64, f64)>) -> (Vec<String>, String) {
    let columns = values.iter().map(f64::to_string).collect();
    let row = values.iter().copied().map(Some).collect();
    let matrix = Matrix {
        title: "t".into(),
        rows: vec!["r".into()],
        columns,
        values: vec![row],
        value_unit: unit.into(),
        range,
        ..Matrix::default()
    };
    let text = matrix_svg(&matrix);
    let document = Document::parse(&text).unwrap();
    let words = |node: Node| node.text().unwrap().to_owned();
    let cells = document.descendants().filter(|node| node.attribute("class") == Some("value")).map(words).collect();
    let caption = document.descendants().filter(Node::is_text).filter_map(|node| node.text());
    (cells, caption.into_iter().find(|text| text.contains("colours from")).unwrap().to_owned())
}

/// Not 87.2 beside 100, and the ends of the colours in words.
#[test]
fn numbers_of_a_matrix_have_the_same_digits_and_colours_have_their_range() {
    let shares = cells_and_caption(&[87.23, 99.41, 100.0], "%", Some((0.0, 100.0)));
    assert_eq!(shares, (vec!["87.2".into(), "99.4".into(), "100.0".into()], "colours from 0.0 to 100.0 %".to_owned()));
    let asymmetry = cells_and_caption(&[-0.5, -0.001, 1.0], "", Some((-1.0, 1.0)));
    assert_eq!(asymmetry.0, ["-0.50", "0.00", "1.00"]);
    assert_eq!(
        cells_and_caption(&[12.0, 4321.0], "", None),
        (vec!["12".into(), "4321".into()], "colours from 12 to 4321".into())
    );
    assert_eq!(cells_and_caption(&[1.5e7, 2.0], "", None).0, ["1.5e7", "2.0e0"]);
    assert_eq!(cells_and_caption(&[7.0], "", None).0, ["7.00"]);
}

fn two_lines(first: &str, second: &str, title: &str) -> Figure {
    let line = |label: &str, y| Line {
        label: label.into(),
        style: Style::Straight,
        points: vec![Point::at(0.0, y), Point::at(10.0, 2.0 * y)],
    };
    let panel = Panel { y: axis(Scale::Linear), lines: vec![line(first, 1.0), line(second, 2.0)], marks: vec![] };
    Figure { title: title.into(), subtitle: String::new(), x: axis(Scale::Linear), panels: vec![panel] }
}

/// 3.5 inches of 96 pixels are 336. The longest words are 24 pixels narrower by the estimate that the page uses: 0.56 of 10.
#[test]
fn a_figure_has_the_width_that_is_asked_for() {
    for width_px in [336.0, 687.0, 800.0, 1200.0] {
        let text = svg_of_width(&two_lines("a", "b", &"long title ".repeat(40)), width_px);
        let document = Document::parse(&text).unwrap();
        let root = document.root_element();
        assert!((number(root, "width") - width_px).abs() < 1e-9);
        for plot in root.children().filter(|node| node.has_tag_name("svg")) {
            assert!(number(plot, "x") + number(plot, "width") <= width_px);
        }
        let heading = root.children().find(|node| node.attribute("font-weight") == Some("bold")).unwrap();
        let (words, size) = (heading.text().unwrap(), number(heading, "font-size"));
        assert!(words.ends_with('\u{2026}') && size >= 10.0);
        assert!((words.chars().count() as f64) < (width_px - 24.0) / (0.31 * size), "{words}");
    }
    let text = svg(&two_lines("a", "b", "short"));
    assert!(text.contains("font-size=\"15\" font-weight=\"bold\">short<"), "{text}");
}

/// Two sockets of one algorithm: the same colour, and one entry in the legend.
#[test]
fn lines_of_one_label_share_colour_and_entry() {
    let text = svg(&two_lines("cubic", "cubic", "t"));
    let document = Document::parse(&text).unwrap();
    let words = document.descendants().filter(Node::is_text).filter(|node| node.text() == Some("cubic")).count();
    assert_eq!(words, 1);
    let lines = document.descendants().filter(|node| node.attribute("class") == Some("line"));
    let colours: Vec<_> = lines.map(|line| line.attribute("stroke").unwrap().to_owned()).collect();
    assert_eq!(colours, ["#0072b2", "#0072b2"]);
}
