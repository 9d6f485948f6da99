// SPDX-License-Identifier: MIT OR Apache-2.0
//! The BPF system calls that libbpf-rs does not wrap. The only module with unsafe code.
#![allow(unsafe_code)]

mod prepared;

use std::ffi::{c_char, c_int, c_void, CString};
use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, UdpSocket};
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::ptr;
use std::sync::Mutex;

use libbpf_rs::{AsRawLibbpf as _, Object, OpenObject};
use libbpf_sys::bpf_map;

pub(crate) use prepared::{Place, PreparedObject};

/// libbpf returns a negative errno; older calls also set errno.
fn checked(result: i32) -> io::Result<i32> {
    if result < 0 {
        Err(io::Error::from_raw_os_error(-result))
    } else {
        Ok(result)
    }
}

fn owned(result: i32) -> io::Result<OwnedFd> {
    let fd = checked(result)?;
    // SAFETY: the kernel has just returned this descriptor to us, nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn c_path(path: &Path) -> io::Result<CString> {
    Ok(CString::new(path.as_os_str().as_bytes())?)
}

/// Pins a link or a map.
pub(crate) fn pin(fd: BorrowedFd<'_>, path: &Path) -> io::Result<()> {
    let path = c_path(path)?;
    // SAFETY: a valid descriptor and a string that ends in zero, read during the call only.
    checked(unsafe { libbpf_sys::bpf_obj_pin(fd.as_raw_fd(), path.as_ptr()) }).map(drop)
}

/// Opens what is pinned at `path`.
pub(crate) fn open_pinned(path: &Path) -> io::Result<OwnedFd> {
    let path = c_path(path)?;
    // SAFETY: a string that ends in zero, read during the call only.
    owned(unsafe { libbpf_sys::bpf_obj_get(path.as_ptr()) })
}

/// Opens a map by its id.
pub(crate) fn map_by_id(id: u32) -> io::Result<OwnedFd> {
    // SAFETY: no pointers.
    owned(unsafe { libbpf_sys::bpf_map_get_fd_by_id(id) })
}

/// Opens a program by its id.
pub(crate) fn program_by_id(id: u32) -> io::Result<OwnedFd> {
    // SAFETY: no pointers.
    owned(unsafe { libbpf_sys::bpf_prog_get_fd_by_id(id) })
}

fn info<T: Default>(fd: BorrowedFd<'_>) -> io::Result<T> {
    let mut info = T::default();
    let mut size = u32::try_from(size_of::<T>()).map_err(io::Error::other)?;
    // SAFETY: T is one of libbpf's info structs (plain C, zero is valid); the kernel writes at most `size` bytes.
    checked(unsafe {
        libbpf_sys::bpf_obj_get_info_by_fd(fd.as_raw_fd(), ptr::from_mut(&mut info).cast(), &raw mut size)
    })?;
    Ok(info)
}

/// What the kernel says of a map.
pub(crate) fn map_info(fd: BorrowedFd<'_>) -> io::Result<libbpf_sys::bpf_map_info> {
    info(fd)
}

/// What a descriptor of a pin is.
pub(crate) enum PinnedKind {
    /// The registration of a `struct_ops` map.
    StructOpsLink {
        /// Of the link.
        id: u32,
        /// Of the map behind it; 0: detached.
        map_id: u32,
    },
    /// Any map.
    Map,
    /// A program, or a link of another kind.
    Other,
}

/// What is behind a descriptor. The kernel answers `BPF_OBJ_GET_INFO_BY_FD` of whatever it is, so that the info of a map
/// looks like one of a link: the kind is asked first.
pub(crate) fn pinned_kind(fd: BorrowedFd<'_>) -> io::Result<PinnedKind> {
    let text = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", fd.as_raw_fd()))?;
    let has = |key: &str| text.lines().any(|line| line.starts_with(key));
    if has("map_type:") {
        return Ok(PinnedKind::Map);
    }
    if !has("link_type:") {
        return Ok(PinnedKind::Other);
    }
    let info: libbpf_sys::bpf_link_info = info(fd)?;
    if info.type_ != libbpf_sys::BPF_LINK_TYPE_STRUCT_OPS {
        return Ok(PinnedKind::Other);
    }
    // SAFETY: the type says which member of the union the kernel has filled.
    let map_id = unsafe { info.__bindgen_anon_1.struct_ops.map_id };
    Ok(PinnedKind::StructOpsLink { id: info.id, map_id })
}

