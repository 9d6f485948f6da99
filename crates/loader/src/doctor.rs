// SPDX-License-Identifier: MIT OR Apache-2.0
//! What this host can do, and what to do about what it cannot.

use std::fs::{self, OpenOptions};
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::Duration;

use nix::sys::utsname::uname;

use crate::bpffs;
use crate::check::{Check, Status};
use crate::kernel_ops::KernelOps;
use crate::rules;
use crate::writable_fields::{may_write_pacing, writable_since};

/// Looks at everything that ccctl needs.
#[must_use]
pub fn check_all() -> Vec<Check> {
    let mut checks = vec![kernel(), btf(), struct_ops(), links(), jit(), capabilities(), lockdown()];
    checks.extend([bpffs_check(), cgroup2(), rules::check(), pacing(), fq(), tx_start(), statistics(), registration()]);
    checks
}

fn kernel() -> Check {
    let release = uname().map(|name| name.release().to_string_lossy().into_owned()).unwrap_or_default();
    let mut numbers = release.split(['.', '-']).map_while(|part| part.parse::<u32>().ok());
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    let status = match version {
        (0..=4, _) | (5, 0..=14) => Status::Fail,
        (5, _) | (6, 0..=3) => Status::Warn,
        _ => Status::Ok,
    };
    Check::new("kernel", status, release, "use Linux 6.4 or newer; 5.15 to 6.3 lack only swap")
}

fn btf() -> Check {
    match fs::metadata("/sys/kernel/btf/vmlinux") {
        Ok(data) => Check::new("BTF", Status::Ok, format!("/sys/kernel/btf/vmlinux, {} KiB", data.len() / 1024), ""),
        Err(error) => Check::new("BTF", Status::Fail, error.to_string(), "use a kernel with CONFIG_DEBUG_INFO_BTF=y, such as Debian's linux-image-amd64 or Ubuntu's linux-image-generic"),
    }
}

fn struct_ops() -> Check {
    let remedy = "use a kernel with CONFIG_BPF_SYSCALL, CONFIG_BPF_JIT and CONFIG_DEBUG_INFO_BTF";
    match KernelOps::get() {
        Ok(ops) => {
            let hooks = ops.members.values().filter(|member| member.is_hook).count();
            Check::new("struct_ops", Status::Ok, format!("tcp_congestion_ops with {hooks} pointers"), "")
        }
        Err(error) => Check::new("struct_ops", Status::Fail, error.to_string(), remedy),
    }
}

fn links() -> Check {
    match KernelOps::get() {
        Ok(ops) if ops.has_links => Check::new("struct_ops links", Status::Ok, "swap is atomic", ""),
        _ => Check::new("struct_ops links", Status::Warn, "not supported: no swap", "Linux 6.4"),
    }
}

/// What these checks read is shown there only.
const IN_FIRST_NAMESPACE: &str = "run ccctl doctor in the host's own network namespace";

fn jit() -> Check {
    match fs::read_to_string("/proc/sys/net/core/bpf_jit_enable") {
        Ok(text) if text.trim() == "0" => {
            Check::new("JIT", Status::Fail, "off", "sysctl -w net.core.bpf_jit_enable=1 (struct_ops needs it)")
        }
        Ok(_) => Check::new("JIT", Status::Ok, "on", ""),
        Err(_) => Check::new("JIT", Status::Unknown, "not shown in this network namespace", IN_FIRST_NAMESPACE),
    }
}

/// Bits of include/uapi/linux/capability.h
const NEEDED: [(u32, &str, &str); 4] = [
    (39, "CAP_BPF", "loading programs"),
    (12, "CAP_NET_ADMIN", "registering algorithms and moving sockets"),
    (38, "CAP_PERFMON", "the socket iterator"),
    (SYS_ADMIN, "CAP_SYS_ADMIN", "other network namespaces and object ids"),
];
const SYS_ADMIN: u32 = 21;
/// The kernel takes `CAP_SYS_ADMIN` for these (`bpf_capable`, `bpf_net_capable`, `perfmon_capable`).
const IMPLIED: [u32; 3] = [39, 12, 38];

fn capabilities() -> Check {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:")).unwrap_or("0");
    let effective = u64::from_str_radix(line.trim(), 16).unwrap_or(0);
    let has = |bit: u32| effective >> bit & 1 == 1;
    let missing: Vec<String> = NEEDED
        .iter()
        .filter(|(bit, ..)| !(has(*bit) || has(SYS_ADMIN) && IMPLIED.contains(bit)))
        .map(|(_, name, purpose)| format!("{name} ({purpose})"))
        .collect();
    if missing.is_empty() {
        return Check::new("capabilities", Status::Ok, "all required ones", "");
    }
    Check::new("capabilities", Status::Fail, format!("missing: {}", missing.join(", ")), "run as root")
}

fn lockdown() -> Check {
    match fs::read_to_string("/sys/kernel/security/lockdown") {
        Ok(text) if text.contains("[confidentiality]") => Check::new(
            "lockdown",
            Status::Fail,
            "confidentiality: BPF may not read kernel memory",
            "boot with lockdown=integrity or none",
        ),
        Ok(text) => Check::new("lockdown", Status::Ok, text.trim().to_owned(), ""),
        Err(_) if Path::new("/sys/kernel/security/lsm").exists() => {
            Check::new("lockdown", Status::Ok, "not part of this kernel", "")
        }
        Err(_) => {
            Check::new("lockdown", Status::Unknown, "not reported", "mount -t securityfs none /sys/kernel/security")
        }
    }
}

