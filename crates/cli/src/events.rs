// SPDX-License-Identifier: MIT OR Apache-2.0
//! The daemon's journal: the latest events, kept in memory for those who follow them.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ccctl_core::daemon::{Event, News};
use tokio::sync::watch;

/// So many of the latest are kept.
pub const KEPT: usize = 1000;

/// The latest events, and who waits for more.
#[derive(Debug, Default)]
pub struct Journal {
    kept: Mutex<Kept>,
    changed: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct Kept {
    events: VecDeque<Event>,
    /// The number of the newest.
    newest: u64,
    is_closed: bool,
}

impl Journal {
    /// Something has happened.
    pub fn note(&self, News { kind, name, text }: News) {
        let mut kept = self.kept();
        kept.newest += 1;
        let at = ccctl_console::output::time(std::time::SystemTime::now());
        let event = Event { number: kept.newest, at, kind, name, text };
        if kept.events.len() >= KEPT {
            kept.events.pop_front();
        }
        kept.events.push_back(event);
        drop(kept);
        self.changed.send_replace(());
    }

    /// Nothing will happen any more: who follows has heard all.
    pub fn close(&self) {
        self.kept().is_closed = true;
        self.changed.send_replace(());
    }

    /// What is kept of the events after this number; none where no more will come. A number that is not reached yet is one
    /// of an earlier daemon: all are after it.
    pub fn after(&self, number: u64) -> Option<Vec<Event>> {
        let kept = self.kept();
        let number = if number > kept.newest { 0 } else { number };
        let events: Vec<Event> = kept.events.iter().filter(|event| event.number > number).cloned().collect();
        (!events.is_empty() || !kept.is_closed).then_some(events)
    }

    /// Told after each event.
    pub fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ccctl_core::daemon::EventKind;

    fn numbers(journal: &Journal, after: u64) -> Option<Vec<u64>> {
        journal.after(after).map(|events| events.iter().map(|event| event.number).collect())
    }

    #[test]
    fn the_latest_are_kept_and_numbered_without_a_gap() {
        let journal = Journal::default();
        let count = KEPT as u64 + 10;
        (0..count).for_each(|number| journal.note(News::new(EventKind::Loaded, "web", number.to_string())));
        assert_eq!(numbers(&journal, 0), Some((11..=count).collect()));
        assert_eq!(numbers(&journal, count - 2), Some(vec![count - 1, count]));
        assert_eq!(numbers(&journal, count), Some(vec![]), "there may be more");
        assert_eq!(numbers(&journal, count + 1), Some((11..=count).collect()), "a number of an earlier daemon");
        journal.close();
        assert_eq!(numbers(&journal, count - 1), Some(vec![count]), "what was not read yet");
        assert_eq!(numbers(&journal, count), None);
    }
}