/// What the kernel says of a program.
pub(crate) struct ProgramDetails {
    pub(crate) info: libbpf_sys::bpf_prog_info,
    /// Ids of its maps.
    pub(crate) map_ids: Vec<u32>,
    /// BTF type of its function; the name in `info` is cut at 15 characters, the function's is not.
    pub(crate) function_type: Option<u32>,
}

/// Asks the kernel about a program.
pub(crate) fn program_details(fd: BorrowedFd<'_>) -> io::Result<ProgramDetails> {
    let counts: libbpf_sys::bpf_prog_info = info(fd)?;
    let mut map_ids = vec![0_u32; counts.nr_map_ids as usize];
    let mut functions = vec![libbpf_sys::bpf_func_info::default(); counts.nr_func_info as usize];
    let mut info = libbpf_sys::bpf_prog_info {
        nr_map_ids: counts.nr_map_ids,
        map_ids: map_ids.as_mut_ptr() as u64,
        nr_func_info: counts.nr_func_info,
        func_info_rec_size: u32::try_from(size_of::<libbpf_sys::bpf_func_info>()).map_err(io::Error::other)?,
        func_info: functions.as_mut_ptr() as u64,
        ..Default::default()
    };
    let mut size = u32::try_from(size_of_val(&info)).map_err(io::Error::other)?;
    // SAFETY: as above; the two arrays have room for as many records as they say, and outlive the call.
    checked(unsafe {
        libbpf_sys::bpf_obj_get_info_by_fd(fd.as_raw_fd(), ptr::from_mut(&mut info).cast(), &raw mut size)
    })?;
    map_ids.truncate(info.nr_map_ids as usize);
    (info.map_ids, info.func_info) = (0, 0);
    Ok(ProgramDetails { info, map_ids, function_type: functions.first().map(|function| function.type_id) })
}

/// The only map types that are read and written by [`read_value`] and its kin: those whose value is as long as the map
/// says. Of others the kernel copies a value for each processor, or descriptors.
const SINGLE_VALUE: [u32; 2] = [libbpf_sys::BPF_MAP_TYPE_ARRAY, libbpf_sys::BPF_MAP_TYPE_STRUCT_OPS];

/// Size of the value of a map with a key of 4 bytes and one value for each; any other map is refused, since the kernel
/// writes as much as the map has, whatever room there is.
fn value_bytes(map: BorrowedFd<'_>) -> io::Result<usize> {
    let info = map_info(map)?;
    if !SINGLE_VALUE.contains(&info.type_) || info.key_size as usize != size_of::<u32>() {
        let found = format!("a map of type {} with keys of {} bytes", info.type_, info.key_size);
        return Err(io::Error::other(format!("{found} is not a map of ccctl")));
    }
    Ok(info.value_size as usize)
}

/// Element 0 of an array or `struct_ops` map.
pub(crate) fn read_value(map: BorrowedFd<'_>) -> io::Result<Vec<u8>> {
    let key = 0_u32;
    let bytes = value_bytes(map)?;
    let mut value = vec![0; bytes.next_multiple_of(8)];
    // SAFETY: the kernel reads a key of 4 bytes and writes the map's value size, both just asked of the map, whose sizes
    // never change; key and value outlive the call.
    checked(unsafe {
        libbpf_sys::bpf_map_lookup_elem(map.as_raw_fd(), ptr::from_ref(&key).cast(), value.as_mut_ptr().cast())
    })?;
    value.truncate(bytes);
    Ok(value)
}

