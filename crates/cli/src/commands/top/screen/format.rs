// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers as people read them.

/// Nothing to tell.
pub const NOTHING: &str = "-";

/// Three digits and a unit of powers of 1000.
pub fn bit_per_s(rate: Option<f64>) -> String {
    let Some(rate) = rate else { return NOTHING.to_owned() };
    let units = ["bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"];
    let (mut value, mut unit) = (rate, 0);
    // 999.5 would be shown as 1000
    while value >= 999.5 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    let digits = match value {
        _ if unit == 0 => 0,
        value if value < 9.995 => 2,
        value if value < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.digits$} {}", units[unit])
}

/// us as ms; as many digits as fit into 7 columns.
pub fn ms(us: Option<f64>) -> String {
    let Some(us) = us else { return NOTHING.to_owned() };
    let ms = us / 1000.0;
    let digits = match ms {
        ms if ms < 999.0 => 3,
        ms if ms < 99_999.0 => 1,
        _ => 0,
    };
    format!("{ms:.digits$}")
}

/// Percent.
pub fn pct(pct: Option<f64>) -> String {
    pct.map_or(NOTHING.to_owned(), |pct| format!("{pct:.2}"))
}

/// A mean of whole numbers.
pub fn mean(value: Option<f64>) -> String {
    match value {
        None => NOTHING.to_owned(),
        Some(value) if value >= 1000.0 => format!("{value:.0}"),
        Some(value) => format!("{value:.1}"),
    }
}

/// A number, or nothing.
pub fn whole(value: Option<impl ToString>) -> String {
    value.map_or(NOTHING.to_owned(), |value| value.to_string())
}

/// A window or threshold in packets; one that no algorithm can mean has a mark, and is rounded where it does not fit.
pub fn window(pkts: Option<u32>, columns: usize) -> String {
    marked(whole(pkts), pkts.is_some_and(ccctl_catalog::is_impossible_window), columns)
}

/// The number with a mark behind it, rounded to fit into so many columns.
pub fn marked(number: String, is_marked: bool, columns: usize) -> String {
    if !is_marked {
        return number;
    }
    match number.parse::<f64>() {
        Ok(value) if number.len() >= columns && value >= 1e9 => format!("{:.1}G!", value / 1e9),
        Ok(value) if number.len() >= columns && value >= 1e6 => format!("{:.0}M!", value / 1e6),
        _ => format!("{number}!"),
    }
}

/// The text, cut to so many columns; what is missing at its beginning is marked.
pub fn tail(text: &str, columns: usize) -> String {
    let count = text.chars().count();
    if count <= columns {
        return text.to_owned();
    }
    let kept = text.chars().skip(count - columns.saturating_sub(1));
    std::iter::once('~').chain(kept).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_have_three_digits() {
        let told = |rate| bit_per_s(Some(rate));
        let rates = [0.0, 640.0, 999.4, 999.6, 38_240_000.0, 9_996_000.0, 999_600_000.0, 1.5e12];
        let texts = rates.map(told);
        let right = [
            "0 bit/s",
            "640 bit/s",
            "999 bit/s",
            "1.00 kbit/s",
            "38.2 Mbit/s",
            "10.0 Mbit/s",
            "1.00 Gbit/s",
            "1.50 Tbit/s",
        ];
        assert_eq!(texts, right);
        assert_eq!(bit_per_s(None), "-");
    }

    #[test]
    fn impossible_windows_have_a_mark_that_is_never_cut() {
        let told = |pkts| window(Some(pkts), 6);
        let windows = [10, 1 << 20, (1 << 20) + 1, 2_405_917, 135_332_890, 2_029_993_167];
        assert_eq!(windows.map(told), ["10", "1048576", "1M!", "2M!", "135M!", "2.0G!"]);
        assert_eq!(window(Some(284_822_209), 10), "284822209!");
        assert_eq!(window(None, 6), "-");
        assert_eq!(marked("512.5".to_owned(), true, 7), "512.5!", "one of many, and the mean is small");
    }

    #[test]
    fn times_and_tails_fit() {
        let told = [45.0, 40_123.0, 12_345_678.0].map(|us| ms(Some(us)));
        assert_eq!(told, ["0.045", "40.123", "12345.7"]);
        assert_eq!(tail("/system.slice/ssh.service", 12), "~ssh.service");
        assert_eq!(tail("short", 5), "short");
    }
}
