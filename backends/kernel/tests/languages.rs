//! Sources of all languages: how they are found, what they include, what is proved about them, and that any bytes give an answer.
#![allow(clippy::expect_used, clippy::panic, reason = "tests end that way")]

mod common;

use std::cell::RefCell;
use std::time::{Duration, Instant};

use common::access;
use compute_kernel::reflection::Access;
use compute_kernel::{Diagnostics, EntryPoint, IncludeRequest, Included, Language, Module, Source};
use std::sync::Arc;

fn entry(source: &Source<'_>) -> Result<Arc<EntryPoint>, Diagnostics> {
    Module::parse(source)?.entry_point(None, &[])
}

fn refusal(source: &Source<'_>) -> Diagnostics {
    match entry(source) {
        Ok(_) => panic!("was accepted"),
        Err(found) => {
            assert!(found.refusal, "{found}");
            found
        }
    }
}

type File = (&'static str, &'static str);

/// Answers includes from a list, and notes what was asked.
fn with_files(text: &str, files: &[File], work: impl FnOnce(&Source<'_>)) -> Vec<String> {
    let asked = RefCell::new(Vec::new());
    let give = |request: &IncludeRequest<'_>| {
        let quotes = if request.angle { "<>" } else { "\"\"" };
        asked.borrow_mut().push(format!("{}{}{} from {}", &quotes[..1], request.path, &quotes[1..], request.from));
        match files.iter().find(|(name, _)| *name == request.path) {
            Some((_, text)) => Ok(Included { name: String::new(), text: text.as_bytes().to_vec() }),
            None => Err("it is not in the list".to_owned()),
        }
    };
    work(&Source { name: "main", include: Some(&give), ..Source::new(text.as_bytes()) });
    asked.into_inner()
}

const GLSL: &str = "#version 450\nlayout(local_size_x = 64) in;\nlayout(binding = 0) buffer B { uint b[]; };\n";
const WGSL: &str = "@group(0) @binding(0) var<storage, read_write> b: array<u32>;\n";

#[test]
fn l7_kernels_whose_files_are_included_at_other_places_have_other_digests() {
    let text = format!(
        "{GLSL}#include \"x\"\n#ifdef FULL\nvoid put(uint i) {{ b[i] = 1u; }}\n#else\nvoid put(uint i) {{ if (i == 0u) b[i] = 1u; }}\n#endif\n\
         #include \"y\"\nvoid main() {{ put(gl_GlobalInvocationID.x); }}"
    );
    let hash = |x: &'static str, y: &'static str| {
        let mut hash = None;
        with_files(&text, &[("x", x), ("y", y)], |source| {
            hash = Some(entry(source).unwrap_or_else(|e| panic!("{e}")).hash());
        });
        hash
    };
    assert_ne!(hash("#define FULL\n", ""), hash("", "#define FULL\n"));
    assert_eq!(hash("#define FULL\n", ""), hash("#define FULL\n", ""));
}

#[test]
fn included_files_stand_in_the_place_of_the_lines_that_ask() {
    let files = [("a", "#include <b>\nuint f() { return g(); }\n"), ("b", "#pragma once\nuint g() { return 7u; }")];
    let text =
        format!("{GLSL}#include \"b\"\n#include \"a\" // a\n#if 0\n#include \"never\"\n#endif\nvoid main() {{ b[0] = f(); }}");
    let asked = with_files(&text, &files, |source| {
        assert_eq!(source.language(), Language::Glsl);
        entry(source).unwrap_or_else(|e| panic!("{e}"));
    });
    assert_eq!(asked, ["\"b\" from main", "\"a\" from main", "<b> from a"]);
    let files = [("a", "#include <b>\nfn f() -> u32 { return g(); }\n"), ("b", "#pragma once\nfn g() -> u32 { return 7u; }")];
    let text = format!(
        "/* #include \"no\"\n#include \"no\" */\n#include \"b\"\n  # include \"a\"\n{WGSL}@compute @workgroup_size(1) fn main() {{ b[0] = f(); }}"
    );
    let asked = with_files(&text, &files, |source| {
        assert_eq!(source.language(), Language::Wgsl);
        entry(source).unwrap_or_else(|e| panic!("{e}"));
    });
    assert_eq!(asked, ["\"b\" from main", "\"a\" from main", "<b> from a"]);
}

