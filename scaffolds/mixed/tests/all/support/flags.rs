/// Command-line flags for the operator in tests. Environment variables are not used.
pub const FLAGS: &[&str] = &[];
