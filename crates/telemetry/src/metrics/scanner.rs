// SPDX-License-Identifier: MIT OR Apache-2.0
//! The half that looks at all sockets, and holds the programs.

use std::collections::HashMap as Map;
use std::io::{ErrorKind, Read as _};

use aya::maps::{Array, HashMap, MapData, PerCpuArray, PerCpuValues, Queue};
use aya::programs::{BtfTracePoint, Iter, ProgramError};
use aya::{Btf, Ebpf, EbpfLoader};

use super::maps::{another, taken};
use super::reader::{Gauges, MetricKey, Reader, OVERFLOW};
use super::scope::Scope;
use crate::bindings::{metric_control, metric_scope, series_counts, series_key, series_present, METRIC_SCOPES};
use crate::cost::{self, ProgramCost};
use crate::error::{Error, Result};
use crate::privileges;

static OBJECT: &[u8] = aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/metrics.bpf.o"));

const LOOK: &str = "look";
/// Program and trace point. The one that opens and closes comes first: from then on new sockets are met.
const TRACE_POINTS: [(&str, &str); 4] = [
    ("state_changes", "inet_sock_set_state"),
    ("recovery_changes", "tcp_cong_state_set"),
    ("packet_dropped", "kfree_skb"),
    ("ack_arrives", "tcp_probe"),
];

/// Looks at all sockets. Dropped, nothing counts any more.
pub struct SocketScanner {
    object: Ebpf,
    control: Array<MapData, metric_control>,
    cgroups: HashMap<MapData, u64, u32>,
    scopes: Array<MapData, metric_scope>,
    present: Array<MapData, series_present>,
    series: HashMap<MapData, series_key, u32>,
    counts: PerCpuArray<MapData, series_counts>,
    released: Queue<MapData, u32>,
    generation: u32,
}

impl SocketScanner {
    /// Begins to count, in all network namespaces.
    pub fn start() -> Result<(Self, Reader)> {
        privileges::require_tracing("the metrics")?;
        let btf = Btf::from_sys_fs().map_err(|_| Error::Kernel("BTF"))?;
        let mut object = EbpfLoader::new()
            .btf(Some(&btf))
            .load(OBJECT)
            .map_err(|source| Error::Object { object: "metrics", source })?;
        let (series, counts) = (another(&object, "series")?, another(&object, "counts")?);
        let reader = Reader::of(&mut object)?;
        let mut scanner = Self {
            control: taken(&mut object, "control")?,
            cgroups: taken(&mut object, "cgroups")?,
            scopes: taken(&mut object, "scopes")?,
            present: taken(&mut object, "present")?,
            released: taken(&mut object, "released")?,
            series,
            counts,
            generation: 0,
            object,
        };
        load_iterator(&mut scanner.object, &btf).map_err(failed("load", LOOK))?;
        for (name, trace_point) in TRACE_POINTS {
            trace(&mut scanner.object, name, trace_point, &btf).map_err(failed("attach", name))?;
        }
        Ok((scanner, reader))
    }

    /// Which cgroups have a label of their own: number by id; 0 is the others'. Of them `scopes` are counted apart, as many as
    /// there is room for. Sockets find theirs anew.
    pub fn set_cgroups(&mut self, numbers: &Map<u64, u32>, scopes: &[Scope]) -> Result<()> {
        let failed = Error::map("cgroups");
        let before: Vec<u64> = self.cgroups.keys().flatten().collect();
        for id in before.iter().filter(|id| !numbers.contains_key(id)) {
            let _ = self.cgroups.remove(id); // nobody else removes
        }
        let inserted = numbers.iter().try_for_each(|(id, number)| self.cgroups.insert(id, number, 0));
        inserted.map_err(failed)?;
        let mut sorted: Vec<&Scope> = scopes.iter().take(METRIC_SCOPES as usize).collect();
        sorted.sort_by_key(|scope| scope.generality());
        let records = sorted.into_iter().map(Scope::record).chain(std::iter::repeat(metric_scope::default()));
        for (index, record) in (0..METRIC_SCOPES).zip(records) {
            self.scopes.set(index, record, 0).map_err(Error::map("scopes"))?;
        }
        let mut control = self.control.get(&0, 0).map_err(Error::map("control"))?;
        self.generation += 1;
        control.generation = self.generation;
        self.control.set(0, control, 0).map_err(Error::map("control"))
    }