#[test]
fn a_mistake_in_an_included_file_is_told_with_that_files_name_and_line() {
    for (head, call) in [(GLSL, "void main() { b[0] = f(); }"), (WGSL, "@compute @workgroup_size(1) fn main() { b[0] = f(); }")] {
        let wrong = if head == GLSL { "\n\nuint f() { return nothing; }" } else { "\n\nfn f() -> u32 { return nothing; }" };
        let files = [("lib/wrong", wrong)];
        let text = format!("{head}#include \"lib/wrong\"\n{call}\n");
        with_files(&text, &files, |source| {
            let found = refusal(source);
            assert!(found.text.contains("lib/wrong, line 3, column"), "{found}");
            assert_eq!(found.list[0].file.as_deref(), Some("lib/wrong"));
            assert_eq!(found.list[0].location.as_ref().map(|l| l.line), Some(3));
        });
        // And one after it with the main file's.
        let text = format!("{head}#include \"empty\"\nwrong here;\n");
        with_files(&text, &[("empty", "\n\n\n")], |source| {
            let found = refusal(source);
            assert_eq!(found.list[0].location.as_ref().map(|l| l.line), Some(head.lines().count() as u32 + 2), "{found}");
            assert_eq!(found.list[0].file, None);
        });
    }
}

#[test]
fn circles_depth_and_size_of_includes_are_bounded() {
    for head in [GLSL, ""] {
        let circle = [("a", "#include \"b\"\n"), ("b", "#include \"a\"\n")];
        with_files(&format!("{head}#include \"a\"\n"), &circle, |source| {
            let found = refusal(source);
            assert!(found.text.contains("`a` includes itself: a -> b -> a"), "{found}");
        });
        with_files(&format!("{head}#include \"missing\"\n"), &[], |source| {
            assert!(refusal(source).text.contains("`missing` cannot be included: it is not in the list"));
        });
        let text = format!("{head}#include \"0\"\n");
        let deep = |request: &IncludeRequest<'_>| {
            let n: u32 = request.path.parse().expect("a number");
            Ok(Included { name: String::new(), text: format!("#include \"{}\"\n", n + 1).into_bytes() })
        };
        let found = refusal(&Source { include: Some(&deep), ..Source::new(text.as_bytes()) });
        assert!(found.text.contains("nested too deeply"), "{found}");
        let large = |_: &IncludeRequest<'_>| Ok(Included { name: String::new(), text: vec![b' '; 1 << 20] });
        let found = refusal(&Source { include: Some(&large), ..Source::new(text.as_bytes()) });
        assert!(found.text.contains("at most 1048576 are allowed"), "{found}");
        let broken = |_: &IncludeRequest<'_>| Ok(Included { name: "x".into(), text: b"ok\n\xff".to_vec() });
        let found = refusal(&Source { include: Some(&broken), ..Source::new(text.as_bytes()) });
        assert!(found.text.contains("`x` is not text: byte 3 (line 2)"), "{found}");
        let none = refusal(&Source::new(text.as_bytes()));
        assert!(none.text.contains("no include callback"), "{none}");
    }
}

#[test]
fn the_hash_of_an_entry_point_covers_the_included_text_and_the_language() {
    let hash = |text: &str, inner: &'static str| {
        let mut hash = [0; 32];
        with_files(text, &[("a", inner)], |source| hash = entry(source).unwrap_or_else(|e| panic!("{e}")).hash());
        hash
    };
    let text = format!("{GLSL}#include \"a\"\nvoid main() {{ b[0] = f(); }}");
    let one = hash(&text, "uint f() { return 1u; }");
    assert_eq!(one, hash(&text, "uint f() { return 1u; }"));
    assert_ne!(one, hash(&text, "uint f() { return 2u; }"));
}

