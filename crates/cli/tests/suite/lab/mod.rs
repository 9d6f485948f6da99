// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl lab`, which is another program. Needs no privileges.

mod dispatch;
