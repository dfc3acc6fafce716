//! What a code object says of its kernels: a note in MessagePack. It comes from the caller, so it is read within its bytes, and nothing is built of it but numbers.

use compute_cuda_hip::elf::sections;

const NOTES: u32 = 7;
/// Sections of notes that are looked at. Real code has one.
const MOST_NOTES: usize = 8;
/// Of such a note: the kind, behind the name.
const KIND: u32 = 32;
/// Maps and arrays inside each other at most; the real ones have four.
const DEEPEST: u32 = 16;

/// Offset and size of each argument of a kernel that its code declares; `None`: nothing that could be read says so.
pub(crate) fn parameters(code: &[u8], kernel: &str) -> Option<Vec<[u32; 2]>> {
    // Any number of sections may name the same bytes, and each would be gone through.
    let notes = sections(code).into_iter().filter(|section| section.kind == NOTES).take(MOST_NOTES);
    let found = notes.map(|section| section.bytes).find_map(note);
    let mut found = Reader(found?);
    let mut kernels = None;
    found.map(|key, value| {
        if key == b"amdhsa.kernels" {
            kernels = Some(value);
        }
    })?;
    let mut all = kernels?;
    for _ in 0..all.array()? {
        if let Some(arguments) = of_kernel(&mut all, kernel)? {
            return Some(arguments);
        }
    }
    None
}

/// The bytes of the first note of AMD's.
fn note(mut notes: &[u8]) -> Option<&[u8]> {
    while !notes.is_empty() {
        let mut word = || {
            let (word, rest) = notes.split_first_chunk::<4>()?;
            notes = rest;
            Some(u32::from_le_bytes(*word))
        };
        let (name, size, kind) = (word()?, word()?, word()?);
        let mut part = |size: u32| {
            let size = usize::try_from(size).ok()?;
            let (part, rest) = notes.split_at_checked(size)?;
            // What is behind the last one may be left out.
            notes = rest.get(size.next_multiple_of(4) - size..).unwrap_or_default();
            Some(part)
        };
        let (name, bytes) = (part(name)?, part(size)?);
        if kind == KIND && name == b"AMDGPU\0" {
            return Some(bytes);
        }
    }
    None
}

/// Reads the next kernel; its arguments if it is the one.
fn of_kernel(all: &mut Reader<'_>, kernel: &str) -> Option<Option<Vec<[u32; 2]>>> {
    let (mut name, mut arguments) = (None, None);
    all.map(|key, mut value| match key {
        b".name" => name = value.text(),
        b".args" => arguments = Some(value),
        _ => {}
    })?;
    if name != Some(kernel.as_bytes()) {
        return Some(None);
    }
    // Without arguments there is no list.
    let Some(mut list) = arguments else { return Some(Some(Vec::new())) };
    let mut found = Vec::new();
    for _ in 0..list.array()? {
        let (mut offset, mut size, mut hidden) = (None, None, false);
        list.map(|key, mut value| match key {
            b".offset" => offset = value.number(),
            b".size" => size = value.number(),
            b".value_kind" => hidden = value.text().is_none_or(|kind| kind.starts_with(b"hidden_")),
            _ => {}
        })?;
        if !hidden {
            found.push([offset?, size?]);
        }
    }
    Some(Some(found))
}

