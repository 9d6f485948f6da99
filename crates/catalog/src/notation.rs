// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a parameter's value is written: `0.7`, `100ms`, `15%`, `12mbit`, `16`. In C it is an integer.
//!
//! The C file declares what the integer counts, as `1/N` and a unit, each of which may be missing: `1/1024`, `us`,
//! `1/128 pkts/RTT`, `pkts`. A member's suffix that says the same is no part of the parameter's name, where the written value
//! says it: `beta_q10` is `beta`, `rtt_ref_us` is `rtt_ref`. What is counted in whole pieces is written as a plain number,
//! and keeps its suffix: `alpha_pkts`. Rates of the laboratory have the same units.

/// A unit that is written behind the number, and how many of the smallest it is.
type Name = (&'static str, u64);

const TIMES: &[Name] = &[("us", 1), ("ms", 1000), ("s", 1_000_000), ("min", 60_000_000), ("h", 3_600_000_000)];
/// As tc(8) has them: 1 kbit is 1000 bits per second.
const RATES: &[Name] = &[("bit", 1), ("kbit", 1000), ("mbit", 1_000_000), ("gbit", 1_000_000_000)];
/// As iperf3 has them, and as line rates are called. Only in these letters: `m` is a thousandth, and tc's `mbps` are
/// megabytes.
const SHORT_RATES: &[Name] = &[("k", 1000), ("K", 1000), ("M", 1_000_000), ("G", 1_000_000_000)];
const LINE_RATES: &[Name] = &[("kbps", 1000), ("Kbps", 1000), ("Mbps", 1_000_000), ("Gbps", 1_000_000_000)];
/// As nginx and tc(8) have them; a number alone is bytes, as sysctl has it. The short names are printed.
const SIZES: &[Name] = &[
    ("", 1),
    ("k", 1 << 10),
    ("m", 1 << 20),
    ("g", 1 << 30),
    ("b", 1),
    ("kb", 1 << 10),
    ("kib", 1 << 10),
    ("mb", 1 << 20),
    ("mib", 1 << 20),
    ("gb", 1 << 30),
    ("gib", 1 << 30),
];
const PERCENT: &[Name] = &[("%", 1)];
const PPM: &[Name] = &[("ppm", 1)];
/// Behind a number that needs no unit.
const OF_A_SHARE: &str = "%";

/// A family of units, as values and answers have it.
#[derive(Debug, PartialEq, Eq)]
struct Family {
    /// "a time", for messages.
    what: &'static str,
    names: &'static [Name],
    /// How many of `names` are printed; the rest is read only.
    printed: usize,
    /// Unit of numbers in JSON, and how many of the smallest it is.
    base: (&'static str, u64),
}

static TIME: Family = Family { what: "a time", names: TIMES, printed: 3, base: ("s", 1_000_000) };
static RATE: Family = Family { what: "a rate", names: RATES, printed: 4, base: ("bit/s", 1) };
static SIZE: Family = Family { what: "a size", names: SIZES, printed: 4, base: ("bytes", 1) };
static SHARE: Family = Family { what: "a percentage", names: PERCENT, printed: 1, base: ("%", 1) };
static MILLIONTHS: Family = Family { what: "a share in ppm", names: PPM, printed: 1, base: ("ppm", 1) };

/// Units that C files declare and values carry: the member's suffix, the family, and how many of its smallest it is.
static DECLARED: [(&str, &str, &Family, u64); 9] = [
    ("us", "_us", &TIME, 1),
    ("ms", "_ms", &TIME, 1000),
    ("s", "_s", &TIME, 1_000_000),
    ("bytes/s", "_bytes_per_s", &RATE, 8),
    ("kB/s", "_kbytes_per_s", &RATE, 8000),
    ("Mbit/s", "_mbps", &RATE, 1_000_000),
    ("size", "_bytes", &SIZE, 1),
    ("%", "_pct", &SHARE, 1),
    ("ppm", "_ppm", &MILLIONTHS, 1),
];

/// Most digits of a number, before and behind the point.
const MOST_DIGITS: usize = 18;
/// Where so many decimals are the whole number it is printed with them, even if fewer would be read as the same integer:
/// 0.125, not 0.13.
const WHOLE_WITH_DECIMALS: u32 = 3;
/// The most that a number of a unit needs: 1 bit/s are 0.000000001gbit.
const MOST_DECIMALS: u32 = 9;

/// How the values of a parameter are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Notation {
    /// None: a plain number.
    family: Option<&'static Family>,
    /// The integer 1 is `step / parts` of the family's smallest unit, or of the number 1.
    step: u64,
    parts: u64,
    /// What a plain number counts, for the reader.
    counted: String,
    /// Of the C member.
    suffixes: Vec<String>,
}

/// Why a text is no value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Unreadable {
    /// Not a number, or not with this unit.
    Malformed,
    /// A number alone, where 100 could be microseconds or seconds.
    NoUnit,
    /// Larger than any integer.
    TooLarge,
    /// Between two integers, or between 0 and the first.
    TooFine {
        /// The integer below.
        below: u32,
    },
}

