// SPDX-License-Identifier: MIT OR Apache-2.0
//! The thread that follows the daemon's events.

use std::sync::mpsc::SyncSender;
use std::time::Duration;

use super::worker::News;
use crate::client::{self, DaemonState};

/// Between two tries to reach a daemon.
const PAUSE: Duration = Duration::from_secs(2);

/// Until nobody listens any more. A daemon that ends may be restarted.
pub fn follow(tell: &SyncSender<News>) {
    let mut last = 0;
    loop {
        let news = match client::connect() {
            DaemonState::Daemon(mut daemon) => {
                let told = daemon.events(last, true, &mut |event| {
                    last = event.number;
                    Ok(tell.send(News::Event(event))?)
                });
                News::NoEvents(told.err().map_or_else(|| "the daemon has ended".to_owned(), |error| error.to_string()))
            }
            DaemonState::None => News::NoEvents("no daemon runs: ccctl daemon records events".to_owned()),
            DaemonState::Busy(fault) => News::NoEvents(fault.to_string()),
            DaemonState::Unusable(why) => News::NoEvents(why),
        };
        if tell.send(news).is_err() {
            return;
        }
        std::thread::sleep(PAUSE);
    }
}
