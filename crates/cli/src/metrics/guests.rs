// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who is connected to the port. Any user of the host may connect, and where it is open to the network, any host; none may keep
//! others from it.

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::task::AbortHandle;

use super::user_of::user_of;

/// Connections at once: several servers, and some who look by hand.
pub const CONNECTIONS: usize = 16;
/// Connections of one user, where the kernel tells whose they are, or of one host.
pub const OF_USER: usize = 4;

/// At the other end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// A user of this host.
    User(u32),
    /// Another host.
    Host(IpAddr),
    /// This host, and the kernel does not say whose socket it is.
    Unknown,
}

impl Who {
    /// Of a connection from `peer` to `own`.
    pub fn at(peer: SocketAddr, own: SocketAddr) -> Self {
        // a port of IPv6 shows connections over IPv4 by addresses that the other end does not have
        let [peer, own] = [peer, own].map(|end| SocketAddr::new(end.ip().to_canonical(), end.port()));
        if !peer.ip().is_loopback() {
            return Self::Host(peer.ip());
        }
        user_of(peer, own).map_or(Self::Unknown, Self::User)
    }
}

/// Those who are connected.
#[derive(Debug, Default)]
pub struct Guests(Mutex<Vec<Guest>>);

/// A connection.
#[derive(Debug)]
struct Guest {
    who: Who,
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
    pub fn make_room(&self, who: Who) -> bool {
        let mut guests = lock(&self.0);
        guests.retain(|guest| !guest.task.is_finished());
        let count = |who| guests.iter().filter(|guest| guest.who == who).count();
        if who != Who::Unknown && count(who) >= OF_USER {
            return end_idle(&mut guests, who);
        }
        if guests.len() < CONNECTIONS {
            return true;
        }
        let mut all: Vec<Who> = guests.iter().map(|guest| guest.who).collect();
        all.sort_by_key(|who| std::cmp::Reverse(count(*who)));
        all.into_iter().any(|who| end_idle(&mut guests, who))
    }

    /// Notes a connection.
    pub fn add(&self, who: Who, state: Arc<State>, task: AbortHandle) {
        lock(&self.0).push(Guest { who, state, task });
    }
}

fn end_idle(guests: &mut Vec<Guest>, who: Who) -> bool {
    let of_user = guests.iter().enumerate().filter(|(_, guest)| guest.who == who);
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

    /// Whether a connection gets in; it stays then, and does nothing.
    fn comes(guests: &Guests, who: Who) -> Option<Arc<State>> {
        guests.make_room(who).then(|| {
            let state = Arc::new(State::default());
            guests.add(who, state.clone(), tokio::spawn(std::future::pending::<()>()).abort_handle());
            state
        })
    }

    fn count(guests: &Guests, who: Who) -> usize {
        lock(&guests.0).iter().filter(|guest| guest.who == who).count()
    }

    /// Of a port on all interfaces the other end does not have the address; over IPv4 it also has another form.
    #[test]
    fn a_user_of_this_host_is_known_at_a_port_on_all_interfaces() {
        let user = Who::User(nix::unistd::geteuid().as_raw());
        for all in ["0.0.0.0:0", "[::]:0"] {
            let listener = std::net::TcpListener::bind(all).expect("a port");
            let port = listener.local_addr().expect("bound").port();
            let _client = std::net::TcpStream::connect(("127.0.0.1", port)).expect("it listens");
            let (server, peer) = listener.accept().expect("a connection");
            assert_eq!(Who::at(peer, server.local_addr().expect("connected")), user, "{all}");
        }
    }

    #[test]
    fn attack_idle_and_busy_connections_of_a_user_leave_room_for_others() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async {
            let guests = Guests::default();
            let server = comes(&guests, Who::User(1)).expect("there is room");
            for _ in 0..100 {
                assert!(comes(&guests, Who::User(2)).is_some(), "the oldest of the same user goes");
            }
            assert_eq!((count(&guests, Who::User(1)), count(&guests, Who::User(2))), (1, OF_USER));
            for guest in lock(&guests.0).iter() {
                guest.state.begin();
            }
            assert!(comes(&guests, Who::User(2)).is_none(), "all of the user's are busy");
            assert!(comes(&guests, Who::User(3)).is_some());
            server.end();
            for _ in 0..100 {
                comes(&guests, Who::Unknown);
            }
            let host = |last| Who::Host([192, 0, 2, last].into());
            for _ in 0..100 {
                comes(&guests, host(9));
            }
            assert!(count(&guests, host(9)) <= OF_USER, "another host has no more than a user");
            assert_eq!(lock(&guests.0).len(), CONNECTIONS);
            assert_eq!(count(&guests, Who::User(1)), 1, "those that nobody can tell apart push out each other");
        });
    }
}
