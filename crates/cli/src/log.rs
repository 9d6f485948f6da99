// SPDX-License-Identifier: MIT OR Apache-2.0
//! The log: to stderr for people, to the journal under systemd; neither is flooded.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use ccctl_console::output::{printable, JsonWriter};
use serde::Serialize;
use tracing::field::{Field, Visit};
use tracing::subscriber::Interest;
use tracing::{Event, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, SubscriberExt as _};
use tracing_subscriber::{registry, Layer};

use ccctl_core::configuration::Level;

/// The same message is written once in this time.
const PERIOD: Duration = Duration::from_secs(60);
/// Target of messages that a user can cause who may not change anything. They have a field `user`, the user's id: each user
/// has a budget, whatever paths and processes the messages name, and nobody can use up that of others or of the daemon.
pub const OF_USER: &str = "ccctl::of_user";
/// Messages of one user in a period.
const MOST_OF_USER: usize = 10;
/// Messages of all users together: one person can have many user ids, those of a container for example.
const MOST_OF_USERS: usize = 300;
/// The daemon's own messages that are remembered, so that the same one is not written again. It has far fewer; what is
/// beyond is written without being remembered.
const REMEMBERED: usize = 1000;
/// What this module says itself is neither the same again nor too much.
const OWN: &str = "ccctl::log";

static LEVEL: AtomicU8 = AtomicU8::new(2);
static WRITTEN: Mutex<Option<Written>> = Mutex::new(None);

/// Begins to write; as JSON lines also where stderr is the journal's.
pub fn begin(level: Level, as_json: bool) {
    set_level(level);
    let journal = (is_journal() && !as_json).then(|| tracing_journald::layer().ok()).flatten();
    let result = match journal {
        Some(journal) => tracing::subscriber::set_global_default(registry().with(Sieve).with(journal)),
        None => tracing::subscriber::set_global_default(registry().with(Sieve).with(Stderr { as_json })),
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
    users: HashMap<u64, OfUser>,
    of_other_users: usize,
}

/// Messages of a user.
#[derive(Debug, Default)]
struct OfUser {
    written: usize,
    left_out: usize,
}

impl Written {
    fn new(since: Instant) -> Self {
        Self { since, messages: HashMap::new(), users: HashMap::new(), of_other_users: 0 }
    }

    /// May this be written? Counts it if not. What the daemon says itself is only left out where it stands there already.
    fn admit(&mut self, message: &Message) -> bool {
        if let Some(user) = message.user {
            return self.admit_of(user);
        }
        if let Some(again) = self.messages.get_mut(&message.text) {
            *again += 1;
            return false;
        }
        if self.messages.len() < REMEMBERED {
            self.messages.insert(message.text.clone(), 0);
        }
        true
    }

    fn admit_of(&mut self, user: u64) -> bool {
        let all: usize = self.users.values().map(|of_user| of_user.written).sum();
        if all >= MOST_OF_USERS && !self.users.contains_key(&user) {
            self.of_other_users += 1;
            return false;
        }
        let of_user = self.users.entry(user).or_default();
        let admitted = all < MOST_OF_USERS && of_user.written < MOST_OF_USER;
        *(if admitted { &mut of_user.written } else { &mut of_user.left_out }) += 1;
        admitted
    }

    /// What was not written.
    fn left_out(self) -> Vec<String> {
        let again = self.messages.into_iter().filter(|(_, again)| *again > 0);
        let mut told: Vec<String> =
            again.map(|(message, again)| format!("repeated {again} times: {message}")).collect();
        let users = self.users.into_iter().filter(|(_, of_user)| of_user.left_out > 0);
        told.extend(users.map(|(user, of_user)| format!("{} more refusals of user {user}", of_user.left_out)));
        told.sort();
        if self.of_other_users > 0 {
            told.push(format!("{} refusals of other users", self.of_other_users));
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
        written.get_or_insert_with(|| Written::new(Instant::now())).admit(&Message::of(event))
    }
}

/// Writes lines to stderr: for people, or as JSON.
struct Stderr {
    as_json: bool,
}

/// A line as JSON.
#[derive(Serialize)]
struct JsonLine<'a> {
    /// When, RFC 3339.
    time: String,
    level: &'a str,
    message: &'a str,
    /// The user who has caused it.
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<u64>,
}

impl Stderr {
    /// The line of a message. Names of processes and files are in it, which others choose: no control character is written
    /// as it is.
    fn line(&self, level: &str, message: &Message) -> Vec<u8> {
        if !self.as_json {
            return format!("ccctl: {level}: {}\n", printable(&message.text)).into_bytes();
        }
        let time = humantime::format_rfc3339_millis(SystemTime::now()).to_string();
        let mut line = Vec::new();
        let json = JsonLine { time, level, message: &message.text, user: message.user };
        let _ = serde_json::to_writer(JsonWriter(&mut line), &json); // writing to memory does not fail
        line.push(b'\n');
        line
    }
}

impl<S: Subscriber> Layer<S> for Stderr {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let level = event.metadata().level().as_str().to_lowercase();
        let _ = std::io::stderr().write_all(&self.line(&level, &Message::of(event)));
        // nobody may be there to be told
    }
}

