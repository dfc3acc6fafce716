//! What a file with machine code says of itself. It comes from the caller: every number in it may be wrong, and none is used before it has been compared with
//! how many bytes there are.

/// A file whose parts all lie inside it.
pub(crate) struct Elf {
    /// `e_machine`
    pub(crate) machine: u16,
    /// `e_flags`
    pub(crate) flags: u32,
    /// The version in `e_ident`.
    pub(crate) version: u8,
}

/// Bytes at a place.
pub(crate) fn at<const N: usize>(bytes: &[u8], start: u64) -> Option<[u8; N]> {
    let start = usize::try_from(start).ok()?;
    bytes.get(start..start.checked_add(N)?)?.try_into().ok()
}

fn u16_at(bytes: &[u8], start: u64) -> Option<u16> {
    at(bytes, start).map(u16::from_le_bytes)
}

fn u32_at(bytes: &[u8], start: u64) -> Option<u32> {
    at(bytes, start).map(u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], start: u64) -> Option<u64> {
    at(bytes, start).map(u64::from_le_bytes)
}

/// Whether `size` bytes from `start` on are there.
pub(crate) fn inside(bytes: &[u8], start: u64, size: u64) -> bool {
    start.checked_add(size).is_some_and(|end| end <= bytes.len() as u64)
}

/// Bytes of the head.
const HEAD: usize = 64;
/// How an ELF file begins.
pub(crate) const ELF_MAGIC: &[u8] = b"\x7fELF";
/// A count of segments, or the number of the section with names, that stands elsewhere since it is larger. No file with code for a GPU has so many.
const ELSEWHERE: u16 = 0xffff;
/// Longer names are nobody's.
const LONGEST_NAME: usize = 256;
/// The kind of a section that takes no room.
const NO_BITS: u32 = 8;
const CUT: &str = "it is cut short: a part of it lies behind its end";

impl Elf {
    /// Reads the head, and sees whether all tables, sections and segments are there: a driver is not told where the file ends.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, String> {
        if !bytes.starts_with(ELF_MAGIC) {
            return Err("it is no ELF file".into());
        }
        // 64 bits, low byte first.
        if bytes.get(4..6) != Some(&[2, 1]) {
            return Err("it is no ELF file of 64 bits with the low byte first".into());
        }
        let head = || {
            // A head without a table needs no more than this, and drivers read all of it.
            bytes.get(..HEAD)?;
            let version = *bytes.get(8)?;
            Some(Self { machine: u16_at(bytes, 18)?, flags: u32_at(bytes, 48)?, version })
        };
        let found = head().ok_or(CUT)?;
        check_segments(bytes).and(check_sections(bytes)).ok_or(CUT)?;
        Ok(found)
    }
}

/// A section of a file.
pub struct Section<'a> {
    /// Its name, without the zero.
    pub name: &'a [u8],
    /// `sh_type`
    pub kind: u32,
    /// What is in it.
    pub bytes: &'a [u8],
}

/// The sections of a file, without those that take no room in it or lie outside of it.
pub fn sections(bytes: &[u8]) -> Vec<Section<'_>> {
    let read = || {
        let table = (u64_at(bytes, 40)?, u16_at(bytes, 58)?, u16_at(bytes, 60)?);
        let named = u64::from(u16_at(bytes, 62)?);
        (table.1 >= 64 && inside(bytes, table.0, u64::from(table.1) * u64::from(table.2))).then_some((table, named))
    };
    let Some(((table, each, count), named)) = read() else { return Vec::new() };
    let entry = |index: u64| table + index * u64::from(each);
    let part = |entry: u64| {
        let (start, size) = (u64_at(bytes, entry + 24)?, u64_at(bytes, entry + 32)?);
        bytes.get(usize::try_from(start).ok()?..usize::try_from(start.checked_add(size)?).ok()?)
    };
    let names = if named < u64::from(count) { part(entry(named)).unwrap_or_default() } else { &[] };
    let section = |index: u64| {
        let (name, kind) = (u32_at(bytes, entry(index))?, u32_at(bytes, entry(index) + 4)?);
        let name = names.get(usize::try_from(name).ok()?..)?;
        let name = name.get(..LONGEST_NAME).unwrap_or(name).split(|byte| *byte == 0).next()?;
        (kind != NO_BITS).then_some(Section { name, kind, bytes: part(entry(index))? })
    };
    (0..u64::from(count)).filter_map(section).collect()
}

