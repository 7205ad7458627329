//! The group of the tasks of one request, which end together.

use std::cell::RefCell;
use std::rc::Rc;
use std::task::Waker;

use crate::task::TaskCell;

#[derive(Default)]
pub(crate) struct TaskGroup {
    /// The children that have not ended.
    pub(crate) children: RefCell<Vec<Rc<TaskCell>>>,
    /// Wakes the task that waits until all children have ended.
    pub(crate) joiner: RefCell<Option<Waker>>,
}

impl TaskGroup {
    pub(crate) fn enter(&self, child: &Rc<TaskCell>) {
        let mut children = self.children.borrow_mut();
        child.place.set(Some(children.len()));
        children.push(Rc::clone(child));
    }

    /// Removes a child that has ended. The joiner may be a child itself, the last one.
    pub(crate) fn leave(&self, place: usize) {
        let mut children = self.children.borrow_mut();
        let left = children.swap_remove(place);
        left.place.set(None);
        if let Some(moved) = children.get(place) {
            moved.place.set(Some(place));
        }
        let joiner = (children.len() <= 1).then(|| self.joiner.take()).flatten();
        drop(children);
        if let Some(joiner) = joiner {
            joiner.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn child_of(group: &Rc<TaskGroup>) -> Rc<TaskCell> {
        let child = TaskCell::new(Some(Rc::clone(group)), None);
        group.enter(&child);
        child
    }

    fn end(child: &TaskCell) {
        child
            .group()
            .leave(child.place.get().expect("it is a child"));
    }

    /// A group contains only the children that have not ended, each at the index that its cell has. Adding and removing a
    /// child looks at no other.
    #[test]
    fn a_group_has_only_the_children_that_have_not_ended() {
        let group = Rc::new(TaskGroup::default());
        let mut children: Vec<_> = (0..100).map(|_| child_of(&group)).collect();
        for n in 0..1000 {
            let ended = children.swap_remove(n * 37 % children.len());
            end(&ended);
            children.push(child_of(&group));
            assert_eq!(group.children.borrow().len(), 100);
        }
        for (place, child) in group.children.borrow().iter().enumerate() {
            assert_eq!(child.place.get(), Some(place));
        }
        while let Some(child) = children.pop() {
            end(&child);
            assert_eq!(group.children.borrow().len(), children.len());
        }
    }
}
