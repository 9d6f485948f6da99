// SPDX-License-Identifier: MIT OR Apache-2.0
//! The ACK clock's programs over packets, through `BPF_PROG_TEST_RUN`: every packet passes, none is changed, and what is
//! counted is what a reader of the tests' own finds in it.

use crate::support;
use crate::support::packets;
use aya::maps::PerCpuArray;
use aya::programs::{SchedClassifier, TestRun as _, TestRunOptions, Xdp};
use aya::Ebpf;
use ccctl_telemetry::bindings::arrival_counts;
use ccctl_telemetry::ARRIVAL_OBJECT;
use packets::reader::ack_in;
use packets::{
    authentication, ethernet, extension, four_sacks, fragment, ipv4, ipv6, random, tcp, v4, v6, with_sack, ACK,
    TIME_STAMPS,
};
use support::Random;

const XDP_PASS: u32 = 2;
/// To the next program, whatever it is.
const TC_ACT_UNSPEC: u32 = u32::MAX;
const STAMP_BYTES: usize = 16;
/// The kernel tries tc programs only on packets that hold the IP header that their type speaks of.
const SMALLEST_AT_TC: usize = 14 + 40;

struct Case {
    description: &'static str,
    packet: Vec<u8>,
    /// SACK blocks, if it is to be counted.
    counted: Option<usize>,
}

fn case(description: &'static str, packet: Vec<u8>, counted: Option<usize>) -> Case {
    Case { description, packet, counted }
}

/// The loaded programs.
struct Programs(Ebpf);

impl Programs {
    fn load() -> Self {
        let mut object = Ebpf::load(ARRIVAL_OBJECT).unwrap();
        let xdp: &mut Xdp = object.program_mut("stamp_at_xdp").unwrap().try_into().unwrap();
        xdp.load().unwrap();
        let tc: &mut SchedClassifier = object.program_mut("stamp_at_tc").unwrap().try_into().unwrap();
        tc.load().unwrap();
        Self(object)
    }

    fn counts(&self) -> arrival_counts {
        let map: PerCpuArray<_, arrival_counts> = self.0.map("arrivals").unwrap().try_into().unwrap();
        let mut sum = arrival_counts::default();
        for counts in map.get(&0, 0).unwrap().iter() {
            sum.acks += counts.acks;
            sum.unstamped += counts.unstamped;
            sum.sack_blocks.iter_mut().zip(counts.sack_blocks).for_each(|(sum, count)| *sum += count);
        }
        sum
    }

    /// Both programs on one packet.
    fn check(&self, what: &str, packet: &[u8], counted: Option<usize>) {
        for at_tc in [false, true] {
            let before = self.counts();
            let Some((verdict, out)) = (if at_tc { self.run_tc(packet) } else { self.run_xdp(packet) }) else {
                assert!(at_tc && packet.len() < SMALLEST_AT_TC, "{what}: the kernel does not run it: {packet:02x?}");
                continue;
            };
            let after = self.counts();
            let (pass, stamp) = if at_tc { (TC_ACT_UNSPEC, 0) } else { (XDP_PASS, STAMP_BYTES) };
            let place = if at_tc { "tc" } else { "XDP" };
            assert_eq!(verdict, pass, "{place}, {what}: {packet:02x?}");
            let front = if counted.is_some() { stamp } else { 0 };
            assert_eq!(&out[front..], packet, "{place}, {what}: the packet was changed");
            let mut expected = before;
            if let Some(blocks) = counted {
                expected.acks += 1;
                expected.sack_blocks[blocks] += 1;
            }
            let numbers = |counts: &arrival_counts| (counts.acks, counts.sack_blocks, counts.unstamped);
            assert_eq!(numbers(&after), numbers(&expected), "{place}, {what}: {packet:02x?}");
        }
    }

    fn run_xdp(&self, packet: &[u8]) -> Option<(u32, Vec<u8>)> {
        let program: &Xdp = self.0.program("stamp_at_xdp").unwrap().try_into().unwrap();
        run(packet, |options| program.test_run(options))
    }

    fn run_tc(&self, packet: &[u8]) -> Option<(u32, Vec<u8>)> {
        let program: &SchedClassifier = self.0.program("stamp_at_tc").unwrap().try_into().unwrap();
        run(packet, |options| program.test_run(options))
    }
}

type Ran = Result<aya::programs::TestRunResult, aya::programs::ProgramError>;

