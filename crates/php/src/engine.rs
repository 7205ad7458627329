//! Boot of the engine and the app.

use std::ffi::{CString, OsString, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use php_sys as sys;

use crate::engine_thread;
use crate::hint::hint;
use crate::ini::{ini_line, ini_mistake};

include!(concat!(env!("OUT_DIR"), "/prelude.rs"));

/// How the engine runs PHP code.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mode {
    /// The app stays in memory, and each request is a task in it.
    #[default]
    Resident,
    /// Nothing survives a request.
    Classic,
    /// Behaves as the `php` command.
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

    /// PHP settings that the mode sets; they take precedence over every php.ini file.
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
            // PHP would set a timer for it at each request; and a body that arrives slowly takes no CPU time.
            Mode::Classic => &[("max_input_time", "-1")],
        }
    }
}

/// How the engine starts.
#[derive(Debug, Default)]
pub struct Boot {
    /// ini settings that take precedence over every file, in order.
    pub ini: Vec<(OsString, OsString)>,
    pub mode: Mode,
    /// `-c`: another php.ini, or the folder of one.
    pub ini_path: Option<OsString>,
    /// `-n`: no php.ini and no folder of further ini files.
    pub no_ini: bool,
}

/// Why the app did not boot. The text is for the user; it is empty where PHP itself has printed the reason.
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

/// The log level of a message of PHP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    Debug,
    Notice,
    Warning,
    Error,
}

/// Copies a string that a function of C has just returned.
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

/// The folder in which Debian keeps the settings of the `php` command, which `hearth run` replaces.
fn cli_folder() -> Option<OsString> {
    let folder = format!("/etc/php/{}/cli", series());
    Path::new(&folder).is_dir().then(|| folder.into())
}

/// libphp reads the extensions' settings of the embed package; the `php` command has a folder of its own.
#[expect(clippy::disallowed_methods, reason = "no other thread runs yet")]
fn read_cli_settings() -> bool {
    let Some(folder) = cli_folder().filter(|_| std::env::var_os(SCAN_DIR).is_none()) else {
        return false;
    };
    // SAFETY: nothing else runs yet, so no other thread reads the environment at this moment.
    unsafe { std::env::set_var(SCAN_DIR, Path::new(&folder).join("conf.d")) };
    true
}

/// Restores the environment, which the script must see unchanged.
#[expect(clippy::disallowed_methods, reason = "no other thread runs yet")]
fn forget_cli_settings() {
    // SAFETY: the engine is up, but no script and no other thread runs yet that could read the environment meanwhile.
    unsafe { std::env::remove_var(SCAN_DIR) };
}

/// The path of this program, which PHP scripts find as `PHP_BINARY` and may start as `php`.
fn executable() -> CString {
    std::env::current_exe()
        .ok()
        .and_then(|path| CString::new(path.as_os_str().as_bytes()).ok())
        .unwrap_or_default()
}

/// Starts the engine. Called once per process, before any thread starts.
pub fn boot(boot: &Boot) -> Result<(), BootError> {
    engine_thread::begin();
    let is_cli = boot.mode == Mode::CommandLine;
    let borrowed = is_cli && !boot.no_ini && boot.ini_path.is_none() && read_cli_settings();
    // A path given by -c is read even with -n.
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

/// Registers the classes of `Hearth\…` with the engine, which compiles each when it is first named. Classic sites get only
/// those that adapt the cache to other interfaces.
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

/// Runs the entry script and keeps the handler that it returns.
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
        // A handler of exceptions that exits has reported its exception elsewhere.
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

/// The text for an exception that the app has shown on a page before it exited; empty without one.
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

/// Whether PHP or a loaded extension has a setting of that name. PHP accepts unknown names, too, for `get_cfg_var()`.
///
/// # Panics
/// On another thread than the engine's.
pub fn has_setting(name: &str) -> bool {
    engine_thread::require();
    // SAFETY: this is the engine's thread; the name is only read, with its length, against the engine's table of settings.
    unsafe { sys::hearth_has_setting(sys::hearth_str::new(name.as_bytes())) }
}

/// The kind of the app, by the word of `Adapter::entryKind()` in php/src. `callable` was made for Hearth and for concurrent
/// requests; `laravel`, `symfony`, `slim`, `psr-15` and `frankenphp` were not.
pub fn handler_kind() -> String {
    engine_thread::require();
    // SAFETY: it returns a buffer of the C side's.
    owned(unsafe { sys::hearth_handler_kind() })
}

/// Makes PHP refuse what concurrent requests cannot share, such as persistent connections.
pub fn refuse_persistent(refuse: bool) {
    engine_thread::require();
    // SAFETY: writes one flag of the C side, which its thread reads: this one.
    unsafe { sys::hearth_refuse_persistent(refuse) }
}

/// Tells how many requests may be in flight: twice as many ended tasks keep their stacks for later ones.
pub fn keep_stacks(concurrency: u32) {
    engine_thread::require();
    // SAFETY: writes one number of the C side, which its thread reads: this one.
    unsafe { sys::hearth_contexts_of_requests(concurrency) }
}

/// Installs handlers by which SIGTERM, SIGINT, SIGHUP and SIGUSR1 have no effect: the supervisor tells this process to leave
/// by its channel.
pub fn pass_over_signals() {
    engine_thread::require();
    // SAFETY: it sets handlers of this process, and reads on their thread those that PHP code has set.
    unsafe { sys::hearth_pass_over_signals() }
}

/// Ends the boot: each request begins with the state that is set now.
pub fn seal() {
    engine_thread::require_outside_tasks();
    // SAFETY: this is the engine's thread, outside of any task.
    unsafe { sys::hearth_seal() }
}

/// Prepares a forked worker, whose random numbers must differ from its sibling's. The first call after the fork.
pub fn after_fork() {
    engine_thread::require_outside_tasks();
    crate::budget::forget_holder();
    // SAFETY: this is the engine's thread, outside of any task.
    unsafe { sys::hearth_after_fork() }
}

/// Removes the files of `php://temp` and `tmpfile()`. Called by a process that ends without closing what is open.
pub fn remove_temporary_files() {
    engine_thread::require_outside_tasks();
    // SAFETY: this is the engine's thread, outside of any task.
    unsafe { sys::hearth_remove_temporary_files() }
}

/// Whether this is the descriptor of a `php://temp` or `tmpfile()` stream. Called while no PHP code runs.
pub fn is_temporary_file(descriptor: i32) -> bool {
    engine_thread::require_outside_tasks();
    // SAFETY: it reads the engine's list of open streams on the engine's thread, outside of any task.
    unsafe { sys::hearth_is_temporary_file(descriptor) }
}

/// Whether too much of `memory_limit` is in use for another request. Asked after a fatal error, which frees no memory.
pub fn heap_is_full() -> bool {
    // SAFETY: it reads counters of the engine's allocator, and this is the engine's thread.
    engine_thread::is_this() && unsafe { sys::hearth_heap_is_full() }
}

/// The most bytes that a request's body may have (`post_max_size`); 0 for no limit.
pub fn post_max_size() -> u64 {
    // SAFETY: reads one number of the engine.
    unsafe { sys::hearth_post_max_size() }
}

/// Whether PHP checks that a script has not changed since it was compiled (`opcache.validate_timestamps`). False without
/// opcache.
pub fn validates_timestamps() -> bool {
    // SAFETY: reads one setting of the engine.
    unsafe { sys::hearth_validates_timestamps() }
}
