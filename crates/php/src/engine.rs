//! Starting the engine and the app.

use std::ffi::{CString, OsString, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use php_sys as sys;

use crate::engine_thread;
use crate::hint::hint;
use crate::ini::{ini_line, ini_mistake};

include!(concat!(env!("OUT_DIR"), "/prelude.rs"));

/// What the engine is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mode {
    /// The app stays; each request is a task in it.
    #[default]
    Resident,
    /// Nothing survives a request.
    Classic,
    /// Behave as the `php` command.
    CommandLine,
}

impl Mode {
    fn number(self) -> c_int {
        match self {
            Mode::Resident => sys::HEARTH_RESIDENT,
            Mode::Classic => sys::HEARTH_CLASSIC,
            Mode::CommandLine => sys::HEARTH_CLI,
        }
    }

    /// What the mode makes of settings of PHP, over every file.
    fn settings(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Mode::CommandLine => &[
                ("html_errors", "0"),
                ("register_argc_argv", "1"),
                ("implicit_flush", "1"),
                ("output_buffering", "0"),
                ("max_execution_time", "0"),
                ("max_input_time", "-1"),
            ],
            Mode::Resident => &[
                ("html_errors", "0"),
                ("register_argc_argv", "0"),
                ("output_buffering", "0"),
                ("implicit_flush", "0"),
                ("max_execution_time", "0"),
                ("max_input_time", "-1"),
            ],
            // PHP would set a timer for it at each request; what is slow to arrive does not take CPU time.
            Mode::Classic => &[("max_input_time", "-1")],
        }
    }
}

/// How the engine is to start.
#[derive(Debug, Default)]
pub struct Boot {
    /// ini settings that win over every file, in order.
    pub ini: Vec<(OsString, OsString)>,
    pub mode: Mode,
    /// `-c`: another php.ini, or its folder.
    pub ini_path: Option<OsString>,
    /// `-n`: no php.ini and no folder of settings.
    pub no_ini: bool,
}

/// Why the app is not up. The text is for the user; empty where PHP itself has told the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BootError {
    /// The script ended without a handler.
    NoHandler(String),
    /// A setting, the engine or the script failed.
    Failed(String),
}

impl BootError {
    pub fn message(&self) -> &str {
        match self {
            BootError::NoHandler(message) | BootError::Failed(message) => message,
        }
    }
}

/// Log level of what PHP reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    Debug,
    Notice,
    Warning,
    Error,
}

/// A copy of what a function of C has just returned.
fn owned(text: sys::hearth_str) -> String {
    // SAFETY: the callers are in this file: the text is a constant or a buffer of the C side's, which only this thread changes, by
    // another call.
    String::from_utf8_lossy(unsafe { text.bytes() }).into_owned()
}

/// The full version of the engine, such as `8.2.36`.
pub fn version() -> String {
    // SAFETY: it returns a constant.
    owned(unsafe { sys::hearth_php_version() })
}

/// The release series that this binary was built for, such as `8.2`.
pub fn series() -> &'static str {
    sys::PHP_SERIES
}

fn ini_text(boot: &Boot) -> Result<CString, BootError> {
    let mut text = Vec::new();
    for (name, value) in boot.mode.settings() {
        text.extend(ini_line(name.as_bytes(), value.as_bytes()));
    }
    for (name, value) in &boot.ini {
        if let Some(mistake) = ini_mistake(name, value) {
            return Err(BootError::Failed(mistake));
        }
        text.extend(ini_line(name.as_bytes(), value.as_bytes()));
    }
    CString::new(text)
        .map_err(|_| BootError::Failed("a PHP setting contains a NUL byte".to_owned()))
}

const SCAN_DIR: &str = "PHP_INI_SCAN_DIR";

/// Where Debian keeps the settings of the php command, which `hearth run` stands in for.
fn cli_folder() -> Option<OsString> {
    let folder = format!("/etc/php/{}/cli", series());
    Path::new(&folder).is_dir().then(|| folder.into())
}

/// libphp looks for extensions' settings where the embed package has them; the php command has its own folder.
#[expect(clippy::disallowed_methods, reason = "no other thread runs yet")]
fn read_cli_settings() -> bool {
    let Some(folder) = cli_folder().filter(|_| std::env::var_os(SCAN_DIR).is_none()) else {
        return false;
    };
    // SAFETY: nothing else runs yet, so no other thread reads the environment at this moment.
    unsafe { std::env::set_var(SCAN_DIR, Path::new(&folder).join("conf.d")) };
    true
}

/// The script must see the environment as it was.
#[expect(clippy::disallowed_methods, reason = "no other thread runs yet")]
fn forget_cli_settings() {
    // SAFETY: the engine is up, but no script and no other thread runs yet that could read the environment meanwhile.
    unsafe { std::env::remove_var(SCAN_DIR) };
}

