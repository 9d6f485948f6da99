// SPDX-License-Identifier: MIT OR Apache-2.0
//! TCP sockets, their algorithms and how they fare.

mod column;
mod filter;
mod socket;

pub use ccctl_loader::{CaState, EcnMode, Transport};
pub use column::Column;
pub use filter::{cookie, SocketFilter};
pub use socket::Socket;

pub(super) use socket::LookUp;

use ccctl_loader::{Owners, SocketReader};
use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

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
        let (mut told, mut failure) = (0_usize, None);
        let unreadable = reader.each(|namespace, record| {
            if failure.is_some() || self.limit.is_some_and(|limit| told >= limit) {
                return;
            }
            match look_up.describe(namespace, record).and_then(&mut tell) {
                Ok(()) => told += 1,
                Err(error) => failure = Some(error),
            }
        })?;
        if told == 0 && failure.is_none() {
            self.filter.require_known_names()?;
        }
        failure.map_or(Ok(unreadable), Err)
    }
}

/// What the algorithm keeps, in words.
#[must_use]
pub fn state_text(socket: &Socket) -> String {
    let text = |value: &Value| if value.is_null() { "-".to_owned() } else { value.to_string() };
    let fields = socket.algorithm_state.iter().flatten();
    fields.map(|(name, value)| format!("{name}={}", text(value))).collect::<Vec<_>>().join(" ")
}
