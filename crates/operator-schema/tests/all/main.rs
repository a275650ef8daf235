//! All tests are one program: the tests of this crate are optimized, so each program is slow to compile and to link.

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
