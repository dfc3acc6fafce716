//! Which failures the spans of one map carry, so that a failure knows in how many maps it still claims bytes.

use crate::room::{granted, room};
use crate::{Failure, NoMemory};
use smallvec::SmallVec;
use std::collections::HashMap;
use std::sync::Arc;

/// The failures of one map, sorted by id, with the number of spans of each.
#[derive(Default)]
pub(crate) struct Carried {
    entries: SmallVec<[Entry; 1]>,
    groups: u32,
    members: Members,
}

/// In how many groups of the map each failure is. A map may have a thousand groups of hundreds of members, so that looking through them takes long.
#[derive(Default)]
struct Members {
    groups: HashMap<u64, u32>,
    /// There was no memory for one, so nothing is known.
    unknown: bool,
}

impl Members {
    fn enter(&mut self, group: &Failure) {
        let members = group.members();
        self.unknown = self.unknown || granted().is_err() || self.groups.try_reserve(members.len()).is_err();
        if self.unknown {
            self.groups.clear();
            return;
        }
        for member in members {
            *self.groups.entry(member.id()).or_default() += 1;
        }
    }

    fn leave(&mut self, group: &Failure) {
        for member in group.members() {
            if let Some(groups) = self.groups.get_mut(&member.id()) {
                *groups -= 1;
                if *groups == 0 {
                    self.groups.remove(&member.id());
                }
            }
        }
    }
}

struct Entry {
    failure: Arc<Failure>,
    spans: u32,
}

impl Carried {
    fn place(&self, id: u64) -> Result<usize, usize> {
        self.entries.binary_search_by_key(&id, |entry| entry.failure.id())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(crate) fn get(&self, id: u64) -> Option<&Arc<Failure>> {
        self.place(id).ok().and_then(|place| self.entries.get(place)).map(|entry| &entry.failure)
    }

    pub(crate) fn reserve(&mut self, more: usize) -> Result<(), NoMemory> {
        if self.members.unknown {
            self.members = Members::default();
            let groups = self.entries.iter().map(|entry| &entry.failure).filter(|failure| failure.is_group());
            groups.for_each(|group| self.members.enter(group));
        }
        room(&mut self.entries, more)
    }

    /// Room for a span of `failure`, which needs none if it is carried already.
    pub(crate) fn reserve_for(&mut self, failure: &Failure) -> Result<(), NoMemory> {
        if self.place(failure.id()).is_ok() { Ok(()) } else { room(&mut self.entries, 1) }
    }

    /// One more span of a failure that room was made for.
    pub(crate) fn add(&mut self, failure: &Arc<Failure>) {
        match self.place(failure.id()) {
            Ok(place) => {
                if let Some(entry) = self.entries.get_mut(place) {
                    entry.spans += 1;
                }
            }
            Err(place) => {
                self.count_in(failure);
                self.entries.insert(place, Entry { failure: failure.clone(), spans: 1 });
            }
        }
    }

    /// One more span of a failure that is carried already.
    pub(crate) fn again(&mut self, id: u64) {
        if let Some(entry) = self.place(id).ok().and_then(|place| self.entries.get_mut(place)) {
            entry.spans += 1;
        }
    }

    /// One span fewer of a failure.
    pub(crate) fn remove(&mut self, id: u64) {
        let Ok(place) = self.place(id) else { return };
        let Some(entry) = self.entries.get_mut(place) else { return };
        entry.spans -= 1;
        if entry.spans == 0 {
            let entry = self.entries.remove(place);
            self.count_out(&entry.failure);
        }
    }

    /// The number of spans of each failure, by id.
    #[cfg(test)]
    pub(crate) fn counts_of_spans(&self) -> Vec<(u64, u32)> {
        self.entries.iter().map(|entry| (entry.failure.id(), entry.spans)).collect()
    }

    pub(crate) fn clear(&mut self) {
        while let Some(entry) = self.entries.pop() {
            self.count_out(&entry.failure);
        }
    }

    /// Whether a failure claims bytes here, alone or in a group.
    fn counts(&self, id: u64) -> bool {
        let in_group = |entry: &Entry| entry.failure.members().iter().any(|member| member.id() == id);
        self.place(id).is_ok()
            || match self.members.unknown {
                false => self.members.groups.contains_key(&id),
                true => self.entries.iter().any(in_group),
            }
    }

    fn count_in(&mut self, failure: &Failure) {
        for member in failure.members().iter().filter(|member| !self.counts(member.id())) {
            member.enter_map();
        }
        if !self.counts(failure.id()) {
            failure.enter_map();
        }
        if failure.is_group() {
            self.groups += 1;
            self.members.enter(failure);
        }
    }

    /// Called once the entry is gone.
    fn count_out(&mut self, failure: &Failure) {
        if failure.is_group() {
            self.groups -= 1;
            self.members.leave(failure);
            if self.groups == 0 {
                self.members = Members::default();
            }
        }
        for member in failure.members().iter().filter(|member| !self.counts(member.id())) {
            member.leave_map();
        }
        if !self.counts(failure.id()) {
            failure.leave_map();
        }
    }
}

impl Drop for Carried {
    fn drop(&mut self) {
        self.clear();
    }
}