    /// Goes over all sockets once: `each` runs what it is given in every network namespace, on whatever thread.
    pub fn look(
        &mut self,
        reader: &Reader,
        each: impl FnOnce(&mut (dyn FnMut() -> Result<()> + Send)) -> Result<()>,
    ) -> Result<Vec<(MetricKey, Gauges)>> {
        for (number, _) in reader.series()? {
            self.present.set(number, series_present::default(), 0).map_err(Error::map("present"))?;
        }
        let program = iterator(&mut self.object).map_err(failed("attach", LOOK))?;
        each(&mut || go_over(program))?;
        let mut found = Vec::new();
        for (number, series) in reader.series()? {
            let present = self.present.get(&number, 0).map_err(Error::map("present"))?;
            found.push((series, Gauges::of(&present)));
        }
        Ok(found)
    }

    /// Ends the series of cgroups whose numbers are not in use any more, and gives their room to others. For after a look
    /// that came after [`set_cgroups`](Self::set_cgroups): then no socket counts there.
    pub fn release(&mut self, is_in_use: impl Fn(u32) -> bool) -> Result<()> {
        let keys: Vec<series_key> = self.series.keys().flatten().collect();
        for key in keys.iter().filter(|key| key.cgroup != 0 && !is_in_use(key.cgroup)) {
            let Ok(number) = self.series.get(key, 0) else { continue };
            self.series.remove(key).map_err(Error::map("series"))?;
            if number == OVERFLOW {
                continue;
            }
            let none = aya::util::nr_cpus().map_err(|(_, error)| Error::io("count the processors")(error))?;
            let none = PerCpuValues::try_from(vec![series_counts::default(); none]);
            let none = none.map_err(Error::io("empty a series"))?;
            self.counts.set(number, none, 0).map_err(Error::map("counts"))?;
            self.released.push(number, 0).map_err(Error::map("released"))?;
        }
        Ok(())
    }

    /// What its own programs cost, while run times are counted.
    #[must_use]
    pub fn programs(&self) -> Vec<ProgramCost> {
        cost::of(&self.object)
    }
}

fn failed(step: &'static str, program: &'static str) -> impl Fn(ProgramError) -> Error {
    move |source| Error::Program { step, program: program.to_owned(), source: Box::new(source) }
}

fn iterator(object: &mut Ebpf) -> std::result::Result<&mut Iter, ProgramError> {
    let program = object.program_mut(LOOK).ok_or(ProgramError::NotLoaded)?;
    program.try_into()
}

/// The sockets of the network namespace of this thread.
fn go_over(program: &mut Iter) -> Result<()> {
    let link = program.attach().and_then(|link| program.take_link(link)).map_err(failed("attach", LOOK))?;
    let mut file = link.into_file().map_err(|error| {
        let error = std::io::Error::other(error);
        Error::io("scan the sockets")(error)
    })?;
    let mut nothing = [0; 64];
    loop {
        match file.read(&mut nothing) {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            // The kernel wants to be asked again after so many sockets that wrote nothing.
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(error) => return Err(Error::io("scan the sockets")(error)),
        }
    }
}

fn load_iterator(object: &mut Ebpf, btf: &Btf) -> std::result::Result<(), ProgramError> {
    iterator(object)?.load("tcp", btf)
}

fn trace(object: &mut Ebpf, name: &str, trace_point: &str, btf: &Btf) -> std::result::Result<(), ProgramError> {
    let program: &mut BtfTracePoint = object.program_mut(name).ok_or(ProgramError::NotLoaded)?.try_into()?;
    program.load(trace_point, btf)?;
    program.attach().map(drop)
}
