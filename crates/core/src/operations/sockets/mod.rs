// SPDX-License-Identifier: MIT OR Apache-2.0
//! TCP sockets, their algorithms and how they fare.

mod column;
mod filter;
mod socket;

pub use column::Column;
pub use filter::{cookie, SocketFilter};
pub use socket::{Socket, Transport};

pub(super) use socket::LookUp;

use ccctl_loader::{available_algorithms, Error, Instance, Owners, SocketReader};
use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Operation;
/// List TCP sockets of all network namespaces that may be entered. Those in TIME-WAIT and SYN-RECV have no algorithm and
/// are left out.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[group(skip)]
#[serde(deny_unknown_fields, default)]
pub struct Sockets {
    /// Which sockets
    #[command(flatten)]
    pub filter: SocketFilter,
    /// Sockets of all instances of this algorithm, and of the built-in one of that name
    #[arg(long, value_name = "NAME", conflicts_with = "instance")]
    pub algorithm: Option<String>,
    /// Sort by this column: text from a to z, numbers from the largest
    #[arg(long, value_name = "COLUMN", hide_possible_values = true)]
    pub sort: Option<Column>,
    /// Maximum number of rows
    #[arg(long, value_name = "NUMBER")]
    pub limit: Option<usize>,
    /// Do not look for the processes that hold them open, which costs as much again
    #[arg(skip)]
    pub without_owners: bool,
    /// Do not decode what algorithms keep for them
    #[arg(skip)]
    pub without_algorithm_state: bool,
}

/// Sockets.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SocketsAnswer {
    /// Each once.
    pub sockets: Vec<Socket>,
    /// Network namespaces that could not be looked into, and why.
    pub unreadable: Vec<String>,
}

impl Operation for Sockets {
    type Answer = SocketsAnswer;
    const NAME: &'static str = "sockets";
    const TITLE: &'static str = "List TCP sockets with their algorithms and private state";

    fn changes(&self) -> bool {
        false
    }

    fn opens_paths(&self) -> bool {
        self.filter.opens_paths()
    }

    fn run(&self) -> anyhow::Result<SocketsAnswer> {
        let mut sockets = Vec::new();
        let limit = if self.sort.is_some() { None } else { self.limit };
        let unreadable = Self { limit, ..self.clone() }.each(|socket| {
            sockets.push(socket);
            Ok(())
        })?;
        if let Some(column) = self.sort {
            column.sort(&mut sockets);
            sockets.truncate(self.limit.unwrap_or(usize::MAX));
        }
        Ok(SocketsAnswer { sockets, unreadable })
    }
}

impl Sockets {
    /// Tells one socket after the other, unsorted, as soon as the kernel shows it; returns the namespaces that could not
    /// be looked into. What `tell` complains of first is the result.
    pub fn each(&self, mut tell: impl FnMut(Socket) -> anyhow::Result<()> + Send) -> anyhow::Result<Vec<String>> {
        let filter = self.filter.resolve()?;
        let reader = SocketReader::new(&filter)?;
        let owners = if self.without_owners { None } else { Some(Owners::read()?) };
        let mut look_up = LookUp::new(owners, !self.without_algorithm_state);
        let (mut found, mut told, mut failure) = (0_usize, 0_usize, None);
        let unreadable = reader.each(|namespace, record| {
            if failure.is_some() || self.limit.is_some_and(|limit| told >= limit) {
                return;
            }
            let socket = match look_up.describe(namespace, record) {
                Ok(socket) if !self.has_algorithm(&socket) => return,
                result => result,
            };
            found += 1;
            match socket.and_then(&mut tell) {
                Ok(()) => told += 1,
                Err(error) => failure = Some(error),
            }
        })?;
        if found == 0 {
            self.filter.instance.as_deref().map(ccctl_loader::require_available).transpose()?;
            self.algorithm.as_deref().map(require_algorithm).transpose()?;
        }
        failure.map_or(Ok(unreadable), Err)
    }

    /// Only the name behind an instance, or that of a built-in algorithm: an instance may be called as another algorithm.
    fn has_algorithm(&self, socket: &Socket) -> bool {
        let name = socket.algorithm.as_ref().unwrap_or(&socket.congestion_control);
        self.algorithm.as_ref().is_none_or(|wanted| wanted == name)
    }
}

/// Refuses what is neither the algorithm of an instance nor one that could be loaded nor a built-in one.
fn require_algorithm(name: &str) -> anyhow::Result<()> {
    let instances = Instance::all()?;
    let is_instance = |known: &String| instances.iter().any(|instance| instance.name == *known);
    let built_in = available_algorithms()?.into_iter().filter(|known| !is_instance(known));
    let loadable = ccctl_catalog::algorithms().iter().map(|algorithm| algorithm.name().to_owned());
    let loaded = instances.iter().map(|instance| instance.identity.algorithm.clone());
    let known: Vec<String> = loadable.chain(loaded).chain(built_in).collect();
    if known.iter().any(|known| known == name) {
        return Ok(());
    }
    let hint = match ccctl_catalog::closest(name, known.iter().map(String::as_str)) {
        _ if is_instance(&name.to_owned()) => format!("--instance {name} selects the sockets of an instance"),
        Some(similar) => format!("did you mean {similar}?"),
        None => "ccctl algorithms lists them".to_owned(),
    };
    Err(Error::Unknown { kind: "algorithm", name: name.to_owned(), hint }.into())
}

/// What the algorithm keeps, in words.
#[must_use]
pub fn state_text(socket: &Socket) -> String {
    let fields = socket.algorithm_state.iter().flatten();
    fields.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
}
