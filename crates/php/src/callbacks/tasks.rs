//! Callbacks by which C code uses tasks, timers, budgets and the log.

use std::borrow::Cow;
use std::ffi::{c_int, c_void};
use std::rc::Rc;
use std::time::Duration;

use php_sys as sys;

use crate::engine::Level;
use crate::host::{self, host};
use crate::task::{self, TaskCell};
use crate::task_ref::{self, TaskRef};
use crate::wait::{self, Cancel};
use crate::{budget, children, runner};

fn level_of(level: c_int) -> Level {
    match level {
        0 => Level::Debug,
        1 => Level::Notice,
        2 => Level::Warning,
        _ => Level::Error,
    }
}

fn duration(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}

quick_callbacks! {
    fn hearth_on_holds_lock() -> bool {
        host::holds_lock()
    }
}

callbacks! {
    fn hearth_on_broken(owner: &TaskCell) {
        owner.break_off();
    }

    fn hearth_on_release_held(owner: &TaskCell, of_request: bool) {
        let request = if of_request { owner.request_id() } else { 0 };
        // SAFETY: reads the list of tasks, on the engine's thread.
        let has_ended = |task| unsafe { !sys::hearth_task_is_alive(task) };
        host().release_held(task::current_task_id(), request, &has_ended);
    }

    fn hearth_on_leave(reason: Cow<'_, str>, at_once: bool) {
        host().leave(&reason, at_once);
    }

    fn hearth_on_time_limit(owner: &TaskCell, seconds: f64) {
        if let Some(request) = &owner.request {
            host().time_limit(request, duration(seconds));
        }
    }

    fn hearth_on_cpu_limit(seconds: i64) {
        host().cpu_limit(u32::try_from(seconds).unwrap_or(0));
    }

    fn hearth_on_log(level: c_int, message: Cow<'_, str>) {
        host::log(level_of(level), &message, task::current_request_id());
    }

    fn hearth_on_task_log(owner: &TaskCell, level: c_int, message: Cow<'_, str>) {
        host::log(level_of(level), &message, owner.request_id());
    }

    fn hearth_on_task_new(parent: &TaskCell, task: *mut sys::hearth_task, child: bool) -> *mut c_void {
        Rc::into_raw(children::new_task(parent, task, child)).cast_mut().cast()
    }

    fn hearth_on_task_start(owner: *mut c_void) {
        // SAFETY: the pointer is from hearth_on_task_new, whose reference is not released yet.
        runner::start(unsafe { task::cell_of(owner.cast()) });
    }

    fn hearth_on_await(owner: &TaskCell, seconds: f64) -> c_int {
        children::await_task(owner, seconds)
    }

    fn hearth_on_cancel(owner: &TaskCell) {
        owner.cancel(Cancel::Task);
    }

    fn hearth_on_two_tasks(owner: Option<&TaskCell>, task: u64, function: Cow<'_, str>) {
        let request = owner.map_or(0, TaskCell::request_id);
        let what = format!("calls {function}() on a connection, stream or other object");
        task_ref::throw_two_tasks(&what, TaskRef { task, request });
        host().two_tasks(task, TaskRef::current().task);
    }

    fn hearth_on_refuses(fd: c_int) -> bool {
        host().refuses(fd)
    }

    fn hearth_on_owner_release(owner: *mut c_void) {
        // SAFETY: releases the reference of hearth_on_task_new.
        task::reuse(&mut unsafe { Rc::from_raw(owner.cast::<TaskCell>()) });
    }

    fn hearth_on_join_children(cancel: bool) -> bool {
        children::join_children(cancel)
    }

    fn hearth_on_park(seconds: f64) -> c_int {
        children::park(seconds)
    }

    fn hearth_on_unpark(owner: &TaskCell) -> bool {
        children::unpark(owner)
    }

    fn hearth_on_yield() {
        children::yield_now();
    }

    fn hearth_on_timer(seconds: f64, repeat: bool, callback: u64) {
        host::start_timer(callback, duration(seconds), repeat);
    }

    fn hearth_on_timer_stop(timer: u64) -> bool {
        host::stop_timer(timer)
    }

    fn hearth_on_interrupt(has_frame: bool) {
        wait::on_interrupt(has_frame);
    }

    fn hearth_on_cancel_delivered(message: &[u8]) -> bool {
        wait::on_cancel_delivered(message)
    }

    fn hearth_on_is_overdue() -> bool {
        wait::is_overdue()
    }

    fn hearth_on_budget(name: &[u8], total: i64) -> i64 {
        budget::open(name, total)
    }

    fn hearth_on_budget_acquire(handle: i64, n: i64) -> bool {
        budget::acquire(handle, n)
    }

    fn hearth_on_budget_release(handle: i64, n: i64) {
        budget::release(handle, n);
    }

    fn hearth_on_budget_used(handle: i64) -> i64 {
        budget::used(handle)
    }

    fn hearth_on_report(report: Cow<'_, str>) {
        host::report(&report);
    }
}
