// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fields of a socket that algorithms may write: those with W and (W) in bpf/include/kernel.

/// On every kernel from 6.1 on.
pub(crate) const WRITABLE: [&str; 8] = [
    "snd_cwnd",
    "snd_cwnd_cnt",
    "snd_ssthresh",
    "ecn_flags",
    "icsk_ca_priv",
    "icsk_ack.pending",
    "sk_pacing_rate",
    "sk_pacing_status",
];

/// Fields that only newer kernels let BPF write, with the oldest known to.
pub(crate) const WRITABLE_SINCE: [(&str, &str); 4] =
    [("sk_pacing_rate", "6.1"), ("sk_pacing_status", "6.1"), ("app_limited", "6.12"), ("snd_cwnd_stamp", "6.12")];

/// What to write instead of a field that no kernel lets BPF write.
pub(crate) fn writable_text() -> String {
    let newer = WRITABLE_SINCE.iter().filter(|(field, _)| !WRITABLE.contains(field));
    let newer: Vec<String> = newer.map(|(field, version)| format!("{field} (from {version})")).collect();
    format!("{}, {}", WRITABLE.join(", "), newer.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One truth: the header that algorithms are written with.
    #[test]
    fn the_header_marks_these_and_no_others() {
        let header = concat!(
            include_str!("../../../bpf/include/kernel/sock.h"),
            include_str!("../../../bpf/include/kernel/tcp.h")
        );
        let field = |line: &str| {
            let word =
                line.split([';', '[']).next().and_then(|start| start.split_whitespace().last()).unwrap_or_default();
            if word == "pending" {
                "icsk_ack.pending".to_owned()
            } else {
                word.to_owned()
            }
        };
        let has_mark = |line: &&str| line.contains("/* W:") || line.contains("/* W */");
        let mut marked: Vec<String> = header.lines().filter(has_mark).map(field).collect();
        let mut listed = WRITABLE.map(str::to_owned).to_vec();
        marked.sort();
        listed.sort();
        assert_eq!(listed, marked);
    }
}
