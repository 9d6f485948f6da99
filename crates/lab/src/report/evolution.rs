// SPDX-License-Identifier: GPL-2.0-only
//! Pictures of runs over time: the first repeat of each point.

use std::path::Path;

use ccctl_series::columns;
use ccctl_series::{Axis, Figure, Line, Mark, Panel, Point, Scale, Style, Table};

use super::{Drawing, Picture};
use crate::experiment::Point as GridPoint;
use crate::run::{flow_series, link_series, load, read_record, RunError, UnitId, UnitRecord};
use crate::scenario::Scenario;

/// So many flows have lines of their own; of more, each group has one.
const MAX_FLOWS: usize = 8;
/// Values of all lines together, so that the page opens fast.
const MAX_VALUES: usize = 150_000;
/// A line has at least
const MIN_OF_LINE: usize = 100;
/// and at most so many values.
const MAX_OF_LINE: usize = 1000;

/// Losses of so many flows are marked apart; each flow has two kinds of marks, and a figure tells four apart.
const MAX_MARKED: usize = 2;
/// Two marks of a kind that are closer than this part of the run cannot be told apart.
const MARKS_MOST: f64 = 400.0;
/// More files are linked as their folder.
const MAX_FILES: usize = 8;

/// What there is to show of runs.
pub struct Runs {
    /// Each with its title.
    pub shown: Vec<(String, Picture)>,
    /// Points whose first repeat is there, but not on the page.
    pub left_out: usize,
}

impl Runs {
    pub fn pictures(&self) -> impl Iterator<Item = &Picture> {
        self.shown.iter().map(|(_, picture)| picture)
    }
}

/// Draws the first repeat of each point, as far as there is room.
pub fn runs(root: &Path, scenario: &Scenario) -> Result<Runs, RunError> {
    let of_point = |point: &GridPoint| {
        let flows: usize = point.setup.groups.iter().map(|group| group.schedule.len()).sum();
        let lines = if flows <= MAX_FLOWS { flows } else { point.setup.groups.len() };
        2 * lines + point.setup.links.len()
    };
    let lines: usize = scenario.points.iter().map(of_point).sum();
    let values = (MAX_VALUES / lines.max(1)).clamp(MIN_OF_LINE, MAX_OF_LINE);
    let (mut shown, mut left, mut left_out) = (Vec::new(), MAX_VALUES, 0);
    for point in &scenario.points {
        let id = UnitId { point: point.index, repeat: 0 };
        let Some(record) = read_record(root, id)? else { continue };
        let needed = of_point(point) * values;
        if needed > left {
            left_out += 1;
            continue;
        }
        let run = Run { root, scenario, point, id, record: &record, values };
        let Some(figure) = run.figure()? else { continue };
        left -= needed;
        let label = scenario.label(&point.position);
        let title = if label.is_empty() { "the run".to_owned() } else { label };
        let picture = Picture::figure(format!("run {}", id.name()), figure);
        shown.push((title, picture.with_data("values", run.files())));
    }
    Ok(Runs { shown, left_out })
}

/// The first repeats that both folders have, each pair on one set of axes; lines have the labels of their folders.
pub fn both(first: (&Path, &str), second: (&Path, &str)) -> Result<Runs, RunError> {
    let of = |root: &Path| runs(root, &load(root)?);
    let (of_first, of_second) = (of(first.0)?, of(second.0)?);
    let mut both = Runs { shown: Vec::new(), left_out: of_first.left_out.max(of_second.left_out) };
    for (title, picture) in of_first.shown {
        let Some((_, other)) = of_second.shown.iter().find(|(other, _)| *other == title) else { continue };
        let Some(figure) = joined((&picture, first.1), (other, second.1)) else { continue };
        both.shown.push((title, Picture::figure(picture.name, figure)));
    }
    Ok(both)
}

