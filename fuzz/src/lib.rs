//! The fuzz targets: each calls a part of the tool with its bytes, and checks properties of the result.
//!
//! A target is a plain function, so that the engine, a test and a program that replays a file can all call it. It panics for a finding.

mod module;
mod read;
mod schema;
mod shape;
mod state;

pub use read::read;
pub use schema::schema;
pub use state::state;

/// Calls a target with the content of each file that the program's arguments name.
pub fn replay(target: fn(&[u8])) -> std::io::Result<()> {
    for path in std::env::args_os().skip(1) {
        target(&std::fs::read(path)?);
    }
    Ok(())
}