/// This program, which PHP scripts find as PHP_BINARY and may start as `php`.
fn executable() -> CString {
    std::env::current_exe()
        .ok()
        .and_then(|path| CString::new(path.as_os_str().as_bytes()).ok())
        .unwrap_or_default()
}

/// Start the engine. Once per process, before any thread.
pub fn boot(boot: &Boot) -> Result<(), BootError> {
    engine_thread::begin();
    let is_cli = boot.mode == Mode::CommandLine;
    let borrowed = is_cli && !boot.no_ini && boot.ini_path.is_none() && read_cli_settings();
    // A path that is named is read even with -n.
    let cli_path = (is_cli && !boot.no_ini && boot.ini_path.is_none())
        .then(cli_folder)
        .flatten();
    let path = boot
        .ini_path
        .as_ref()
        .or(cli_path.as_ref())
        .map(|p| CString::new(p.as_bytes()).expect("a path of the command line has no NUL"));
    let name = executable();
    let argv: &'static mut [*mut c_char] =
        Box::leak(Box::new([name.into_raw(), std::ptr::null_mut()]));
    let args: &'static sys::hearth_boot_args = Box::leak(Box::new(sys::hearth_boot_args {
        ini_entries: ini_text(boot)?.into_raw(),
        ini_path: path.map_or(std::ptr::null(), |p| p.into_raw().cast_const()),
        no_ini: boot.no_ini,
        mode: boot.mode.number(),
        argc: 1,
        argv: argv.as_mut_ptr(),
    }));
    register_library(boot.mode);
    // SAFETY: `args` and all it points to live as long as the process, as hearth_boot asks.
    let started = unsafe { sys::hearth_boot(args) };
    if borrowed {
        forget_cli_settings();
    }
    if started {
        Ok(())
    } else if is_cli {
        Err(BootError::Failed(String::new()))
    } else {
        Err(BootError::Failed(
            "the PHP engine did not start: run `hearth run -v` to see why".to_owned(),
        ))
    }
}

/// Tell the engine of the classes of `Hearth\…`: each is compiled where it is first named. Classic sites have those that make a
/// cache of other interfaces.
fn register_library(mode: Mode) {
    let text = |text: &'static str| sys::hearth_str::new(text.as_bytes());
    let files: Vec<_> = PRELUDE
        .iter()
        .filter(|(name, ..)| mode != Mode::Classic || name.starts_with("Cache/"))
        .map(|(name, source, classes)| {
            let classes = Vec::leak(classes.iter().map(|class| text(class)).collect());
            sys::hearth_source {
                name: text(name),
                source: text(source),
                classes: classes.as_ptr(),
                class_count: classes.len(),
            }
        })
        .collect();
    let files = Vec::leak(files);
    // SAFETY: the list was leaked, and its texts are constants of this binary; the C side uses lengths only.
    unsafe { sys::hearth_prelude_register(files.as_ptr(), files.len()) };
}

fn reported() -> String {
    // SAFETY: it returns a buffer of the C side's.
    owned(unsafe { sys::hearth_boot_error() })
}

/// Run the entry script and keep the handler it returns.
pub fn run_entry(app: &Path) -> Result<(), BootError> {
    engine_thread::require_outside_tasks();
    let shown = app.display();
    let path = CString::new(app.as_os_str().as_encoded_bytes())
        .map_err(|_| BootError::Failed(format!("{shown}: a path cannot contain a NUL byte")))?;
    // The engine keeps pointing at the path of the script it runs.
    let path: &'static CString = Box::leak(Box::new(path));
    // SAFETY: the path lives as long as the process.
    let outcome: c_int = unsafe { sys::hearth_run_entry(path.as_ptr()) };
    match outcome {
        sys::HEARTH_OK => Ok(()),
        sys::HEARTH_REFUSED => Err(BootError::NoHandler(format!(
            "{shown} does not return a handler: {}.\nhint: end it with `return function (Hearth\\Request $request) {{ … }};`, \
             or serve a classic site with --mode classic",
            reported()
        ))),
        // A handler of exceptions that exits has reported its exception somewhere else.
        outcome if outcome == sys::HEARTH_EXIT || reported().is_empty() => {
            Err(BootError::NoHandler(format!(
                "{shown} called exit() while it was booted, so there is no handler.{}\nhint: return a handler instead, or serve a classic site with --mode classic",
                thrown_before()
            )))
        }
        _ => {
            let reported = reported();
            let hint = hint(app, &reported, series(), &has_extension)
                .map_or(String::new(), |hint| format!("\nhint: {hint}"));
            Err(BootError::Failed(format!(
                "{shown} failed while it was booted:\n{reported}{hint}"
            )))
        }
    }
}