/// `mantissa / 10^decimals`
struct Decimal {
    mantissa: u128,
    decimals: u32,
}

impl Decimal {
    /// Reads digits with at most one point among or before them, and gives what stands behind.
    fn read(text: &str) -> Option<(Self, &str)> {
        let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
        let (number, rest) = text.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let fraction = fraction.trim_end_matches('0');
        let digits = format!("{}{fraction}", whole.trim_start_matches('0'));
        if whole.is_empty() || fraction.contains('.') || number.ends_with('.') || digits.len() > MOST_DIGITS {
            return None;
        }
        let mantissa = if digits.is_empty() { 0 } else { digits.parse().ok()? };
        Some((Self { mantissa, decimals: fraction.len() as u32 }, rest))
    }

    fn text(&self) -> String {
        let one = 10_u128.pow(self.decimals);
        let whole = self.mantissa / one;
        if self.decimals == 0 {
            return whole.to_string();
        }
        let fraction = format!("{:0width$}", self.mantissa % one, width = self.decimals as usize);
        let fraction = fraction.trim_end_matches('0');
        if fraction.is_empty() {
            whole.to_string()
        } else {
            format!("{whole}.{fraction}")
        }
    }
}

impl Notation {
    /// Of the unit that a C file declares.
    pub(crate) fn of_declared(declared: &str) -> Self {
        let (parts, unit) = parts_of(declared);
        let mut suffixes = scale_suffix(parts).into_iter().collect::<Vec<_>>();
        let Some((_, suffix, family, step)) = DECLARED.iter().find(|(known, ..)| *known == unit) else {
            return Self { family: None, step: 1, parts, counted: unit.to_owned(), suffixes };
        };
        suffixes.push((*suffix).to_owned());
        Self { family: Some(family), step: *step, parts, counted: String::new(), suffixes }
    }

    /// The parameter's name: the C member's without what values say.
    pub(crate) fn name_of(&self, member: &str) -> String {
        let stem = self.suffixes.iter().fold(member, |name, suffix| {
            name.strip_suffix(suffix.as_str()).filter(|stem| !stem.trim_matches('_').is_empty()).unwrap_or(name)
        });
        stem.to_owned()
    }

    /// Unit of [`Self::number`].
    pub(crate) fn unit(&self) -> &str {
        self.family.map_or(&self.counted, |family| family.base.0)
    }

