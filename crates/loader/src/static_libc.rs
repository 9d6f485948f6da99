// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a static program must not take from glibc (feature `static`).
//!
//! glibc looks users and hosts up with modules that it loads at run time, and a static program may meet those of another
//! version. Addresses in this workspace are therefore no text. `std::env::home_dir()` asks for the user where `HOME` is not set, and
//! the completion of paths that begin with `~` calls it.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_int};
use std::ptr;

/// Takes the place of glibc's function: there is no such user.
///
/// # Safety
/// `result` can be written, as glibc asks of its callers.
#[no_mangle]
unsafe extern "C" fn getpwuid_r(
    _user: libc::uid_t,
    _entry: *mut libc::passwd,
    _buffer: *mut c_char,
    _bytes: libc::size_t,
    result: *mut *mut libc::passwd,
) -> c_int {
    // SAFETY: see above.
    unsafe { *result = ptr::null_mut() };
    0
}
