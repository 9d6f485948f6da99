// SPDX-License-Identifier: GPL-2.0-only
//! The file of recorded calls: a line of JSON that says what follows, then records of one size.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write};
use std::path::Path;

use anyhow::{ensure, Context as _, Result};
use serde::{Deserialize, Serialize};

use crate::btf::Member;
use crate::column::Column;
use crate::hooks::HOOK_NAMES;
use crate::native::{self, call, CALL_BYTES};

/// Number of the format; `docs/internals/recorded-calls.md` describes it.
pub const FORMAT: u32 = 1;

/// `implementation` of Linux's own module.
pub const MODULE: &str = "module";
/// `implementation` of a BPF program of ours in the kernel, with its parameters' defaults.
pub const PROGRAM: &str = "program";

/// The first line.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Header {
    /// [`FORMAT`].
    pub format: u32,
    /// Whose calls they are.
    pub algorithm: String,
    /// What computed the answers: [`MODULE`], [`PROGRAM`], or something else.
    pub implementation: String,
    /// `uname -r`
    pub kernel: String,
    /// `CONFIG_HZ`: jiffies per second.
    pub jiffies_per_s: u64,
    /// Names of `hook`'s values.
    pub hooks: Vec<String>,
    /// Size of a record.
    pub record_bytes: usize,
    /// Fields of a record.
    pub columns: Vec<Column>,
    /// The private state: members within `before.ca_priv` and `after.ca_priv`.
    pub state: Vec<Member>,
}

impl Header {
    /// For records of this program.
    pub fn new(algorithm: &str, implementation: &str, kernel: &str, jiffies_per_s: u64, state: Vec<Member>) -> Self {
        Self {
            format: FORMAT,
            algorithm: algorithm.to_owned(),
            implementation: implementation.to_owned(),
            kernel: kernel.to_owned(),
            jiffies_per_s,
            hooks: HOOK_NAMES.map(str::to_owned).to_vec(),
            record_bytes: CALL_BYTES,
            columns: native::columns(),
            state,
        }
    }

    /// Length of a jiffy.
    pub fn us_per_jiffy(&self) -> u64 {
        1_000_000 / self.jiffies_per_s
    }

    /// Writes the line.
    pub fn write(&self, to: &mut impl Write) -> Result<()> {
        writeln!(to, "{}", serde_json::to_string(self)?)?;
        Ok(())
    }
}

/// All of a file.
pub struct Recording {
    /// Its first line.
    pub header: Header,
    /// Its records.
    pub calls: Vec<call>,
}

impl Recording {
    /// Reads a file that a recorder of this build wrote.
    pub fn read(path: &Path) -> Result<Self> {
        let name = path.display();
        let mut file = BufReader::new(File::open(path).with_context(|| format!("cannot open {name}"))?);
        let mut line = String::new();
        file.read_line(&mut line)?;
        let header: Header = serde_json::from_str(&line).with_context(|| format!("{name} is not a recording"))?;
        ensure!(header.format == FORMAT, "{name} has format {}, but this program reads {FORMAT}", header.format);
        ensure!(header.columns == native::columns(), "{name} has other fields: record it again");
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        ensure!(bytes.len() % CALL_BYTES == 0, "{name} ends in the middle of a record");
        Ok(Self { header, calls: bytes.chunks_exact(CALL_BYTES).map(native::call_of_bytes).collect() })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn columns_lie_within_a_record_and_do_not_overlap() {
        let mut columns = native::columns();
        columns.sort_by_key(|column| column.offset);
        let mut end = 0;
        for column in &columns {
            let (count, kind) = column.kind.split_at(column.kind.find(['<', 'u']).unwrap());
            let bytes: usize = kind.trim_start_matches(['<', 'u', 'i']).parse().unwrap();
            assert!(column.offset >= end, "{}", column.name);
            end = column.offset + bytes * count.parse::<usize>().unwrap_or(1);
        }
        assert!(end <= CALL_BYTES);
    }

    #[test]
    fn a_recording_is_read_as_it_was_written_and_a_torn_one_refused() {
        let path = std::env::temp_dir().join(format!("ccctl-compare-test-{}.calls", std::process::id()));
        let member = Member { name: "ai".to_owned(), bit_offset: 0, bits: 32 };
        let mut bytes = Vec::new();
        Header::new("highspeed", MODULE, "6.12", 250, vec![member.clone()]).write(&mut bytes).unwrap();
        let mut record = vec![0; CALL_BYTES];
        let cwnd = native::columns().into_iter().find(|column| column.name == "after.snd_cwnd").unwrap();
        record[cwnd.offset..cwnd.offset + 4].copy_from_slice(&4711_u32.to_le_bytes());
        bytes.extend(&record);
        std::fs::write(&path, &bytes).unwrap();
        let recording = Recording::read(&path).unwrap();
        assert_eq!((recording.calls.len(), recording.calls[0].after.snd_cwnd), (1, 4711));
        assert_eq!(recording.header.state, [member]);
        std::fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
        assert!(Recording::read(&path).is_err());
        std::fs::remove_file(&path).unwrap();
    }
}
