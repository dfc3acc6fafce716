//! Whether a native source is all that its compiler reads: only then do equal requests have equal kernels, and may one be kept for the other (L7).
//!
//! Compilers find files by themselves: beside the process's working folder, in folders that options and variables name. Such a file may change while the source stays the same.
//! This file knows no compiler's language; it looks for what could be a way to a file, and where in doubt says that there is one. What that costs is a compilation.

use super::{NativeLanguage, NativeSource};

/// Options that name no file, alone or up to their value. All others may.
const WHOLE: &[&str] = &[
    "-w",
    "-g",
    "-G",
    "-O0",
    "-O1",
    "-O2",
    "-O3",
    "-Os",
    "-lineinfo",
    "--generate-line-info",
    "--device-debug",
    "--use_fast_math",
    "-use_fast_math",
    "--restrict",
    "-restrict",
    "-default-device",
    "--device-as-default-execution-space",
    "-ffast-math",
    "-fno-fast-math",
    "-fno-strict-aliasing",
    "-munsafe-fp-atomics",
    "-mno-unsafe-fp-atomics",
    "-mcumode",
    "-mno-cumode",
    "-mwavefrontsize64",
    "-mno-wavefrontsize64",
    "-fhip-fp32-correctly-rounded-divide-sqrt",
    "--extra-device-vectorization",
    "-extra-device-vectorization",
    "--disable-warnings",
];
const BEGINNINGS: &[&str] = &[
    "-D",
    "-U",
    "--define-macro=",
    "--undefine-macro=",
    "-std=",
    "--std=",
    "-ftz=",
    "--ftz=",
    "-fmad=",
    "--fmad=",
    "-prec-div=",
    "--prec-div=",
    "-prec-sqrt=",
    "--prec-sqrt=",
    "-maxrregcount=",
    "--maxrregcount=",
    "-ffp-contract=",
    "--gpu-max-threads-per-block=",
    "-W",
    "-diag-suppress=",
    "--diag-suppress=",
];
/// What directives that read files, or ask whether there is one, have in them.
const WORDS: &[&str] = &["include", "embed", "import", "dependency"];
/// Wherever they stand, an assembler's directives that read files, and what differs each time.
const ANYWHERE: &[&str] = &[".incbin", ".include", "__DATE__", "__TIME__", "__TIMESTAMP__"];
/// Names that mean the like, and that `##` could put together.
const PASTED: &[&str] = &["__DATE__", "__TIME__", "__TIMESTAMP__", "__has_include", "__has_include_next", "__has_embed"];
/// An assembler's directives can be hidden in strings and macros in more ways than can be looked for. CUDA's assembler has none that reads files.
const ASSEMBLY: &[&str] = &["asm", "__asm", "__asm__"];

impl NativeSource {
    /// Whether it is compiled from nothing but itself and its headers.
    pub fn is_closed(&self) -> bool {
        if !self.language.is_text() {
            return true;
        }
        let texts = self.headers.iter().map(|header| header.text.as_bytes()).chain([&self.code[..]]);
        let Some(texts) = texts.map(joined).collect::<Option<Vec<_>>>() else { return false };
        let told = || texts.iter().chain(&self.options);
        let pasted = told().any(|text| ["##", "%:%:", "??="].iter().any(|paste| text.contains(paste)))
            && told()
                .flat_map(|text| names(text))
                .any(|name| PASTED.iter().any(|whole| whole.starts_with(name) && *whole != name));
        let assembly =
            self.language == NativeLanguage::HipCpp && told().flat_map(|text| names(text)).any(|name| ASSEMBLY.contains(&name));
        !pasted
            && !assembly
            && self.options.iter().all(|option| names_no_file(option))
            && texts.iter().all(|text| self.has_all_files(text))
    }

    /// Whether all files that a text may ask for are among the headers.
    fn has_all_files(&self, text: &str) -> bool {
        let is_there = |file: &str| self.headers.iter().any(|header| header.name == file);
        !ANYWHERE.iter().any(|word| text.contains(word))
            && text.lines().filter(|line| may_read(line)).all(|line| included(line).is_some_and(is_there))
    }
}

/// A text whose lines are whole: those that end in a backslash go on. `None` if compilers differ over whether one does, behind a blank or spelled as a trigraph.
fn joined(text: &[u8]) -> Option<String> {
    // A carriage return alone ends a line too.
    let text = String::from_utf8_lossy(text).replace("\r\n", "\n").replace('\r', "\n");
    let open = |line: &str| {
        let end = line.trim_end();
        end.ends_with("??/") || end.ends_with('\\') && end.len() < line.len()
    };
    if text.split('\n').any(open) { None } else { Some(text.replace("\\\n", "")) }
}

/// The names in a text.
fn names(text: &str) -> impl Iterator<Item = &str> {
    let is_part = |letter: char| letter == '_' || letter.is_alphanumeric();
    text.split(move |letter| !is_part(letter)).filter(|name| !name.is_empty())
}

