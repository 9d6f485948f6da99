// SPDX-License-Identifier: GPL-2.0-only
//! The page of an output folder: what ran, what came out, pictures of it; and tables for other programs.
//!
//! ```text
//! index.html                  everything on one page
//! figures/*.svg               each picture of it
//! measures.csv                a row for each measure of each point: mean, error, interval
//! runs.csv                    a row for each measure of each run
//! ```

mod compare;
mod evolution;
mod number;
mod page;
mod reproduction;
mod side_by_side;
mod sweep;
mod tables;
mod tolerance;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use ccctl_series::{matrix_svg, read_regular, read_regular_text, svg, Figure, Link, Matrix, Page, Part};

use crate::run::{create_anew, load, summarise, RunError, Summary};
use crate::scenario::Scenario;

pub use compare::{compare, compare_page, Comparison, Difference, Side, Verdict};
pub use number::{estimate, with_unit as measure_with_unit};
pub use reproduction::{
    answer as reproduction_answer, read_notes, reproduction, statement_ids, Note, NotesError, Record, Reproduced,
};
pub use side_by_side::side_by_side;
pub use tolerance::Tolerances;

/// The file with the command that made a folder.
const COMMAND: &str = "command.txt";
const COMMAND_BYTES_MAX: u64 = 1 << 20;

/// A picture, the name of its file without ending, and the files that have its values.
#[derive(Debug, Clone)]
struct Picture {
    name: String,
    drawing: Drawing,
    /// What they are called, such as the measure; and the files.
    data: (String, Vec<Link>),
}

#[derive(Debug, Clone)]
enum Drawing {
    Figure(Figure),
    Matrix(Matrix),
}

impl Picture {
    fn figure(name: impl Into<String>, figure: Figure) -> Self {
        Self { name: file_name(&name.into()), drawing: Drawing::Figure(figure), data: (String::new(), Vec::new()) }
    }

    fn matrix(name: impl Into<String>, matrix: Matrix) -> Self {
        Self { name: file_name(&name.into()), drawing: Drawing::Matrix(matrix), data: (String::new(), Vec::new()) }
    }

    /// With the files of the folder that have its values.
    fn with_data(self, label: impl Into<String>, paths: impl IntoIterator<Item = String>) -> Self {
        let link = |path: String| Link { name: path.rsplit('/').next().unwrap_or_default().to_owned(), path };
        Self { data: (label.into(), paths.into_iter().map(link).collect()), ..self }
    }

    fn svg(&self) -> String {
        match &self.drawing {
            Drawing::Figure(figure) => svg(figure),
            Drawing::Matrix(matrix) => matrix_svg(matrix),
        }
    }

    /// On the page of its folder: with links to its values and its file.
    fn parts(self) -> Vec<Part> {
        let (label, mut links) = self.data.clone();
        let path = format!("figures/{}.svg", self.name);
        links.push(Link { name: "figure as SVG".to_owned(), path });
        vec![self.part(), Part::Links { label, links }]
    }

    fn part(self) -> Part {
        match self.drawing {
            Drawing::Figure(figure) => Part::Figure(figure),
            Drawing::Matrix(matrix) => Part::Matrix(matrix),
        }
    }
}

/// Letters, digits and dashes of a text.
fn file_name(text: &str) -> String {
    let dashed: String = text.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' }).collect();
    let words: Vec<&str> = dashed.split('-').filter(|word| !word.is_empty()).collect();
    words.join("-")
}

/// What the page is made of.
struct Content<'a> {
    scenario: &'a Scenario,
    summary: &'a Summary,
    command: Option<String>,
    checks: Vec<Part>,
    sweeps: Vec<Picture>,
    runs: evolution::Runs,
}

/// Writes a page as HTML.
#[must_use]
pub fn html(page: &Page) -> String {
    ccctl_series::page(page)
}

/// Writes the pictures of a page as files `1.svg`, `2.svg`, and gives their titles.
pub fn write_pictures(page: &Page, folder: &Path) -> Result<Vec<String>, RunError> {
    fs::create_dir_all(folder).map_err(RunError::io("create", folder))?;
    let mut titles = Vec::new();
    for figure in figures(&page.parts) {
        titles.push(figure.title.clone());
        write_file(&folder.join(titles.len().to_string()).with_extension("svg"), svg(figure).as_bytes())?;
    }
    Ok(titles)
}

/// Those in groups, too.
fn figures(parts: &[Part]) -> Vec<&Figure> {
    let mut found = Vec::new();
    for part in parts {
        match part {
            Part::Figure(figure) => found.push(figure),
            Part::Group { parts, .. } => found.extend(figures(parts)),
            _ => {}
        }
    }
    found
}

/// Keeps the command for the page.
pub fn keep_command(root: &Path, command: &str) -> Result<(), RunError> {
    write_file(&root.join(COMMAND), format!("{command}\n").as_bytes())
}

/// Takes the command over from a shard.
pub fn copy_command(from: &Path, to: &Path) -> Result<(), RunError> {
    match read_regular(&from.join(COMMAND), COMMAND_BYTES_MAX) {
        Ok(command) => write_file(&to.join(COMMAND), &command),
        Err(_) => Ok(()), // the page does without
    }
}

/// Draws everything that a folder's runs have to show, and gives the path of the page.
pub fn report(root: &Path) -> Result<PathBuf, RunError> {
    report_of_test(root, Vec::new())
}

/// The same, below what was checked besides.
pub fn report_of_test(root: &Path, checks: Vec<Part>) -> Result<PathBuf, RunError> {
    let scenario = load(root)?;
    let summary = summarise(root, &scenario)?;
    let command = read_regular_text(&root.join(COMMAND), COMMAND_BYTES_MAX).ok().map(|text| text.trim().to_owned());
    let content = Content {
        scenario: &scenario,
        summary: &summary,
        command,
        checks,
        sweeps: sweep::pictures(&summary),
        runs: evolution::runs(root, &scenario)?,
    };
    write_figures(&root.join("figures"), &content)?;
    tables::write(root, &summary)?;
    let path = root.join("index.html");
    write_file(&path, ccctl_series::page(&page::page(content)).as_bytes())?;
    Ok(path)
}

fn write_figures(folder: &Path, content: &Content<'_>) -> Result<(), RunError> {
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(RunError::io("remove", folder))?;
    }
    fs::create_dir_all(folder).map_err(RunError::io("create", folder))?;
    for picture in content.sweeps.iter().chain(content.runs.pictures()) {
        write_file(&folder.join(&picture.name).with_extension("svg"), picture.svg().as_bytes())?;
    }
    Ok(())
}

/// Writes a file: it has its name when all of it is there.
fn write_file(path: &Path, data: &[u8]) -> Result<(), RunError> {
    let mut until_then = path.as_os_str().to_owned();
    until_then.push(".part");
    let until_then = PathBuf::from(until_then);
    let written = create_anew(&until_then).and_then(|mut file| file.write_all(data));
    written.map_err(RunError::io("write", &until_then))?;
    fs::rename(&until_then, path).map_err(RunError::io("write", path))
}