#[test]
fn t6_access_and_names_of_bindings_are_those_of_the_source_in_glsl() {
    let source = format!(
        "{GLSL}layout(binding = 1) readonly buffer Named {{ vec4 v[]; }} named;
        layout(binding = 2) writeonly buffer Out {{ vec4 o[]; }};
        layout(binding = 3, std140) uniform Params {{ uint n; }};
        layout(binding = 4) buffer Never {{ uint never; }};
        void store(out vec4 x) {{ x = vec4(1); }}
        void main() {{ uint i = gl_GlobalInvocationID.x; if (i < n) {{ o[i].xy = named.v[i].zw; store(o[i]); }} atomicAdd(b[0], 1u); }}"
    );
    let kernel = entry(&Source::glsl(&source)).unwrap_or_else(|e| panic!("{e}"));
    let names: Vec<&str> = kernel.reflection().bindings.iter().map(|b| b.name.as_str()).collect();
    assert_eq!(names, ["B", "named", "Out", "Params", "Never"]);
    let uses: Vec<Access> = (0..5).map(|slot| access(&kernel, slot)).collect();
    assert_eq!(uses, [Access::ReadWrite, Access::Read, Access::Write, Access::Read, Access::Unused]);
    assert_eq!(kernel.reflection().bindings[3].min_size, 4);
}

#[test]
fn t6a_a_guarded_store_at_the_global_id_is_a_whole_write_in_glsl() {
    let whole = |kernel: &EntryPoint, groups: u32| {
        let store = kernel.coverage().stores[0].as_ref();
        store.is_some_and(|s| s.covers(kernel.reflection(), [groups, 1, 1], 512, &[], &|_| None))
    };
    for body in [
        "b[gl_GlobalInvocationID.x] = 1u;",
        "uint i = gl_GlobalInvocationID.x; if (i < b.length()) b[i] = 1u;",
        "uint i = gl_GlobalInvocationID.x; if (i >= uint(b.length())) return; b[i] = 1u;",
        "uint i = gl_WorkGroupID.x * gl_WorkGroupSize.x + gl_LocalInvocationID.x; b[i] = 1u;",
    ] {
        let kernel = entry(&Source::glsl(&format!("{GLSL}void main() {{ {body} }}"))).unwrap_or_else(|e| panic!("{e}"));
        assert!(whole(&kernel, 2), "{body}");
        assert!(!whole(&kernel, 1), "{body}");
    }
    for body in ["if (b[0] == 0u) b[gl_GlobalInvocationID.x] = 1u;", "b[gl_GlobalInvocationID.x * 2u] = 1u;", "b[0] = 1u;"] {
        let kernel = entry(&Source::glsl(&format!("{GLSL}void main() {{ {body} }}"))).unwrap_or_else(|e| panic!("{e}"));
        assert!(!whole(&kernel, 2), "{body}");
    }
}

#[test]
fn t6a_and_several_entry_points_work_in_spir_v() {
    let source = "@group(0) @binding(0) var<storage, read_write> b: array<u32>;
        fn id(g: vec3<u32>) -> u32 { return g.x; }
        @compute @workgroup_size(64) fn whole(@builtin(global_invocation_id) g: vec3<u32>) { if g.x < arrayLength(&b) { b[g.x] = 1u; } }
        @compute @workgroup_size(32) fn part(@builtin(global_invocation_id) g: vec3<u32>) { b[id(g) * 2u] = 1u; }";
    let words = common::mutate::spirv(source).expect("a module");
    let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
    let module = Module::parse(&Source::spirv(&bytes)).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(module.entry_points(), ["whole", "part"]);
    let covers = |name: &str, groups: u32| {
        let kernel = module.entry_point(Some(name), &[]).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(access(&kernel, 0), Access::Write);
        let store = kernel.coverage().stores[0].clone();
        store.is_some_and(|s| s.covers(kernel.reflection(), [groups, 1, 1], 512, &[], &|_| None))
    };
    assert!(covers("whole", 2) && !covers("whole", 1) && !covers("part", 4));
    let found = module.entry_point(None, &[]).map(|_| ()).expect_err("two");
    assert!(found.text.contains("`whole`, `part`"), "{found}");
}

