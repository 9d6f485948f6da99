// SPDX-License-Identifier: MIT OR Apache-2.0
//! C structs out of the bytes that BPF programs wrote.

use bytemuck::{pod_read_unaligned, Pod};

/// The whole values at the start of these bytes.
pub(crate) fn values_of<T: Pod>(bytes: &[u8]) -> impl Iterator<Item = T> + '_ {
    bytes.chunks_exact(size_of::<T>()).map(pod_read_unaligned)
}

/// The first value; None where there are too few bytes.
pub(crate) fn first_of<T: Pod>(bytes: &[u8]) -> Option<T> {
    bytes.get(..size_of::<T>()).map(pod_read_unaligned)
}

#[cfg(test)]
mod tests {
    use bytemuck::bytes_of;

    use super::{first_of, values_of};
    use crate::sockets::raw::socket_totals_key;

    #[test]
    fn half_a_value_is_none() {
        let key = socket_totals_key { map_id: 7, ..Default::default() };
        let mut bytes = bytes_of(&key).to_vec();
        bytes.extend_from_slice(bytes_of(&key));
        bytes.pop();
        assert_eq!(values_of::<socket_totals_key>(&bytes).map(|key| key.map_id).collect::<Vec<_>>(), [7]);
        assert_eq!(first_of::<socket_totals_key>(&bytes[20..]).map(|key| key.map_id), None);
    }
}
