//! How long this process computes at a time while others on the machine want the processor.

/// Longer than what the kernel gives by default: 0.7 to 3 ms, by the number of processors.
const SLICE: u64 = 4_000_000;

/// Sets whether a thread that is woken while this one runs goes first.
///
/// Since Linux 6.6 a process that is woken waits until the one that runs has had its slice, to the next tick of the clock:
/// up to 4 ms. A worker that sends a query and computes on keeps the database's own thread waiting for that long, and the
/// front. The kernel makes an exception for a process whose slice is shorter than that of the one that runs (`PREEMPT_SHORT`,
/// since 6.12, where a process may say how long its slice is); so ours is longer than the others', or as theirs. Among
/// workers nothing changes. Older kernels take no notice.
pub fn set_long_slice(yes: bool) {
    let mut attributes = std::mem::MaybeUninit::<libc::sched_attr>::zeroed();
    let size = u32::try_from(size_of::<libc::sched_attr>()).expect("a small structure");
    // SAFETY: room for `size` bytes of attributes of this thread (0).
    unsafe { libc::syscall(libc::SYS_sched_getattr, 0, attributes.as_mut_ptr(), size, 0) };
    // SAFETY: they are made of integers, for which any bits will do, zero too.
    let mut attributes = unsafe { attributes.assume_init() };
    if attributes.size == 0 || attributes.sched_policy != libc::SCHED_OTHER.cast_unsigned() {
        return;
    }
    // 0: as the kernel gives it.
    attributes.sched_runtime = if yes { SLICE } else { 0 };
    // SAFETY: the attributes are the thread's own but for the slice; the kernel reads as many bytes as they say.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
}
