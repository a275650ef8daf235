//! One program, as the tests of this crate are optimized and so slow to compile and link.

mod defaults_and_pruning;
mod laws;
mod objects;
mod reading;
mod rule_faults;
mod rules;
mod samples;
mod solving;
mod structural;
mod violations;
