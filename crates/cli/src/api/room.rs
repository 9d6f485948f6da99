// SPDX-License-Identifier: MIT OR Apache-2.0
//! Room for so many of something, of which one user cannot take all.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How many there are, and of whom.
#[derive(Debug)]
pub struct Room {
    most: u32,
    most_of_user: usize,
    free: Arc<Semaphore>,
    by_user: Mutex<HashMap<u32, usize>>,
}

/// One of them; there is room for another one when it is dropped.
#[derive(Debug)]
pub struct Place {
    room: Arc<Room>,
    uid: u32,
    _permit: OwnedSemaphorePermit,
}

impl Room {
    /// For `most`, and `most_of_user` of each user.
    pub fn new(most: u32, most_of_user: usize) -> Arc<Self> {
        let free = Arc::new(Semaphore::new(most as usize));
        Arc::new(Self { most, most_of_user, free, by_user: Mutex::default() })
    }

    /// A place, where there is one for this user.
    pub fn enter(self: &Arc<Self>, uid: u32) -> Option<Place> {
        let mut by_user = self.users();
        if by_user.get(&uid).is_some_and(|count| *count >= self.most_of_user) {
            return None;
        }
        let permit = self.free.clone().try_acquire_owned().ok()?;
        *by_user.entry(uid).or_default() += 1;
        Some(Place { room: self.clone(), uid, _permit: permit })
    }

    /// Waits until nobody is in it.
    pub async fn is_empty(&self) {
        let _ = self.free.acquire_many(self.most).await; // it is never closed
    }

    fn users(&self) -> MutexGuard<'_, HashMap<u32, usize>> {
        self.by_user.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut by_user = self.room.users();
        if let Some(count) = by_user.get_mut(&self.uid) {
            *count -= 1;
            if *count == 0 {
                by_user.remove(&self.uid);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_user_cannot_take_all_places() {
        let room = Room::new(3, 2);
        let held: Vec<Place> = (0..5).filter_map(|_| room.enter(1)).collect();
        assert_eq!(held.len(), 2);
        let other = room.enter(2);
        assert!(other.is_some() && room.enter(3).is_none(), "three in all");
        drop(held);
        assert!(room.enter(3).is_some());
        assert_eq!(room.users().len(), 1, "who has gone is forgotten");
    }
}
