//! Hooks of pthread_mutex_lock and its relatives, which count the locks of libraries that this thread holds.
//!
//! If a task is suspended while a library holds a lock, another task may take the same lock on the same thread, which then
//! waits for itself. So calls block while the count is above zero. The locks of glibc itself, of Rust's std and of tokio do
//! not pass through here: glibc's calls bind inside libc, the others are futexes. `name_service.rs` has the functions of glibc that
//! hold such a lock while foreign code runs.
//!
//! Each lock is remembered by its address, so that unlocking what another thread locked changes nothing.

use std::cell::Cell;
use std::ffi::CStr;
use std::sync::atomic::{AtomicPtr, Ordering};

use libc::{c_int, c_void, clockid_t, timespec};

use crate::syscall;

/// The most locks that are remembered by address; further ones are only counted.
const REMEMBERED: usize = 16;

struct Held {
    /// The number of valid entries in `locks`.
    known: Cell<usize>,
    locks: [Cell<*const c_void>; REMEMBERED],
    more: Cell<usize>,
}

thread_local! {
    /// Const-initialised and without a destructor: reading it is one instruction, on any thread at any time.
    static HELD: Held = const {
        Held {
            known: Cell::new(0),
            locks: [const { Cell::new(std::ptr::null()) }; REMEMBERED],
            more: Cell::new(0),
        }
    };
}

impl Held {
    fn take(&self, lock: *const c_void) {
        let known = self.known.get();
        if let Some(place) = self.locks.get(known) {
            place.set(lock);
            self.known.set(known + 1);
        } else {
            self.more.set(self.more.get() + 1);
        }
    }

    /// Removes a lock. One that is neither remembered nor among the counted ones was locked by another thread, or not at
    /// all.
    fn give_back(&self, lock: *const c_void) {
        let known = &self.locks[..self.known.get()];
        if let Some(index) = known.iter().rposition(|held| held.get() == lock) {
            known[index].set(known[known.len() - 1].get());
            self.known.set(known.len() - 1);
        } else {
            self.more.set(self.more.get().saturating_sub(1));
        }
    }

    fn count(&self) -> usize {
        self.known.get() + self.more.get()
    }

    fn forget(&self, count: usize) -> usize {
        let before = self.count();
        self.known.set(self.known.get().min(count));
        self.more.set(self.more.get().min(count - self.known.get()));
        before - self.count()
    }
}

fn take(lock: *const c_void) {
    HELD.with(|held| held.take(lock));
}

fn give_back(lock: *const c_void) {
    HELD.with(|held| held.give_back(lock));
}

/// The number of library locks that this thread holds.
#[inline]
pub fn locks_held() -> usize {
    HELD.with(Held::count)
}

/// Counts only the first `count` locks from here on. Returns the number of locks that are forgotten.
pub fn forget_locks(count: usize) -> usize {
    HELD.with(|held| held.forget(count))
}

/// A libc function, looked up at its first call.
pub(crate) struct Next(AtomicPtr<c_void>, &'static CStr);

impl Next {
    pub(crate) const fn new(name: &'static CStr) -> Next {
        Next(AtomicPtr::new(std::ptr::null_mut()), name)
    }

    /// # Safety
    /// `F` must be the function's type.
    #[inline]
    pub(crate) unsafe fn get<F: Copy>(&self) -> F {
        let mut function = self.0.load(Ordering::Relaxed);
        if function.is_null() {
            // SAFETY: a pointer is a pointer; what it points to is the caller's promise.
            function = unsafe { syscall::next(self.1) };
            self.0.store(function, Ordering::Relaxed);
        }
        // SAFETY: a function pointer of the type that the caller vouches for.
        unsafe { std::mem::transmute_copy(&function) }
    }
}

/// Whether the lock is held after this result. EOWNERDEAD: the previous owner died.
fn is_taken(result: c_int) -> bool {
    result == 0 || result == libc::EOWNERDEAD
}

macro_rules! takes {
    ($($name:ident($($more:ident: $type:ty),*);)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(lock: *mut c_void $(, $more: $type)*) -> c_int {
            static NEXT: Next = Next::new(
                match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                    Ok(name) => name,
                    Err(_) => panic!(),
                }
            );
            // SAFETY: the function's type.
            let real: unsafe extern "C" fn(*mut c_void $(, $type)*) -> c_int = unsafe { NEXT.get() };
            // SAFETY: the lock is the caller's promise.
            let result = unsafe { real(lock $(, $more)*) };
            if is_taken(result) {
                take(lock);
            }
            result
        }
    )*};
}

