//! Whether a native source is all that its compiler reads: only then do equal requests have equal kernels, and may one be kept for the other (L7).
//!
//! Compilers find files by themselves: beside the process's working folder, in folders that options and variables name. Such a file may change while the source stays the same.
//! This file knows no compiler's language; it looks for what could be a way to a file, and where in doubt says that there is one. What that costs is a compilation.

use super::NativeSource;

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
const WORDS: &[&str] = &["include", "embed", "import"];
/// Wherever they stand, an assembler's directives that read files, and what differs each time.
const ANYWHERE: &[&str] = &[".incbin", ".include", "__DATE__", "__TIME__", "__TIMESTAMP__"];

impl NativeSource {
    /// Whether it is compiled from nothing but itself and its headers.
    pub fn is_closed(&self) -> bool {
        if !self.language.is_text() {
            return true;
        }
        let texts = self.headers.iter().map(|header| header.text.as_bytes()).chain([&self.code[..]]);
        self.options.iter().all(|option| names_no_file(option)) && texts.into_iter().all(|text| self.has_all_files(text))
    }

    /// Whether all files that a text may ask for are among the headers.
    fn has_all_files(&self, text: &[u8]) -> bool {
        let text = String::from_utf8_lossy(text);
        // Lines that end so go on.
        let text = text.replace('\r', "").replace("\\\n", "");
        let is_there = |file: &str| self.headers.iter().any(|header| header.name == file);
        !ANYWHERE.iter().any(|word| text.contains(word))
            && text.lines().filter(|line| may_read(line)).all(|line| included(line).is_some_and(is_there))
    }
}

fn names_no_file(option: &str) -> bool {
    // What is behind a comma may be another option, and what is behind a line's end another line.
    let passed_on = option.starts_with("-W") && option.contains(',') || option.contains(|letter: char| letter.is_control());
    WHOLE.contains(&option)
        || (BEGINNINGS.iter().any(|begin| option.starts_with(begin) && option.len() > begin.len()) && !passed_on)
}

/// Whether a line may be a directive with one of the words, or the end of one that a comment has led over several lines. Backslashes hide words: a space between one and the
/// line's end is forgiven by compilers.
fn may_read(line: &str) -> bool {
    let directive = ["#", "%:", "??=", "*/", "_Pragma"].iter().any(|mark| line.contains(mark));
    directive
        && (WORDS.iter().any(|word| line.contains(word)) || line.trim_end().ends_with('\\') || line.trim_end().ends_with("??/"))
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
        let header = |name: &str, text: &str| NativeHeader { name: name.into(), text: text.into() };
        let source = NativeSource {
            language: NativeLanguage::CudaCpp,
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
        ];
        for option in options {
            assert!(!closed("", &[option]), "{option}");
        }
        assert!(!closed("", &["-DX", "-I."]) && !closed("", &["-D", "X"]));
    }
}
