//! Checks that a binary runs on its platform without any other file.

use super::Platform;

/// Why a binary cannot be in an image.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ElfError {
    #[error("it is not a 64-bit ELF program")]
    NotElf,
    #[error("it is for the machine {0} of ELF, not for {1}")]
    Machine(u16, Platform),
    #[error("it is not static: it needs the dynamic linker {0}")]
    Dynamic(String),
}

/// The program header that names the dynamic linker.
const PT_INTERP: u32 = 3;

/// Checks the [ELF header](https://refspecs.linuxfoundation.org/elf/gabi4+/ch4.eheader.html) and the program headers.
pub fn check(binary: &[u8], platform: Platform) -> Result<(), ElfError> {
    // 64 bits, little endian
    if !binary.starts_with(b"\x7fELF\x02\x01") {
        return Err(ElfError::NotElf);
    }
    let header = Reader(binary);
    let machine = header.u16(0x12).ok_or(ElfError::NotElf)?;
    if machine != platform.machine() {
        return Err(ElfError::Machine(machine, platform));
    }
    let interpreter = header.interpreter().ok_or(ElfError::NotElf)?;
    match interpreter {
        Some(linker) => Err(ElfError::Dynamic(linker)),
        None => Ok(()),
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    /// The dynamic linker, if there is one; `None` if the headers are truncated.
    fn interpreter(&self) -> Option<Option<String>> {
        let (start, size) = (self.u64(0x20)?, self.u16(0x36)?);
        for index in 0..self.u16(0x38)? {
            let at = start.checked_add(usize::from(size) * usize::from(index))?;
            if self.u32(at)? == PT_INTERP {
                let (from, length) = (self.u64(at + 0x08)?, self.u64(at + 0x20)?);
                let name = self.0.get(from..from.checked_add(length)?)?;
                let name = String::from_utf8_lossy(name);
                return Some(Some(name.trim_end_matches('\0').to_owned()));
            }
        }
        Some(None)
    }

    fn bytes<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        self.0.get(at..at.checked_add(N)?)?.try_into().ok()
    }

    fn u16(&self, at: usize) -> Option<u16> {
        self.bytes(at).map(u16::from_le_bytes)
    }

    fn u32(&self, at: usize) -> Option<u32> {
        self.bytes(at).map(u32::from_le_bytes)
    }

    fn u64(&self, at: usize) -> Option<usize> {
        self.bytes(at).map(u64::from_le_bytes)?.try_into().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An ELF file with one program header, which names a dynamic linker.
    fn binary(machine: u16, header: u32) -> Vec<u8> {
        let linker = b"/lib/ld.so\0";
        let mut bytes = vec![0; 0x78];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        bytes[0x12..0x14].copy_from_slice(&machine.to_le_bytes());
        bytes[0x20] = 0x40;
        bytes[0x36] = 0x38;
        bytes[0x38] = 1;
        bytes[0x40..0x44].copy_from_slice(&header.to_le_bytes());
        bytes[0x48] = 0x78;
        bytes[0x60] = linker.len() as u8;
        bytes.extend(linker);
        bytes
    }

    #[test]
    fn only_a_static_binary_of_the_platform_is_accepted() {
        for (bytes, error) in [
            (binary(62, 1), None),
            (
                binary(183, 1),
                Some(ElfError::Machine(183, Platform::Amd64)),
            ),
            (
                binary(62, PT_INTERP),
                Some(ElfError::Dynamic("/lib/ld.so".into())),
            ),
            (b"#!/bin/sh\n".to_vec(), Some(ElfError::NotElf)),
            (b"\x7fELF\x02\x01".to_vec(), Some(ElfError::NotElf)),
            (
                binary(62, PT_INTERP)[..0x70].to_vec(),
                Some(ElfError::NotElf),
            ),
        ] {
            assert_eq!(check(&bytes, Platform::Amd64).err(), error);
        }
    }

    #[test]
    fn no_bytes_panic() {
        let full = binary(62, PT_INTERP);
        for at in 6..full.len() {
            let mut bytes = full.clone();
            let end = full.len().min(at + 8);
            bytes[at..end].fill(0xff);
            let _any = check(&bytes, Platform::Amd64);
            let _any = check(&full[..at], Platform::Amd64);
        }
    }
}