macro_rules! gives_back {
    ($($name:ident;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(lock: *mut c_void) -> c_int {
            static NEXT: Next = Next::new(
                match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                    Ok(name) => name,
                    Err(_) => panic!(),
                }
            );
            give_back(lock);
            // SAFETY: the function's type.
            let real: unsafe extern "C" fn(*mut c_void) -> c_int = unsafe { NEXT.get() };
            // SAFETY: the lock is the caller's promise.
            unsafe { real(lock) }
        }
    )*};
}

takes! {
    pthread_mutex_lock();
    pthread_mutex_trylock();
    pthread_mutex_timedlock(until: *const timespec);
    pthread_mutex_clocklock(clock: clockid_t, until: *const timespec);
    pthread_rwlock_rdlock();
    pthread_rwlock_tryrdlock();
    pthread_rwlock_timedrdlock(until: *const timespec);
    pthread_rwlock_clockrdlock(clock: clockid_t, until: *const timespec);
    pthread_rwlock_wrlock();
    pthread_rwlock_trywrlock();
    pthread_rwlock_timedwrlock(until: *const timespec);
    pthread_rwlock_clockwrlock(clock: clockid_t, until: *const timespec);
    pthread_spin_lock();
    pthread_spin_trylock();
    mtx_lock();
    mtx_trylock();
    mtx_timedlock(until: *const timespec);
}

gives_back! {
    pthread_mutex_unlock;
    pthread_rwlock_unlock;
    pthread_spin_unlock;
    mtx_unlock;
}

/// Counts as a lock during the call of `once`, because other callers wait for its end.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_once(control: *mut c_void, once: extern "C" fn()) -> c_int {
    static NEXT: Next = Next::new(c"pthread_once");
    // SAFETY: the type of pthread_once(3).
    let real: unsafe extern "C" fn(*mut c_void, extern "C" fn()) -> c_int = unsafe { NEXT.get() };
    // SAFETY: both arguments are the caller's promise.
    holding(control, || unsafe { real(control, once) })
}

/// Runs `call`, during which the task must not be suspended, as if it held a lock.
pub(crate) fn holding<T>(lock: *const c_void, call: impl FnOnce() -> T) -> T {
    take(lock);
    let result = call();
    give_back(lock);
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(number: usize) -> *const c_void {
        std::ptr::without_provenance(number)
    }

    #[test]
    fn an_unlock_of_what_is_not_held_changes_nothing() {
        give_back(address(1));
        assert_eq!(locks_held(), 0);
        take(address(1));
        give_back(address(2));
        assert_eq!(locks_held(), 1);
        give_back(address(1));
        assert_eq!(locks_held(), 0);
    }

    #[test]
    fn locks_are_given_back_in_any_order() {
        (1..=3).for_each(|number| take(address(number)));
        take(address(2));
        for number in [1, 2, 3, 2] {
            give_back(address(number));
        }
        assert_eq!(locks_held(), 0);
    }

    #[test]
    fn more_than_are_remembered_are_counted() {
        (0..40).for_each(|number| take(address(number)));
        assert_eq!(locks_held(), 40);
        (0..40).for_each(|number| give_back(address(number)));
        assert_eq!(locks_held(), 0);
    }

    #[test]
    fn what_is_left_behind_is_forgotten() {
        (0..5).for_each(|number| take(address(number)));
        assert_eq!(forget_locks(2), 3);
        assert_eq!(forget_locks(2), 0);
        assert_eq!(locks_held(), 2);
        assert_eq!(forget_locks(0), 2);
    }

    #[test]
    fn locks_of_libraries_are_seen_and_those_of_the_standard_library_are_not() {
        let ours = std::sync::Mutex::new(());
        let guard = ours.lock();
        assert_eq!(locks_held(), 0);
        drop(guard);
        let mut mutex = libc::PTHREAD_MUTEX_INITIALIZER;
        // SAFETY: a mutex of this thread's.
        unsafe { libc::pthread_mutex_lock(&raw mut mutex) };
        assert_eq!(locks_held(), 1);
        // SAFETY: this thread has locked it.
        unsafe { libc::pthread_mutex_unlock(&raw mut mutex) };
        assert_eq!(locks_held(), 0);
    }
}