/// Writes element 0 of an array or `struct_ops` map; for the latter this is what registers it where there are no links.
pub(crate) fn write_value(map: BorrowedFd<'_>, value: &[u8]) -> io::Result<()> {
    let key = 0_u32;
    let bytes = value_bytes(map)?;
    if bytes != value.len() {
        return Err(io::Error::other(format!("value has {} bytes, the map {bytes}", value.len())));
    }
    // SAFETY: the sizes of key and value have just been compared with the map's; both outlive the call.
    checked(unsafe {
        libbpf_sys::bpf_map_update_elem(map.as_raw_fd(), ptr::from_ref(&key).cast(), value.as_ptr().cast(), 0)
    })
    .map(drop)
}

/// Deletes element 0: takes a `struct_ops` map without link out of service.
pub(crate) fn delete_value(map: BorrowedFd<'_>) -> io::Result<()> {
    let key = 0_u32;
    value_bytes(map)?;
    // SAFETY: the size of the key has just been compared with the map's; it outlives the call.
    checked(unsafe { libbpf_sys::bpf_map_delete_elem(map.as_raw_fd(), ptr::from_ref(&key).cast()) }).map(drop)
}

/// Registers a filled `struct_ops` map; the registration lives as long as the link.
pub(crate) fn create_link(map: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    // SAFETY: no options; descriptors only.
    owned(unsafe { libbpf_sys::bpf_link_create(map.as_raw_fd(), 0, libbpf_sys::BPF_STRUCT_OPS, ptr::null()) })
}

/// Puts another map behind a link. The same map crashes kernels up to 7.3 with a lock held for ever, so it is refused
/// here, in the one place that can do it.
pub(crate) fn update_link(link: BorrowedFd<'_>, map: BorrowedFd<'_>) -> io::Result<()> {
    let new_id = map_info(map)?.id;
    let PinnedKind::StructOpsLink { map_id: old_id, .. } = pinned_kind(link)? else {
        return Err(io::Error::other("not a struct_ops link"));
    };
    if new_id == old_id || old_id == 0 {
        return Err(io::Error::other(format!("refused: the link has map {old_id}, the update is map {new_id}")));
    }
    // SAFETY: no options; descriptors only.
    checked(unsafe { libbpf_sys::bpf_link_update(link.as_raw_fd(), map.as_raw_fd(), ptr::null()) }).map(drop)
}

/// Ids of all BPF maps, in order.
pub(crate) fn next_map_id(after: u32) -> Option<u32> {
    let mut next = 0;
    // SAFETY: the id is written to a local.
    let result = unsafe { libbpf_sys::bpf_map_get_next_id(after, &raw mut next) };
    (result == 0).then_some(next)
}

/// The object's own struct of hooks, as libbpf shows it before it loads the object; None without a `struct_ops` map. Where
/// the C source has functions, it holds the addresses of libbpf's programs ([`programs`]).
pub(crate) fn ops_struct(object: &mut OpenObject) -> Option<&mut [u8]> {
    let object = object.as_libbpf_object().as_ptr();
    let mut map = ptr::null_mut::<bpf_map>();
    loop {
        // SAFETY: `object` is open, and `map` is null or one of its maps.
        map = unsafe { libbpf_sys::bpf_object__next_map(object, map) };
        if map.is_null() {
            return None;
        }
        // SAFETY: `map` is one of the object's maps.
        if unsafe { libbpf_sys::bpf_map__type(map) } == libbpf_sys::BPF_MAP_TYPE_STRUCT_OPS {
            break;
        }
    }
    let mut size = 0_u64;
    // SAFETY: the map belongs to an object that is not loaded yet; libbpf returns its buffer and writes its size.
    let data = unsafe { libbpf_sys::bpf_map__initial_value(map, &raw mut size) };
    if data.is_null() {
        return None;
    }
    // SAFETY: `size` bytes at `data`, which the object owns. It is borrowed mutably for as long as the slice lives, so that
    // it can neither be closed nor loaded: loading changes what libbpf gives as the size, and not the buffer.
    Some(unsafe { std::slice::from_raw_parts_mut(data.cast::<u8>(), size as usize) })
}

