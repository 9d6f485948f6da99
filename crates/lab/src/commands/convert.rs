// SPDX-License-Identifier: GPL-2.0-only
//! `ccctl lab convert`

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use ccctl_console::{output, Exit, Fault, UsageError};
use ccctl_lab::picture::{convert, Format};
use ccctl_series::read_regular_text;

use crate::arguments::Convert as Arguments;

/// Standard input and output in the place of files.
const STDIN: &str = "-";
/// Its objects have no fixed order, so the bytes do not tell whether two show the same.
const PDF: &[u8] = b"%PDF";
/// No figure of ours has a tenth of it.
const SVG_BYTES_MAX: u64 = 64 << 20;

pub fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    for file in &arguments.files {
        if file.as_os_str() == STDIN {
            let mut svg = String::new();
            io::stdin().lock().take(SVG_BYTES_MAX).read_to_string(&mut svg)?;
            io::stdout().lock().write_all(&converted(file, &svg, arguments.to)?)?;
            continue;
        }
        let svg = read_regular_text(file, SVG_BYTES_MAX)
            .map_err(|error| UsageError::new(format!("cannot read {}: {error}", file.display()), "an .svg file"))?;
        let path = file.with_extension(arguments.to.extension());
        write(&path, &converted(file, &svg, arguments.to)?, arguments.force)?;
        output::line(&path.display().to_string())?;
    }
    Ok(Exit::Done)
}

fn converted(file: &Path, svg: &str, to: Format) -> anyhow::Result<Vec<u8>> {
    let refused =
        |error| UsageError::new(format!("{}: {error}", file.display()), "a figure of ccctl, which is an .svg file");
    Ok(convert(svg, to).map_err(refused)?)
}

fn write(path: &Path, data: &[u8], force: bool) -> anyhow::Result<()> {
    if !force && fs::read(path).is_ok_and(|known| known != data || data.starts_with(PDF)) {
        let cause = format!("{} is there, and shows something else", path.display());
        return Err(Fault::new(Exit::Refused, cause, "--force to replace it").into());
    }
    let cannot =
        |error| UsageError::new(format!("cannot write {}: {error}", path.display()), "a folder in which you may write");
    Ok(fs::write(path, data).map_err(cannot)?)
}
