// SPDX-License-Identifier: GPL-2.0-only
//! The programs of `xdp/arrival.bpf.c`, compiled natively, over arbitrary frames. Each frame passes unchanged, and is counted and
//! stamped for what a reader that shares nothing with the programs finds in it.

#![allow(unsafe_code)]

#[path = "../../cli/tests/suite/support/packets/reader.rs"]
mod reader;

use std::num::NonZeroUsize;
use std::ptr;
use std::sync::LazyLock;

use ccctl_telemetry::bindings::arrival_counts;
use nix::libc::MAP_32BIT;
use nix::sys::mman::{mmap_anonymous, mprotect, MapFlags, ProtFlags};

const XDP_PASS: i32 = 2;
/// To the next program, whatever it is.
const TC_ACT_UNSPEC: i32 = -1;
/// What tc programs are given in one piece at least, where the packet has it.
const HEADERS_MAX_BYTES: usize = 128;
const STAMP_BYTES: usize = 16;
const STAMP_MAGIC: u32 = 0x6b63_6163;
const NOTE_BITS: u64 = 15;
/// Longest frame: larger than any header that the programs look through.
const FRAME_BYTES_MAX: usize = 4096;
const META_BYTES_MAX: usize = 64;
const PAGE_BYTES: usize = 4096;
const NOW_NS: u64 = 1 << 50;

/// `struct frame_run` of `native/frames.c`.
#[repr(C)]
struct Run {
    frame: *const u8,
    room_end: *mut u8,
    frame_bytes: u32,
    linear_bytes: u32,
    meta_bytes: u32,
    meta: [u8; META_BYTES_MAX],
    now_ns: u64,
    tstamp: u64,
    verdict: i32,
    changed: u32,
    counts: arrival_counts,
}

unsafe extern "C" {
    fn frames_run_xdp(run: *mut Run);
    fn frames_run_tc(run: *mut Run);
    fn frames_run_count(run: *mut Run);
}

/// Address of a page without access, before which there is room for a frame.
static ROOM_END: LazyLock<usize> = LazyLock::new(|| {
    let room = 2 * FRAME_BYTES_MAX;
    let bytes = NonZeroUsize::new(room + PAGE_BYTES).expect("it is not zero");
    let flags = MapFlags::MAP_PRIVATE | MapFlags::from_bits_retain(MAP_32BIT);
    // SAFETY: new memory at an address of the kernel's choice; the page at its end is part of it.
    unsafe {
        let start =
            mmap_anonymous(None, bytes, ProtFlags::PROT_READ | ProtFlags::PROT_WRITE, flags).expect("there is memory");
        let end = start.byte_add(room);
        mprotect(end, PAGE_BYTES, ProtFlags::PROT_NONE).expect("the page is ours");
        end.addr().get()
    }
});

/// How a frame comes: the first four bytes of the input.
struct Arrival<'a> {
    frame: &'a [u8],
    linear_bytes: usize,
    meta: [u8; META_BYTES_MAX],
    meta_bytes: usize,
    tstamp: u64,
}

impl<'a> Arrival<'a> {
    fn of(bytes: &'a [u8]) -> Option<Self> {
        let ([shape, linear, meta, time], frame) = bytes.split_first_chunk()?;
        let frame = &frame[..frame.len().min(FRAME_BYTES_MAX)];
        let linear_bytes = if shape & 1 == 0 { frame.len() } else { frame.len().min(usize::from(*linear)) };
        let mut arrival = Self { frame, linear_bytes, meta: [*meta; META_BYTES_MAX], meta_bytes: 0, tstamp: 0 };
        if shape & 2 != 0 {
            arrival.meta_bytes = usize::from(meta % 9) * 4;
        }
        if shape & 4 != 0 {
            arrival.meta[8..12].copy_from_slice(&STAMP_MAGIC.to_le_bytes());
        }
        arrival.tstamp = match shape >> 3 & 3 {
            0 => 0,
            1 => NOW_NS - u64::from(*time),
            _ => NOW_NS + u64::from(*time),
        };
        Some(arrival)
    }