/// MessagePack that is still to be read.
#[derive(Clone, Copy)]
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, size: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(size)?;
        self.0 = rest;
        Some(taken)
    }

    /// A number of so many bytes, the high one first.
    fn big(&mut self, size: usize) -> Option<u64> {
        Some(self.take(size)?.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    fn size(&mut self, size: usize) -> Option<usize> {
        usize::try_from(self.big(size)?).ok()
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    fn text(&mut self) -> Option<&'a [u8]> {
        let size = match self.byte()? {
            short @ 0xa0..=0xbf => usize::from(short & 0x1f),
            0xd9 => self.size(1)?,
            0xda => self.size(2)?,
            0xdb => self.size(4)?,
            _ => return None,
        };
        self.take(size)
    }

    fn number(&mut self) -> Option<u32> {
        let number = match self.byte()? {
            small @ 0..=0x7f => u64::from(small),
            0xcc => self.big(1)?,
            0xcd => self.big(2)?,
            0xce => self.big(4)?,
            0xcf => self.big(8)?,
            _ => return None,
        };
        u32::try_from(number).ok()
    }

    /// How many things an array has.
    fn array(&mut self) -> Option<usize> {
        match self.byte()? {
            short @ 0x90..=0x9f => Some(usize::from(short & 0xf)),
            0xdc => self.size(2),
            0xdd => self.size(4),
            _ => None,
        }
    }

    /// Shows each key of a map that is text, with what stands there.
    fn map(&mut self, mut look: impl FnMut(&'a [u8], Self)) -> Option<()> {
        let count = match self.byte()? {
            short @ 0x80..=0x8f => usize::from(short & 0xf),
            0xde => self.size(2)?,
            0xdf => self.size(4)?,
            _ => return None,
        };
        for _ in 0..count {
            let key = self.text()?;
            look(key, *self);
            self.skip(DEEPEST)?;
        }
        Some(())
    }

    /// Goes behind one thing.
    fn skip(&mut self, deeper: u32) -> Option<()> {
        let deeper = deeper.checked_sub(1)?;
        let (bytes, things) = match self.byte()? {
            0..=0x7f | 0xc0 | 0xc2 | 0xc3 | 0xe0..=0xff => (0, 0),
            short @ 0xa0..=0xbf => (usize::from(short & 0x1f), 0),
            short @ 0x90..=0x9f => (0, usize::from(short & 0xf)),
            short @ 0x80..=0x8f => (0, usize::from(short & 0xf) * 2),
            0xcc | 0xd0 => (1, 0),
            0xcd | 0xd1 => (2, 0),
            0xca | 0xce | 0xd2 => (4, 0),
            0xcb | 0xcf | 0xd3 => (8, 0),
            0xc4 | 0xd9 => (self.size(1)?, 0),
            0xc5 | 0xda => (self.size(2)?, 0),
            0xc6 | 0xdb => (self.size(4)?, 0),
            0xdc => (0, self.size(2)?),
            0xdd => (0, self.size(4)?),
            0xde => (0, self.size(2)?.checked_mul(2)?),
            0xdf => (0, self.size(4)?.checked_mul(2)?),
            _ => return None,
        };
        self.take(bytes)?;
        // Each takes a byte at least, so this ends with the bytes.
        (0..things).try_for_each(|_| self.skip(deeper))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "ends at the first thing that is wrong")]

    use super::*;

    /// What clang 19 writes for `kernel void k(global float* o, float a, char c)`, cut to what is read, and a second kernel.
    fn metadata() -> Vec<u8> {
        let text = |text: &str| [&[0xa0 | text.len() as u8][..], text.as_bytes()].concat();
        let argument = |offset: u8, size: u8, kind: &str| {
            [
                &[0x84][..],
                &text(".offset"),
                &[offset],
                &text(".size"),
                &[size],
                &text(".type_name"),
                &text("x"),
                &text(".value_kind"),
                &text(kind),
            ]
            .concat()
        };
        let arguments = [
            argument(0, 8, "global_buffer"),
            argument(8, 4, "by_value"),
            argument(12, 1, "by_value"),
            argument(16, 8, "hidden_none"),
        ];
        let first = [
            &[0x83][..],
            &text(".args"),
            &[0x94],
            &arguments.concat(),
            &text(".name"),
            &text("k"),
            &text(".max_flat"),
            &[0xcd, 1, 0],
        ]
        .concat();
        let second = [&[0x81][..], &text(".name"), &text("none")].concat();
        let version = [&text("amdhsa.version")[..], &[0x92, 1, 2]].concat();
        [&[0x82][..], &version, &text("amdhsa.kernels"), &[0x92], &first, &second].concat()
    }

    fn read(bytes: &[u8], kernel: &str) -> Option<Vec<[u32; 2]>> {
        let mut all = None;
        Reader(bytes).map(|key, value| {
            if key == b"amdhsa.kernels" {
                all = Some(value);
            }
        })?;
        let mut all = all?;
        (0..all.array()?).find_map(|_| of_kernel(&mut all, kernel).flatten())
    }

    #[test]
    fn dl_08_arguments_of_a_code_object_are_found_without_the_hidden_ones() {
        let bytes = metadata();
        assert_eq!(read(&bytes, "k"), Some(vec![[0, 8], [8, 4], [12, 1]]));
        assert_eq!((read(&bytes, "none"), read(&bytes, "other")), (Some(Vec::new()), None));
    }

    #[test]
    fn dl_08_the_note_is_found_behind_others() {
        let entry = |name: &[u8], kind: u32, bytes: &[u8]| {
            let mut note = [(name.len() as u32).to_le_bytes(), (bytes.len() as u32).to_le_bytes(), kind.to_le_bytes()].concat();
            for part in [name, bytes] {
                note.extend_from_slice(part);
                note.resize(note.len().next_multiple_of(4), 0);
            }
            note
        };
        let notes = [entry(b"GNU\0", 32, b"12345"), entry(b"AMDGPU\0", 31, b""), entry(b"AMDGPU\0", 32, b"yes")].concat();
        assert_eq!(note(&notes), Some(&b"yes"[..]));
        assert_eq!(note(&notes[..notes.len() - 4]), None);
        assert_eq!(note(&[0xff; 64]), None);
    }

    #[test]
    fn f1_very_many_sections_that_name_the_same_notes_are_not_all_gone_through() {
        const COUNT: u16 = 20_000;
        // Notes of nothing, 12 bytes each, behind a table of sections.
        let (table, notes) = (64_usize, 3 << 18);
        let start = table + usize::from(COUNT) * 64;
        let mut file = vec![0_u8; start + notes];
        file[..6].copy_from_slice(b"\x7fELF\x02\x01");
        file[40..48].copy_from_slice(&(table as u64).to_le_bytes());
        file[58..60].copy_from_slice(&64_u16.to_le_bytes());
        file[60..62].copy_from_slice(&COUNT.to_le_bytes());
        for section in file[table..start].chunks_exact_mut(64) {
            section[4..8].copy_from_slice(&NOTES.to_le_bytes());
            section[24..32].copy_from_slice(&(start as u64).to_le_bytes());
            section[32..40].copy_from_slice(&(notes as u64).to_le_bytes());
        }
        let begun = std::time::Instant::now();
        assert_eq!(parameters(&file, "k"), None);
        assert!(begun.elapsed() < std::time::Duration::from_secs(20), "{:?}", begun.elapsed());
    }

    #[test]
    fn f1_metadata_that_is_cut_short_or_goes_too_deep_or_counts_wrongly_is_no_metadata() {
        let bytes = metadata();
        for length in 0..bytes.len() {
            assert_eq!(read(&bytes[..length], "none"), None, "{length}");
        }
        for byte in 0..bytes.len() {
            let mut wrong = bytes.clone();
            wrong[byte] = 0xdd;
            // Whatever comes of it: it ends.
            let _ = read(&wrong, "k");
        }
        let deep = [&[0x81, 0xa1, b'x'][..], &[0x91; 100_000]].concat();
        assert!(Reader(&deep).map(|_, _| {}).is_none());
        assert!(Reader(&[0x81, 0xa1, b'x', 0xdd, 0xff, 0xff, 0xff, 0xff, 0xc0]).map(|_, _| {}).is_none());
    }
}