    /// "a time", for messages.
    pub(crate) fn what(&self) -> &'static str {
        match self.family {
            Some(family) => family.what,
            None if self.parts > 1 => "a number",
            None => "a whole number",
        }
    }

    /// Names of units that a number needs; none for a plain number.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.family.into_iter().flat_map(|family| &family.names[..family.printed]).map(|(name, _)| *name)
    }

    /// What the integer 1 stands for, where that is not 1.
    pub(crate) fn step_text(&self) -> String {
        match self.family {
            Some(_) if self.parts == 1 => self.text(1),
            _ if self.parts > 1 => format!("1/{}", self.parts),
            _ => String::new(),
        }
    }

    /// The value as a fraction, where its text is not all of it: `717/1024` of 0.7.
    pub(crate) fn exact(&self, value: u32) -> Option<String> {
        let written = self.family.map_or(1, |family| u128::from(family.names[self.printed_with(value)].1));
        let (number, _) = Decimal::read(&self.number_text(value))?;
        let one = 10_u128.pow(number.decimals) * u128::from(self.step) * u128::from(value);
        let is_all = number.mantissa * u128::from(self.parts) * written == one;
        (!is_all && self.family.is_none()).then(|| format!("{value}/{}", self.parts))
    }

    /// The value in [`Self::unit`].
    pub(crate) fn number(&self, value: u32) -> f64 {
        match self.family {
            None => self.text(value).parse().unwrap_or_default(),
            // both are whole numbers below 2^53 where the division is by a power of ten: the nearest f64
            Some(family) => (u64::from(value) * self.step) as f64 / (self.parts * family.base.1) as f64,
        }
    }

    /// The value as one types it: the fewest digits that [`Self::read`] takes for the same integer.
    pub(crate) fn text(&self, value: u32) -> String {
        let number = self.number_text(value);
        match self.family {
            Some(family) if value > 0 => format!("{number}{}", family.names[self.printed_with(value)].0),
            _ => number,
        }
    }

    /// The largest unit that the value is at least one of; of a size, a whole number of.
    fn printed_with(&self, value: u32) -> usize {
        let Some(family) = self.family else { return 0 };
        let smallest = u128::from(value) * u128::from(self.step);
        let fits = |(_, factor): &Name| {
            smallest >= u128::from(*factor) * u128::from(self.parts)
                && (*family != SIZE || smallest.is_multiple_of(u128::from(*factor)))
        };
        family.names[..family.printed].iter().rposition(fits).unwrap_or(0)
    }

    fn number_text(&self, value: u32) -> String {
        let factor = self.family.map_or(1, |family| family.names[self.printed_with(value)].1);
        let divisor = u128::from(self.parts) * u128::from(factor);
        let dividend = u128::from(value) * u128::from(self.step);
        let whole = if self.parts == 1 { MOST_DECIMALS } else { WHOLE_WITH_DECIMALS };
        let is_whole = |decimals: &u32| (dividend * 10_u128.pow(*decimals)).is_multiple_of(divisor);
        let nearest = |decimals: u32| Decimal {
            mantissa: (2 * dividend * 10_u128.pow(decimals) + divisor) / (2 * divisor),
            decimals,
        };
        let reads_back = |decimals: &u32| self.integer(&nearest(*decimals), factor) == Ok(value);
        let decimals = Some(whole).filter(is_whole).or_else(|| (0..MOST_DIGITS as u32).find(reads_back));
        nearest(decimals.unwrap_or(MOST_DIGITS as u32)).text()
    }

    /// Reads a number with its unit. A part of an integer is rounded to the nearest where the declaration has parts.
    pub(crate) fn read(&self, text: &str) -> Result<u32, Unreadable> {
        let (number, rest) = Decimal::read(text.trim()).ok_or(Unreadable::Malformed)?;
        let unit = rest.trim_start();
        let Some(family) = self.family else {
            let is_share = unit == OF_A_SHARE && self.parts > 1 && self.counted.is_empty();
            return match unit {
                _ if is_share => self.integer(&Decimal { decimals: number.decimals + 2, ..number }, 1),
                "" => self.integer(&number, 1),
                _ if unit == self.counted => self.integer(&number, 1),
                _ => Err(Unreadable::Malformed),
            };
        };
        if unit.is_empty() && *family != SIZE {
            return if number.mantissa == 0 { Ok(0) } else { Err(Unreadable::NoUnit) };
        }
        let factor =
            if *family == RATE { bits_per_s_of(unit) } else { factor(family.names, &unit.to_ascii_lowercase()) };
        self.integer(&number, factor.ok_or(Unreadable::Malformed)?)
    }

    fn integer(&self, number: &Decimal, factor: u64) -> Result<u32, Unreadable> {
        let divisor = u128::from(self.step) * 10_u128.pow(number.decimals);
        let dividend = number.mantissa.checked_mul(u128::from(factor)).and_then(|it| it.checked_mul(self.parts.into()));
        let dividend = dividend.ok_or(Unreadable::TooLarge)?;
        let below = u32::try_from(dividend / divisor).map_err(|_| Unreadable::TooLarge)?;
        let part = dividend % divisor;
        if part == 0 {
            return Ok(below);
        }
        let nearest = below.checked_add(u32::from(2 * part >= divisor)).ok_or(Unreadable::TooLarge)?;
        if self.parts == 1 || nearest == 0 {
            return Err(Unreadable::TooFine { below });
        }
        Ok(nearest)
    }
}

