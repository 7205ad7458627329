//! The time slice of this process in the kernel's scheduler.

/// Nanoseconds of a slice. More than the kernel's default, which is 0.7 to 3 ms, depending on the number of processors.
const SLICE: u64 = 4_000_000;

/// Sets whether this thread has a longer slice than others, so that a thread which wakes up meanwhile may preempt it.
///
/// Since Linux 6.6 a thread that wakes up waits until the running one has used up its slice, to the next tick of the clock:
/// up to 4 ms. A worker that sends a query and computes on keeps the database's thread waiting for that long, and the front.
/// The kernel makes an exception for a thread whose slice is shorter than that of the running one (`PREEMPT_SHORT`, since
/// 6.12, where a thread may set its slice). So our slice is longer than the others', or the default. Among workers nothing
/// changes. Older kernels ignore it.
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
    // 0 is the kernel's default.
    attributes.sched_runtime = if yes { SLICE } else { 0 };
    // SAFETY: the attributes are the thread's own but for the slice; the kernel reads as many bytes as they say.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
}
