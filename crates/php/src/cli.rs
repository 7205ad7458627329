//! `hearth run`: one script as a task, in place of the php command.

use std::ffi::{CString, OsStr, OsString, c_char};
use std::future::Future;
use std::os::unix::ffi::OsStrExt;
use std::pin::Pin;
use std::task::{Context, Poll};

use php_sys as sys;

use crate::engine::BootError;
use crate::task::Task;

/// The action of a `php` command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Run {
    File(OsString),
    Code(OsString),
    Stdin,
    Lint(OsString),
    /// `v`, `m` or `i`.
    Info(char),
}

/// A script that runs as a task.
#[derive(Debug)]
pub struct Cli {
    task: Task,
}

fn leak(text: &OsStr) -> *const c_char {
    // The engine keeps these pointers for the life of the process. A command line cannot contain a NUL.
    CString::new(text.as_bytes()).unwrap_or_default().into_raw()
}

/// Prints what `-v`, `-m` and `-i` print, ends the engine and returns the exit code.
pub fn info(what: char) -> i32 {
    // SAFETY: the engine has been booted and no request has begun.
    unsafe { sys::hearth_cli_info(what as c_char) }
}

impl Cli {
    /// Begins the request; `argv[0]` is the script.
    pub fn start(run: &Run, argv: &[OsString]) -> Result<Cli, BootError> {
        let name = OsStr::new("Standard input code");
        let (mode, script, code) = match run {
            Run::File(path) => (b'f', path.as_os_str(), None),
            Run::Lint(path) => (b'l', path.as_os_str(), None),
            Run::Code(code) => (b'r', name, Some(code.as_os_str())),
            Run::Stdin | Run::Info(_) => (b'-', name, None),
        };
        let script = leak(script);
        let mut pointers: Vec<*mut c_char> = argv.iter().map(|arg| leak(arg).cast_mut()).collect();
        let count = i32::try_from(pointers.len()).expect("a command line is short");
        pointers.push(std::ptr::null_mut());
        let pointers: &'static mut [*mut c_char] = Box::leak(pointers.into_boxed_slice());
        // SAFETY: the strings and the array were leaked and live as long as the process.
        if !unsafe { sys::hearth_cli_request_startup(script, count, pointers.as_mut_ptr()) } {
            return Err(BootError::Failed(
                "PHP could not start the request".to_owned(),
            ));
        }
        let code = code.map_or(std::ptr::null(), leak);
        // SAFETY: script and code were leaked; the owner outlives the C task.
        let task = Task::detached(|owner| unsafe {
            sys::hearth_cli_task(script, code, mode as c_char, owner)
        })
        .expect("the C side always makes a task");
        Ok(Cli { task })
    }

    /// Ends the request and the engine, and returns the exit code. Called only after the future is ready.
    pub fn finish(self) -> i32 {
        // SAFETY: the task has ended and nothing else runs.
        unsafe { sys::hearth_cli_finish() }
    }
}

impl Future for Cli {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.task).poll(context)
    }
}
