//! `include/libcompute/compute.h` and `include/libcompute/symbols.txt` are what `src/capi` gives, no more and no less, and every export is guarded.
//! `UPDATE_HEADER=1` (that is `make header`) writes both files anew.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "ends at the first thing that is wrong")]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// In the order in which the header has them.
const SOURCES: [&str; 28] = [
    "status.rs",
    "types.rs",
    "types/buffers.rs",
    "types/caches.rs",
    "types/kernels.rs",
    "types/natives.rs",
    "types/tensor_maps.rs",
    "types/errors.rs",
    "graph_types.rs",
    "library.rs",
    "descriptors.rs",
    "device.rs",
    "cache.rs",
    "stream.rs",
    "buffer.rs",
    "import.rs",
    "memory.rs",
    "budget.rs",
    "plan.rs",
    "tensor.rs",
    "shared.rs",
    "capture.rs",
    "graph.rs",
    "native.rs",
    "kernel.rs",
    "event.rs",
    "error/mod.rs",
    "table.rs",
];

fn path(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(file)
}

fn read(file: &str) -> String {
    fs::read_to_string(path(file)).unwrap_or_default()
}

fn source(file: &str) -> String {
    read(&format!("src/capi/{file}"))
}

/// What cbindgen makes of the sources.
fn raw_header() -> String {
    let config = cbindgen::Config::from_file(path("cbindgen.toml")).unwrap();
    let builder = SOURCES
        .iter()
        .fold(cbindgen::Builder::new().with_config(config), |builder, file| builder.with_src(path("src/capi").join(file)));
    let mut bytes = Vec::new();
    builder.generate().unwrap().write(&mut bytes);
    String::from_utf8(bytes).unwrap()
}

/// One comment in C's style. What Rust calls safety is to C a rule about pointers.
fn comment(lines: &[&str], indent: &str) -> String {
    let mut kept: Vec<String> = Vec::new();
    let mut rest = lines.iter().map(|line| line.trim()).skip_while(|line| line.is_empty()).peekable();
    while let Some(line) = rest.next() {
        if line == "# Safety" {
            kept.push(format!("Pointers: {}", rest.next().unwrap()));
        } else {
            kept.push(line.to_owned());
        }
    }
    let mut text = format!("{indent}/* {}", kept[0]);
    for line in &kept[1..] {
        write!(text, "\n{indent} *{}{line}", if line.is_empty() { "" } else { " " }).unwrap();
    }
    text + " */\n"
}

/// Rewrites the comments, and the constants that cbindgen cannot say in C.
fn polish(raw: &str) -> String {
    let mut made = String::new();
    let mut lines = raw.lines();
    while let Some(line) = lines.next() {
        if line.trim() == "/*" {
            let body: Vec<&str> = lines.by_ref().take_while(|line| line.trim() != "*/").collect();
            made += &comment(&body, &line[..line.len() - 2]);
        } else if line.starts_with("#define ") {
            made += &line.replace("(1 << ", "(UINT64_C(1) << ");
            made.push('\n');
        } else {
            made += line;
            made.push('\n');
        }
    }
    let anchor = "/* As a time-out: wait for ever. Zero polls. */\n";
    let terminated = "/* As a string's length: it is NUL-terminated. */\n#define COMPUTE_NUL_TERMINATED SIZE_MAX\n\n";
    made = made.replace(anchor, &format!("{terminated}{anchor}"));
    while made.contains("\n\n\n") {
        made = made.replace("\n\n\n", "\n\n");
    }
    made
}

/// The zero of a field's type, spelt out so that no compiler complains about fields that are left to it.
fn zero(ty: &str) -> String {
    match ty {
        "compute_view" => "{ NULL, 0, 0 }".into(),
        "f64" => "0.0".into(),
        _ if ty.starts_with('[') && ty.ends_with("; 3]") => "{ 0, 0, 0 }".into(),
        _ if ty.starts_with('[') => "{ 0 }".into(),
        _ if ty.starts_with('*')
            || matches!(
                ty,
                "compute_kernel"
                    | "compute_buffer"
                    | "compute_stream"
                    | "compute_error"
                    | "compute_include_callback"
                    | "compute_released_callback"
                    | "compute_vulkan_function"
                    | "compute_vulkan_callback"
            ) =>
        {
            "NULL".into()
        }
        _ => "0".into(),
    }
}

