// SPDX-License-Identifier: GPL-2.0-only
//! Reno with appropriate byte counting: RFC 5681 sections 3.1 and 3.2, RFC 3465 section 2.2.

use crate::tcp::{Law, Tcp, Values};

#[derive(Clone)]
pub struct Reno {
    /// L: most packets that an ACK may add in slow start.
    limit: Option<f64>,
}

impl Reno {
    pub fn new(values: &Values) -> Self {
        Self { limit: Some(values.get("abc_limit_pkts")).filter(|limit| *limit > 0.0) }
    }
}

impl Law for Reno {
    fn grow(&mut self, tcp: &mut Tcp, acked: f64) {
        if !tcp.is_limited() {
            return;
        }
        let mut left = acked;
        if tcp.in_slow_start() {
            tcp.took("slow start");
            if let Some(limit) = self.limit.filter(|limit| *limit < acked) {
                tcp.took("more than L acknowledged");
                tcp.slow_start(limit);
                return;
            }
            left = tcp.slow_start(acked);
        }
        if left > 0.0 {
            tcp.took("avoidance");
            tcp.reno(left);
        }
    }

    fn ssthresh(&mut self, tcp: &mut Tcp) -> f64 {
        tcp.half()
    }
}
