#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::run("cached", bytes));

#[cfg(not(fuzzing))]
fn main() {
    fuzz::replay("cached", std::env::args_os().skip(1));
}