/// Gives an answer within seconds on a small stack.
fn survives(bytes: &[u8], language: Option<Language>) -> Option<Diagnostics> {
    let start = Instant::now();
    let answer = std::thread::scope(|scope| {
        let work = || entry(&Source { language, ..Source::new(bytes) }).err();
        let thread = std::thread::Builder::new().stack_size(256 << 10).spawn_scoped(scope, work).expect("a thread");
        thread.join().expect("no panic")
    });
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    answer
}

#[test]
fn hostile_glsl_is_answered_in_bounded_time_memory_and_stack() {
    let inside = |body: &str| format!("{GLSL}void main() {{ {body} }}");
    let bomb: String = (0..40).map(|i| format!("#define M{} M{i} M{i}\n", i + 1)).collect();
    let calls: String = (0..40).map(|i| format!("#define F{}(x) F{i}(x) + F{i}(x)\n", i + 1)).collect();
    let structs: String = (0..30).map(|i| format!("struct S{} {{ S{i} a[4]; S{i} b; }};\n", i + 1)).collect();
    let arrays: String = (0..40).map(|i| format!("const A a{} = A(a{i}[0], a{i}[0]);", i + 1)).collect();
    let functions: String = (1..5000).map(|i| format!("void f{i}() {{ f{}(); }}\n", i - 1)).collect();
    let long: String = (0..50_000).map(|i| format!("#define A{} A{i} x\n", i + 1)).collect();
    let wide: String = (0..5)
        .map(|i| format!("struct S{} {{ {} }};\n", i + 1, (0..30).map(|k| format!("S{i} m{k};")).collect::<String>()))
        .collect();
    let protos: String = (0..3000).map(|i| format!("void f{i}();\n")).collect();
    let backwards: String = (0..3000).map(|i| format!("void f{i}() {{ f{}(); }}\n", i + 1)).collect();
    let cases = [
        inside(&format!("b[0] = {}1u{};", "(".repeat(100_000), ")".repeat(100_000))),
        inside(&format!("b[0] = {}1u;", "1u + ".repeat(100_000))),
        inside(&format!("b[0] = {}1u;", "-".repeat(100_000))),
        inside(&format!("b[0] = {}1u;", "b[0] = ".repeat(100_000))),
        inside(&format!("b[0] = {}1u;", "true ? 1u : ".repeat(100_000))),
        inside(&"{".repeat(100_000)),
        inside(&"if (true) {} else ".repeat(100_000)),
        inside(&"b[0] = 1u;".repeat(50_000)),
        inside(&format!("b[0] = b{};", "[0]".repeat(100_000))),
        inside(&format!("float x{};", "[2]".repeat(100_000))),
        inside("float x[1000000000];"),
        inside("float x[65536][65536]; b[0] = uint(x[1][2]);"),
        inside("float x[16777216]; b[0] = uint(x[b[0]]);"),
        format!("{GLSL}#define M0 1 +\n{bomb}void main() {{ b[0] = M40 1u; }}"),
        format!("{GLSL}#define F0(x) x\n{calls}void main() {{ b[0] = F40(1u); }}"),
        format!("{GLSL}#define X(a) a##a\nvoid main() {{ uint {}x{} = 1u; }}", "X(".repeat(30), ")".repeat(30)),
        format!("{GLSL}#define A0 1u\n{long}void main() {{ b[0] = A50000; }}"),
        format!(
            "{GLSL}struct S0 {{ mat4 m; }};\n{wide}layout(std140, binding = 2) buffer W {{ S5 w; }}; void main() {{ S5 s = w; w = s; b[0] = s == w ? 1u : 0u; }}"
        ),
        format!("{GLSL}#define F(x) F(x) F(x)\nvoid main() {{ F(F(F(F(F(F(1)))))); }}"),
        format!("{GLSL}#define F(x) x\nvoid main() {{ {}1{} }}", "F(".repeat(100_000), ")".repeat(100_000)),
        format!("{GLSL}{}void main() {{}}", "#if 1\n".repeat(100_000)),
        format!("{GLSL}#if {}1{}\n#endif\nvoid main() {{}}", "(".repeat(100_000), ")".repeat(100_000)),
        format!("{GLSL}#if {}1\n#endif\nvoid main() {{}}", "!".repeat(100_000)),
        format!("{GLSL}struct S0 {{ float x; }};\n{structs}shared S30 s; void main() {{}}"),
        format!(
            "{GLSL}struct A {{ float x[100]; float y[100]; }};\n{}void main() {{}}",
            arrays.replace("A(a", "A(float[100](").replace("[0]", "")
        ),
        format!("{GLSL}void f0() {{}}\n{functions}void main() {{ f4999(); }}"),
        format!("{GLSL}{protos}void f3000() {{}}\n{backwards}void main() {{ f0(); }}"),
        format!("{GLSL}const uint[4] c = uint[4]({}", "uint[4](".repeat(100_000)),
        "#version 450\n/*".to_owned(),
        "#version 450\n#define F(".to_owned(),
        "#version 450\n\"".to_owned(),
        format!("#version 450\n{}", "\\\n".repeat(100_000)),
        "#version 450\nvoid main() { \u{1F980} }".to_owned(),
    ];
    for case in &cases {
        let start = Instant::now();
        let found = survives(case.as_bytes(), None);
        println!("{:?}: {}", start.elapsed(), case.get(GLSL.len()..).unwrap_or(case).chars().take(60).collect::<String>());
        if let Some(found) = found {
            assert!(found.refusal, "{}: {found}", case.chars().take(300).collect::<String>());
        }
    }
}