/// The programs of a loaded object with their descriptors, by the address that libbpf has them at; without those that it
/// has skipped.
pub(crate) fn programs(object: &Object) -> io::Result<Vec<(usize, String, OwnedFd)>> {
    let programs = object.progs().filter(|program| program.as_fd().as_raw_fd() >= 0);
    let entry = |program: libbpf_rs::Program<'_>| {
        let name = program.name().to_string_lossy().into_owned();
        Ok((program.as_libbpf_object().as_ptr() as usize, name, program.as_fd().try_clone_to_owned()?))
    };
    programs.map(entry).collect()
}

/// What libbpf has said since collecting began.
static LOG: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// Longest single message: libbpf prints a verifier log of up to 16 MiB as one.
const MESSAGE_BYTES: usize = 1 << 24;

extern "C" {
    /// The C library's; `arguments` is a `va_list`, which every ABI that Linux has passes by reference.
    fn vsnprintf(buffer: *mut c_char, size: usize, format: *const c_char, arguments: *mut c_void) -> c_int;
}

/// libbpf's printer. It prints what is in an object file, which need not be text: bytes are kept as they are.
unsafe extern "C" fn collect(level: u32, format: *const c_char, arguments: *mut c_void) -> c_int {
    if level != libbpf_sys::LIBBPF_WARN {
        return 0;
    }
    let mut message = vec![0_u8; MESSAGE_BYTES];
    // SAFETY: the buffer has the size that is passed; format and arguments are libbpf's, made for vsnprintf.
    let length = unsafe { vsnprintf(message.as_mut_ptr().cast(), message.len(), format, arguments) };
    let length = usize::try_from(length).unwrap_or(0).min(message.len() - 1);
    if let Ok(mut log) = LOG.lock() {
        log.extend_from_slice(&message[..length]);
    }
    0
}

/// Runs `action` with libbpf's messages collected instead of printed. libbpf has one printer for the whole process.
pub(crate) fn with_log<T>(action: impl FnOnce() -> T) -> (T, String) {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    type Printer = unsafe extern "C" fn(u32, *const c_char, *mut c_void) -> c_int;

    let guard = ONE_AT_A_TIME.lock();
    let printer: Printer = collect;
    // SAFETY: the same function pointer with another name for the va_list: libbpf_sys spells its type by architecture.
    #[allow(clippy::missing_transmute_annotations)]
    let printer: libbpf_sys::libbpf_print_fn_t = Some(unsafe { std::mem::transmute::<Printer, _>(printer) });
    // SAFETY: libbpf keeps the pointer to a function that lives as long as the process.
    let before = unsafe { libbpf_sys::libbpf_set_print(printer) };
    let result = action();
    // SAFETY: what libbpf itself returned.
    unsafe { libbpf_sys::libbpf_set_print(before) };
    let log = LOG.lock().map(|mut log| std::mem::take(&mut *log)).unwrap_or_default();
    drop(guard);
    (result, String::from_utf8_lossy(&log).into_owned())
}

/// Keeps a map for as long as a program lives, as if the program used it. Nothing changes where it does already.
pub(crate) fn bind_map(program: BorrowedFd<'_>, map: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: two descriptors, and no options.
    checked(unsafe { libbpf_sys::bpf_prog_bind_map(program.as_raw_fd(), map.as_raw_fd(), ptr::null()) }).map(drop)
}

/// Has the verifier look at a hook of the `struct_ops` type `ops`, its member number `member`.
pub(crate) fn load_hook(program: &[libbpf_sys::bpf_insn], ops: u32, member: u32) -> io::Result<OwnedFd> {
    let mut options = libbpf_sys::bpf_prog_load_opts {
        sz: size_of::<libbpf_sys::bpf_prog_load_opts>() as libbpf_sys::size_t,
        attach_btf_id: ops,
        expected_attach_type: member,
        ..Default::default()
    };
    let kind = libbpf_sys::BPF_PROG_TYPE_STRUCT_OPS;
    // SAFETY: strings that end in zero, as many instructions as are counted and options of their own size, all read
    // during the call only.
    owned(unsafe {
        let (name, license) = (c"ccctl_probe".as_ptr(), c"GPL".as_ptr());
        let count = program.len() as libbpf_sys::size_t;
        libbpf_sys::bpf_prog_load(kind, name, license, program.as_ptr(), count, &raw mut options)
    })
}