/// Lines of the second are dashed.
fn joined(first: (&Picture, &str), second: (&Picture, &str)) -> Option<Figure> {
    let (Drawing::Figure(one), Drawing::Figure(other)) = (&first.0.drawing, &second.0.drawing) else { return None };
    let mut figure = one.clone();
    for (panel, of_other) in figure.panels.iter_mut().zip(&other.panels) {
        let dashed = of_other.lines.iter().map(|line| Line { style: Style::Dashed, ..line.clone() });
        let labelled = |line: Line, label: &str| Line { label: format!("{}, {label}", line.label), ..line };
        let lines = std::mem::take(&mut panel.lines).into_iter().map(|line| labelled(line, first.1));
        panel.lines = lines.chain(dashed.map(|line| labelled(line, second.1))).collect();
        let marked = |mark: &Mark, label: &str| Mark { label: format!("{}, {label}", mark.label), ..mark.clone() };
        let of_first = panel.marks.iter().map(|mark| marked(mark, first.1));
        panel.marks = of_first.chain(of_other.marks.iter().map(|mark| marked(mark, second.1))).collect();
    }
    Some(figure)
}

struct Run<'a> {
    root: &'a Path,
    scenario: &'a Scenario,
    point: &'a GridPoint,
    id: UnitId,
    record: &'a UnitRecord,
    values: usize,
}

/// A flow, or the mean of a group.
struct Course {
    label: String,
    cwnd: Vec<Point>,
    rate: Vec<Point>,
    /// When losses of a window began, and when the retransmission timer fired.
    losses: Vec<f64>,
    timeouts: Vec<f64>,
}

impl Run<'_> {
    /// None where no series were kept.
    fn figure(&self) -> Result<Option<Figure>, RunError> {
        let courses = self.courses()?;
        if courses.is_empty() {
            return Ok(None);
        }
        let line = |label: &str, points: Vec<Point>| Line { label: label.to_owned(), style: Style::Straight, points };
        let windows = courses.iter().map(|it| line(&it.label, thinned(&it.cwnd, self.values))).collect();
        let rates = courses.iter().map(|it| line(&it.label, it.rate.clone())).collect();
        let mut queues = Vec::new();
        for link in &self.point.setup.links {
            let Some(path) = link_series(self.root, self.id, &link.name) else { continue };
            let queue = points(&ccctl_series::read(&path)?, columns::QUEUE_PKTS.name);
            queues.push(line(&format!("queue of {}", link.name), thinned(&queue, self.values)));
        }
        let duration_s = self.point.setup.duration.as_secs_f64();
        let marks = marks(&courses, duration_s / MARKS_MOST);
        let panel = |label: &str, unit: &str, lines: Vec<Line>| Panel {
            y: Axis { label: label.to_owned(), unit: unit.to_owned(), scale: Scale::Linear },
            lines,
            marks: Vec::new(),
        };
        let place = self.scenario.label(&self.point.position);
        let of = if courses.iter().any(|it| it.label.contains("flows")) { "mean of each group" } else { "each flow" };
        let seed = format!("first repeat, seed {}; {of}", self.record.seed);
        Ok(Some(Figure {
            title: if place.is_empty() { self.scenario.title.clone() } else { place },
            subtitle: seed,
            x: Axis { label: "time".to_owned(), unit: "s".to_owned(), scale: Scale::Linear },
            panels: vec![
                Panel { marks, ..panel("cwnd", "packets", windows) },
                panel("goodput", "Mbit/s", rates),
                panel("queue", "packets", queues),
            ],
        }))
    }

    fn courses(&self) -> Result<Vec<Course>, RunError> {
        let mut of_groups: Vec<(String, Vec<Course>)> = Vec::new();
        for flow in &self.record.flows {
            let Some(path) = flow_series(self.root, self.id, &flow.group, flow.number) else { continue };
            let table = ccctl_series::read(&path)?;
            let course = Course {
                label: format!("{} {} ({})", flow.group, flow.number, flow.algorithm),
                cwnd: points(&table, columns::CWND_PKTS.name),
                rate: rates(&table, self.rate_every_s()),
                losses: rises(&points(&table, columns::LOSS_EPOCHS.name)),
                timeouts: rises(&points(&table, columns::TIMEOUTS.name)),
            };
            match of_groups.iter_mut().find(|(group, _)| *group == flow.group) {
                Some((_, courses)) => courses.push(course),
                None => of_groups.push((flow.group.clone(), vec![course])),
            }
        }
        if self.record.flows.len() <= MAX_FLOWS {
            let alone = of_groups.iter().map(|(group, courses)| (group.clone(), courses.len() == 1));
            let alone: Vec<(String, bool)> = alone.collect();
            let named = of_groups.into_iter().zip(alone).flat_map(|((_, courses), (group, is_alone))| {
                courses.into_iter().map(move |mut course| {
                    if is_alone {
                        course.label = course.label.replacen(&format!("{group} 1 "), &format!("{group} "), 1);
                    }
                    course
                })
            });
            return Ok(named.collect());
        }
        Ok(of_groups.into_iter().filter_map(|(group, courses)| mean_course(&group, &courses)).collect())
    }

    /// The series of this run, by their path in the folder.
    fn files(&self) -> Vec<String> {
        let flows = self.record.flows.iter().filter_map(|it| flow_series(self.root, self.id, &it.group, it.number));
        let links = self.point.setup.links.iter().filter_map(|link| link_series(self.root, self.id, &link.name));
        let of_folder = |path: std::path::PathBuf| Some(path.strip_prefix(self.root).ok()?.to_str()?.to_owned());
        let files: Vec<String> = flows.chain(links).filter_map(of_folder).collect();
        match files.first().and_then(|file| file.rsplit_once('/')) {
            Some((folder, _)) if files.len() > MAX_FILES => vec![folder.to_owned()],
            _ => files,
        }
    }

    /// Long enough for a line of the page.
    fn rate_every_s(&self) -> f64 {
        let setup = &self.point.setup;
        let shown = setup.duration.as_secs_f64() / self.values as f64;
        setup.rate_interval.as_secs_f64().max(shown)
    }
}

