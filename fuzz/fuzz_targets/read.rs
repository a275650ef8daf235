//! See `cargo_operator_fuzz::read`.
#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| cargo_operator_fuzz::read(bytes));

#[cfg(not(fuzzing))]
fn main() -> std::io::Result<()> {
    cargo_operator_fuzz::replay(cargo_operator_fuzz::read)
}