fn names_no_file(option: &str) -> bool {
    // What is behind a comma may be another option, behind a blank too where options are handed on as one text, and behind a line's end another line.
    let passed_on = option.starts_with("-W") && option.contains(',')
        || option.contains(|letter: char| letter.is_control() || letter.is_whitespace());
    // What a macro stands for is text like other.
    let passed_on = passed_on || WORDS.iter().chain(ANYWHERE).any(|word| option.contains(word));
    WHOLE.contains(&option)
        || (BEGINNINGS.iter().any(|begin| option.starts_with(begin) && option.len() > begin.len()) && !passed_on)
}

/// Whether a line may be a directive with one of the words, or the end of one that a comment has led over several lines; or an import of a module. Letters may be spelled by their
/// numbers.
fn may_read(line: &str) -> bool {
    let directive = ["#", "%:", "??=", "*/", "_Pragma"].iter().any(|mark| line.contains(mark));
    let word = || WORDS.iter().chain(&["\\u", "\\U", "\\N"]).any(|word| line.contains(word));
    directive && word() || names(line).take(2).any(|name| name == "import")
}

/// The file of a line that does nothing but include one.
fn included(line: &str) -> Option<&str> {
    let rest = line.trim().strip_prefix('#')?.trim_start().strip_prefix("include")?.trim_start();
    let (open, rest) = rest.split_at_checked(1)?;
    let close = match open {
        "\"" => '"',
        "<" => '>',
        _ => return None,
    };
    let (file, rest) = rest.split_once(close)?;
    let rest = rest.trim_start();
    (rest.is_empty() || rest.starts_with("//") && !may_read(&format!("#{rest}"))).then_some(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NativeHeader, NativeLanguage};

    fn closed(code: &str, options: &[&str]) -> bool {
        closed_in(NativeLanguage::CudaCpp, code.as_bytes(), options)
    }

    fn closed_in(language: NativeLanguage, code: &[u8], options: &[&str]) -> bool {
        let header = |name: &str, text: &str| NativeHeader { name: name.into(), text: text.into() };
        let source = NativeSource {
            language,
            code: code.into(),
            entry: "k".into(),
            options: options.iter().map(|option| (*option).to_owned()).collect(),
            headers: vec![header("mine.h", "#pragma once\n#include \"deep/other.h\"\n"), header("deep/other.h", "int x;")],
            target: String::new(),
        };
        source.is_closed()
    }

    #[test]
    fn l7_a_source_with_all_of_its_files_is_closed() {
        for code in [
            "",
            "__global__ void k() {}",
            "// this would include all\n#include \"mine.h\"\n  #  include <deep/other.h> // the other one\r\n#define N 3\n",
            "#inc\\\nlude \"mine.h\"\n",
            "#if defined(X) /* x */\n#endif\n",
            "#define JOIN(a, b) a##b\nint JOIN(__x, y);\n",
            "asm volatile(\"mov.u32 %0, 1;\" : \"=r\"(x));",
            "int import_count = 3;",
            "// a line's end \\\n of a comment",
        ] {
            assert!(closed(code, &[]), "{code}");
        }
        assert!(closed("", &["-DX=3", "-std=c++17", "--fmad=false", "-O3", "-Wno-unused", "--maxrregcount=32", "-UX"]));
    }

    #[test]
    fn l7_whatever_may_lead_to_a_file_keeps_a_source_open() {
        for code in [
            "#include <cuda_fp16.h>",
            "#include \"beside.h\"",
            "#include NAME",
            "#  include\t\"./mine.h\"",
            "#inc\\\nlude \"beside.h\"",
            "#inc\\\r\nlude \"beside.h\"",
            "#inc\\\rlude \"beside.h\"",
            "%\\ \n:include \"beside.h\"",
            "%\\\t\r\n:include \"beside.h\"",
            "%??/\n:include \"beside.h\"",
            "// x\r#include \"beside.h\"",
            "#include \"mine.h\" //\r#include \"beside.h\"",
            "#define A(a, b) a##b\n#if A(__has_inc, lude)(<x>)\n#endif",
            "#define A(a, b) a ## b\nconst char* when = A(__DA, TE__);",
            "%:define A(a, b) a%:%:b\nconst char* when = A(_, _TIME__);",
            "import \"beside.h\";",
            "export import <x>;",
            "#\\u0069nclude \"beside.h\"",
            "#pragma GCC dependency \"beside.h\"",
            "#inc\\ \nlude \"beside.h\"",
            "#inc??/\nlude \"beside.h\"",
            "%:include \"beside.h\"",
            "??=include \"beside.h\"",
            "/* */ #include \"beside.h\"",
            "#/*\n*/include \"beside.h\"",
            "#/*\n\n*/ /* */ include \"beside.h\"",
            "#include /* */ \"mine.h\"",
            "#include \"mine.h\" /* \n*/ #include \"beside.h\"",
            "#if __has_include(<x>)\n#endif",
            "#include_next <mine.h>",
            "#import \"mine.h\"",
            "#embed \"mine.h\"",
            "asm(\".incbin \\\"x\\\"\");",
            "const char* when = __TIME__;",
            "_Pragma(\"include_alias(a, b)\")",
            "\n#include \"mine.h\"\n#include \"beside.h\"\n",
        ] {
            assert!(!closed(code, &[]), "{code}");
        }
        let options = [
            "-I.",
            "-I",
            "--include-path=/x",
            "-include",
            "--pre-include=x.h",
            "-isystem",
            "@file",
            "--options-file",
            "-D",
            "-U",
            "-Wp,-include,x.h",
            "-Xclang",
            "-mllvm",
            "--pch",
            "--use-pch=x",
            "-resource-dir=/x",
            "--rocm-path=/x",
            "x.h",
            "",
            "-fplugin=x",
            "-DX=\n#include \"x.h\"",
            "-DX=1 -include x.h",
            "-DWHEN=__TIME__",
            "--define-macro=WHEN=__DATE__",
            "-DX=_Pragma(\"include_alias(a,b)\")",
        ];
        for option in options {
            assert!(!closed("", &[option]), "{option}");
        }
        assert!(!closed("", &["-DX", "-I."]) && !closed("", &["-D", "X"]));
        assert!(!closed("#define A(a, b) a##b\nconst char* when = A(X, TE__);", &["-DX=__DA"]));
    }

    #[test]
    fn l7_assembly_that_may_read_files_keeps_a_source_open() {
        for code in ["asm(\".inc\" \"bin \\\"x\\\"\");", "__asm__ volatile(\"\\x2eincbin x\");", "#define A asm\n"] {
            assert!(!closed_in(NativeLanguage::HipCpp, code.as_bytes(), &[]), "{code}");
        }
        assert!(closed_in(NativeLanguage::HipCpp, b"int asmall = 1;", &[]));
    }

    /// Numbers without a pattern.
    struct Random(u64);

    impl Random {
        fn below(&mut self, most: usize) -> usize {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            (self.0 % most as u64) as usize
        }
    }

    /// The ways in which compilers let lines go on, and blanks be written.
    const SPLICES: &[&str] = &["\\\n", "\\\r\n", "\\\r", "\\ \n", "\\\t\r\n", "??/\n", "??/ \n"];
    const BLANKS: &[&str] = &["", " ", "\t", "/**/", "/*\n*/", "/* # */", "\x0b", "\x0c"];

    #[test]
    fn l7_no_spelling_of_a_directive_that_reads_a_file_is_overlooked() {
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        for round in 0..20_000 {
            let pick = |random: &mut Random, from: &[&'static str]| from[random.below(from.len())];
            let mark = pick(&mut random, &["#", "%:", "??="]);
            let word = pick(&mut random, &["include", "include_next", "import", "embed"]);
            let file = pick(&mut random, &["\"beside.h\"", "<beside.h>", "NAME"]);
            let mut line = String::new();
            for part in [mark, word, file] {
                line += pick(&mut random, BLANKS);
                for letter in part.chars() {
                    line.push(letter);
                    if random.below(12) == 0 {
                        line += pick(&mut random, SPLICES);
                    }
                }
            }
            let before =
                pick(&mut random, &["", "int x;\n", "// c\r", "#include \"mine.h\"\n", "#include \"mine.h\" //\r", "/*\n*/"]);
            let code = format!("{before}{line}{}", pick(&mut random, &["", "\n", " // x\n", "\r\n"]));
            assert!(!closed(&code, &[]), "round {round}: {code:?}");
        }
    }

    #[test]
    fn l7_any_bytes_have_an_answer() {
        let mut random = Random(77);
        let pieces: &[&[u8]] = &[
            b"#",
            b"include",
            b"\"mine.h\"",
            b"\\",
            b"\n",
            b"\r",
            b"??/",
            b"/*",
            b"*/",
            b"//",
            b"<",
            b"\xff",
            b"\0",
            b"##",
            b"__DATE",
            b" ",
        ];
        for _ in 0..5_000 {
            let mut code = Vec::new();
            for _ in 0..random.below(40) {
                match random.below(3) {
                    0 => code.push(random.below(256) as u8),
                    _ => code.extend(pieces[random.below(pieces.len())]),
                }
            }
            let option = String::from_utf8_lossy(&code).into_owned();
            for language in [NativeLanguage::CudaCpp, NativeLanguage::HipCpp] {
                // What is open stays so whatever is added behind it on a line of its own. A backslash at its end would be one that goes on.
                if !code.ends_with(b"\\") && !closed_in(language, &code, &[]) {
                    assert!(!closed_in(language, &[&code[..], b"\n\nint x;\n"].concat(), &[]), "{option:?}");
                }
                closed_in(language, &[], &[&option]);
            }
        }
    }
}
