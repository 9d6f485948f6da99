// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a picture shows, before anything is drawn.

/// A picture: panels under each other that share their horizontal axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// What it shows, in one line.
    pub title: String,
    /// Where, when, with what: smaller, under the title; may be empty.
    pub subtitle: String,
    /// Horizontal, shared by all panels.
    pub x: Axis,
    /// From the top.
    pub panels: Vec<Panel>,
}

/// An axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// What it measures.
    pub label: String,
    /// In what unit; may be empty.
    pub unit: String,
    /// How values are spread.
    pub scale: Scale,
}

/// How the values of an axis are spread.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Scale {
    /// Equal differences, equal distances. From zero unless that wastes most of the panel.
    #[default]
    Linear,
    /// Linear, and no further than from the first to the second: nothing of the kind can be beyond, such as a share of
    /// more than 100 %. Error bars end there.
    Within(f64, f64),
    /// Equal ratios, equal distances.
    Logarithmic,
    /// One place for each of these words, in this order; values are 0, 1, 2 ...
    Names(Vec<String>),
}

/// Lines over one vertical axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    /// Vertical.
    pub y: Axis,
    /// What is drawn.
    pub lines: Vec<Line>,
    /// Moments worth seeing.
    pub marks: Vec<Mark>,
}

/// A line, or a set of points.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// As the legend names it.
    pub label: String,
    /// How it is drawn.
    pub style: Style,
    /// From the left.
    pub points: Vec<Point>,
}

/// A place on a panel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Horizontal.
    pub x: f64,
    /// Vertical.
    pub y: f64,
    /// Half the length of its error bar; zero without one.
    pub error: f64,
}

/// How a line is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Style {
    /// Point to point.
    #[default]
    Straight,
    /// Each value holds until the next.
    Steps,
    /// Points only.
    Points,
    /// Point to point, dashed: a reference, such as a paper's values.
    Dashed,
    /// Bars from zero.
    Bars,
}

/// A moment: a loss, a timeout, a change of state.
#[derive(Debug, Clone, PartialEq)]
pub struct Mark {
    /// When.
    pub x: f64,
    /// What, as the legend names it; marks of one label share one colour.
    pub label: String,
}

impl Point {
    /// A point without an error bar.
    #[must_use]
    pub fn at(x: f64, y: f64) -> Self {
        Self { x, y, error: 0.0 }
    }
}

/// Another kind of picture: a value for each pair of a row and a column, such as what two algorithms do to each other.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Matrix {
    /// What it shows, in one line.
    pub title: String,
    /// Where, when, with what; may be empty.
    pub subtitle: String,
    /// What the rows are: "first flow".
    pub row_label: String,
    /// Their names, from the top.
    pub rows: Vec<String>,
    /// What the columns are.
    pub column_label: String,
    /// Their names, from the left.
    pub columns: Vec<String>,
    /// What the values are.
    pub value_label: String,
    /// In what unit; may be empty.
    pub value_unit: String,
    /// A list a row, a value a column; none where nothing was measured.
    pub values: Vec<Vec<Option<f64>>>,
    /// The value that is neither one nor the other and stays white, such as zero for an asymmetry.
    pub middle: Option<f64>,
    /// The values of the strongest colours; those of the data if none.
    pub range: Option<(f64, f64)>,
}
