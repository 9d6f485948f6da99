// SPDX-License-Identifier: GPL-2.0-only
//! What the kernel says of a connection, in the laboratory's units.

use std::io;
use std::net::TcpStream;

use ccctl_catalog::kernel::{TCP_CLOSE, TCP_INFINITE_SSTHRESH};
use ccctl_testbed::tcp_info;

/// `TCP_CLOSE_WAIT`: the other side has ended, and the kernel has counted its FIN as a byte.
const ENDED: u8 = 8;

/// A connection at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Moment {
    pub(super) is_closed: bool,
    pub(super) ca_state: u8,
    pub(super) cwnd_pkts: u32,
    pub(super) ssthresh_pkts: Option<u32>,
    pub(super) srtt_us: u32,
    pub(super) in_flight_pkts: u32,
    pub(super) pipe_pkts: u32,
    pub(super) unsent_bytes: u32,
    pub(super) received_bytes: u64,
    pub(super) delivered_pkts: u32,
    pub(super) delivered_ce_pkts: u32,
    pub(super) data_segments_sent_pkts: u32,
    pub(super) retransmits_pkts: u32,
    pub(super) timeouts: u16,
    /// Acknowledged, the SYN included.
    pub(super) acked_bytes: u64,
    /// Sent for the first time.
    pub(super) new_bytes: u64,
}

/// Asks for it.
pub(super) fn moment(stream: &TcpStream) -> io::Result<Moment> {
    let info = tcp_info(stream)?;
    let pipe_pkts = (info.tcpi_unacked + info.tcpi_retrans).saturating_sub(info.tcpi_sacked + info.tcpi_lost);
    Ok(Moment {
        is_closed: u32::from(info.tcpi_state) == TCP_CLOSE,
        ca_state: info.tcpi_ca_state,
        cwnd_pkts: info.tcpi_snd_cwnd,
        ssthresh_pkts: Some(info.tcpi_snd_ssthresh).filter(|pkts| *pkts < TCP_INFINITE_SSTHRESH),
        srtt_us: info.tcpi_rtt,
        in_flight_pkts: info.tcpi_unacked,
        pipe_pkts, // tcp_packets_in_flight
        unsent_bytes: info.tcpi_notsent_bytes,
        received_bytes: info.tcpi_bytes_received - u64::from(info.tcpi_state == ENDED),
        delivered_pkts: info.tcpi_delivered,
        delivered_ce_pkts: info.tcpi_delivered_ce,
        data_segments_sent_pkts: info.tcpi_data_segs_out,
        retransmits_pkts: info.tcpi_total_retrans,
        timeouts: info.tcpi_total_rto,
        acked_bytes: info.tcpi_bytes_acked,
        new_bytes: info.tcpi_bytes_sent.saturating_sub(info.tcpi_bytes_retrans),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;

    /// Over loopback, without losses: what is known of such a connection.
    #[test]
    fn a_connection_is_what_is_known_of_it() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut receiver, _) = listener.accept().unwrap();
        for _ in 0..10 {
            sender.write_all(&[1; 1000]).unwrap();
            receiver.read_exact(&mut [0; 1000]).unwrap();
        }
        let (sent, arrived) = (moment(&sender).unwrap(), moment(&receiver).unwrap());
        assert_eq!(arrived.received_bytes, 10_000);
        assert!(!sent.is_closed && sent.cwnd_pkts >= 10 && sent.srtt_us > 0, "{sent:?}");
        assert_eq!((sent.ca_state, sent.retransmits_pkts, sent.timeouts, sent.unsent_bytes), (0, 0, 0, 0));
        assert!((1..=10).contains(&sent.data_segments_sent_pkts), "{sent:?}");
        assert!(sent.delivered_pkts + sent.in_flight_pkts >= sent.data_segments_sent_pkts, "{sent:?}");
        assert_eq!(sent.ssthresh_pkts, None);
        assert_eq!(sent.new_bytes, 10_000);
        assert!(sent.acked_bytes <= 10_001);
        sender.shutdown(std::net::Shutdown::Write).unwrap();
        assert_eq!(receiver.read(&mut [0]).unwrap(), 0);
        assert_eq!(moment(&receiver).unwrap().received_bytes, 10_000);
    }
}