/// Verdict and packet afterwards; none if the kernel refuses to run anything on it.
fn run(packet: &[u8], run: impl FnOnce(TestRunOptions<'_>) -> Ran) -> Option<(u32, Vec<u8>)> {
    let mut out = vec![0; packet.len() + STAMP_BYTES];
    let options = TestRunOptions { data_in: Some(packet), data_out: Some(&mut out), ..TestRunOptions::new() };
    let result = run(options).ok()?;
    out.truncate(result.data_size_out as usize);
    Some((result.return_value, out))
}

#[test]
fn each_packet_of_the_table_passes_and_is_counted_for_what_it_is() {
    support::test("packets of the table", 60, || {
        let programs = Programs::load();
        let cases: Vec<Case> =
            [plain(), options(), fragments(), truncated(), vlans(), extensions()].into_iter().flatten().collect();
        for case in &cases {
            assert_eq!(ack_in(&case.packet), case.counted, "the tests' own reader, {}", case.description);
            programs.check(case.description, &case.packet, case.counted);
        }
        println!("{} packets through XDP and tc", cases.len());
    });
}

fn plain() -> Vec<Case> {
    let changed = |at: usize, to: u8| {
        let mut packet = v4(&tcp(ACK, &[], &[]));
        packet[at] = to;
        packet
    };
    vec![
        case("bare ACK", v4(&tcp(ACK, &[], &[])), Some(0)),
        case("bare ACK over IPv6", v6(&[], &tcp(ACK, &[], &[])), Some(0)),
        case("ACK with PSH, URG, ECE and CWR", v4(&tcp(ACK | 0xe8, &[], &[])), Some(0)),
        case("padded to the smallest frame", [v4(&tcp(ACK, &[], &[])), vec![0; 6]].concat(), Some(0)),
        case("data", v4(&tcp(ACK, &TIME_STAMPS, b"x")), None),
        case("data, a full segment", v4(&tcp(ACK, &TIME_STAMPS, &[1; 1448])), None),
        case("no ACK flag", v4(&tcp(0, &[], &[])), None),
        case("SYN and ACK", v4(&tcp(ACK | 2, &[], &[])), None),
        case("FIN and ACK", v4(&tcp(ACK | 1, &[], &[])), None),
        case("RST and ACK", v4(&tcp(ACK | 4, &[], &[])), None),
        case("UDP", changed(14 + 9, 17), None),
        case("version 5", changed(14, 0x55), None),
        case("IPv4 header of 16 bytes", changed(14, 0x44), None),
        case("data offset of 16 bytes", changed(34 + 12, 0x40), None),
        case("data offset beyond the packet", changed(34 + 12, 0x60), None),
        case("ARP", ethernet(&[], 0x0806, &[0; 28]), None),
        case("802.3 length instead of a type", ethernet(&[], 60, &ipv4(&[], 0, &tcp(ACK, &[], &[]))), None),
    ]
}

fn options() -> Vec<Case> {
    let ack = |options: &[u8]| v4(&tcp(ACK, options, &[]));
    let sack = |kind: u8, length: u8| [vec![1, 1, kind, length], vec![3; usize::from(length.max(2)) - 2]].concat();
    vec![
        case("time stamps", ack(&TIME_STAMPS), Some(0)),
        case("one SACK block behind time stamps", ack(&with_sack(1)), Some(1)),
        case("two", ack(&with_sack(2)), Some(2)),
        case("three", ack(&with_sack(3)), Some(3)),
        case("four, without time stamps", ack(&four_sacks()), Some(4)),
        case("SACK without blocks", ack(&sack(5, 2)), Some(0)),
        case("SACK of one block and a half", ack(&sack(5, 14)), Some(0)),
        case("SACK longer than the header", ack(&[1, 1, 5, 34, 0, 0, 0, 0, 0, 0, 0, 0]), Some(0)),
        case("option of length 0", ack(&[[2, 0].to_vec(), sack(5, 10)].concat()), Some(0)),
        case("option of length 1", ack(&[[30, 1].to_vec(), sack(5, 10)].concat()), Some(0)),
        case("kind without a length at the end", ack(&[1, 1, 1, 5]), Some(0)),
        case("end of options before SACK", ack(&[[0].to_vec(), sack(5, 10)].concat()), Some(0)),
        case("two SACK options: the last counts", ack(&[sack(5, 18), sack(5, 10)].concat()), Some(1)),
        case("40 NOPs", ack(&[1; 40]), Some(0)),
        case("unknown option before SACK", ack(&[[253, 4, 9, 9].to_vec(), sack(5, 18)].concat()), Some(2)),
        case("SACK bytes inside another option", ack(&[1, 1, 254, 12, 5, 10, 1, 1, 1, 1, 1, 1, 1, 1]), Some(0)),
    ]
}

fn fragments() -> Vec<Case> {
    let v4_fragment = |bits| ethernet(&[], 0x0800, &ipv4(&[], bits, &tcp(ACK, &[], &[])));
    let v6_fragment = |bits| v6(&[fragment(bits)], &tcp(ACK, &[], &[]));
    vec![
        case("do not fragment", v4_fragment(0x4000), Some(0)),
        case("first of several", v4_fragment(0x2000), None),
        case("a later one", v4_fragment(0x2001), None),
        case("the last one", v4_fragment(0x0010), None),
        case("IPv6, first of several", v6_fragment(1), None),
        case("IPv6, the last one", v6_fragment(8), None),
        case("IPv6, a whole packet with a fragment header", v6_fragment(0), Some(0)),
        case("the same with reserved bits", v6_fragment(6), Some(0)),
    ]
}

/// Each way of cutting an ACK short, byte by byte.
fn truncated() -> Vec<Case> {
    let v4 = v4(&tcp(ACK, &with_sack(3), &[]));
    let v6 = v6(&[extension(0, 1)], &tcp(ACK, &with_sack(2), &[]));
    let cut = |packet: &[u8], what| -> Vec<Case> {
        (14..packet.len()).map(|length| case(what, packet[..length].to_vec(), None)).collect()
    };
    cut(&v4, "IPv4, cut off").into_iter().chain(cut(&v6, "IPv6, cut off")).collect()
}

fn vlans() -> Vec<Case> {
    let v4 = |tags: &[u16]| ethernet(tags, 0x0800, &ipv4(&[], 0, &tcp(ACK, &with_sack(1), &[])));
    let v6 = |tags: &[u16]| ethernet(tags, 0x86dd, &ipv6(&[], &tcp(ACK, &[], &[])));
    vec![
        case("one tag", v4(&[0x8100]), Some(1)),
        case("service and customer tag", v4(&[0x88a8, 0x8100]), Some(1)),
        case("three tags, IPv6", v6(&[0x88a8, 0x8100, 0x8100]), Some(0)),
        case("four tags", v4(&[0x88a8, 0x8100, 0x8100, 0x8100]), Some(1)),
        case("five tags: more than is looked through", v4(&[0x8100; 5]), None),
        case("a tag and nothing behind it", ethernet(&[0x8100], 0x0800, &[]), None),
        case("half a tag", v4(&[0x8100])[..16].to_vec(), None),
        case("IPv4 options", ethernet(&[], 0x0800, &ipv4(&[1; 40], 0, &tcp(ACK, &with_sack(3), &[]))), Some(3)),
    ]
}

fn extensions() -> Vec<Case> {
    let ack = tcp(ACK, &with_sack(1), &[]);
    let chain = |extensions: &[(u8, Vec<u8>)]| v6(extensions, &ack);
    let wrong_length = |length: u8| {
        let mut packet = chain(&[extension(60, 0)]);
        packet[14 + 40 + 1] = length;
        packet
    };
    vec![
        case("hop-by-hop", chain(&[extension(0, 0)]), Some(1)),
        case("routing", chain(&[extension(43, 2)]), Some(1)),
        case("destination options, the longest", chain(&[extension(60, 255)]), Some(1)),
        case("authentication", chain(&[authentication(4)]), Some(1)),
        case("authentication of 12 bytes", chain(&[authentication(1)]), Some(1)),
        case(
            "all of them",
            chain(&[extension(0, 1), extension(43, 0), fragment(0), authentication(4), extension(60, 3)]),
            Some(1),
        ),
        case("eight headers", chain(&vec![extension(60, 0); 8]), Some(1)),
        case("nine headers: more than is looked through", chain(&vec![extension(60, 0); 9]), None),
        case("a length beyond the packet", wrong_length(255), None),
        case("a length that ends in the middle of TCP", wrong_length(1), None),
        case(
            "ESP",
            {
                let mut packet = chain(&[]);
                packet[14 + 6] = 50;
                packet
            },
            None,
        ),
        case(
            "no next header",
            {
                let mut packet = chain(&[]);
                packet[14 + 6] = 59;
                packet
            },
            None,
        ),
        case(
            "jumbogram: length 0",
            {
                let mut packet = chain(&[]);
                packet[14 + 4..14 + 6].fill(0);
                packet
            },
            None,
        ),
    ]
}

#[test]
fn ten_thousand_random_packets_pass_and_are_counted_right() {
    support::test("random packets", 120, || {
        let programs = Programs::load();
        let mut generator = Random(0x5eed_0ac1);
        let (mut acks, mut with_sack) = (0, 0);
        for number in 0..10_000 {
            let packet = random(&mut generator);
            let counted = ack_in(&packet);
            acks += u32::from(counted.is_some());
            with_sack += u32::from(counted.is_some_and(|blocks| blocks > 0));
            programs.check(&format!("random packet {number}"), &packet, counted);
        }
        println!("10,000 random packets: {acks} ACKs, {with_sack} with SACK blocks");
        assert!(acks > 1000 && with_sack > 300, "{acks} ACKs, {with_sack} with SACK blocks: the mixture tests nothing");
    });
}