#[test]
fn hostile_spir_v_is_answered() {
    let head = [0x0723_0203u32, 0x0001_0300, 0, 100, 0];
    let module = |words: &[u32]| [&head, words].concat().iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>();
    let nested: Vec<u32> = (0..60).flat_map(|i| [0x0003_001d, i + 10, i + 9]).collect();
    let cases = [
        module(&[]),
        module(&[0x0001_0000]),
        module(&[0]),
        module(&[0xffff_0011]),
        module(&[0x0004_0015, 1, 32, 0, 0x0004_002b, 1, 2, 0xffff_ffff, 0x0004_001c, 3, 1, 2]),
        module(&[[0x0004_0015, 9, 32, 0].as_slice(), &nested].concat()),
        module(&[0x0003_001e, 5, 5]),
        module(&[0x0002_00f8, 1, 0x0002_00f9, 1]),
        [0x0723_0203u32, 0x0001_0300, 0, u32::MAX, 0].iter().flat_map(|w| w.to_le_bytes()).collect(),
        vec![3, 2, 0x23, 7, 0],
    ];
    for case in &cases {
        let found = survives(case, Some(Language::Spirv)).expect("a refusal");
        assert!(found.refusal, "{found}");
    }
}

#[test]
fn text_that_is_none_and_modules_that_are_none_say_so() {
    let said = |bytes: &[u8], language| survives(bytes, Some(language)).expect("a refusal").text;
    assert!(said(b"ab\n\xff", Language::Glsl).contains("byte 3 (line 2) is not UTF-8"));
    assert!(said(b"\x03\x02\x23\x07\xff", Language::Wgsl).contains("SPIR-V module"));
    assert!(said(b"#version 450\n", Language::Spirv).contains("words of 4 bytes"));
    assert!(said(b"#version 450\n   ", Language::Spirv).contains("magic number"));
}

