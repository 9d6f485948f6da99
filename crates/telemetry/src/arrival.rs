// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where ACKs are stamped: the programs of `xdp/arrival.bpf.c` on one interface.

use std::fmt;

use aya::maps::PerCpuArray;
use aya::programs::links::FdLink;
use aya::programs::tc::{qdisc_add_clsact, qdisc_detach_program, NlOptions, TcAttachOptions};
use aya::programs::{LinkOrder, ProgramError, SchedClassifier, TcAttachType, Xdp, XdpMode};
use aya::{Btf, Ebpf, EbpfLoader};

use crate::bindings::{arrival_counts, ACK_SACK_KINDS};
use crate::cost::{self, ProgramCost};
use crate::error::{Error, Result};
use crate::interface::Interface;

/// `xdp/arrival.bpf.c`, compiled. Aligned as ELF wants it.
pub static ARRIVAL_OBJECT: &[u8] = aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/arrival.bpf.o"));

const XDP: &str = "stamp_at_xdp";
const TC: &str = "stamp_at_tc";
const TC_COUNT: &str = "count_at_tc";
const MAP: &str = "arrivals";
const ONE_IN_8: u32 = 7;

/// Where ACKs are stamped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Point {
    /// XDP in the driver: before receive packet steering, the backlog, and GRO.
    Native,
    /// XDP in the network stack: behind them, and as late as tc.
    Generic,
    /// tc ingress through TCX (6.6): behind steering, backlog and GRO.
    Tcx,
    /// tc ingress through clsact: a killed process leaves the filter behind, and the next run takes it away.
    Clsact,
}

impl fmt::Display for Point {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Native => "native XDP",
            Self::Generic => "generic XDP",
            Self::Tcx => "tc ingress (tcx)",
            Self::Clsact => "tc ingress (clsact)",
        })
    }
}

/// Which of them to use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PointChoice {
    /// Native XDP on hardware, else tc, else generic XDP: the earliest that costs little.
    #[default]
    Auto,
    /// Native XDP, or nothing.
    Native,
    /// Generic XDP, or nothing.
    Generic,
    /// tc ingress, or nothing.
    Tc,
}

impl PointChoice {
    /// What to try, in this order. Native XDP on a virtual device copies every packet and takes another path through it;
    /// generic XDP is no earlier than tc and costs more, but unlike clsact it has a link.
    fn order(self, is_hardware: bool) -> &'static [Point] {
        match self {
            Self::Auto if is_hardware => &[Point::Native, Point::Tcx, Point::Generic, Point::Clsact],
            Self::Auto => &[Point::Tcx, Point::Generic, Point::Clsact],
            Self::Native => &[Point::Native],
            Self::Generic => &[Point::Generic],
            Self::Tc => &[Point::Tcx, Point::Clsact],
        }
    }
}

/// Where the clock is on an interface, and why it is nowhere better.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attached {
    /// Name of the interface.
    pub interface: String,
    /// Where.
    pub point: Point,
    /// What was tried first, and what the kernel said.
    pub passed_over: Vec<(Point, String)>,
}

/// What arrived at one interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InterfaceCounts {
    /// Where it was counted.
    pub attached: Attached,
    /// ACKs.
    pub acks: u64,
    /// Of those, by the number of SACK blocks.
    pub sack_blocks: [u64; ACK_SACK_KINDS as usize],
    /// ACKs that were stamped: all with SACK blocks, and one in 8 of the others unless every one was asked for.
    pub stamped: u64,
    /// ACKs that were to be stamped and could not be.
    pub unstamped: u64,
    /// ACKs stamped by native XDP that reached tc ingress; others were dropped in between, or are on their way.
    pub reached_tc: Option<u64>,
}

/// The programs on one interface. Links go with it.
#[derive(Debug)]
pub(crate) struct Arrival {
    object: Ebpf,
    attached: Attached,
    counts_at_tc: bool,
    _links: Vec<FdLink>,
}

impl Arrival {
    /// Attaches to the first place that takes it.
    pub(crate) fn attach(btf: &Btf, interface: &Interface, choice: PointChoice, every_ack: bool) -> Result<Self> {
        let mut passed_over = Vec::new();
        for point in choice.order(interface.is_hardware) {
            let mut object = EbpfLoader::new()
                .btf(Some(btf))
                .override_global("stamp_mask", if every_ack { &0u32 } else { &ONE_IN_8 }, true)
                .load(ARRIVAL_OBJECT)
                .map_err(|source| Error::Object { object: "arrival", source })?;
            match attach(&mut object, interface, *point) {
                Ok(links) => {
                    let counts_at_tc = links.len() > 1;
                    let attached = Attached { interface: interface.name.clone(), point: *point, passed_over };
                    return Ok(Self { object, attached, counts_at_tc, _links: links });
                }
                Err(Refusal::Attach(cause)) => passed_over.push((*point, cause)),
                Err(Refusal::Load(error)) => return Err(error),
            }
        }
        let causes: Vec<String> = passed_over.iter().map(|(point, cause)| format!("{point}: {cause}")).collect();
        Err(Error::NoPlace { interface: interface.name.clone(), cause: causes.join("; ") })
    }

    pub(crate) fn attached(&self) -> &Attached {
        &self.attached
    }

    /// What the programs cost.
    pub(crate) fn programs(&self) -> Vec<ProgramCost> {
        cost::of(&self.object)
    }

