// SPDX-License-Identifier: MIT OR Apache-2.0
//! Maps of the object that counts.

use std::os::fd::AsFd as _;

use aya::maps::{Map as AnyMap, MapData, MapError};
use aya::Ebpf;

use crate::error::{Error, Result};

/// A second handle of a map that the reader has, too.
pub fn another<M: TryFrom<AnyMap, Error = MapError>>(object: &Ebpf, name: &'static str) -> Result<M> {
    let map = object.map(name).ok_or(Error::Kernel("map of our own object"))?;
    let (data, kind): (_, fn(MapData) -> AnyMap) = match map {
        AnyMap::HashMap(data) => (data, AnyMap::HashMap),
        AnyMap::PerCpuArray(data) => (data, AnyMap::PerCpuArray),
        _ => return Err(Error::Kernel("map of this kind")),
    };
    let file = data.fd().as_fd().try_clone_to_owned().map_err(Error::io("duplicate a map's descriptor"))?;
    let data = MapData::from_fd(file).map_err(Error::map(name))?;
    M::try_from(kind(data)).map_err(Error::map(name))
}

/// A map, out of the object.
pub fn taken<M: TryFrom<AnyMap, Error = MapError>>(object: &mut Ebpf, name: &'static str) -> Result<M> {
    let map = object.take_map(name).ok_or(Error::Kernel("map of our own object"))?;
    M::try_from(map).map_err(Error::map(name))
}
