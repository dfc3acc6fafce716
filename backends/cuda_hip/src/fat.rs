//! CUDA's fat binaries: which parts one holds. NVIDIA does not document them; what is read here has been the same since CUDA 5, and a later version of the format is left to
//! the driver. Every number in them may be wrong.

use crate::driver::Forms;
use crate::elf::{ELF_MAGIC, Elf, at, inside};

/// The version of the format.
const VERSION: u16 = 1;
/// Bytes of a part's head that are looked at.
const HEAD: u64 = 32;
/// Bytes of a head that says how long a compressed part is, and how long it was.
const LONG_HEAD: u64 = 64;
/// Bytes of a part at most, before it was compressed: a driver makes room for what is said.
const MOST_UNPACKED: u64 = 4 << 30;
/// More parts than there are architectures, with their debug forms.
pub(crate) const MOST_PARTS: usize = 4096;

/// What a part is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Machine code.
    Machine,
    /// PTX.
    Assembly,
    /// Not known here.
    Other,
}

/// One part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) kind: Kind,
    /// `sm_90`; whether it is for this generation alone (`sm_90a`) only machine code tells that is not compressed.
    pub(crate) name: String,
}

impl Part {
    /// For people.
    pub(crate) fn told(&self) -> String {
        match self.kind {
            Kind::Machine => self.name.clone(),
            Kind::Assembly => format!("PTX for {}", self.name),
            Kind::Other => "an unknown part".into(),
        }
    }
}

/// The parts, if all of them are there and what they are said to be; of a later version of the format one that is not known.
pub(crate) fn parts(bytes: &[u8], forms: &Forms) -> Option<Vec<Part>> {
    let u16_at = |start| at(bytes, start).map(u16::from_le_bytes);
    let u32_at = |start| at(bytes, start).map(u32::from_le_bytes);
    let u64_at = |start| at(bytes, start).map(u64::from_le_bytes);
    let (version, head, size) = (u16_at(4)?, u64::from(u16_at(6)?), u64_at(8)?);
    if head < 16 || !inside(bytes, head, size) {
        return None;
    }
    if version != VERSION {
        return Some(vec![Part { kind: Kind::Other, name: String::new() }]);
    }
    let (mut place, end, mut found) = (head, head + size, Vec::new());
    while place < end {
        let (kind, own, payload) = (u16_at(place)?, u64::from(u32_at(place + 4)?), u64_at(place + 8)?);
        let from = place.checked_add(own)?;
        let next = from.checked_add(payload)?;
        // Never in place, so that this ends.
        if own < HEAD || next > end || found.len() == MOST_PARTS {
            return None;
        }
        let kind = match kind {
            1 => Kind::Assembly,
            2 => Kind::Machine,
            _ => Kind::Other,
        };
        let code = bytes.get(usize::try_from(from).ok()?..usize::try_from(next).ok()?)?;
        // What is compressed nobody but the driver can look into.
        let mut name = format!("sm_{}", u32_at(place + 28)?);
        if kind == Kind::Machine && code.starts_with(ELF_MAGIC) {
            let elf = Elf::read(code).ok().filter(|elf| elf.machine == forms.machine)?;
            if let Some(made) = (forms.architecture)(elf.flags, elf.version) {
                // `sm_90` may turn out to be `sm_90a`, but nothing else.
                name = Some(made).filter(|made| made.trim_end_matches(['a', 'f']) == name)?;
            }
        }
        if own >= LONG_HEAD {
            let (packed, unpacked) = (u64::from(u32_at(place + 16)?), u64_at(place + 56)?);
            if packed > payload || unpacked > MOST_UNPACKED {
                return None;
            }
        }
        found.push(Part { kind, name });
        place = next;
    }
    Some(found)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::elf::tests::file;
    use crate::source::tests::FORMS;

    fn parts(bytes: &[u8]) -> Option<Vec<Part>> {
        super::parts(bytes, &FORMS)
    }

    /// A fat binary of parts: kind, architecture, code.
    pub(crate) fn fat(parts: &[(u16, u32, &[u8])]) -> Vec<u8> {
        let mut body = Vec::new();
        for (kind, arch, code) in parts {
            let mut head = [0; 64];
            head[..2].copy_from_slice(&kind.to_le_bytes());
            head[4..8].copy_from_slice(&64_u32.to_le_bytes());
            head[8..16].copy_from_slice(&(code.len() as u64).to_le_bytes());
            head[28..32].copy_from_slice(&arch.to_le_bytes());
            body.extend([&head[..], code].concat());
        }
        [&0xba55_ed50_u32.to_le_bytes()[..], &[1, 0, 16, 0], &(body.len() as u64).to_le_bytes(), &body].concat()
    }

    #[test]
    fn pkg_03_a_fat_binary_says_which_parts_it_holds() {
        let code = file(190, 80, 7);
        let whole = fat(&[(2, 80, &code), (2, 90, b"compressed"), (1, 75, b"text"), (16, 0, b"?")]);
        let told: Vec<String> = parts(&whole).unwrap().iter().map(Part::told).collect();
        assert_eq!(told, ["sm_80", "sm_90", "PTX for sm_75", "an unknown part"]);
        assert_eq!(parts(&fat(&[])), Some(Vec::new()));
    }

    #[test]
    fn f1_a_part_of_a_fat_binary_that_is_not_what_it_is_said_to_be_is_refused() {
        assert!(parts(&fat(&[(2, 90, &file(190, 90, 7))])).is_some());
        for (machine, made) in [(62, 90), (190, 80)] {
            assert_eq!(parts(&fat(&[(2, 90, &file(machine, made, 7))])), None, "{machine} {made}");
        }
        let exact = parts(&fat(&[(2, 90, &file(190, 0x800 | 90, 7))])).unwrap();
        assert_eq!(exact[0].name, "sm_90a");
    }

    #[test]
    fn f1_fat_binaries_with_wrong_numbers_or_parts_that_are_cut_short_are_refused() {
        let code = file(190, 80, 7);
        let whole = fat(&[(2, 80, &code), (1, 75, b"text")]);
        for length in 4..whole.len() {
            assert_eq!(parts(&whole[..length]), None, "{length}");
        }
        // The sizes: of all, of the first head, of the first part, of the second head.
        let second = 16 + 64 + code.len();
        for (place, size) in [(8, 8), (20, 4), (24, 8), (second + 4, 4)] {
            for byte in [0, 1, 0xff] {
                let mut wrong = whole.clone();
                wrong[place..place + size].fill(byte);
                // No parts at all are none.
                assert!(parts(&wrong).is_none_or(|parts| parts.is_empty()), "{byte} at {place}");
            }
        }
        // A table of the first part's code that lies nowhere.
        let mut wrong = whole.clone();
        wrong[16 + 64 + 32..][..8].fill(0xff);
        assert_eq!(parts(&wrong), None);
        // Longer compressed than it is, and longer before than anything is.
        for (place, size) in [(16 + 16, 4), (16 + 56, 8)] {
            let mut wrong = whole.clone();
            wrong[place..place + size].fill(0xff);
            assert_eq!(parts(&wrong), None, "at {place}");
        }
        let mut later = whole;
        later[4] = 2;
        assert_eq!(parts(&later).map(|parts| parts[0].kind), Some(Kind::Other), "the driver knows");
    }
}
