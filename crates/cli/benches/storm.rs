// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an ACK costs the sender when the path has lost many packets at once: S0's question (Even, Li, Leith, `PFLDnet` 2006,
//! figures 1 and 2) on the running kernel.
//!
//! One connection at 250 Mbit/s holds a window, as long as the receiver offers it, over an RTT that makes that the BDP. Then
//! so many packets are lost, every second one, and each ACK of the next round trips is timed by the ACK clock. The mean time
//! between two data packets is 48 us: a sender that takes longer for its ACKs falls behind.
//!
//! `just bench-storm --figure FILE` also draws it.
#![allow(clippy::unwrap_used)] // a benchmark fails by panicking

mod blast;
mod looks;
mod measure;
#[path = "../tests/suite/support/mod.rs"]
mod support;

use std::thread::sleep;
use std::time::Duration;

use blast::{blast, cut_off};
use ccctl_path::{Bounds, Path as EmulatedPath, PathSpec};
use ccctl_series::{svg, Axis, Figure, Line, Panel, Point, Scale, Style};
use ccctl_sim::{BitRate, Limit};
use ccctl_telemetry::{AlgorithmCounts, Clock, PointChoice, Settings};
use ccctl_testbed::{eventually, TcpStates};
use looks::are_meant;
use measure::{figure_file, is_smoke, machine, Sample};

/// S0's.
const ALGORITHM: &str = "htcp";
const RATE_MBIT: u64 = 250;
const PACKET_BYTES: u64 = 1500;
/// Mean time between data packets at that rate: S0's limit.
const SLOW: Duration = Duration::from_micros(48);
/// S0's share of ACKs that took longer: Linux 2.6.6, and with the authors' changes.
const SLOW_IN_2004_PCT: f64 = 53.4;
const SLOW_IMPROVED_PCT: f64 = 0.11;

const WINDOWS_PKTS: [u32; 4] = [500, 1000, 2000, 4000];
const HOLES: [u32; 5] = [0, 1, 10, 100, 1000];
/// So long each ACK is timed after the loss.
const MEASURED_RTTS: u32 = 8;
/// ACKs may come some ms late: what each of them costs is measured, not when it comes.
const LATE: Duration = Duration::from_millis(10);
const SETTLING: Duration = Duration::from_secs(30);

/// One window and one number of holes, over all rounds.
struct Cell {
    window_pkts: u32,
    holes: u32,
    acks: Sample,
    median_us: Sample,
    p99_us: Sample,
    longest_us: Sample,
    slow_pct: Sample,
    invalid: u32,
}

fn main() {
    let rounds = if is_smoke() { 1 } else { 3 };
    let windows = if is_smoke() { &WINDOWS_PKTS[..1] } else { &WINDOWS_PKTS[..] };
    let mut cells: Vec<Cell> =
        windows.iter().flat_map(|window| holes_of(*window).map(|holes| cell(*window, holes))).collect();
    support::test("storms of SACK", 900, || {
        let name = support::default_name(ALGORITHM);
        support::succeeds(&["load", ALGORITHM]);
        for _ in 0..rounds {
            for cell in &mut cells {
                measure(cell, &name);
            }
        }
        support::succeeds(&["unload", &name, "--force"]);
    });
    print(&cells, rounds);
    looks::print();
    if let Some(file) = figure_file() {
        std::fs::write(&file, svg(&figure(&cells))).unwrap();
        println!("\n{} is drawn.", file.display());
    }
}

/// Those that half of a window has room for.
fn holes_of(window_pkts: u32) -> impl Iterator<Item = u32> {
    HOLES.into_iter().filter(move |holes| 2 * holes <= window_pkts)
}

fn cell(window_pkts: u32, holes: u32) -> Cell {
    let none = Sample::default;
    Cell {
        window_pkts,
        holes,
        acks: none(),
        median_us: none(),
        p99_us: none(),
        longest_us: none(),
        slow_pct: none(),
        invalid: 0,
    }
}

/// The RTT at which this window is the BDP.
fn rtt_of(window_pkts: u32) -> Duration {
    Duration::from_nanos(u64::from(window_pkts) * PACKET_BYTES * 8 * 1000 / RATE_MBIT)
}

fn measure(cell: &mut Cell, algorithm: &str) {
    let rtt = rtt_of(cell.window_pkts);
    // The queue holds what a whole window more would be: nothing is lost but what is asked for.
    let usual = PathSpec::new(BitRate::mbit_per_s(RATE_MBIT), rtt, Limit::Packets(cell.window_pkts));
    let path = EmulatedPath::start(&PathSpec { bounds: Bounds::widened_to(LATE), ..usual }).unwrap();
    path.set_routes(&["window".to_owned(), (u64::from(cell.window_pkts) * PACKET_BYTES).to_string()]).unwrap();
    let states = TcpStates::load().unwrap();
    let timed = path.endpoints().affinity().at_endpoints(|| {
        blast(&path, algorithm, 1);
        let holds_its_window = || match states.read(path.endpoints().sender(0)).unwrap().as_slice() {
            [state] if state.cwnd_pkts >= cell.window_pkts => Ok(()),
            others => Err(format!("the window is not there: {others:?}")),
        };
        eventually(SETTLING, holds_its_window).unwrap();
        let timed = timed(&path, &states, cell.holes, algorithm, MEASURED_RTTS * rtt);
        cut_off(&path);
        timed
    });
    let timed = timed.unwrap();
    let report = path.stop().unwrap();
    assert_eq!(report.router.holes_pkts, u64::from(cell.holes));
    if report.is_valid() && timed.has_meant_windows {
        cell.add(&timed.counts);
    } else {
        cell.invalid += 1;
    }
}