    fn run(&self, program: unsafe extern "C" fn(*mut Run)) -> Run {
        let mut run = Run {
            frame: self.frame.as_ptr(),
            room_end: ptr::with_exposed_provenance_mut(*ROOM_END),
            frame_bytes: self.frame.len() as u32,
            linear_bytes: self.linear_bytes as u32,
            meta_bytes: self.meta_bytes as u32,
            meta: self.meta,
            now_ns: NOW_NS,
            tstamp: self.tstamp,
            verdict: 0,
            changed: 0,
            counts: arrival_counts::default(),
        };
        // SAFETY: the C side has the same struct; the frame outlives the call, and the room is longer than any frame with metadata.
        unsafe { program(&raw mut run) };
        run
    }

    fn xdp(&self) {
        let run = self.run(frames_run_xdp);
        assert_eq!((run.verdict, run.changed), (XDP_PASS, 0));
        let mut expected = Expected::of(&self.frame[..self.linear_bytes]);
        if let Some(blocks) = expected.blocks {
            if self.meta_bytes < STAMP_BYTES {
                expected.unstamped = 1;
            } else {
                expected.stamped = 1;
                let stamp = &run.meta[self.meta_bytes - STAMP_BYTES..self.meta_bytes];
                let wanted = [&NOW_NS.to_le_bytes()[..], &STAMP_MAGIC.to_le_bytes(), &(blocks as u32).to_le_bytes()];
                assert_eq!(stamp, wanted.concat());
            }
        }
        expected.compare(&run.counts);
    }

    fn tc(&self) {
        let run = self.run(frames_run_tc);
        assert_eq!((run.verdict, run.changed), (TC_ACT_UNSPEC, 0));
        let seen = self.linear_bytes.max(HEADERS_MAX_BYTES).min(self.frame.len());
        let mut expected = Expected::of(&self.frame[..seen]);
        let mut tstamp = self.tstamp;
        if let Some(blocks) = expected.blocks.filter(|_| !self.has_stamp() && (tstamp == 0 || tstamp > NOW_NS)) {
            if tstamp == 0 {
                tstamp = NOW_NS & !NOTE_BITS | blocks as u64;
                expected.stamped = 1;
            } else {
                expected.unstamped = 1;
            }
        }
        assert_eq!(run.tstamp, tstamp);
        expected.compare(&run.counts);
    }

    fn count(&self) {
        let run = self.run(frames_run_count);
        assert_eq!((run.verdict, run.changed, run.tstamp), (TC_ACT_UNSPEC, 0, self.tstamp));
        assert_eq!(run.counts.reached_tc, u64::from(self.has_stamp()));
    }

    fn has_stamp(&self) -> bool {
        self.meta_bytes >= STAMP_BYTES && self.meta[8..12] == STAMP_MAGIC.to_le_bytes()
    }
}

/// What is counted of a frame.
struct Expected {
    blocks: Option<usize>,
    stamped: u64,
    unstamped: u64,
}

impl Expected {
    fn of(seen: &[u8]) -> Self {
        Self { blocks: reader::ack_in(seen), stamped: 0, unstamped: 0 }
    }

    fn compare(&self, counts: &arrival_counts) {
        let mut sack_blocks = [0; 8];
        if let Some(blocks) = self.blocks {
            sack_blocks[blocks] = 1;
        }
        let found = (counts.acks, counts.sack_blocks, counts.stamped, counts.unstamped);
        assert_eq!(found, (u64::from(self.blocks.is_some()), sack_blocks, self.stamped, self.unstamped));
    }
}

/// Has all three programs see a frame.
///
/// # Panics
/// Where one changes it, does not pass it on, or counts or stamps it for what it is not.
pub(crate) fn run(bytes: &[u8]) {
    if let Some(arrival) = Arrival::of(bytes) {
        arrival.xdp();
        arrival.tc();
        arrival.count();
    }
}
