//! C structs as bytes and back: what BPF programs write and read.
#![allow(unsafe_code)]

use std::ptr;

use crate::sockets::raw::{
    socket_detail, socket_owner, socket_query, socket_rates, socket_record, socket_sample, socket_totals,
    socket_totals_key, socket_window, socket_window_key,
};

/// A C struct of integers without padding: all bytes are valid for it, and all of its bytes are defined.
///
/// # Safety
/// The type must be that.
pub(crate) unsafe trait Plain: Copy {}

// SAFETY: made by bindgen of socket_record.h, whose structs hold integers only and name every byte; `sizes_add_up` of
// this module's tests compares.
unsafe impl Plain for socket_query {}
// SAFETY: as above.
unsafe impl Plain for socket_record {}
// SAFETY: as above.
unsafe impl Plain for socket_detail {}
// SAFETY: as above.
unsafe impl Plain for socket_totals_key {}
// SAFETY: as above.
unsafe impl Plain for socket_totals {}
// SAFETY: as above.
unsafe impl Plain for socket_owner {}
// SAFETY: as above.
unsafe impl Plain for socket_window {}
// SAFETY: as above.
unsafe impl Plain for socket_window_key {}
// SAFETY: as above.
unsafe impl Plain for socket_rates {}
// SAFETY: as above.
unsafe impl Plain for socket_sample {}

/// The value as the bytes that C sees.
pub(crate) fn bytes_of<T: Plain>(value: &T) -> &[u8] {
    // SAFETY: Plain promises that there is no padding; the slice borrows the value.
    unsafe { std::slice::from_raw_parts(ptr::from_ref(value).cast(), size_of::<T>()) }
}

/// The whole values in what a program wrote.
pub(crate) fn values_of<T: Plain>(bytes: &[u8]) -> impl Iterator<Item = T> + '_ {
    bytes.chunks_exact(size_of::<T>()).map(|chunk| {
        // SAFETY: Plain promises that all bytes are valid; the chunk is exactly as long; unaligned.
        unsafe { chunk.as_ptr().cast::<T>().read_unaligned() }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_add_up() {
        assert_eq!(size_of::<socket_query>(), 4 * 16 + 2 * 8 + 2 * 4 + 3 * 2 + 2);
        assert_eq!(size_of::<socket_record>(), 8 + 3 * 16 + 2 * 4 + 3 * 2 + 2);
        assert_eq!(size_of::<socket_detail>(), size_of::<socket_record>() + 3 * 8 + 104 + 17 * 4 + 4);
        assert_eq!(size_of::<socket_totals_key>(), 16 + 4);
        assert_eq!(size_of::<socket_window_key>(), 2 * 16 + 2 * 4);
        assert_eq!(size_of::<socket_totals>(), 7 * 8);
        assert_eq!(size_of::<socket_owner>(), 8 + 16 + 2 * 4);
        assert_eq!(size_of::<socket_window>(), 6 * 8);
        assert_eq!(size_of::<socket_rates>(), 9 * 8);
        assert_eq!(size_of::<socket_sample>(), size_of::<socket_detail>() + 2 * 8 + 2 * 4);
    }

    #[test]
    fn half_a_value_is_none() {
        let key = socket_totals_key { map_id: 7, ..Default::default() };
        let mut bytes = bytes_of(&key).to_vec();
        bytes.extend_from_slice(bytes_of(&key));
        bytes.pop();
        assert_eq!(values_of::<socket_totals_key>(&bytes).map(|key| key.map_id).collect::<Vec<_>>(), [7]);
    }
}
