//! The log: to stderr for people, to the journal under systemd; neither is flooded.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tracing::field::{Field, Visit};
use tracing::subscriber::Interest;
use tracing::{Event, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, SubscriberExt as _};
use tracing_subscriber::{registry, Layer};

use crate::policy::Level;

/// The same message is written once in this time.
const PERIOD: Duration = Duration::from_secs(60);
/// Most messages of all kinds in a period.
const MOST: usize = 300;
/// What this module says itself is neither the same again nor too much.
const OWN: &str = "ccctl::log";

static LEVEL: AtomicU8 = AtomicU8::new(2);
static WRITTEN: Mutex<Option<Written>> = Mutex::new(None);

/// Begins to write.
pub fn begin(level: Level) {
    set_level(level);
    let journal = is_journal().then(|| tracing_journald::layer().ok()).flatten();
    let result = match journal {
        Some(journal) => tracing::subscriber::set_global_default(registry().with(Sieve).with(journal)),
        None => tracing::subscriber::set_global_default(registry().with(Sieve).with(Stderr)),
    };
    if result.is_err() {
        eprintln!("ccctl: the log was begun twice");
    }
}

/// The least important that is written.
pub fn set_level(level: Level) {
    LEVEL.store(level as u8, Ordering::Relaxed);
}

/// Is stderr the journal's, as `JOURNAL_STREAM` says?
fn is_journal() -> bool {
    let stream = std::env::var("JOURNAL_STREAM").unwrap_or_default();
    let stderr = std::fs::metadata("/proc/self/fd/2");
    stderr.is_ok_and(|file| stream == format!("{}:{}", file.dev(), file.ino()))
}

/// What was written in this period.
#[derive(Debug)]
struct Written {
    since: Instant,
    messages: HashMap<String, usize>,
    left_out: usize,
}

impl Written {
    fn new(since: Instant) -> Self {
        Self { since, messages: HashMap::new(), left_out: 0 }
    }

    /// May this be written? Counts it if not.
    fn admit(&mut self, message: &str) -> bool {
        if let Some(again) = self.messages.get_mut(message) {
            *again += 1;
            return false;
        }
        if self.messages.len() >= MOST {
            self.left_out += 1;
            return false;
        }
        self.messages.insert(message.to_owned(), 0);
        true
    }

    /// What was not written.
    fn left_out(self) -> Vec<String> {
        let again = self.messages.into_iter().filter(|(_, again)| *again > 0);
        let mut told: Vec<String> = again.map(|(message, again)| format!("{again} times more: {message}")).collect();
        told.sort();
        if self.left_out > 0 {
            told.push(format!("{} other messages were left out", self.left_out));
        }
        told
    }
}

/// At the end of a period, says what was left out in it.
pub fn tell_left_out() {
    let mut written = WRITTEN.lock().unwrap_or_else(PoisonError::into_inner);
    let over = written.take_if(|written| written.since.elapsed() >= PERIOD);
    drop(written);
    for line in over.map(Written::left_out).unwrap_or_default() {
        tracing::warn!(target: OWN, "{line}");
    }
}

/// Lets through what is important enough, and neither the same again nor too much.
struct Sieve;

impl<S: Subscriber> Layer<S> for Sieve {
    /// The level may change, so no answer is for ever.
    fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
        Interest::sometimes()
    }

    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        let most = [tracing::Level::ERROR, tracing::Level::WARN, tracing::Level::INFO, tracing::Level::DEBUG];
        let most = most[usize::from(LEVEL.load(Ordering::Relaxed)).min(3)];
        *metadata.level() <= most && metadata.target().starts_with("ccctl")
    }

    fn event_enabled(&self, event: &Event<'_>, _: Context<'_, S>) -> bool {
        if event.metadata().target() == OWN {
            return true;
        }
        let mut written = WRITTEN.lock().unwrap_or_else(PoisonError::into_inner);
        written.get_or_insert_with(|| Written::new(Instant::now())).admit(&Message::of(event).0)
    }
}

/// Writes lines to stderr.
struct Stderr;

impl<S: Subscriber> Layer<S> for Stderr {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let level = event.metadata().level().as_str().to_lowercase();
        let line = format!("ccctl: {level}: {}\n", Message::of(event).0);
        let _ = std::io::stderr().write_all(line.as_bytes()); // nobody may be there to be told
    }
}

/// The text of an event.
#[derive(Default)]
struct Message(String);

impl Message {
    fn of(event: &Event<'_>) -> Self {
        let mut message = Self::default();
        event.record(&mut message);
        message
    }
}

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        let _ = match field.name() {
            "message" => write!(self.0, "{value:?}"),
            name => write!(self.0, " {name}={value:?}"), // writing to a string does not fail
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_again_and_too_much_are_counted() {
        let mut written = Written::new(Instant::now());
        assert!(written.admit("a") && !written.admit("a") && !written.admit("a"));
        assert_eq!((0..MOST).filter(|number| written.admit(&format!("{number}"))).count(), MOST - 1);
        assert_eq!(written.left_out(), ["2 times more: a", "1 other messages were left out"]);
    }
}
