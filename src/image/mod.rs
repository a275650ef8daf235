//! `cargo operator image`: a container image of the project's operator, without a container engine.
//!
//! In: a static binary for each platform ([`build`]). Out: an [`Image`], which is a value; [`write()`] and [`Repository::push`] are the
//! only ways out. The bytes of an image depend on its inputs alone: no clock, host or path.

mod build;
mod build_error;
mod created;
mod descriptor;
mod elf;
mod layer;
mod layout;
mod manifest;
mod output;
mod platform;
mod push;
mod reference;
mod sbom;
mod target;

pub use build::{Built, Description, Package, build};
pub use build_error::BuildError;
pub use created::{Created, CreatedError};
pub use descriptor::{Blob, Descriptor, media_type};
pub use layout::{archive, layout};
pub use manifest::{Image, Part, PlatformImage};
pub use output::{Format, Output, OutputError, write};
pub use platform::Platform;
pub use push::{Credentials, CredentialsError, PushError, Pushed, Repository, credentials};
pub use reference::{Reference, ReferenceError};
pub use sbom::{Sbom, SbomPackage};
