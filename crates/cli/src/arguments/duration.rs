//! Times on a command line that must be within bounds.

use std::ops::RangeInclusive;
use std::time::Duration;

/// Reads a time; of one outside of the bounds it says what to give instead.
pub fn within(text: &str, bounds: RangeInclusive<Duration>, instead: &str) -> Result<Duration, String> {
    let time = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    if bounds.contains(&time) {
        Ok(time)
    } else {
        Err(instead.to_owned())
    }
}
