//! The functions that C calls: one macro makes them all.
//!
//! They run on the stack of a task. A panic must not unwind into C, so it ends the process with its message; while one
//! of them runs, libc hooks let calls pass ([`HookBypass`](crate::wait::HookBypass)).

/// Functions of `hearth.h`, of its types: each argument is made of what C passes, as [`arguments::FromC`] says.
macro_rules! callbacks {
    ($($(#[$doc:meta])* fn $name:ident($($arg:ident: $type:ty),*) $(-> $result:ty)? $body:block)*) => {
        quick_callbacks! {$(
            $(#[$doc])*
            fn $name($($arg: $type),*) $(-> $result)? {
                let _busy = crate::wait::HookBypass::enter();
                $body
            }
        )*}
    };
}

/// For those that only read or count: nothing in them can reach a hook.
macro_rules! quick_callbacks {
    ($($(#[$doc:meta])* fn $name:ident($($arg:ident: $type:ty),*) $(-> $result:ty)? $body:block)*) => {$(
        $(#[$doc])*
        const _: php_sys::called_by_c::$name = $name;
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($arg: <$type as $crate::callbacks::arguments::FromC>::Raw),*) $(-> $result)? {
            // SAFETY: `hearth.h` promises that what C passes is valid during the call.
            $(let $arg = unsafe { <$type as $crate::callbacks::arguments::FromC>::from_c($arg) };)*
            let run = std::panic::AssertUnwindSafe(move || $body);
            std::panic::catch_unwind(run).unwrap_or_else(|_| std::process::abort())
        }
    )*};
}

pub(crate) mod arguments;
mod request;
mod response;
mod tasks;