#[test]
fn the_corpus_of_the_fuzzer_is_accepted_but_for_what_it_must_not_be() {
    for source in common::mutate::corpus() {
        let mut tally = common::mutate::Tally::default();
        common::mutate::feed(&source, &mut tally);
        if tally.accepted != 1 {
            let found =
                Module::parse(&Source::new(&source)).and_then(|m| m.entry_point(None, &[]).map(|_| ())).expect_err("refused");
            panic!("{found}");
        }
    }
}

#[test]
fn wrong_sources_at_random_never_crash_a_front_end() {
    let corpus = common::mutate::corpus();
    let (mut dice, mut tally) = (common::mutate::Dice::new(7), common::mutate::Tally::default());
    for _ in 0..400 {
        common::mutate::feed(&common::mutate::mutate(&corpus, &mut dice), &mut tally);
    }
    assert!(tally.wrong.is_empty(), "{}", tally.wrong[0].0);
    assert!(tally.refused > 100, "{tally:?}");
}

#[test]
fn a_source_that_is_precise_anywhere_is_never_contracted() {
    use compute_kernel::cxx::{self, CUDA, HIP, Options};
    use compute_kernel::lower::{Lowering, PRINT_ROOM};
    use compute_kernel::reflection::Bounds;

    let contracts = |entry: &Arc<EntryPoint>| {
        let lowering = Lowering { bounds: Bounds::Checked, deferred: true, print_room: PRINT_ROOM, names: None };
        let lowered = entry.lower(&lowering).unwrap_or_else(|e| panic!("{e}"));
        [(&CUDA, "--fmad="), (&HIP, "-ffp-contract=")].map(|(dialect, flag)| {
            let options =
                Options { dialect, checked: true, strict: false, cancellable: false, indirect: false, subgroup_size: None };
            let text = cxx::translate(&lowered, &options).unwrap_or_else(|e| panic!("{e}"));
            let told: Vec<_> = text.options.iter().filter_map(|option| option.strip_prefix(flag)).collect();
            let [told] = told[..] else { panic!("not told once: {:?}", text.options) };
            assert_eq!(told == "true" || told == "fast", told != "false" && told != "off");
            told == "true" || told == "fast"
        })
    };
    let glsl = |declaration: &str| {
        let text = format!(
            "#version 450\n#define EXACT precise\nlayout(local_size_x = 1) in;\nlayout(binding = 0) buffer B {{ float b[]; }};\n\
             void main() {{ {declaration} = b[0] * b[1] + b[2]; b[3] = x; }}"
        );
        contracts(&entry(&Source::new(text.as_bytes())).unwrap_or_else(|e| panic!("{e}")))
    };
    assert_eq!(glsl("float x"), [true; 2]);
    assert_eq!(glsl("/* precise */ float x"), [true; 2]);
    assert_eq!(glsl("precise float x"), [false; 2]);
    assert_eq!(glsl("EXACT float x"), [false; 2]);

    let source = "@group(0) @binding(0) var<storage, read_write> b: array<f32>;
        @compute @workgroup_size(1) fn main() { b[3] = b[0] * b[1] + b[2]; }";
    let words = common::mutate::spirv(source).expect("a module");
    let spirv = |words: &[u32]| {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        contracts(&entry(&Source::new(&bytes)).unwrap_or_else(|e| panic!("{e}")))
    };
    assert_eq!(spirv(&words), [true; 2]);
    // Before the first OpDecorate: OpDecorate of the OpFAdd's result with NoContraction.
    let mut at = 5;
    let (mut decorations, mut sum) = (None, None);
    while let Some(&word) = words.get(at) {
        match word & 0xffff {
            71 | 72 => decorations = decorations.or(Some(at)),
            129 => sum = words.get(at + 2).copied(),
            _ => {}
        }
        at += (word >> 16) as usize;
    }
    let (decorations, sum) = (decorations.expect("decorations"), sum.expect("a sum"));
    let mut exact = words.clone();
    exact.splice(decorations..decorations, [3 << 16 | 71, sum, 42]);
    assert_eq!(spirv(&exact), [false; 2]);
}