/// From the loss on.
struct Timed {
    /// By the clock.
    counts: AlgorithmCounts,
    /// An algorithm can mean each window that was seen.
    has_meant_windows: bool,
}

fn timed(path: &EmulatedPath, states: &TcpStates, holes: u32, algorithm: &str, time: Duration) -> Timed {
    let settings =
        Settings { interfaces: vec!["tun0".to_owned()], point: PointChoice::Auto, slow: Some(SLOW), every_ack: true };
    let mut clock = path.endpoints().sender(0).enter(|| Clock::start(&settings).unwrap()).unwrap();
    path.force_drops(holes);
    let (ticks, mut has_meant_windows) = (20, true);
    for _ in 0..ticks {
        sleep(time / ticks);
        clock.sample().unwrap();
        has_meant_windows &= match states.read(path.endpoints().sender(0)).unwrap().as_slice() {
            [state] => are_meant([state.cwnd_pkts, state.ssthresh_pkts]),
            others => panic!("one connection was expected: {others:?}"),
        };
    }
    let counts = clock.read().unwrap().algorithms.remove(algorithm);
    Timed { counts: counts.unwrap_or_else(|| panic!("no ACK of {algorithm}")), has_meant_windows }
}

impl Cell {
    fn add(&mut self, counts: &AlgorithmCounts) {
        let us = |time: Option<Duration>| time.map_or(0.0, |time| time.as_secs_f64() * 1e6);
        let share_pct = |part: u64, all: u64| 100.0 * part as f64 / all.max(1) as f64;
        let processing = &counts.processing;
        self.acks.add(counts.acks as f64);
        self.median_us.add(us(processing.quantile(0.5)));
        self.p99_us.add(us(processing.quantile(0.99)));
        self.longest_us.add(processing.max_ns as f64 / 1e3);
        self.slow_pct.add(share_pct(processing.slow, processing.count));
    }
}

fn print(cells: &[Cell], rounds: u32) {
    println!(
        "{}; {ALGORITHM}, {RATE_MBIT} Mbit/s, queue of one BDP, {rounds} rounds in turns; median (min to max).\n",
        machine()
    );
    println!("| window, packets | RTT, ms | holes | ACKs | processing: median, us | 99 %, us | longest, us | over 48 us, % | invalid runs |");
    println!("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    for cell in cells {
        let (window, rtt_ms) = (cell.window_pkts, rtt_of(cell.window_pkts).as_millis());
        if cell.acks.count() == 0 {
            println!("| {window} | {rtt_ms} | {} | | | | | | {} |", cell.holes, cell.invalid);
            continue;
        }
        println!(
            "| {window} | {rtt_ms} | {} | {:.0} | {} | {} | {} | {} | {} |",
            cell.holes,
            cell.acks.median(),
            cell.median_us.cell(2),
            cell.p99_us.cell(2),
            cell.longest_us.cell(0),
            cell.slow_pct.cell(3),
            cell.invalid
        );
    }
    println!("\nS0, 4000 packets: {SLOW_IN_2004_PCT} % over 48 us in Linux 2.6.6, {SLOW_IMPROVED_PCT} % with the authors' changes.");
}

fn figure(cells: &[Cell]) -> Figure {
    let panel = |label: &str, of: fn(&Cell) -> &Sample| Panel {
        y: Axis { label: label.to_owned(), unit: "us".to_owned(), scale: Scale::Linear },
        lines: WINDOWS_PKTS.iter().filter_map(|window| line(cells, *window, of)).collect(),
        marks: Vec::new(),
    };
    Figure {
        title: "Time that an ACK takes after a burst of losses".to_owned(),
        subtitle: format!("{ALGORITHM}, {RATE_MBIT} Mbit/s; every second packet lost; {}", machine()),
        x: Axis {
            label: "packets lost".to_owned(),
            unit: String::new(),
            scale: Scale::Names(HOLES.iter().map(u32::to_string).collect()),
        },
        panels: vec![panel("median", |cell| &cell.median_us), panel("99 %", |cell| &cell.p99_us)],
    }
}

fn line(cells: &[Cell], window_pkts: u32, of: fn(&Cell) -> &Sample) -> Option<Line> {
    let of_window = cells.iter().filter(|cell| cell.window_pkts == window_pkts && cell.acks.count() > 0);
    let place = |cell: &Cell| HOLES.iter().position(|holes| *holes == cell.holes).unwrap_or_default() as f64;
    let points: Vec<Point> = of_window.map(|cell| Point::at(place(cell), of(cell).median())).collect();
    (!points.is_empty()).then(|| Line {
        label: format!("window of {window_pkts} packets"),
        style: Style::Straight,
        points,
    })
}
