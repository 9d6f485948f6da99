// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which sockets, in the words of a request.

use ccctl_catalog::did_you_mean;
use ccctl_console::UsageError;
use ccctl_loader::{
    available_algorithms, cgroup_of_unit, is_unit_name, require_available, CgroupTree, Instance, Prefix, SocketState,
};
use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which sockets: those for which all that is set holds; without anything, all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Args)]
#[group(skip)]
#[serde(deny_unknown_fields, default)]
pub struct SocketFilter {
    /// Sockets that use this algorithm, an instance or a built-in one
    #[arg(long, alias = "from", value_name = "NAME")]
    pub instance: Option<String>,
    /// Sockets of all instances of this algorithm, and of the built-in one of that name
    #[arg(long, value_name = "NAME", conflicts_with = "instance")]
    pub algorithm: Option<String>,
    /// Sockets created in this cgroup (v2) or below
    #[arg(long, value_name = "PATH|UNIT", conflicts_with = "unit")]
    pub cgroup: Option<String>,
    /// Sockets created in the cgroup of this systemd unit or below
    #[arg(long)]
    pub unit: Option<String>,
    /// Sockets held open by this process
    #[arg(long)]
    pub pid: Option<u32>,
    /// Sockets with this local or remote port
    #[arg(long)]
    pub port: Option<u16>,
    /// Sockets with this local address, prefix or port; IPv6 addresses with a port in brackets
    #[arg(long, value_name = "ADDRESS|CIDR[:PORT]")]
    pub src: Option<String>,
    /// Sockets with this remote address, prefix or port
    #[arg(long, value_name = "ADDRESS|CIDR[:PORT]")]
    pub dst: Option<String>,
    /// Sockets in this state: established, listen, connected (all except listen), ...; may be repeated
    #[arg(long, value_name = "STATE")]
    pub tcp_state: Vec<String>,
    /// The socket with this cookie (`SO_COOKIE`), decimal or 0x...
    #[arg(long, value_parser = cookie)]
    pub cookie: Option<u64>,
    /// Sockets of this network namespace: a name in /run/netns or the path of a namespace file
    #[arg(long, value_name = "NAME|PATH")]
    pub netns: Option<String>,
    /// Sockets of the network namespace of this process
    #[arg(skip)]
    pub netns_pid: Option<u32>,
}

