// SPDX-License-Identifier: MIT OR Apache-2.0
//! One value of one socket, as people read it.

use std::fmt::Write as _;

use ccctl_catalog::is_impossible_window;

use crate::commands::headings;

use ccctl_core::operations::{state_text, Column, Socket, Transport};

const NOTHING: &str = "-";

/// Name and unit of a column.
pub fn header(column: Column) -> &'static str {
    match column {
        Column::State => headings::STATE.full,
        Column::Source => headings::SOURCE.full,
        Column::Destination => headings::DESTINATION.full,
        Column::Algorithm => headings::ALGORITHM.full,
        Column::Process => headings::PROCESS.full,
        Column::Cgroup => headings::CGROUP.full,
        Column::Cwnd => headings::CWND.full,
        Column::Ssthresh => headings::SSTHRESH.full,
        Column::Srtt => headings::SRTT.full,
        Column::MinRtt => "MIN RTT MS",
        Column::Rate => "RATE MBIT/S",
        Column::Retransmits => headings::RETRANSMITS.full,
        Column::InFlight => "IN FLIGHT BYTES",
        Column::Unsent => "UNSENT BYTES",
        Column::CaState => "CA STATE",
        Column::EcnMode => "ECN MODE",
        Column::Netns => headings::NETNS.full,
        Column::Cookie => "COOKIE",
        Column::AlgorithmState => "ALGORITHM'S STATE",
    }
}

/// Appends the value.
pub fn write(column: Column, socket: &Socket, text: &mut String) {
    match column {
        Column::State => text.push_str(&socket.state),
        Column::Source => text.push_str(&socket.source),
        Column::Destination => text.push_str(&socket.destination),
        Column::Netns => text.push_str(&socket.namespace),
        Column::Cgroup => text.push_str(socket.cgroup.as_deref().unwrap_or(NOTHING)),
        Column::Cookie => integer(text, socket.cookie),
        Column::Algorithm => {
            text.push_str(&socket.congestion_control);
            if socket.is_on_old_program {
                text.push_str(" (old program)");
            }
        }
        Column::Process => process(socket, text),
        Column::AlgorithmState => match state_text(socket) {
            state if state.is_empty() => text.push_str(NOTHING),
            state => text.push_str(&state),
        },
        _ => match &socket.transport {
            Some(transport) => measure(column, transport, text),
            None => text.push_str(NOTHING),
        },
    }
}

/// The first one; `--json` has all.
fn process(socket: &Socket, text: &mut String) {
    match socket.owners.as_deref() {
        Some([first, rest @ ..]) => {
            integer(text, first.pid.into());
            text.push('/');
            text.push_str(&first.command);
            if !rest.is_empty() {
                let _ = write!(text, " +{}", rest.len()); // writing to a string cannot fail
            }
        }
        _ => text.push_str(NOTHING),
    }
}

fn measure(column: Column, transport: &Transport, text: &mut String) {
    match column {
        Column::Cwnd => window(text, transport.cwnd_pkts),
        Column::Ssthresh => match transport.ssthresh_pkts {
            Some(pkts) => window(text, pkts),
            None => text.push_str("inf"),
        },
        Column::Srtt => thousandths(text, transport.srtt_us),
        Column::MinRtt => thousandths(text, transport.min_rtt_us),
        Column::Rate => thousandths(text, transport.delivery_rate_bytes_per_s.map(|rate| rate / 125)),
        Column::Retransmits => {
            integer(text, transport.retransmits_in_flight_pkts.into());
            text.push('/');
            integer(text, transport.retransmits_pkts.into());
        }
        Column::InFlight => integer(text, transport.in_flight_bytes.into()),
        Column::Unsent => integer(text, transport.unsent_bytes.into()),
        Column::EcnMode => text.push_str(transport.ecn_mode.name()),
        _ => text.push_str(transport.ca_state.name()),
    }
}

/// One that no algorithm can mean has a mark.
fn window(text: &mut String, pkts: u32) {
    integer(text, pkts.into());
    if is_impossible_window(pkts) {
        text.push('!');
    }
}

/// us as ms, kbit/s as Mbit/s
fn thousandths(text: &mut String, value: Option<u64>) {
    let Some(value) = value else { return text.push_str(NOTHING) };
    integer(text, value / 1000);
    let rest = value % 1000;
    text.push('.');
    for digit in [rest / 100, rest / 10 % 10, rest % 10] {
        text.push(char::from(b'0' + digit as u8));
    }
}

/// Several times as fast as the formatter, which is most of the time that a long table takes.
fn integer(text: &mut String, mut value: u64) {
    let mut digits = [0_u8; 20];
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    digits[start..].iter().for_each(|digit| text.push(char::from(*digit)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_the_formatter_has_them() {
        for value in [0, 7, 10, 999, 1000, 65_535, u64::MAX] {
            let mut text = String::new();
            integer(&mut text, value);
            assert_eq!(text, value.to_string());
        }
        for (us, ms) in [(0, "0.000"), (7, "0.007"), (40_050, "40.050"), (1_000_000, "1000.000")] {
            let mut text = String::new();
            thousandths(&mut text, Some(us));
            assert_eq!(text, ms);
        }
    }
}
