//! A hash that is the same in every process and in every release, because annotations and labels contain it.

/// [FNV-1a](http://www.isthe.com/chongo/tech/comp/fnv/) with 64 bits, in hexadecimal.
pub(crate) fn stable_hash(text: &str) -> String {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_has_the_published_values() {
        let known = [("", "cbf29ce484222325"), ("foobar", "85944171f73967e8")];
        assert_eq!(
            known.map(|(text, _)| stable_hash(text)),
            known.map(|(_, hash)| hash)
        );
    }
}
