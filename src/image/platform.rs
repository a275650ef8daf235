//! The platforms that an image can have: each an architecture of OCI, a target of Rust, and a machine of ELF.

use std::fmt;

/// An operating system and an architecture, as containers name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum Platform {
    #[value(name = "linux/amd64")]
    Amd64,
    #[value(name = "linux/arm64")]
    Arm64,
}

impl Platform {
    /// All platforms, in the order in which an image lists them.
    pub const ALL: [Self; 2] = [Self::Amd64, Self::Arm64];

    /// The platform that runs containers on this machine, if it is one of ours.
    pub fn of_host() -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|platform| platform.rust_architecture() == std::env::consts::ARCH)
    }

    /// The architecture as Go names it, as in the OCI specification.
    pub fn architecture(self) -> &'static str {
        match self {
            Self::Amd64 => "amd64",
            Self::Arm64 => "arm64",
        }
    }

    fn rust_architecture(self) -> &'static str {
        match self {
            Self::Amd64 => "x86_64",
            Self::Arm64 => "aarch64",
        }
    }

    /// The target of Rust. Its binaries need no libc.
    pub fn target(self) -> &'static str {
        match self {
            Self::Amd64 => "x86_64-unknown-linux-musl",
            Self::Arm64 => "aarch64-unknown-linux-musl",
        }
    }

    /// The `e_machine` of an ELF file.
    pub fn machine(self) -> u16 {
        match self {
            Self::Amd64 => 62,
            Self::Arm64 => 183,
        }
    }

    /// Whether this machine can link for the platform with its own linker.
    pub fn is_native(self) -> bool {
        std::env::consts::OS == "linux" && Self::of_host() == Some(self)
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "linux/{}", self.architecture())
    }
}