    /// What was counted so far, on all processors together.
    pub(crate) fn read(&self) -> Result<InterfaceCounts> {
        let map = self.object.map(MAP).ok_or(Error::Kernel("map of arrivals"))?;
        let map: PerCpuArray<_, arrival_counts> = map.try_into().map_err(Error::map(MAP))?;
        let values = map.get(&0, 0).map_err(Error::map(MAP))?;
        let sum = |field: fn(&arrival_counts) -> u64| values.iter().map(field).sum::<u64>();
        let mut sack_blocks = [0; ACK_SACK_KINDS as usize];
        for counts in values.iter() {
            sack_blocks.iter_mut().zip(counts.sack_blocks).for_each(|(sum, count)| *sum += count);
        }
        Ok(InterfaceCounts {
            attached: self.attached.clone(),
            acks: sum(|counts| counts.acks),
            sack_blocks,
            stamped: sum(|counts| counts.stamped),
            unstamped: sum(|counts| counts.unstamped),
            reached_tc: self.counts_at_tc.then(|| sum(|counts| counts.reached_tc)),
        })
    }
}

/// A place that is taken or not there is passed over; a program that does not load is an error of ours.
enum Refusal {
    Attach(String),
    Load(Error),
}

fn attach(object: &mut Ebpf, interface: &Interface, point: Point) -> std::result::Result<Vec<FdLink>, Refusal> {
    match point {
        Point::Native => {
            // Before XDP, so that no stamped ACK passes uncounted. Where tc has no links the cross-check is left out.
            let counting = attach_tcx(object, interface, TC_COUNT);
            let stamping = attach_xdp(object, interface, XdpMode::Driver)?;
            Ok(std::iter::once(stamping).chain(counting.ok()).collect())
        }
        Point::Generic => Ok(vec![attach_xdp(object, interface, XdpMode::Skb)?]),
        Point::Tcx => Ok(vec![attach_tcx(object, interface, TC)?]),
        Point::Clsact => attach_clsact(object, interface).map(|()| Vec::new()),
    }
}

fn attach_xdp(object: &mut Ebpf, interface: &Interface, mode: XdpMode) -> std::result::Result<FdLink, Refusal> {
    let program: &mut Xdp = loaded(object, XDP)?;
    let id = program.attach_to_if_index(interface.index, mode).map_err(|error| refused(&error))?;
    let link = program.take_link(id).map_err(|error| refused(&error))?;
    // What aya attaches without a link (before 5.9) would outlive a kill; dropped here, it is detached.
    FdLink::try_from(link).map_err(|_| Refusal::Attach("no XDP links".to_owned()))
}

/// In front of the programs that are there, which go on as before.
fn attach_tcx(object: &mut Ebpf, interface: &Interface, name: &str) -> std::result::Result<FdLink, Refusal> {
    let program: &mut SchedClassifier = loaded(object, name)?;
    let options = TcAttachOptions::TcxOrder(LinkOrder::first());
    let id = program
        .attach_with_options(&interface.name, TcAttachType::Ingress, options)
        .map_err(|error| refused(&error))?;
    let link = program.take_link(id).map_err(|error| refused(&error))?;
    FdLink::try_from(link).map_err(|_| Refusal::Attach("no TCX links".to_owned()))
}

/// The filter is taken off when the program is dropped, and one that a killed run has left is taken off now. The qdisc
/// stays: others may use it by then.
fn attach_clsact(object: &mut Ebpf, interface: &Interface) -> std::result::Result<(), Refusal> {
    let _ = qdisc_add_clsact(&interface.name); // an error here means that it is there, or is told again below
    let _ = qdisc_detach_program(&interface.name, TcAttachType::Ingress, TC); // mostly there is none
    let program: &mut SchedClassifier = loaded(object, TC)?;
    let options = TcAttachOptions::Netlink(NlOptions::default());
    program
        .attach_with_options(&interface.name, TcAttachType::Ingress, options)
        .map(drop)
        .map_err(|error| refused(&error))
}

trait Load<'a>: TryFrom<&'a mut aya::programs::Program, Error = ProgramError> {
    fn load_it(&mut self) -> std::result::Result<(), ProgramError>;
}

impl<'a> Load<'a> for &'a mut Xdp {
    fn load_it(&mut self) -> std::result::Result<(), ProgramError> {
        self.load()
    }
}

impl<'a> Load<'a> for &'a mut SchedClassifier {
    fn load_it(&mut self) -> std::result::Result<(), ProgramError> {
        self.load()
    }
}

fn loaded<'a, P: Load<'a>>(object: &'a mut Ebpf, name: &str) -> std::result::Result<P, Refusal> {
    let failed =
        |source| Refusal::Load(Error::Program { step: "load", program: name.to_owned(), source: Box::new(source) });
    let program = object.program_mut(name).ok_or(Refusal::Load(Error::Kernel("program in our own object")))?;
    let mut program = P::try_from(program).map_err(failed)?;
    program.load_it().map_err(failed)?;
    Ok(program)
}

/// What the kernel said, in words where it is clear.
fn refused(error: &ProgramError) -> Refusal {
    let mut cause: &dyn std::error::Error = error;
    let mut errno = None;
    loop {
        if let Some(io) = cause.downcast_ref::<std::io::Error>() {
            errno = io.raw_os_error();
        }
        match cause.source() {
            Some(source) => cause = source,
            None => break,
        }
    }
    Refusal::Attach(match errno.map(nix::errno::Errno::from_raw) {
        Some(nix::errno::Errno::EBUSY | nix::errno::Errno::EEXIST) => "another program is there, and stays".to_owned(),
        Some(nix::errno::Errno::EOPNOTSUPP) => "the driver has none, or none with its present offloads".to_owned(),
        Some(errno) => errno.desc().to_owned(),
        None => error.to_string(),
    })
}
