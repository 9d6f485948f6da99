// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who is connected to the loopback port. Any user of the host may connect; none may keep others from it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::task::AbortHandle;

/// Connections at once: several servers, and some who look by hand.
pub const CONNECTIONS: usize = 16;
/// Connections of one user, where the kernel tells whose they are.
pub const OF_USER: usize = 4;

/// Those who are connected.
#[derive(Debug, Default)]
pub struct Guests(Mutex<Vec<Guest>>);

/// A connection.
#[derive(Debug)]
struct Guest {
    user: Option<u32>,
    state: Arc<State>,
    task: AbortHandle,
}

/// What a connection does.
#[derive(Debug)]
pub struct State {
    is_busy: AtomicBool,
    idle_since: Mutex<Instant>,
}

impl Default for State {
    fn default() -> Self {
        Self { is_busy: AtomicBool::new(false), idle_since: Mutex::new(Instant::now()) }
    }
}

impl State {
    /// A request has come.
    pub fn begin(&self) {
        self.is_busy.store(true, Ordering::Relaxed);
    }

    /// It is answered.
    pub fn end(&self) {
        *lock(&self.idle_since) = Instant::now();
        self.is_busy.store(false, Ordering::Relaxed);
    }

    fn idle_since(&self) -> Option<Instant> {
        (!self.is_busy.load(Ordering::Relaxed)).then(|| *lock(&self.idle_since))
    }
}

impl Guests {
    /// Makes room for a connection of this user: at the cost of the user's own where they have too many, otherwise of the
    /// user who has most. The one that has been idle for the longest time goes. False: none is idle.
    pub fn make_room(&self, user: Option<u32>) -> bool {
        let mut guests = lock(&self.0);
        guests.retain(|guest| !guest.task.is_finished());
        let count = |user| guests.iter().filter(|guest| guest.user == user).count();
        if user.is_some() && count(user) >= OF_USER {
            return end_idle(&mut guests, user);
        }
        if guests.len() < CONNECTIONS {
            return true;
        }
        let mut users: Vec<Option<u32>> = guests.iter().map(|guest| guest.user).collect();
        users.sort_by_key(|user| std::cmp::Reverse(count(*user)));
        users.into_iter().any(|user| end_idle(&mut guests, user))
    }

    /// Notes a connection.
    pub fn add(&self, user: Option<u32>, state: Arc<State>, task: AbortHandle) {
        lock(&self.0).push(Guest { user, state, task });
    }
}

fn end_idle(guests: &mut Vec<Guest>, user: Option<u32>) -> bool {
    let of_user = guests.iter().enumerate().filter(|(_, guest)| guest.user == user);
    let idle = of_user.filter_map(|(index, guest)| Some((guest.state.idle_since()?, index)));
    let Some((_, index)) = idle.min() else { return false };
    guests.swap_remove(index).task.abort();
    true
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a connection of this user gets in; it stays then, and does nothing.
    fn comes(guests: &Guests, user: Option<u32>) -> Option<Arc<State>> {
        guests.make_room(user).then(|| {
            let state = Arc::new(State::default());
            guests.add(user, state.clone(), tokio::spawn(std::future::pending::<()>()).abort_handle());
            state
        })
    }

    fn count(guests: &Guests, user: Option<u32>) -> usize {
        lock(&guests.0).iter().filter(|guest| guest.user == user).count()
    }

    #[test]
    fn attack_idle_and_busy_connections_of_a_user_leave_room_for_others() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async {
            let guests = Guests::default();
            let server = comes(&guests, Some(1)).expect("there is room");
            for _ in 0..100 {
                assert!(comes(&guests, Some(2)).is_some(), "the oldest of the same user goes");
            }
            assert_eq!((count(&guests, Some(1)), count(&guests, Some(2))), (1, OF_USER));
            for guest in lock(&guests.0).iter() {
                guest.state.begin();
            }
            assert!(comes(&guests, Some(2)).is_none(), "all of the user's are busy");
            assert!(comes(&guests, Some(3)).is_some());
            server.end();
            for _ in 0..100 {
                comes(&guests, None);
            }
            assert_eq!(lock(&guests.0).len(), CONNECTIONS);
            assert_eq!(count(&guests, Some(1)), 1, "those that nobody can tell apart push out each other");
        });
    }
}
