//! What the fuzz targets do with their bytes: each calls a part of the tool, and holds what came out against what must be so.
//!
//! A target is a plain function, so that the engine, a test and a program that replays a file can all call it. A finding is a panic.

mod module;
mod read;
mod schema;
mod shape;
mod state;

pub use read::read;
pub use schema::schema;
pub use state::state;

/// Gives the files that the program's arguments name to a target.
pub fn replay(target: fn(&[u8])) -> std::io::Result<()> {
    for path in std::env::args_os().skip(1) {
        target(&std::fs::read(path)?);
    }
    Ok(())
}