/// A mean over the flows of a group; they are sampled at the same times.
fn mean_course(group: &str, courses: &[Course]) -> Option<Course> {
    let mean = |of: fn(&Course) -> &Vec<Point>| {
        let rows = courses.iter().map(|course| of(course).len()).min().unwrap_or_default();
        let point = |row: usize| {
            let sum: f64 = courses.iter().map(|course| of(course)[row].y).sum();
            Point::at(of(&courses[0])[row].x, sum / courses.len() as f64)
        };
        (0..rows).map(point).collect::<Vec<_>>()
    };
    let first = courses.first()?;
    let algorithm = first.label.rsplit_once(" (").map_or("", |(_, name)| name.trim_end_matches(')'));
    let label = format!("{group}: {} flows ({algorithm})", courses.len());
    let all = |of: fn(&Course) -> &Vec<f64>| courses.iter().flat_map(of).copied().collect();
    let (losses, timeouts) = (all(|it| &it.losses), all(|it| &it.timeouts));
    Some(Course { label, cwnd: mean(|it| &it.cwnd), rate: mean(|it| &it.rate), losses, timeouts })
}

/// When a counter is more than before.
fn rises(counter: &[Point]) -> Vec<f64> {
    counter.windows(2).filter(|pair| pair[1].y > pair[0].y).map(|pair| pair[1].x).collect()
}

/// Losses and timeouts, flow by flow where few have any, and no two of a kind closer than this.
fn marks(courses: &[Course], apart_s: f64) -> Vec<Mark> {
    let is_few = courses.len() <= MAX_MARKED;
    let label =
        |what: &str, course: &Course| if is_few { format!("{what}, {}", course.label) } else { what.to_owned() };
    let of_course = |course: &Course| {
        let losses = course.losses.iter().map(|x| Mark { x: *x, label: label("loss", course) });
        let timeouts = course.timeouts.iter().map(|x| Mark { x: *x, label: label("timeout", course) });
        losses.chain(timeouts).collect::<Vec<_>>()
    };
    let mut marks: Vec<Mark> = courses.iter().flat_map(of_course).collect();
    // In the order in which they were found, so that a flow keeps its shape; in each kind, by time.
    let mut kinds: Vec<String> = Vec::new();
    for mark in &marks {
        if !kinds.contains(&mark.label) {
            kinds.push(mark.label.clone());
        }
    }
    let rank = |mark: &Mark| kinds.iter().position(|kind| *kind == mark.label);
    marks.sort_by(|a, b| rank(a).cmp(&rank(b)).then(a.x.total_cmp(&b.x)));
    marks.dedup_by(|next, kept| next.label == kept.label && next.x - kept.x < apart_s);
    marks
}

/// A column over time.
fn points(table: &Table, column: &str) -> Vec<Point> {
    let (Some(times), Some(column)) = (table.column(columns::TIME_S.name), table.column(column)) else {
        return Vec::new();
    };
    let number = |column: &ccctl_series::Column, row| column.values.get(row).and_then(|value| value.number());
    let point = |row| Some(Point::at(number(times, row)?, number(column, row)?));
    (0..table.rows()).filter_map(point).collect()
}