/// The INIT macro of every struct that begins with its size.
fn init_macros() -> String {
    let mut macros = String::from("/* Initialisers: compute_buffer_desc desc = COMPUTE_BUFFER_DESC_INIT; */\n");
    let of_types = |file: &&str| file.starts_with("types") || *file == "graph_types.rs";
    let types: String = SOURCES.iter().copied().filter(of_types).map(source).collect();
    for part in types.split("pub struct ").skip(1) {
        let (name, body) = part.split_once(" {").unwrap();
        let fields: Vec<(&str, &str)> = body
            .split("\n}")
            .next()
            .unwrap()
            .lines()
            .filter_map(|line| line.trim().strip_prefix("pub ")?.trim_end_matches(',').split_once(": "))
            .collect();
        if fields.first().is_none_or(|(first, _)| *first != "struct_size") || name == "compute_chained" {
            continue;
        }
        let value = |(field, ty): &(&str, &str)| match *field {
            "struct_size" => format!("sizeof(struct {name})"),
            "kind" if name == "compute_fault_desc" => "COMPUTE_CHAINED_FAULT".into(),
            "kind" if name == "compute_vulkan_desc" => "COMPUTE_CHAINED_VULKAN".into(),
            "kind" if name == "compute_cache_desc" => "COMPUTE_CHAINED_CACHE".into(),
            "kind" if name == "compute_include_desc" => "COMPUTE_CHAINED_INCLUDE".into(),
            "kind" if name == "compute_native_desc" => "COMPUTE_CHAINED_NATIVE".into(),
            _ => zero(ty),
        };
        let values: Vec<String> = fields.iter().map(value).collect();
        writeln!(macros, "#define {}_INIT {{ {} }}", name.to_uppercase(), values.join(", ")).unwrap();
    }
    macros
}

fn header() -> String {
    let made = polish(&raw_header());
    let (structs, functions) = made.split_once("#ifdef __cplusplus\nextern \"C\" {").unwrap();
    format!("{structs}{}\n#ifdef __cplusplus\nextern \"C\" {{{functions}", init_macros())
}

/// The exported functions that the sources have, with their bodies.
fn exports() -> Vec<(String, String)> {
    let mut all = Vec::new();
    for file in SOURCES {
        let text = source(file);
        for part in text.split("#[unsafe(no_mangle)]\n").skip(1) {
            let name = part.split("extern \"C\" fn ").nth(1).unwrap().split('(').next().unwrap();
            let body = part.split_once(" {\n").unwrap().1.split("\n}\n").next().unwrap();
            all.push((name.to_owned(), body.to_owned()));
        }
    }
    all
}

fn symbols() -> String {
    let names: BTreeSet<String> = exports().into_iter().map(|(name, _)| name + "\n").collect();
    names.into_iter().collect()
}

fn same_or_updated(file: &str, made: &str) {
    if std::env::var_os("UPDATE_HEADER").is_some() {
        fs::create_dir_all(path(file).parent().unwrap()).unwrap();
        fs::write(path(file), made).unwrap();
    }
    assert!(read(file) == made, "{file} is not what the sources give: run `make header` and commit it");
}

#[test]
fn the_version_in_the_header_is_that_of_the_library() {
    let header = std::fs::read_to_string("include/libcompute/compute.h").unwrap();
    let parts = ["MAJOR", "MINOR", "PATCH"].map(|part| {
        let line = header.lines().find_map(|line| line.strip_prefix(&format!("#define COMPUTE_VERSION_{part} ")));
        line.unwrap_or("none").to_owned()
    });
    assert_eq!(parts.join("."), env!("CARGO_PKG_VERSION"));
}

#[test]
fn the_committed_header_is_what_the_sources_give() {
    same_or_updated("include/libcompute/compute.h", &header());
}

#[test]
fn the_committed_symbols_are_what_the_sources_give() {
    same_or_updated("include/libcompute/symbols.txt", &symbols());
}

#[test]
fn ffi_04_every_export_begins_with_the_prefix_and_is_in_the_header() {
    let header = read("include/libcompute/compute.h");
    for (name, _) in exports() {
        assert!(name.starts_with("compute_"), "{name}");
        assert!(header.contains(&format!("{name}(")), "{name} is exported but not declared");
    }
    assert!(exports().len() > 70);
}

#[test]
fn f2_every_export_runs_inside_the_guard() {
    /// These only hand out constants.
    const CONSTANT: [&str; 2] = ["compute_version", "compute_status_name"];
    for (name, body) in exports() {
        let guards = ["guard(out_error, ", "guard_call(", "guard_status(", "guard_void("];
        let guarded = body.lines().any(|line| guards.iter().any(|guard| line.trim_start().starts_with(guard)));
        assert!(guarded || CONSTANT.contains(&name.as_str()), "{name} has no guard");
    }
}

#[test]
fn no_export_hides_outside_the_files_that_the_header_is_made_of() {
    let mut folders = vec![path("src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                folders.push(entry);
                continue;
            }
            let known = SOURCES.iter().any(|file| entry.ends_with(Path::new("src/capi").join(file)));
            let text = fs::read_to_string(&entry).unwrap();
            assert!(known || !text.contains("no_mangle"), "{} exports something", entry.display());
        }
    }
}

#[test]
fn the_table_has_every_function() {
    let table = source("table.rs") + &source("table/functions.rs");
    for (name, _) in exports().iter().filter(|(name, _)| name != "compute_get_table") {
        let field = name.strip_prefix("compute_").unwrap();
        assert!(table.contains(&format!("    pub {field}:")), "compute_table lacks {field}");
        assert!(
            table.lines().any(|line| line.trim().starts_with(&format!("{field}:")) && line.contains(name)),
            "{field} is not {name}"
        );
    }
}
