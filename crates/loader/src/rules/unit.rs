// SPDX-License-Identifier: MIT OR Apache-2.0
//! The cgroup of a systemd unit.

use std::path::Path;
use std::process::{Command, Stdio};

use ccctl_catalog::did_you_mean;

use super::cgroup::{CgroupPath, CgroupTree};
use crate::error::{Error, Result};

/// There where systemd is the init system (`sd_booted(3)`).
const SYSTEMD_RUNS: &str = "/run/systemd/system";
/// Kinds of units that have a cgroup.
const KINDS: [&str; 6] = [".service", ".slice", ".scope", ".socket", ".mount", ".swap"];

/// Is this word the name of a unit, and not a path?
#[must_use]
pub fn is_unit_name(word: &str) -> bool {
    !word.contains('/') && KINDS.iter().any(|kind| word.len() > kind.len() && word.ends_with(kind))
}

/// The cgroup of a unit: systemd is asked where it runs, and tells it of units that are stopped, too; elsewhere the tree
/// is searched for a folder of this name.
pub fn cgroup_of_unit(tree: &CgroupTree, unit: &str) -> Result<CgroupPath> {
    let name = if KINDS.iter().any(|kind| unit.ends_with(kind)) { unit.to_owned() } else { format!("{unit}.service") };
    if !is_unit_name(&name) {
        return Err(unknown(unit, "use a name such as nginx.service".to_owned()));
    }
    if Path::new(SYSTEMD_RUNS).is_dir() {
        return ask_systemd(&name);
    }
    match &tree.named(&name)[..] {
        [path] => Ok(path.clone()),
        [] => {
            let names = tree.unit_names();
            Err(unknown(
                &name,
                did_you_mean(&name, names.iter().map(String::as_str), || {
                    format!("no folder below {} has this name; use --cgroup /PATH", tree.mount().display())
                }),
            ))
        }
        several => Err(Error::Unknown {
            kind: "single cgroup of unit",
            name,
            hint: format!("use --cgroup with one of {}", list(several)),
        }),
    }
}

fn list(paths: &[CgroupPath]) -> String {
    paths.iter().map(CgroupPath::as_str).collect::<Vec<_>>().join(", ")
}

fn unknown(unit: &str, hint: String) -> Error {
    Error::Unknown { kind: "unit", name: unit.to_owned(), hint }
}

fn ask_systemd(unit: &str) -> Result<CgroupPath> {
    let failed = |error| Error::kernel(format!("ask systemctl for {unit}"), error);
    let properties = "--property=LoadState,ControlGroup,Slice";
    let output = Command::new("systemctl").args(["show", properties, "--", unit]).stdin(Stdio::null()).output();
    let output = output.map_err(failed)?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(failed(std::io::Error::other(said)));
    }
    cgroup_of_properties(unit, &String::from_utf8_lossy(&output.stdout))
}

/// The unit's cgroup out of what `systemctl show` prints; for a stopped unit the one that it will get.
fn cgroup_of_properties(unit: &str, properties: &str) -> Result<CgroupPath> {
    let property = |key: &str| {
        let mut lines = properties.lines().filter_map(|line| line.split_once('='));
        lines.find(|(name, value)| *name == key && !value.is_empty()).map(|(_, value)| value)
    };
    if let Some(path) = property("ControlGroup") {
        return CgroupPath::parse(path);
    }
    if property("LoadState") != Some("loaded") {
        return Err(unknown(unit, "systemctl list-units --all".to_owned()));
    }
    match property("Slice") {
        Some(slice) => CgroupPath::parse(&format!("{}/{unit}", path_of_slice(slice))),
        None if unit.strip_suffix(".slice").is_some() => CgroupPath::parse(&path_of_slice(unit)),
        None => Err(unknown(unit, "it has no cgroup at the moment: start it first".to_owned())),
    }
}

/// `a-b.slice` lies in `a.slice` (systemd.slice(5)); `-.slice` is the root.
fn path_of_slice(slice: &str) -> String {
    let stem = slice.strip_suffix(".slice").unwrap_or(slice);
    if stem == "-" {
        return String::new();
    }
    let dashes = stem.match_indices('-').map(|(at, _)| at).chain([stem.len()]);
    dashes.fold(String::new(), |path, end| format!("{path}/{}.slice", &stem[..end]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_name_units() {
        for word in ["nginx.service", "user-1000.slice", "session-1.scope"] {
            assert!(is_unit_name(word), "{word}");
        }
        for word in ["nginx", "/system.slice/nginx.service", ".service", "nginx.conf", ""] {
            assert!(!is_unit_name(word), "{word}");
        }
    }

    #[test]
    fn what_systemctl_says() {
        let path = |unit, text| cgroup_of_properties(unit, text).map(|path| path.to_string()).ok();
        let running = "Slice=system.slice\nControlGroup=/system.slice/nginx.service\nLoadState=loaded\n";
        assert_eq!(path("nginx.service", running).as_deref(), Some("/system.slice/nginx.service"));
        let stopped = "Slice=web-front.slice\nControlGroup=\nLoadState=loaded\n";
        let expected = "/web.slice/web-front.slice/nginx.service";
        assert_eq!(path("nginx.service", stopped).as_deref(), Some(expected));
        assert_eq!(path("a.service", "Slice=-.slice\nLoadState=loaded\n").as_deref(), Some("/a.service"));
        assert_eq!(path("a-b.slice", "LoadState=loaded\n").as_deref(), Some("/a.slice/a-b.slice"));
        assert_eq!(path("nginz.service", "Slice=\nControlGroup=\nLoadState=not-found\n"), None);
    }
}
