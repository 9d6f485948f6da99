// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which sockets, in the words of a request.

use std::net::{IpAddr, SocketAddr};

use ccctl_catalog::closest;
use ccctl_console::UsageError;
use ccctl_loader::SocketState;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which sockets: those for which all that is set holds; without anything, all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SocketFilter {
    /// Kernel name of their algorithm: an instance or a built-in one.
    pub instance: Option<String>,
    /// Made in this cgroup (v2) or below: its path from the root of the hierarchy.
    pub cgroup: Option<String>,
    /// Open in this process.
    pub pid: Option<u32>,
    /// Port of either end.
    pub port: Option<u16>,
    /// Local end: `ADDRESS`, `ADDRESS:PORT`, `[ADDRESS]:PORT` or `:PORT`.
    pub src: Option<String>,
    /// Remote end, likewise.
    pub dst: Option<String>,
    /// In one of these states: `established`, `listen`, ..., or `connected`: all but `listen`.
    pub state: Vec<String>,
    /// `SO_COOKIE`.
    pub cookie: Option<u64>,
    /// Of this network namespace: a name in /run/netns. Root may also give the path of a namespace file.
    pub netns: Option<String>,
    /// Of the network namespace of this process.
    pub netns_pid: Option<u32>,
}

impl SocketFilter {
    /// Nothing is set?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Does it have a path to be opened?
    #[must_use]
    pub fn opens_paths(&self) -> bool {
        self.netns.as_ref().is_some_and(|netns| netns.contains('/'))
    }

    fn namespace(&self) -> Result<Option<String>, UsageError> {
        match (&self.netns, not_zero("netns_pid", self.netns_pid)?) {
            (Some(_), Some(_)) => Err(UsageError::new("the namespace is given twice", "netns or netns_pid")),
            (None, Some(pid)) => Ok(Some(format!("/proc/{pid}/ns/net"))),
            (netns, None) => Ok(netns.clone()),
        }
    }

    /// As the loader takes it.
    pub fn resolve(&self) -> anyhow::Result<ccctl_loader::SocketFilter> {
        let (source, source_port) = end("src", self.src.as_deref())?;
        let (destination, destination_port) = end("dst", self.dst.as_deref())?;
        let mut states = Vec::new();
        for name in &self.state {
            states.extend(states_of(name)?);
        }
        Ok(ccctl_loader::SocketFilter {
            algorithm: self.instance.clone().map(|name| not_empty("instance", name)).transpose()?,
            cgroup: self.cgroup.clone().map(|path| not_empty("cgroup", path)).transpose()?.map(Into::into),
            pid: not_zero("pid", self.pid)?,
            port: not_zero("port", self.port)?,
            source,
            source_port,
            destination,
            destination_port,
            states,
            cookie: not_zero("cookie", self.cookie)?,
            namespace: self.namespace()?,
        })
    }
}

fn not_empty(what: &str, text: String) -> Result<String, UsageError> {
    if text.is_empty() {
        return Err(UsageError::new(format!("--{what} is empty"), format!("--{what} with a value, or without it")));
    }
    Ok(text)
}

fn not_zero<T: PartialEq + Default>(what: &str, number: Option<T>) -> Result<Option<T>, UsageError> {
    if number == Some(T::default()) {
        return Err(UsageError::new(format!("there is no {what} 0"), format!("a {what} from 1 on, or no --{what}")));
    }
    Ok(number)
}

/// One end of a connection: its address, its port, or both.
fn end(what: &str, text: Option<&str>) -> Result<(Option<IpAddr>, Option<u16>), UsageError> {
    let Some(text) = text else { return Ok((None, None)) };
    let bare = text.strip_prefix('[').and_then(|inner| inner.strip_suffix(']')).unwrap_or(text);
    if let Ok(address) = bare.parse() {
        return Ok((Some(address), None));
    }
    if let Ok(both) = text.parse::<SocketAddr>() {
        return Ok((Some(both.ip()), not_zero("port", Some(both.port()))?));
    }
    if let Some(Ok(port)) = text.strip_prefix(':').map(str::parse) {
        return Ok((None, not_zero("port", Some(port))?));
    }
    Err(UsageError::new(
        format!("--{what} {text:?} is neither an address nor an address with a port"),
        format!("--{what} 192.0.2.1, 192.0.2.1:443, 2001:db8::1, [2001:db8::1]:443 or :443"),
    ))
}

fn states_of(name: &str) -> Result<Vec<SocketState>, UsageError> {
    let all = SocketState::ALL;
    match name {
        "connected" => return Ok(all.into_iter().filter(|state| *state != SocketState::Listen).collect()),
        "listening" => return Ok(vec![SocketState::Listen]),
        "time-wait" => {
            let remedy = "leave it out: such a connection is over, and nothing controls it";
            return Err(UsageError::new("sockets in time-wait have no algorithm", remedy));
        }
        _ => {}
    }
    if let Some(state) = all.into_iter().find(|state| state.name() == name) {
        return Ok(vec![state]);
    }
    let names = all.map(SocketState::name);
    let remedy = match closest(name, names) {
        Some(similar) => format!("did you mean {similar}?"),
        None => format!("connected, or one of {}", names.join(", ")),
    };
    Err(UsageError::new(format!("there is no state {name:?}"), remedy))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn ends_in_all_their_forms() {
        let parsed = |text| end("src", Some(text)).map_err(|error| error.to_string());
        let address = |text: &str| Some(text.parse().unwrap());
        assert_eq!(parsed("10.0.0.1"), Ok((address("10.0.0.1"), None)));
        assert_eq!(parsed("10.0.0.1:80"), Ok((address("10.0.0.1"), Some(80))));
        assert_eq!(parsed("::"), Ok((address("::"), None)));
        assert_eq!(parsed("[fd77::1]"), Ok((address("fd77::1"), None)));
        assert_eq!(parsed("[fd77::1]:80"), Ok((address("fd77::1"), Some(80))));
        assert_eq!(parsed(":80"), Ok((None, Some(80))));
        for wrong in
            ["", ":", ":0", "10.0.0.1:", "10.0.0.1:70000", "10.0.0.256", "localhost", "10.0.0.0/8", "1.1.1.1:0"]
        {
            parsed(wrong).unwrap_err();
        }
    }

    #[test]
    fn states_by_name_and_by_group() {
        assert_eq!(states_of("established").unwrap(), [SocketState::Established]);
        assert_eq!(states_of("connected").unwrap().len(), SocketState::ALL.len() - 1);
        assert_eq!(states_of("time-wait").unwrap_err().to_string(), "sockets in time-wait have no algorithm");
        assert_eq!(states_of("establish").unwrap_err().to_string(), "there is no state \"establish\"");
    }

    #[test]
    fn unknown_fields_of_a_request_are_refused() {
        assert!(serde_json::from_str::<SocketFilter>(r#"{"port": 80}"#).is_ok());
        assert!(serde_json::from_str::<SocketFilter>(r#"{"prot": 80}"#).is_err());
        assert!(serde_json::from_str::<SocketFilter>(r#"{"port": 65536}"#).is_err());
    }
}