/// The text of an event, and the user who has caused it.
#[derive(Default)]
struct Message {
    text: String,
    user: Option<u64>,
}

impl Message {
    fn of(event: &Event<'_>) -> Self {
        let mut message = Self::default();
        event.record(&mut message);
        message
    }
}

impl Visit for Message {
    fn record_u64(&mut self, field: &Field, value: u64) {
        match field.name() {
            "user" => self.user = Some(value),
            _ => self.record_debug(field, &value),
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        let _ = match field.name() {
            "message" => write!(self.text, "{value:?}"),
            name => write!(self.text, " {name}={value:?}"), // writing to a string does not fail
        };
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn own(text: &str) -> Message {
        Message { text: text.to_owned(), user: None }
    }

    fn of(user: u64, text: &str) -> Message {
        Message { text: text.to_owned(), user: Some(user) }
    }

    #[test]
    fn attack_names_with_control_characters_do_not_reach_the_terminal() {
        let message = of(1234, "refused: GET of process 7 (\u{1b}[2J\r\nccctl: info: all is well)");
        let text = String::from_utf8(Stderr { as_json: false }.line("warn", &message)).unwrap();
        let expected = "ccctl: warn: refused: GET of process 7 (\\x1b[2J\\x0d\\x0accctl: info: all is well)\n";
        assert_eq!(text, expected);
        let text = String::from_utf8(Stderr { as_json: true }.line("warn", &message)).unwrap();
        assert!(text.ends_with('\n') && !text.trim_end().contains(char::is_control), "{text:?}");
        let line: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&line["level"], &line["user"]), (&"warn".into(), &1234.into()));
        assert_eq!(line["message"], message.text.as_str(), "the same text");
        assert!(humantime::parse_rfc3339(line["time"].as_str().unwrap()).is_ok(), "{line}");
    }

    #[test]
    fn the_same_again_is_counted() {
        let mut written = Written::new(Instant::now());
        assert!(written.admit(&own("a")) && !written.admit(&own("a")) && !written.admit(&own("a")));
        assert_eq!(written.left_out(), ["repeated 2 times: a"]);
    }

    #[test]
    fn attack_a_user_uses_up_only_the_users_own_budget() {
        let mut written = Written::new(Instant::now());
        let refused = |number: usize| of(1234, &format!("refused: GET /v1/x{number} of process {number}"));
        assert_eq!((0..1000).filter(|number| written.admit(&refused(*number))).count(), MOST_OF_USER);
        assert!(written.admit(&of(1235, "refused")), "another user's is written");
        assert!(
            (0..1000).all(|number| written.admit(&own(&number.to_string()))),
            "so is all that the daemon says itself"
        );
        assert_eq!(written.left_out(), ["990 more refusals of user 1234"]);
    }

    #[test]
    fn attack_many_users_do_not_flood_the_log() {
        let mut written = Written::new(Instant::now());
        assert_eq!((0..5000).filter(|user| written.admit(&of(*user, "refused"))).count(), MOST_OF_USERS);
        assert!(written.users.len() <= MOST_OF_USERS && written.admit(&own("a")));
        assert_eq!(written.left_out(), ["4700 refusals of other users"]);
    }
}
