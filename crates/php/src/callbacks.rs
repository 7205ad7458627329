//! The functions that C code calls, all made by one macro.
//!
//! Callbacks run on the stack of a task. A panic must not unwind into C, so it aborts the process after its message. While a
//! callback runs, libc hooks pass calls through ([`HookBypass`](crate::wait::HookBypass)).

/// Defines functions of `hearth.h`, with its types. Each argument is converted by [`arguments::FromC`].
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

/// Defines callbacks that only read or count, so that nothing in them can reach a hook.
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
