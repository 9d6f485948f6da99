// SPDX-License-Identifier: GPL-2.0-only
//! `tcp_scalable.c` keeps no state.

use super::all;
use crate::twin::Twin;

pub const TWIN: Twin = Twin {
    name: "scalable",
    map: |_, _| {},
    law: None,
    feed: None,
    compared: &[],
    own_credit: false,
    skip: all,
    answered_by: None,
    rules: &[],
    other: &[],
    notes: &[],
};