/// Mean rates over intervals, in Mbit/s, each at the end of its interval.
fn rates(table: &Table, every_s: f64) -> Vec<Point> {
    let received = points(table, columns::RECEIVED_BYTES.name);
    let mut rates = Vec::new();
    let Some(mut from) = received.first().copied() else { return rates };
    for at in received {
        let length_s = at.x - from.x;
        // Times are whole microseconds.
        if length_s + 1e-6 < every_s {
            continue;
        }
        rates.push(Point::at(at.x, 8e-6 * (at.y - from.y) / length_s));
        from = at;
    }
    rates
}

/// So many points, with the lowest and the highest of each stretch.
fn thinned(points: &[Point], count: usize) -> Vec<Point> {
    if points.len() <= count {
        return points.to_vec();
    }
    let stretch = (2 * points.len()).div_ceil(count);
    let ends = |points: &[Point]| {
        let lowest = points.iter().copied().min_by(|a, b| a.y.total_cmp(&b.y));
        let highest = points.iter().copied().max_by(|a, b| a.y.total_cmp(&b.y));
        let mut ends: Vec<Point> = lowest.into_iter().chain(highest).collect();
        ends.sort_by(|a, b| a.x.total_cmp(&b.x));
        ends
    };
    points.chunks(stretch).flat_map(ends).collect()
}

#[cfg(test)]
mod tests {
    use ccctl_series::{Column, Values};

    use super::*;

    #[test]
    fn peaks_survive_where_points_are_left_out() {
        let mut points: Vec<Point> = (0..1000).map(|at| Point::at(f64::from(at), 10.0)).collect();
        points[501].y = 99.0;
        points[502].y = 1.0;
        let few = thinned(&points, 100);
        assert!(few.len() <= 100);
        assert!(few.iter().any(|point| (point.x, point.y) == (501.0, 99.0)));
        assert!(few.iter().any(|point| (point.x, point.y) == (502.0, 1.0)));
        assert!(few.windows(2).all(|pair| pair[0].x <= pair[1].x));
    }

    /// Counters of two flows: the first loses at 2 s and, too close to see apart, at 2.1 s; the second at 1 s, by a timeout.
    #[test]
    fn losses_are_marked_where_the_counters_rise() {
        let counter =
            |values: [f64; 4]| [1.0, 2.0, 2.1, 3.0].iter().zip(values).map(|(x, y)| Point::at(*x, y)).collect();
        let course = |label: &str, losses: [f64; 4], timeouts: Vec<f64>| {
            let counter: Vec<Point> = counter(losses);
            Course { label: label.into(), cwnd: vec![], rate: vec![], losses: rises(&counter), timeouts }
        };
        let flows = [course("a", [0.0, 1.0, 2.0, 2.0], vec![]), course("b", [0.0; 4], vec![1.0])];
        let told =
            |courses: &[Course]| marks(courses, 0.5).into_iter().map(|mark| (mark.label, mark.x)).collect::<Vec<_>>();
        assert_eq!(told(&flows), [("loss, a".to_owned(), 2.0), ("timeout, b".to_owned(), 1.0)]);
        let others = [course("c", [0.0, 0.0, 0.0, 1.0], vec![]), course("d", [0.0; 4], vec![])];
        let four: Vec<Course> = flows.into_iter().chain(others).collect();
        assert_eq!(told(&four), [("loss".to_owned(), 2.0), ("loss".to_owned(), 3.0), ("timeout".to_owned(), 1.0)]);
    }

    /// 125 000 bytes in half a second are 2 Mbit/s; then nothing; a rest that is too short for a mean is left out.
    #[test]
    fn rates_are_means_over_intervals() {
        let mut table = Table::default();
        let mut add = |name: &str, values| {
            table.add(Column { name: name.into(), unit: String::new(), values }).unwrap();
        };
        add("time_s", Values::Float([0.0, 0.25, 0.5, 1.0, 1.25].map(Some).to_vec()));
        add("received_bytes", Values::Integer([0, 100_000, 125_000, 125_000, 125_000].map(Some).to_vec()));
        let rates: Vec<(f64, f64)> = rates(&table, 0.5).iter().map(|point| (point.x, point.y)).collect();
        assert_eq!(rates, [(0.5, 2.0), (1.0, 0.0)]);
    }
}