/// A socket's cookie in decimal, or in hexadecimal as `ss` prints it.
pub fn cookie(text: &str) -> Result<u64, std::num::ParseIntError> {
    text.strip_prefix("0x").map_or_else(|| text.parse(), |digits| u64::from_str_radix(digits, 16))
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

    /// The same with `/proc/PID/ns/net` as the process that it names, which the daemon takes from everybody who may ask, and
    /// other paths from root alone.
    #[must_use]
    pub fn with_process(&self) -> Self {
        match self.netns.as_deref().and_then(process_of) {
            pid @ Some(_) => Self { netns: None, netns_pid: pid, ..self.clone() },
            None => self.clone(),
        }
    }

    fn namespace(&self) -> Result<Option<String>, UsageError> {
        match (&self.netns, not_zero("netns_pid", self.netns_pid)?) {
            (Some(_), Some(_)) => Err(UsageError::new("the namespace is given twice", "use either netns or netns_pid")),
            (None, pid) => Ok(pid.map(|pid| format!("/proc/{pid}/ns/net"))),
            (Some(netns), None) => Ok(Some(netns.clone())),
        }
    }

    fn cgroup(&self) -> anyhow::Result<Option<String>> {
        let unit = match (&self.cgroup, &self.unit) {
            (Some(_), Some(_)) => {
                return Err(UsageError::new("the cgroup is given twice", "--cgroup PATH or --unit UNIT").into());
            }
            (Some(word), None) if !is_unit_name(word) => return Ok(Some(not_empty("cgroup", word.clone())?)),
            (word, unit) => word.as_ref().or(unit.as_ref()),
        };
        unit.map(|unit| Ok(cgroup_of_unit(&CgroupTree::find()?, unit)?.to_string())).transpose()
    }

    /// Refuses names of instances and algorithms that there are not. To be asked where no socket was found: sockets may use
    /// what was unloaded by force.
    pub fn require_known_names(&self) -> anyhow::Result<()> {
        self.instance.as_deref().map(require_available).transpose()?;
        self.algorithm.as_deref().map_or(Ok(()), require_algorithm)
    }

    /// As the loader takes it.
    pub fn resolve(&self) -> anyhow::Result<ccctl_loader::SocketFilter> {
        let (source, source_port) = end("src", self.src.as_deref())?;
        let (destination, destination_port) = end("dst", self.dst.as_deref())?;
        let mut states = Vec::new();
        for name in &self.tcp_state {
            states.extend(states_of(name)?);
        }
        Ok(ccctl_loader::SocketFilter {
            kernel_name: self.instance.clone().map(|name| not_empty("instance", name)).transpose()?,
            algorithm: self.algorithm.clone().map(|name| not_empty("algorithm", name)).transpose()?,
            cgroup: self.cgroup()?.map(Into::into),
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
    let hint = if is_instance(&name.to_owned()) {
        format!("--instance {name} selects the sockets of an instance")
    } else {
        did_you_mean(name, known.iter().map(String::as_str), || "ccctl algorithms lists them".to_owned())
    };
    Err(ccctl_loader::Error::Unknown { kind: "algorithm", name: name.to_owned(), hint }.into())
}

/// The process of `/proc/PID/ns/net`
fn process_of(path: &str) -> Option<u32> {
    path.strip_prefix("/proc/")?.strip_suffix("/ns/net")?.parse().ok()
}

fn not_empty(what: &str, text: String) -> Result<String, UsageError> {
    if text.is_empty() {
        return Err(UsageError::new(format!("--{what} is empty"), format!("give --{what} a value, or leave it out")));
    }
    Ok(text)
}

fn not_zero<T: PartialEq + Default>(what: &str, number: Option<T>) -> Result<Option<T>, UsageError> {
    if number == Some(T::default()) {
        return Err(UsageError::new(
            format!("there is no {what} 0"),
            format!("use a {what} of 1 or more, or leave --{what} out"),
        ));
    }
    Ok(number)
}

/// One end of a connection: its address or prefix, its port, or both.
fn end(what: &str, text: Option<&str>) -> Result<(Option<Prefix>, Option<u16>), UsageError> {
    let Some(text) = text else { return Ok((None, None)) };
    let bare = text.strip_prefix('[').and_then(|inner| inner.strip_suffix(']')).unwrap_or(text);
    if let Ok(prefix) = bare.parse::<Prefix>() {
        return Ok((Some(not_all_of_ipv6(what, prefix)?), None));
    }
    if let Some((address, port)) = text.rsplit_once(':') {
        let bare = address.strip_prefix('[').and_then(|inner| inner.strip_suffix(']'));
        let prefix = bare
            .unwrap_or(address)
            .parse::<Prefix>()
            .ok()
            .filter(|prefix| prefix.address().is_ipv4() || bare.is_some());
        if let (Ok(port), true) = (port.parse(), address.is_empty() || prefix.is_some()) {
            let prefix = prefix.map(|prefix| not_all_of_ipv6(what, prefix)).transpose()?;
            return Ok((prefix, not_zero("port", Some(port))?));
        }
    }
    if let (true, Err(ccctl_loader::Error::Request { cause, remedy })) = (text.contains('/'), bare.parse::<Prefix>()) {
        return Err(UsageError::new(format!("--{what}: {cause}"), remedy));
    }
    Err(UsageError::new(
        format!("--{what} {text:?} is not an address, a prefix or a port"),
        format!("--{what} 192.0.2.1, 192.0.2.1:443, 192.0.2.0/24, 2001:db8::1, [2001:db8::1]:443 or :443"),
    ))
}

/// The kernel's side of the filter has IPv4 addresses in IPv6 form, which `::/0` would contain.
fn not_all_of_ipv6(what: &str, prefix: Prefix) -> Result<Prefix, UsageError> {
    if prefix.bits() == 0 && prefix.address().is_ipv6() {
        return Err(UsageError::new(
            format!("--{what} ::/0 would also match IPv4"),
            format!("--{what} 2000::/3, or without it"),
        ));
    }
    Ok(prefix)
}

fn states_of(name: &str) -> Result<Vec<SocketState>, UsageError> {
    let all = SocketState::ALL;
    match name {
        "connected" => return Ok(all.into_iter().filter(|state| *state != SocketState::Listen).collect()),
        "listening" => return Ok(vec![SocketState::Listen]),
        "time-wait" => {
            let remedy = "leave it out: such a connection has ended";
            return Err(UsageError::new("sockets in time-wait have no algorithm", remedy));
        }
        _ => {}
    }
    if let Some(state) = all.into_iter().find(|state| state.name() == name) {
        return Ok(vec![state]);
    }
    let names = all.map(SocketState::name);
    let remedy = did_you_mean(name, names, || format!("use connected, or one of {}", names.join(", ")));
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
        assert_eq!(parsed("10.0.0.0/8"), Ok((address("10.0.0.0/8"), None)));
        assert_eq!(parsed("10.0.0.0/8:443"), Ok((address("10.0.0.0/8"), Some(443))));
        assert_eq!(parsed("[2001:db8::/32]:443"), Ok((address("2001:db8::/32"), Some(443))));
        assert_eq!(parsed("fd77::80"), Ok((address("fd77::80"), None)), "no port without brackets");
        for wrong in [
            "",
            ":",
            ":0",
            "10.0.0.1:",
            "10.0.0.1:70000",
            "10.0.0.256",
            "localhost",
            "10.0.0.0/33",
            "1.1.1.1:0",
            "::/0",
        ] {
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
