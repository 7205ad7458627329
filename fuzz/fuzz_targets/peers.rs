#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::run("peers", bytes));

#[cfg(not(fuzzing))]
fn main() {
    fuzz::replay("peers", std::env::args_os().skip(1));
}