/// A file of the kernel's that never changes, in memory without a copy.
pub(crate) struct MappedFile {
    start: *mut c_void,
    bytes: usize,
}

impl MappedFile {
    /// Fails where the kernel does not map it, as its BTF before 6.16.
    pub(crate) fn open(path: &str) -> io::Result<Self> {
        let file = File::open(path)?;
        let bytes = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
        // SAFETY: a new mapping, at an address of the kernel's choice; it outlives the file.
        let start =
            unsafe { libc::mmap(ptr::null_mut(), bytes, libc::PROT_READ, libc::MAP_PRIVATE, file.as_raw_fd(), 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { start, bytes })
    }
}

impl std::ops::Deref for MappedFile {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: mapped for reading until it is dropped, and as many bytes as the file has.
        unsafe { std::slice::from_raw_parts(self.start.cast(), self.bytes) }
    }
}

impl Drop for MappedFile {
    fn drop(&mut self) {
        // SAFETY: what mmap gave, of which no slice is left.
        unsafe { libc::munmap(self.start, self.bytes) };
    }
}

/// `SO_NETNS_COOKIE` of the calling thread's network namespace.
pub(crate) fn netns_cookie() -> io::Result<u64> {
    let socket =
        UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).or_else(|_| UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0)))?;
    let mut cookie = 0_u64;
    let mut size = size_of::<u64>() as libc::socklen_t;
    // SAFETY: an open socket, and a buffer of the size that is passed.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_NETNS_COOKIE,
            ptr::from_mut(&mut cookie).cast(),
            &raw mut size,
        )
    };
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(cookie)
    }
}

/// Switches on the loopback device of the calling thread's network namespace.
pub(crate) fn raise_loopback() -> io::Result<()> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    // SAFETY: plain C, for which zero is valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    copy_name(&mut request.ifr_name, "lo");
    request.ifr_ifru.ifru_flags = libc::IFF_UP as i16;
    // SAFETY: an open socket; the kernel reads the struct that SIOCSIFFLAGS takes.
    checked_errno(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) })
}

/// For calls of libc, which set errno.
fn checked_errno(result: c_int) -> io::Result<()> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

/// `NS_GET_USERNS` and `NS_GET_OWNER_UID` of include/uapi/linux/nsfs.h: `_IO(0xb7, 1)` and `_IO(0xb7, 4)`.
const NS_GET_USERNS: libc::Ioctl = 0xb701;
const NS_GET_OWNER_UID: libc::Ioctl = 0xb704;

/// Was this network namespace made by a user without privileges? It then belongs to a user namespace that is not the
/// caller's, and that another user than root has made. (Containers that root starts may have user namespaces, too.)
pub(crate) fn is_of_a_user(namespace: &File) -> io::Result<bool> {
    // SAFETY: an open file, and no pointer.
    let users = match owned(io_result(unsafe { libc::ioctl(namespace.as_raw_fd(), NS_GET_USERNS) })) {
        // One outside of ours: it cannot be entered, which whoever tries is told.
        Err(error) if error.raw_os_error() == Some(libc::EPERM) => return Ok(false),
        users => File::from(users?),
    };
    let own = std::fs::metadata("/proc/thread-self/ns/user")?;
    let its = users.metadata()?;
    if (its.dev(), its.ino()) == (own.dev(), own.ino()) {
        return Ok(false);
    }
    let mut uid: libc::uid_t = 0;
    // SAFETY: an open file of a user namespace; the kernel writes one uid_t.
    checked(io_result(unsafe { libc::ioctl(users.as_raw_fd(), NS_GET_OWNER_UID, &raw mut uid) }))?;
    Ok(uid != 0)
}

/// The C library's result as libbpf's: a negative errno.
fn io_result(result: c_int) -> i32 {
    if result < 0 {
        -io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
    } else {
        result
    }
}

/// Copies a kernel name into a C array, with a closing zero.
pub(crate) fn copy_name(room: &mut [c_char], name: &str) {
    let most = room.len() - 1;
    for (slot, byte) in room[..most].iter_mut().zip(name.bytes()) {
        *slot = byte as c_char;
    }
}
