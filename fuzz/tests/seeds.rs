//! Calls the targets without the engine, with the committed seeds and with pseudo-random bytes.

use std::{fs, path::Path};

use cargo_operator_fuzz::{read, schema, state};

/// Calls a target with each file of these folders, whole and truncated.
fn seeds(target: fn(&[u8]), folders: &[&str]) {
    for folder in folders {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        for file in fs::read_dir(&folder).unwrap() {
            let bytes = fs::read(file.unwrap().path()).unwrap();
            target(&bytes);
            target(&bytes[..bytes.len() * 2 / 3]);
        }
    }
}

#[test]
fn seeds_are_read() {
    seeds(read, &["seeds/read", "../tests/crds"]);
}

#[test]
fn seeds_of_a_state_are_merged() {
    seeds(state, &["seeds/state"]);
}

#[test]
fn schemas_of_arbitrary_bytes_hold() {
    for seed in 0..40_u64 {
        // SplitMix64
        let word = |nth: u64| {
            let mixed = (seed * 1000 + nth).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            (mixed ^ (mixed >> 31)).to_le_bytes()
        };
        let bytes: Vec<u8> = (0..seed % 64).flat_map(word).collect();
        schema(&bytes);
    }
}
