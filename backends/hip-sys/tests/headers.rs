//! The crate against AMD's headers: signatures, numbers and layouts. `scripts/hip_packages` brings the headers of 5.2; what later versions say is in
//! `values.tsv` and, for layouts, below. With `COMPUTE_HIP` at a folder that has others in `usr/include` these tests look at those.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "ends at the first thing that is wrong")]

use std::fmt::Write as _;
use std::mem::{offset_of, size_of};
use std::path::{Path, PathBuf};
use std::process::Command;

use hip_sys::*;

/// Not in 5.2: `hipGetDevicePropertiesR0600` came with 6.0.
const NEWER: &[&str] = &["hipGetDevicePropertiesR0600"];
/// The structure behind their `void*` is [`DeviceProperties`].
const UNTYPED: &[&str] = &["hipGetDeviceProperties"];

fn headers() -> Option<PathBuf> {
    let folder =
        std::env::var("COMPUTE_HIP").unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/hip").to_owned());
    let include = Path::new(&folder).join("usr/include");
    if include.is_dir() {
        return Some(include);
    }
    println!("NOT TESTED: AMD's headers are not in {folder} (scripts/hip_packages {folder})");
    None
}

/// Compiles a program with AMD's headers and runs it; what it printed.
fn c(include: &Path, name: &str, body: &str) -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (file, program) = (folder.join(format!("{name}.c")), folder.join(name));
    // `const` says nothing about how a function is called, and versions differ in it.
    let head = "#include <stddef.h>\n#include <stdint.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n\
        #define __HIP_PLATFORM_AMD__\n#define const\n#include <hip/hip_runtime_api.h>\n#include <hip/hiprtc.h>\n";
    std::fs::write(&file, format!("{head}{body}")).unwrap();
    let output =
        Command::new("cc").args(["-std=gnu11", "-w", "-I"]).arg(include).arg(&file).arg("-o").arg(&program).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let output = Command::new(&program).output().unwrap();
    assert!(output.status.success(), "{:?}: {}", output.status, String::from_utf8_lossy(&output.stdout));
    String::from_utf8(output.stdout).unwrap()
}

/// A type of Rust's as one of C's, without `const`.
fn in_c(rust: &str) -> String {
    let text = rust.trim();
    if let Some(pointed) = text.strip_prefix("*mut").or_else(|| text.strip_prefix("*const")) {
        return format!("{}*", in_c(pointed));
    }
    match text {
        "c_char" => "char",
        "c_int" => "int",
        "c_uint" => "unsigned int",
        "c_ulonglong" => "unsigned long long",
        "c_ushort" => "unsigned short",
        "c_void" => "void",
        "f32" => "float",
        "u8" => "unsigned char",
        "u32" => "uint32_t",
        "u64" => "uint64_t",
        "usize" => "size_t",
        same => same,
    }
    .to_owned()
}

#[test]
fn signatures_are_those_of_the_headers() {
    let Some(include) = headers() else { return };
    let mut body = String::new();
    let all = || Runtime::SIGNATURES.iter().chain(Compiler::SIGNATURES);
    for signature in all().filter(|s| !NEWER.contains(&s.name) && !UNTYPED.contains(&s.name)) {
        let parameters: Vec<String> = signature.parameters.iter().map(|kind| in_c(kind)).collect();
        let parameters = if parameters.is_empty() { "void".to_owned() } else { parameters.join(", ") };
        let (name, result) = (signature.name, in_c(signature.result));
        let _ = writeln!(
            body,
            "_Static_assert(__builtin_types_compatible_p(__typeof__(&{name}), {result} (*)({parameters})), \"{name}\");"
        );
    }
    for name in UNTYPED {
        let _ = writeln!(
            body,
            "_Static_assert(__builtin_types_compatible_p(__typeof__(&{name}), hipError_t (*)(hipDeviceProp_t*, int)), \"{name}\");"
        );
    }
    // Results are passed as numbers of this size.
    body.push_str(
        "_Static_assert(sizeof(hipError_t) == 4 && sizeof(hiprtcResult) == 4, \"results\");\nint main(void) { return 0; }\n",
    );
    c(&include, "signatures", &body);
    println!("{} signatures compared", all().count() - NEWER.len());
}

/// The table of numbers: name, then one column for each version.
fn table() -> Vec<(&'static str, Vec<&'static str>)> {
    let lines = include_str!("values.tsv").lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let mut columns = line.split('\t');
            (columns.next().unwrap(), columns.collect())
        })
        .collect()
}

#[test]
fn numbers_are_the_same_in_every_version() {
    let table = table();
    for (name, value) in VALUES.iter().chain(FLAGS) {
        let (_, columns) = table.iter().find(|(n, _)| n == name).unwrap_or_else(|| panic!("{name} is not in values.tsv"));
        assert_eq!(columns.len(), 7, "{name}");
        for column in columns {
            assert_eq!(*column, value.to_string(), "{name}: {columns:?}");
        }
    }
    assert_eq!(table.len(), VALUES.len() + FLAGS.len(), "values.tsv has names that are not here");
}

