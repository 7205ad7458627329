//! The cache of `hearth run`: that of the server of the script's app, if one runs, found as `hearth status` finds it.

use std::ffi::OsStr;
use std::path::PathBuf;

use build_id::BUILD_ID;
use cache::Cache;

/// Lets the server be looked for when the script first uses the cache. Directory and environment, which determine where, are
/// noted now, because the script may change them.
pub(crate) fn find_by(app: Option<&OsStr>) {
    let app = app.map(|app| app.to_string_lossy().into_owned());
    let cwd = std::env::current_dir().unwrap_or_default();
    let environment: Vec<(String, String)> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| name.starts_with("HEARTH_"))
        .collect();
    let runtime_dir = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    php::find_cache_with(Box::new(move || {
        let user = rustix::process::geteuid().as_raw();
        let directories = config::control_directories(runtime_dir.clone(), user);
        config::script_controls(app.clone(), environment.clone(), &cwd, &directories)
            .iter()
            .find_map(|control| {
                let fds = ipc::request_cache_memory(control, BUILD_ID).ok()?;
                let mut fds = fds.into_iter();
                let cache = Cache::map(&fds.next()?).ok()?;
                Some((cache, fds.next()))
            })
            .filter(|(cache, _)| cache.is_served())
    }));
}
