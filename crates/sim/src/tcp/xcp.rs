// SPDX-License-Identifier: GPL-2.0-only
//! XCP's sender: D. Katabi, M. Handley, C. Rohrs, "Congestion control for high bandwidth-delay product networks", ACM SIGCOMM
//! 2002, section 3.3. Losses are TCP's affair, as the paper says: the flow's algorithm reduces the window, and while it does, feedback
//! is ignored.
//!
//! A window is a number of bytes; what goes out is whole packets.

use super::Sender;
use crate::packet::CongestionHeader;

impl Sender {
    /// A bulk sender wants as much as it can get.
    pub(super) fn congestion_header(&self) -> CongestionHeader {
        CongestionHeader {
            cwnd_bytes: self.window_bytes_q8() >> 8,
            rtt_us: self.flow.socket.srtt_us >> 3,
            feedback_bytes_q8: i32::MAX,
        }
    }

    /// cwnd = max(cwnd + `H_feedback`, s)
    pub(super) fn apply_feedback(&mut self, feedback_bytes_q8: i32) {
        let pkt_bytes_q8 = self.pkt_bytes_q8();
        let most_q8 = u64::from(self.flow.socket.snd_cwnd_clamp) * pkt_bytes_q8;
        let window_q8 = self.window_bytes_q8().saturating_add_signed(feedback_bytes_q8.into());
        let window_q8 = window_q8.clamp(pkt_bytes_q8, most_q8);
        self.flow.socket.snd_cwnd = (window_q8 / pkt_bytes_q8) as u32;
        self.xcp_rest_bytes_q8 = window_q8 % pkt_bytes_q8;
    }

    fn window_bytes_q8(&self) -> u64 {
        u64::from(self.flow.socket.snd_cwnd) * self.pkt_bytes_q8() + self.xcp_rest_bytes_q8
    }

    /// s, as routers see it: with headers
    fn pkt_bytes_q8(&self) -> u64 {
        u64::from(self.spec.mss_bytes + self.spec.header_bytes) << 8
    }
}
