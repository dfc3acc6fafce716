//! One file of the cache: an artifact between proofs that it is whole, and that it is the one asked for. Pure.
//!
//! | bytes | what |
//! |---|---|
//! | 8 | `LCKERNEL` |
//! | 4 | version of this layout |
//! | 4 | zero |
//! | 32 | key: what the artifact is of |
//! | 8 | bytes of the artifact |
//! | 32 | BLAKE3 of everything above and the artifact |
//! | … | the artifact |
//!
//! Numbers are little-endian.

/// What a kernel is found by.
pub(super) type Key = [u8; 32];

const MAGIC: &[u8; 8] = b"LCKERNEL";
const VERSION: u32 = 1;
const DIGEST: usize = 56;
/// Bytes before the artifact.
pub(super) const HEAD: usize = DIGEST + 32;
/// A larger artifact is not kept, and a larger file is none of ours.
pub(super) const MOST: u64 = 64 << 20;

/// What goes before an artifact in its file. Apart from it, as an artifact may be large and need not be copied.
pub(super) fn seal(key: &Key, artifact: &[u8]) -> [u8; HEAD] {
    let mut head = [0; HEAD];
    let length = (artifact.len() as u64).to_le_bytes();
    let parts = [&MAGIC[..], &VERSION.to_le_bytes(), &[0; 4], key, &length];
    let places = head.iter_mut().zip(parts.into_iter().flatten());
    places.for_each(|(place, byte)| *place = *byte);
    let (said, digest_place) = head.split_at_mut(DIGEST);
    digest_place.copy_from_slice(&digest(said, artifact));
    head
}

/// The artifact in a file, or what is wrong with it.
pub(super) fn open<'a>(key: &Key, file: &'a [u8]) -> Result<&'a [u8], &'static str> {
    let (head, artifact) = file.split_at_checked(HEAD).ok_or("it is too short")?;
    let (said, digest_found) = head.split_at(DIGEST);
    if !said.starts_with(MAGIC) {
        return Err("it is no file of this cache");
    }
    if said[8..16] != [VERSION.to_le_bytes(), [0; 4]].concat()[..] {
        return Err("it has another layout");
    }
    if said[16..48] != key[..] {
        return Err("it is of another kernel");
    }
    if said[48..] != (artifact.len() as u64).to_le_bytes()[..] {
        return Err("it is cut, or longer than it says");
    }
    if *digest_found != digest(said, artifact)[..] {
        return Err("it is damaged");
    }
    Ok(artifact)
}

fn digest(head: &[u8], artifact: &[u8]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(head).update(artifact);
    *hasher.finalize().as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(key: &Key, artifact: &[u8]) -> Vec<u8> {
        [&seal(key, artifact), artifact].concat()
    }

    #[test]
    fn l7_an_entry_gives_back_what_went_in() {
        for artifact in [&b""[..], b"x", &[7; 1000]] {
            assert_eq!(open(&[1; 32], &file(&[1; 32], artifact)), Ok(artifact));
        }
    }

    #[test]
    fn l7_any_other_byte_anywhere_is_noticed() {
        let file = file(&[1; 32], b"some code");
        for at in 0..file.len() {
            for change in [1, 0x80, 0xff] {
                let mut changed = file.clone();
                changed[at] ^= change;
                assert!(open(&[1; 32], &changed).is_err(), "byte {at}");
            }
        }
        for length in 0..file.len() {
            assert!(open(&[1; 32], &file[..length]).is_err(), "{length} bytes");
        }
        assert!(open(&[1; 32], &[&file[..], &[0]].concat()).is_err());
        assert_eq!(open(&[2; 32], &file), Err("it is of another kernel"));
    }
}