/// How many bits per second one of a unit is: `Mbit/s`, `mbit`, `Mbps`, `M`.
#[must_use]
pub fn bits_per_s_of(unit: &str) -> Option<u64> {
    let in_tc = unit.to_ascii_lowercase();
    let bit = factor(RATES, in_tc.strip_suffix("/s").unwrap_or(&in_tc));
    bit.or_else(|| factor(SHORT_RATES, unit)).or_else(|| factor(LINE_RATES, unit))
}

fn factor(names: &[Name], unit: &str) -> Option<u64> {
    names.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor)
}

/// `1/1024 pkts` is 1024 and `pkts`; without a fraction 1.
fn parts_of(declared: &str) -> (u64, &str) {
    let (fraction, unit) = declared.split_once(' ').unwrap_or((declared, ""));
    let parts = fraction.strip_prefix("1/").and_then(|parts| parts.parse::<u32>().ok()).filter(|parts| *parts > 1);
    parts.map_or((1, declared), |parts| (parts.into(), unit))
}

fn scale_suffix(parts: u64) -> Option<String> {
    match parts {
        1 => None,
        1000 => Some("_milli".to_owned()),
        _ => Some(format!("_q{}", parts.ilog2())).filter(|_| parts.is_power_of_two()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(declared: &str, text: &str) -> Result<u32, Unreadable> {
        Notation::of_declared(declared).read(text)
    }

    fn text(declared: &str, value: u32) -> String {
        Notation::of_declared(declared).text(value)
    }

    #[test]
    fn sizes_are_bytes_and_their_multiples_by_1024() {
        for (typed, bytes, printed) in [
            ("131072", 131_072, "128k"),
            ("128k", 131_072, "128k"),
            ("128KiB", 131_072, "128k"),
            ("1.5M", 1_572_864, "1536k"),
            ("100000", 100_000, "100000"),
            ("1 gb", 1_073_741_824, "1g"),
        ] {
            assert_eq!((read("size", typed), text("size", bytes)), (Ok(bytes), printed.to_owned()));
        }
        assert_eq!(read("size", "128mbit"), Err(Unreadable::Malformed));
        assert_eq!(read("size", "0.3k"), Err(Unreadable::TooFine { below: 307 }));
        assert_eq!(Notation::of_declared("size").name_of("notsent_lowat_bytes"), "notsent_lowat");
    }

    /// 0.7 times 1024 is 716.8, 0.8 times 1024 is 819.2, 0.4 times 1024 is 409.6: the integers of `tcp_cubic.c` and `tcp_bic.c`.
    #[test]
    fn shares_are_the_nearest_integer() {
        for (share, integer) in [("0.7", 717), ("0.8", 819), ("0.4", 410), ("0.5", 512), ("0.875", 896), ("1", 1024)] {
            assert_eq!((read("1/1024", share), text("1/1024", integer)), (Ok(integer), share.to_owned()));
        }
        assert_eq!(
            (read("1/1024", "0.70"), read("1/1024", "00.7"), read("1/1024", "70%")),
            (Ok(717), Ok(717), Ok(717))
        );
        // 716.5 and 717.5 are the borders of 717: 0.69970703125 belongs to it, 0.70068359375 to 718
        assert_eq!((read("1/1024", "0.69970703125"), read("1/1024", "0.70068359375")), (Ok(717), Ok(718)));
        assert_eq!((read("1/1024", "0.699707031249"), read("1/1024", "0.700683593749")), (Ok(716), Ok(717)));
        assert_eq!(Notation::of_declared("1/1024").exact(717), Some("717/1024".to_owned()));
        assert_eq!(Notation::of_declared("1/1024").exact(896), None);
    }

    /// 2.885 times 256 is 738.56, 0.3 times 128 is 38.4; 8/64 is 0.125 although 0.13 times 64 is 8.32.
    #[test]
    fn other_scales_are_as_exact_as_they_are() {
        assert_eq!((read("1/256", "2.885"), text("1/256", 739)), (Ok(739), "2.887".to_owned()));
        assert_eq!((read("1/128 pkts/RTT", "0.3"), text("1/128 pkts/RTT", 38)), (Ok(38), "0.3".to_owned()));
        assert_eq!((read("1/64", "0.13"), text("1/64", 8)), (Ok(8), "0.125".to_owned()));
        assert_eq!((read("1/8", "1.125"), text("1/8", 9)), (Ok(9), "1.125".to_owned()));
        assert_eq!((read("1/1000 pkts", "1.641"), text("1/1000 pkts", 1641)), (Ok(1641), "1.641".to_owned()));
        assert_eq!(read("1/1000 pkts", "1.641 pkts"), Ok(1641));
        assert_eq!(read("1/1000 pkts", "50%"), Err(Unreadable::Malformed));
    }

    #[test]
    fn times_have_a_unit_whatever_c_counts_in() {
        for (declared, written, integer) in [
            ("us", "100ms", 100_000),
            ("us", "750us", 750),
            ("us", "1s", 1_000_000),
            ("us", "1.234567s", 1_234_567),
            ("us", "25.001ms", 25_001),
            ("ms", "200ms", 200),
            ("s", "3600s", 3600),
            ("us", "0", 0),
        ] {
            assert_eq!((read(declared, written), text(declared, integer)), (Ok(integer), written.to_owned()));
        }
        assert_eq!((read("us", "0.1 s"), read("us", "100 MS"), read("s", "5min")), (Ok(100_000), Ok(100_000), Ok(300)));
        assert_eq!(read("us", "100"), Err(Unreadable::NoUnit));
        assert_eq!(read("us", "1.5us"), Err(Unreadable::TooFine { below: 1 }));
        assert_eq!(read("ms", "200us"), Err(Unreadable::TooFine { below: 0 }));
        assert_eq!(read("us", "2h"), Err(Unreadable::TooLarge)); // 7.2e9, and 2^32 is 4.3e9
        assert_eq!(read("us", "100mbit"), Err(Unreadable::Malformed));
    }

    /// 12 Mbit/s are 1500 kB/s.
    #[test]
    fn rates_are_those_of_tc() {
        for (declared, written, integer) in [
            ("kB/s", "12mbit", 1500),
            ("kB/s", "10.008mbit", 1251),
            ("kB/s", "32gbit", 4_000_000),
            ("Mbit/s", "2gbit", 2000),
            ("Mbit/s", "100mbit", 100),
            ("bytes/s", "4kbit", 500),
            ("bytes/s", "8bit", 1),
        ] {
            assert_eq!((read(declared, written), text(declared, integer)), (Ok(integer), written.to_owned()));
        }
        for written in ["2 Gbit/s", "2Gbit", "2 gbit", "2G", "2 Gbps", "2000M", "2000 Mbps", "2000000Kbps"] {
            assert_eq!(read("Mbit/s", written), Ok(2000), "{written}");
        }
        assert_eq!(read("Mbit/s", "2000m"), Err(Unreadable::Malformed)); // milli
        assert_eq!(read("kB/s", "12.001mbit"), Err(Unreadable::TooFine { below: 1500 }));
        assert_eq!(read("kB/s", "1mbps"), Err(Unreadable::Malformed)); // tc's mbps are megabytes per second
    }

    #[test]
    fn percentages_have_their_sign_and_counts_have_none() {
        assert_eq!((read("%", "15%"), read("%", "15 %"), text("%", 15)), (Ok(15), Ok(15), "15%".to_owned()));
        assert_eq!((read("%", "15"), read("%", "0.15")), (Err(Unreadable::NoUnit), Err(Unreadable::NoUnit)));
        assert_eq!((read("ppm", "42ppm"), text("ppm", 42)), (Ok(42), "42ppm".to_owned()));
        assert_eq!((read("pkts", "16"), read("pkts", "16pkts"), read("", "16.0")), (Ok(16), Ok(16), Ok(16)));
        assert_eq!(read("pkts", "16.5"), Err(Unreadable::TooFine { below: 16 }));
        for wrong in ["", " ", "-1", "+1", "1e3", ".5", "5.", "1.2.3", "0x10", "1_000", "16us", "NaN", "１"] {
            assert_eq!(read("pkts", wrong), Err(Unreadable::Malformed), "{wrong:?}");
        }
        assert_eq!(read("pkts", "1234567890123456789"), Err(Unreadable::Malformed));
        assert_eq!(read("1/256", "0.001"), Err(Unreadable::TooFine { below: 0 }));
    }

    #[test]
    fn numbers_are_in_the_base_unit() {
        let number = |declared: &str, value| {
            let notation = Notation::of_declared(declared);
            (notation.number(value).to_string(), notation.unit().to_owned(), notation.step_text())
        };
        let parts = |number: &str, unit: &str, step: &str| (number.to_owned(), unit.to_owned(), step.to_owned());
        assert_eq!(number("us", 100_000), parts("0.1", "s", "1us"));
        assert_eq!(number("kB/s", 1500), parts("12000000", "bit/s", "8kbit"));
        assert_eq!(number("1/1024", 717), parts("0.7", "", "1/1024"));
        assert_eq!(number("1/128 pkts/RTT", 1280), parts("10", "pkts/RTT", "1/128"));
        assert_eq!(number("pkts", 16), parts("16", "pkts", ""));
    }

    #[test]
    fn names_lose_what_values_say() {
        for (declared, member, name) in [
            ("1/1024", "beta_q10", "beta"),
            ("1/128 pkts/RTT", "alpha_min_q7", "alpha_min"),
            ("1/1000 pkts", "alpha_milli", "alpha"),
            ("us", "rtt_ref_us", "rtt_ref"),
            ("s", "base_expiry_s", "base_expiry"),
            ("%", "delta_pct", "delta"),
            ("kB/s", "mode0_up_kbytes_per_s", "mode0_up"),
            ("1/8 us", "srtt_us_q3", "srtt"),
            ("pkts", "alpha_pkts", "alpha_pkts"),
            ("bytes", "packet_bytes", "packet_bytes"),
            ("", "beta_q10", "beta_q10"),
            ("1/1024", "beta_q8", "beta_q8"),
            ("us", "_us", "_us"),
        ] {
            assert_eq!(Notation::of_declared(declared).name_of(member), name);
        }
    }

    /// Whatever an object file declares, its values can be written and read.
    #[test]
    fn odd_declarations_have_values_as_well() {
        for declared in ["1/3", "1/4294967295", "1/7 us", "1/1000000 kB/s", "1/0", "1/1", "1/x", "pkts/100ms", "1/ 2"] {
            let notation = Notation::of_declared(declared);
            for value in [0, 1, 2, 3, 717, 65_535, 1_000_001, u32::MAX - 1, u32::MAX] {
                assert_eq!(notation.read(&notation.text(value)), Ok(value), "{declared}: {}", notation.text(value));
            }
        }
    }
}
