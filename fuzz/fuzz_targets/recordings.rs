#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::run("recordings", bytes));

#[cfg(not(fuzzing))]
fn main() {
    fuzz::replay("recordings", std::env::args_os().skip(1));
}
