//! A fair queue: first in, first out within a group, and groups in turn.

use std::collections::{BTreeMap, VecDeque};

/// What waits, by group. A group without anything that waits is not in it.
#[derive(Debug)]
pub(super) struct FairQueue<I> {
    groups: BTreeMap<Option<String>, VecDeque<I>>,
    /// Whose turn it is, and whose it is then.
    turns: VecDeque<Option<String>>,
    length: usize,
}

impl<I> FairQueue<I> {
    pub(super) fn new() -> Self {
        Self { groups: BTreeMap::new(), turns: VecDeque::new(), length: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.length
    }

    /// Adds an item at the end of its group. A new group has its turn after all others.
    pub(super) fn push(&mut self, group: Option<String>, item: I) {
        self.length += 1;
        if let Some(waiting) = self.groups.get_mut(&group) {
            waiting.push_back(item);
        } else {
            self.turns.push_back(group.clone());
            self.groups.insert(group, VecDeque::from([item]));
        }
    }

    /// Takes the first item of the group whose turn it is.
    pub(super) fn pop(&mut self) -> Option<I> {
        let group = self.turns.pop_front()?;
        let waiting = self.groups.get_mut(&group)?;
        let item = waiting.pop_front()?;
        self.length -= 1;
        if waiting.is_empty() {
            self.groups.remove(&group);
        } else {
            self.turns.push_back(group);
        }
        Some(item)
    }

    /// Takes the item of which this is true, wherever it waits.
    pub(super) fn remove(&mut self, is_it: impl Fn(&I) -> bool) -> Option<I> {
        let found = self.groups.iter().find_map(|(group, waiting)| {
            waiting.iter().position(&is_it).map(|position| (group.clone(), position))
        });
        let (group, position) = found?;
        let waiting = self.groups.get_mut(&group)?;
        let item = waiting.remove(position)?;
        self.length -= 1;
        if waiting.is_empty() {
            self.groups.remove(&group);
            self.turns.retain(|turn| *turn != group);
        }
        Some(item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(items: &[(&str, u32)]) -> FairQueue<u32> {
        let mut queue = FairQueue::new();
        for (group, item) in items {
            queue.push((!group.is_empty()).then(|| (*group).to_owned()), *item);
        }
        queue
    }

    fn rest(mut queue: FairQueue<u32>) -> Vec<u32> {
        let rest = std::iter::from_fn(|| queue.pop()).collect();
        assert_eq!(queue.len(), 0);
        rest
    }

    #[test]
    fn without_groups_the_first_in_is_the_first_out() {
        assert_eq!(rest(queue(&[("", 1), ("", 2), ("", 3)])), [1, 2, 3]);
    }

    #[test]
    fn a_group_with_many_does_not_keep_another_waiting() {
        assert_eq!(rest(queue(&[("a", 1), ("a", 2), ("a", 3), ("b", 4), ("b", 5)])), [1, 4, 2, 5, 3]);
        assert_eq!(rest(queue(&[("a", 1), ("a", 2), ("", 3), ("b", 4)])), [1, 3, 4, 2]);
    }

    #[test]
    fn a_group_that_comes_back_waits_for_its_turn() {
        let mut queue = queue(&[("a", 1), ("b", 2), ("b", 3)]);
        assert_eq!(queue.pop(), Some(1));
        queue.push(Some("a".to_owned()), 4);
        assert_eq!(rest(queue), [2, 4, 3]);
    }

    #[test]
    fn what_is_removed_takes_nobody_s_turn() {
        let mut queue = queue(&[("a", 1), ("b", 2), ("c", 3)]);
        assert_eq!(queue.remove(|item| *item == 2), Some(2));
        assert_eq!(queue.remove(|item| *item == 2), None);
        assert_eq!(queue.len(), 2);
        queue.push(Some("b".to_owned()), 4);
        assert_eq!(rest(queue), [1, 3, 4]);
    }
}
