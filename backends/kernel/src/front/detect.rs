//! What language bytes are in, by how they begin.

use super::Language;

const MAGIC: u32 = 0x0723_0203;

/// Whether bytes begin with the magic number of SPIR-V, in either order.
pub(super) fn is_spirv(bytes: &[u8]) -> bool {
    bytes.first_chunk::<4>().is_some_and(|&word| u32::from_le_bytes(word) == MAGIC || u32::from_be_bytes(word) == MAGIC)
}

/// GLSL must begin with its version; a `#` begins nothing in WGSL but our own lines, and those say something else.
pub(super) fn language(bytes: &[u8]) -> Language {
    if is_spirv(bytes) {
        return Language::Spirv;
    }
    let directive = skip_comments(bytes).strip_prefix(b"#").map(|rest| rest.trim_ascii_start());
    if directive.is_some_and(|rest| rest.starts_with(b"version")) { Language::Glsl } else { Language::Wgsl }
}

fn skip_comments(mut bytes: &[u8]) -> &[u8] {
    bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    loop {
        bytes = bytes.trim_ascii_start();
        let end = match bytes {
            [b'/', b'/', ..] => bytes.iter().position(|&b| b == b'\n'),
            [b'/', b'*', rest @ ..] => rest.windows(2).position(|w| w == b"*/").map(|at| at + 4),
            _ => return bytes,
        };
        bytes = end.and_then(|end| bytes.get(end..)).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_language_is_found_from_how_a_source_begins() {
        let cases: &[(&[u8], Language)] = &[
            (b"\x03\x02\x23\x07", Language::Spirv),
            (b"\x07\x23\x02\x03....", Language::Spirv),
            (b"\x03\x02\x23", Language::Wgsl),
            (b"#version 450\n", Language::Glsl),
            (b" // GLSL\n/* #version\n */\r\n# version 460", Language::Glsl),
            (b"\xef\xbb\xbf#version 450\n", Language::Glsl),
            (b"// #version 450\n@compute fn f() {}", Language::Wgsl),
            (b"#include \"x\"", Language::Wgsl),
            (b"/* never closed #version", Language::Wgsl),
            (b"// no line end", Language::Wgsl),
            (b"", Language::Wgsl),
        ];
        for (bytes, language) in cases {
            assert_eq!(super::language(bytes), *language, "{:?}", String::from_utf8_lossy(bytes));
        }
    }
}
