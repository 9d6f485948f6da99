// SPDX-License-Identifier: MIT OR Apache-2.0
//! The system calls that nothing safe wraps. The only module of the program with unsafe code.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::time::Duration;

/// Supplementary groups of the process at the other end of a unix socket, as of when it connected.
pub fn peer_groups(socket: BorrowedFd<'_>) -> io::Result<Vec<u32>> {
    let mut groups = vec![0_u32; 64];
    loop {
        let mut size = (groups.len() * size_of::<u32>()) as libc::socklen_t;
        // SAFETY: an open socket, and a buffer of the size that is passed; the kernel writes at most that much.
        let result = unsafe {
            libc::getsockopt(
                socket.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_PEERGROUPS,
                groups.as_mut_ptr().cast(),
                &raw mut size,
            )
        };
        let count = size as usize / size_of::<u32>();
        if result == 0 {
            groups.truncate(count);
            return Ok(groups);
        }
        let error = io::Error::last_os_error();
        if error.raw_os_error() != Some(libc::ERANGE) || count <= groups.len() {
            return Err(error);
        }
        groups.resize(count, 0); // the kernel has told how many there are
    }
}

/// Gives freed memory back to the kernel: reading BTF takes megabytes for a moment, and libbpf's allocations leave
/// holes that the C library would keep.
pub fn return_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: no pointers; any thread may call it at any time.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Keeps threads from having heaps of their own, each of which would hold on to what one request needed.
pub fn share_heap() {
    #[cfg(target_env = "gnu")]
    // SAFETY: no pointers; called before any thread is started.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
}

/// Most memory that this process may map from now on.
pub fn limit_address_space(bytes: u64) -> io::Result<()> {
    limit(libc::RLIMIT_AS, bytes, bytes)
}

/// Most time that this process may have of a processor, in whole seconds. Then the kernel sends SIGXCPU, which says why, and a
/// second later SIGKILL; with one bound for both it would send SIGKILL alone.
pub fn limit_processor_time(time: Duration) -> io::Result<()> {
    limit(libc::RLIMIT_CPU, time.as_secs(), time.as_secs() + 1)
}

fn limit(resource: libc::__rlimit_resource_t, soft: u64, hard: u64) -> io::Result<()> {
    let limit = libc::rlimit64 { rlim_cur: soft, rlim_max: hard };
    // SAFETY: a resource of this process, and a struct that outlives the call and that the kernel only reads.
    match unsafe { libc::setrlimit64(resource, &raw const limit) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
    use std::process::Command;

    use super::*;

    #[test]
    fn who_takes_too_long_is_told_from_who_was_killed() {
        let mut endless = Command::new("sh");
        endless.args(["-c", "while :; do :; done"]);
        // SAFETY: between fork and exec it makes one system call.
        unsafe { endless.pre_exec(|| limit_processor_time(Duration::from_secs(1))) };
        assert_eq!(endless.status().unwrap().signal(), Some(libc::SIGXCPU));
    }
}
