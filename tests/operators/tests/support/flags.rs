/// Flags with which the tests start the operator, as on its command line: what it needs and has no default for. It gets no environment.
pub const FLAGS: &[&str] = &[];
