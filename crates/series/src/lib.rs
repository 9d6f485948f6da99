// SPDX-License-Identifier: MIT OR Apache-2.0
//! Time series: columns with units, the files they are kept in, the pictures drawn of them.
//!
//! A trace of a live socket and a run of the lab are both a [`Table`]; both are drawn as a [`Figure`].

pub mod columns;
mod figure;
mod file;
mod page;
mod svg;
mod table;
mod unit;

pub use figure::{Axis, Figure, Line, Mark, Matrix, Panel, Point, Scale, Style};
pub use file::{open_regular, read, read_regular, read_regular_text, write, FileError, Writer};
pub use page::{page, Cell, Grid, Link, Page, Part};
pub use svg::{matrix_svg, svg, svg_of_width};
pub use table::{Column, Table, TableError, Value, Values};
pub use unit::{fixed_point, is_moment, unit_of};