#[test]
fn numbers_are_those_of_the_headers() {
    let Some(include) = headers() else { return };
    let mut body = String::from("int main(void) {\n");
    for (name, _) in VALUES.iter().chain(FLAGS) {
        let _ = writeln!(body, "printf(\"%s %llu\\n\", \"{name}\", (unsigned long long)(unsigned){name});");
    }
    for (name, value) in [
        ("HIP_LAUNCH_PARAM_BUFFER_POINTER", HIP_LAUNCH_PARAM_BUFFER_POINTER),
        ("HIP_LAUNCH_PARAM_BUFFER_SIZE", HIP_LAUNCH_PARAM_BUFFER_SIZE),
        ("HIP_LAUNCH_PARAM_END", HIP_LAUNCH_PARAM_END),
    ] {
        let _ = writeln!(body, "if ((size_t){name} != {}) return 1;", value.addr());
    }
    body.push_str("return 0;\n}\n");
    let printed = c(&include, "numbers", &body);
    let expected: String = VALUES.iter().chain(FLAGS).map(|(name, value)| format!("{name} {value}\n")).collect();
    assert_eq!(printed, expected);
}

macro_rules! layouts {
    ($($kind:ident { $($field:ident as $c:literal),* })*) => {
        /// Sizes and offsets here, and a program that prints those of the header in the same form.
        fn layouts() -> (String, String) {
            let (mut here, mut body) = (String::new(), String::from("int main(void) {\n"));
            $(
                let name = stringify!($kind);
                let _ = writeln!(here, "{name} {}", size_of::<$kind>());
                let _ = writeln!(body, "printf(\"{name} %zu\\n\", sizeof({name}));");
                $(
                    let _ = writeln!(here, "{name}.{} {}", $c, offset_of!($kind, $field));
                    let _ = writeln!(body, "printf(\"{name}.{} %zu\\n\", offsetof({name}, {}));", $c, $c);
                )*
            )*
            body.push_str("return 0;\n}\n");
            (here, body)
        }
    };
}

layouts! {
    dim3 { x as "x", y as "y", z as "z" }
    hipUUID { bytes as "bytes" }
    hipKernelNodeParams {
        blockDim as "blockDim", extra as "extra", func as "func", gridDim as "gridDim", kernelParams as "kernelParams",
        sharedMemBytes as "sharedMemBytes"
    }
    hipMemsetParams { dst as "dst", elementSize as "elementSize", height as "height", pitch as "pitch", value as "value", width as "width" }
    hipPitchedPtr { ptr as "ptr", pitch as "pitch", xsize as "xsize", ysize as "ysize" }
    hipExtent { width as "width", height as "height", depth as "depth" }
    hipPos { x as "x", y as "y", z as "z" }
    hipMemcpy3DParms {
        srcArray as "srcArray", srcPos as "srcPos", srcPtr as "srcPtr", dstArray as "dstArray", dstPos as "dstPos", dstPtr as "dstPtr",
        extent as "extent", kind as "kind"
    }
    hipMemLocation { r#type as "type", id as "id" }
    hipMemPoolProps {
        allocType as "allocType", handleTypes as "handleTypes", location as "location",
        win32SecurityAttributes as "win32SecurityAttributes", reserved as "reserved"
    }
}

#[test]
fn layouts_are_those_of_the_headers() {
    let Some(include) = headers() else { return };
    // From 6.0 on the name means the later layout.
    let properties = "int main(void) { printf(\"%d %zu %zu\\n\", HIP_VERSION_MAJOR, sizeof(hipDeviceProp_t), \
        offsetof(hipDeviceProp_t, gcnArchName)); return 0; }\n";
    let printed = c(&include, "properties", properties);
    let numbers: Vec<usize> = printed.split_whitespace().map(|number| number.parse().unwrap()).collect();
    let is_later = numbers[0] >= 6;
    let first = (DeviceProperties::FIRST_SIZE, DeviceProperties::FIRST_ARCHITECTURE);
    let later = (DeviceProperties::R0600_SIZE, DeviceProperties::R0600_ARCHITECTURE);
    assert_eq!((numbers[1], numbers[2]), if is_later { later } else { first }, "{printed}");
    let (mut here, body) = layouts();
    if is_later {
        // `maxSize` is where `reserved` began before.
        here = here.replace("hipMemPoolProps.reserved 24", "hipMemPoolProps.reserved 32");
    }
    assert_eq!(c(&include, "layouts", &body), here);
}

/// What the headers of 6.2, 6.3, 6.4, 7.0, 7.1 and, as to sizes, 7.15 give, which all agree; the sources are those of `values.tsv`.
#[test]
fn layouts_are_those_of_later_versions() {
    assert_eq!((DeviceProperties::R0600_SIZE, DeviceProperties::R0600_ARCHITECTURE), (1472, 1160));
    assert_eq!((size_of::<hipKernelNodeParams>(), offset_of!(hipKernelNodeParams, kernelParams)), (64, 48));
    assert_eq!((size_of::<hipMemsetParams>(), offset_of!(hipMemsetParams, width)), (48, 40));
    assert_eq!((size_of::<hipMemcpy3DParms>(), offset_of!(hipMemcpy3DParms, kind)), (160, 152));
    // `maxSize` is where `reserved` begins before 6.0.
    assert_eq!((size_of::<hipMemPoolProps>(), offset_of!(hipMemPoolProps, reserved)), (88, 24));
    const { assert!(DeviceProperties::SIZE > DeviceProperties::R0600_SIZE, "a newer layout has room to grow") };
}