/// An exception that the app shows on a page, and exits.
fn thrown_before() -> String {
    // SAFETY: it returns a buffer of the C side's.
    let thrown = owned(unsafe { sys::hearth_last_thrown() });
    if thrown.is_empty() {
        return thrown;
    }
    format!("\nThe last exception before that: {thrown}")
}

fn has_extension(name: &str) -> bool {
    // SAFETY: the name is only read, with its length, against the engine's list of modules, which is complete after its start.
    unsafe { sys::hearth_has_extension(sys::hearth_str::new(name.as_bytes())) }
}

/// Whether PHP, or an extension that is loaded, has such a setting. PHP takes others too, for `get_cfg_var()`.
///
/// # Panics
/// On another thread than the engine's.
pub fn has_setting(name: &str) -> bool {
    engine_thread::require();
    // SAFETY: this is the engine's thread; the name is only read, with its length, against the engine's table of settings.
    unsafe { sys::hearth_has_setting(sys::hearth_str::new(name.as_bytes())) }
}

/// What the app is, by the word of `Adapter::entryKind()` in php/src: `callable` was made for Hearth and for several requests at
/// once; `laravel`, `symfony`, `slim`, `psr-15` and `frankenphp` were not.
pub fn handler_kind() -> String {
    engine_thread::require();
    // SAFETY: it returns a buffer of the C side's.
    owned(unsafe { sys::hearth_handler_kind() })
}

/// Has PHP code just forked for itself, to go on in the copy?
pub fn forks_for_itself() -> bool {
    // SAFETY: reads what the engine runs, on its thread, as was just seen; the name is valid during the call.
    engine_thread::is_this() && unsafe { sys::hearth_calls(sys::hearth_str::new(b"pcntl_fork")) }
}

/// The descriptor with that index among those that `proc_open()`, if it runs, hands on to its program.
pub fn handed_on(index: u32) -> Option<i32> {
    if !engine_thread::is_this() {
        return None;
    }
    // SAFETY: reads the arguments of the function that the engine runs, on its thread, as was just seen.
    let number = unsafe { sys::hearth_handed_on(index) };
    (number >= 0).then(|| i32::try_from(number).unwrap_or(i32::MAX))
}

/// Several requests will be in flight: refuse what they cannot share, such as persistent connections.
pub fn refuse_persistent(refuse: bool) {
    engine_thread::require();
    // SAFETY: writes one flag of the C side, which its thread reads: this one.
    unsafe { sys::hearth_refuse_persistent(refuse) }
}

/// From here on SIGTERM, SIGINT, SIGHUP and SIGUSR1 are passed over: what tells this process to leave says so on its channel.
pub fn pass_over_signals() {
    engine_thread::require();
    // SAFETY: it sets handlers of this process, and reads on their thread those that PHP code has set.
    unsafe { sys::hearth_pass_over_signals() }
}

/// Boot is over: what is set now is what each request begins with.
pub fn seal() {
    engine_thread::require_outside_tasks();
    // SAFETY: this is the engine's thread, outside of any task.
    unsafe { sys::hearth_seal() }
}

/// In a forked worker, first of all: random numbers must differ from the sibling's.
pub fn after_fork() {
    engine_thread::require_outside_tasks();
    crate::budget::forget_holder();
    // SAFETY: this is the engine's thread, outside of any task.
    unsafe { sys::hearth_after_fork() }
}

/// Files of `php://temp` and `tmpfile()`: to be called by a process that ends without closing what a fatal error left open.
pub fn remove_temporary_files() {
    engine_thread::require_outside_tasks();
    // SAFETY: this is the engine's thread, outside of any task.
    unsafe { sys::hearth_remove_temporary_files() }
}

/// Is too much of `memory_limit` in use for another request? Asked after a fatal error, which frees nothing.
pub fn heap_is_full() -> bool {
    // SAFETY: it reads counters of the engine's allocator, and this is the engine's thread.
    engine_thread::is_this() && unsafe { sys::hearth_heap_is_full() }
}

/// May the code that runs now wait by leaving its task? False outside tasks and on other threads.
pub fn can_wait() -> bool {
    // SAFETY: reads thread-local and engine flags.
    unsafe { sys::hearth_hooks_may_wait() && !crate::host::is_forked() }
}

/// The most bytes a request's body may have (`post_max_size`), 0 for no limit.
pub fn post_max_size() -> u64 {
    // SAFETY: reads one number of the engine.
    unsafe { sys::hearth_post_max_size() }
}

/// Does PHP look whether a script has changed since it was compiled (`opcache.validate_timestamps`)? False without opcache.
pub fn validates_timestamps() -> bool {
    // SAFETY: reads one setting of the engine.
    unsafe { sys::hearth_validates_timestamps() }
}