fn bpffs_check() -> Check {
    const NAME: &str = "bpffs";
    if !bpffs::mounted() {
        return Check::new(NAME, Status::Fail, format!("not mounted at {}", bpffs::BPFFS), bpffs::MOUNT);
    }
    if let Err(error) = bpffs::PinFolder::find() {
        return Check::new(NAME, Status::Fail, error.to_string(), &error.remedy().unwrap_or_default());
    }
    if bpffs::is_open_to_others() {
        let detail = format!("every user can create files in {}", bpffs::BPFFS);
        return Check::new(NAME, Status::Warn, detail, "chmod 0700 /sys/fs/bpf, and mount it with -o mode=0700");
    }
    Check::new(NAME, Status::Ok, bpffs::BPFFS, "")
}

fn cgroup2() -> Check {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let mount = mounts.lines().find_map(|line| {
        let mut fields = line.split(' ').skip(1);
        let folder = fields.next()?;
        (fields.next()? == "cgroup2").then(|| folder.to_owned())
    });
    match mount {
        Some(folder) => Check::new("cgroup v2", Status::Ok, folder, ""),
        None => Check::new("cgroup v2", Status::Warn, "not mounted", "mount -t cgroup2 none /sys/fs/cgroup"),
    }
}

/// TCP paces by itself since 4.13; what matters is that an algorithm may set the rate.
fn pacing() -> Check {
    const NAME: &str = "pacing";
    let remedy = format!("Linux {} or newer", writable_since("sk_pacing_rate").unwrap_or_default());
    let refused = "sk_pacing_rate is not writable: algorithms that set it are refused";
    match may_write_pacing() {
        Ok(true) => Check::new(NAME, Status::Ok, "sk_pacing_rate is writable, TCP's own timer paces", ""),
        Ok(false) => Check::new(NAME, Status::Warn, refused, &remedy),
        Err(error) if error.raw_os_error() == Some(libc::EPERM) => {
            Check::new(NAME, Status::Unknown, "not shown without privileges", "run ccctl doctor as root")
        }
        Err(error) => Check::new(NAME, Status::Warn, format!("the verifier does not answer: {error}"), &remedy),
    }
}

fn fq() -> Check {
    let Ok(loaded) = fs::read_to_string("/proc/sys/net/core/default_qdisc") else {
        return Check::new("fq", Status::Unknown, "not shown in this network namespace", IN_FIRST_NAMESPACE);
    };
    if loaded.trim() == "fq" {
        return Check::new("fq", Status::Ok, "the default queue", "");
    }
    let detail = format!("the default queue is {}: pacing by TCP's own timer", loaded.trim());
    Check::new("fq", Status::Ok, detail, "")
}

fn tx_start() -> Check {
    let own_hook = KernelOps::get().is_ok_and(|ops| ops.members.contains_key("cwnd_event_tx_start"));
    let detail = if own_hook { "a separate hook (7.1)" } else { "an event of cwnd_event (up to 7.0)" };
    Check::new("TX_START", Status::Ok, detail, "")
}

fn statistics() -> Check {
    match fs::read_to_string("/proc/sys/kernel/bpf_stats_enabled") {
        Ok(text) if text.trim() == "1" => Check::new("BPF statistics", Status::Ok, "on: ccctl show has run times", ""),
        _ => Check::new("BPF statistics", Status::Ok, "off (sysctl -w kernel.bpf_stats_enabled=1 for run times)", ""),
    }
}

/// Name of the check for a kernel on which registering an algorithm would hang.
pub const REGISTRATION: &str = "registration";

/// A crash inside the kernel's update of a TCP link leaves the lock of its list of algorithms held for ever (see
/// `update_link` in sys.rs); every registration then spins, and a probe by registering would cost a CPU. So the marks
/// that the crash leaves are looked for instead.
fn registration() -> Check {
    const NAME: &str = REGISTRATION;
    let remedy = "reboot: a crash in the kernel has left the list of TCP algorithms locked";
    if let Some(process) = stuck_process() {
        return Check::new(NAME, Status::Fail, format!("process {process} hangs in the kernel"), remedy);
    }
    let taint = fs::read_to_string("/proc/sys/kernel/tainted").unwrap_or_default();
    let has_crashed = taint.trim().parse::<u64>().is_ok_and(|bits| bits & TAINT_DIE != 0);
    if !has_crashed {
        return Check::new(NAME, Status::Ok, "no sign of a kernel that hangs", "");
    }
    if crash_was_ours() {
        return Check::new(NAME, Status::Fail, "the kernel crashed while changing a TCP algorithm", remedy);
    }
    Check::new(NAME, Status::Warn, "the kernel has crashed since it was started (dmesg)", "reboot when convenient")
}

/// `TAINT_DIE` of include/linux/panic.h: there was an oops.
const TAINT_DIE: u64 = 1 << 7;

/// A process whose kernel stack is inside the registration of an algorithm; that takes microseconds when all is well.
fn stuck_process() -> Option<String> {
    let inside = |name: &str| {
        let stack = fs::read_to_string(format!("/proc/{name}/stack")).unwrap_or_default();
        ["tcp_register_congestion", "tcp_update_congestion", "tcp_unregister_congestion"]
            .iter()
            .any(|function| stack.contains(function))
    };
    let names = fs::read_dir("/proc").ok()?.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut suspects = names.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()) && inside(name));
    suspects.find(|name| {
        std::thread::sleep(Duration::from_millis(50));
        inside(name)
    })
}

/// The kernel's log names the function that crashed.
fn crash_was_ours() -> bool {
    let Ok(log) = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open("/dev/kmsg") else { return false };
    let mut reader = log;
    let mut record = vec![0; 8192];
    // One read is one record; at the end of the log the read fails with EAGAIN.
    while let Ok(count) = reader.read(&mut record) {
        if String::from_utf8_lossy(&record[..count]).contains("tcp_update_congestion_control") {
            return true;
        }
    }
    false
}
