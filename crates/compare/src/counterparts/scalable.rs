// SPDX-License-Identifier: GPL-2.0-only
//! `tcp_scalable.c` keeps no state.

use super::all;
use crate::counterpart::Counterpart;

pub const TWIN: Counterpart = Counterpart {
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