/// All segments are inside; `None` when one is not.
fn check_segments(bytes: &[u8]) -> Option<()> {
    let (table, each, count) = (u64_at(bytes, 32)?, u16_at(bytes, 54)?, u16_at(bytes, 56)?);
    entries(bytes, table, each, count, 56, |entry| {
        inside(bytes, u64_at(bytes, entry + 8)?, u64_at(bytes, entry + 32)?).then_some(())
    })
}

/// The same of sections, but for those that take no room in the file.
fn check_sections(bytes: &[u8]) -> Option<()> {
    let (table, each, count) = (u64_at(bytes, 40)?, u16_at(bytes, 58)?, u16_at(bytes, 60)?);
    entries(bytes, table, each, count, 64, |entry| {
        let (start, size) = (u64_at(bytes, entry + 24)?, u64_at(bytes, entry + 32)?);
        (u32_at(bytes, entry + 4)? == NO_BITS || inside(bytes, start, size)).then_some(())
    })
}

/// Looks at each entry of a table, of which at least `least` bytes have to be there.
fn entries(bytes: &[u8], table: u64, each: u16, count: u16, least: u16, look: impl Fn(u64) -> Option<()>) -> Option<()> {
    if count == 0 || count == ELSEWHERE {
        // Without a table there are no entries; with one, how many there are stands in the first, which is not looked for.
        return (table == 0 && count == 0).then_some(());
    }
    let size = u64::from(each) * u64::from(count);
    if each < least || !inside(bytes, table, size) {
        return None;
    }
    (0..u64::from(count)).try_for_each(|n| look(table + n * u64::from(each)))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A file with one segment and one section, both of them its last 16 bytes.
    pub(crate) fn file(machine: u16, flags: u32, version: u8) -> Vec<u8> {
        let mut file = vec![0; 64];
        file[..9].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1, 1, 51, version]);
        file[18..20].copy_from_slice(&machine.to_le_bytes());
        file[32..40].copy_from_slice(&64_u64.to_le_bytes());
        file[40..48].copy_from_slice(&120_u64.to_le_bytes());
        file[48..52].copy_from_slice(&flags.to_le_bytes());
        for (place, value) in [(54, 56_u16), (56, 1), (58, 64), (60, 1)] {
            file[place..place + 2].copy_from_slice(&value.to_le_bytes());
        }
        file.resize(184 + 16, 0);
        for (place, value) in [(64 + 8, 184_u64), (64 + 32, 16), (120 + 24, 184), (120 + 32, 16)] {
            file[place..place + 8].copy_from_slice(&value.to_le_bytes());
        }
        file
    }

    #[test]
    fn pkg_03_a_file_says_what_it_is_for() {
        let elf = Elf::read(&file(190, 0x5a055a, 7)).map(|elf| (elf.machine, elf.flags, elf.version));
        assert_eq!(elf, Ok((190, 0x5a055a, 7)));
    }

    #[test]
    fn f1_a_file_that_is_cut_short_anywhere_is_refused() {
        let whole = file(190, 0, 7);
        for length in 0..whole.len() {
            assert!(Elf::read(&whole[..length]).is_err(), "{length} of {} bytes", whole.len());
        }
    }

    #[test]
    fn f1_counts_that_stand_elsewhere_are_refused() {
        for (place, count) in [(56, 0), (60, 0), (56, ELSEWHERE), (60, ELSEWHERE)] {
            let mut wrong = file(190, 0, 7);
            wrong[place..place + 2].copy_from_slice(&u16::to_le_bytes(count));
            assert!(Elf::read(&wrong).is_err(), "{count} at {place}");
        }
    }

    #[test]
    fn f1_numbers_that_would_wrap_are_refused() {
        for place in [32, 40, 64 + 8, 64 + 32, 120 + 24, 120 + 32] {
            let mut wrong = file(190, 0, 7);
            wrong[place..place + 8].fill(0xff);
            assert!(Elf::read(&wrong).is_err(), "at {place}");
        }
    }
}
