//! Time series: columns with units, the files they are kept in, the pictures drawn of them.
//!
//! A trace of a live socket and a run of the lab are both a [`Table`]; both are drawn as a [`Figure`].

mod figure;
mod file;
mod svg;
mod table;

pub use figure::{Axis, Figure, Line, Mark, Matrix, Panel, Point, Scale, Style};
pub use file::{read, write, FileError, Writer};
pub use svg::{matrix_svg, svg};
pub use table::{Column, Table, TableError, Value, Values};
