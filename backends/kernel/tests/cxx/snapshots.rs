//! The texts of a dozen small kernels. `UPDATE_SNAPSHOTS=1` writes them anew; look at the difference.

use std::path::Path;

use compute_kernel::cxx::{CUDA, HIP};
use compute_kernel::reflection::Bounds;

use super::*;

/// What belongs to the kernel: the words and the library before it are files of their own.
fn own_part(text: &Text) -> &str {
    text.source.split_once("// The kernel.\n").expect("the line before the kernel").1
}

fn shown(text: &Text) -> String {
    format!("// {} {:?}\n// {:?}\n{}", text.entry, text.options, text.parameters, own_part(text))
}

#[test]
fn the_texts_of_small_kernels_are_as_they_were() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cxx/kernels");
    let mut changed = Vec::new();
    for (name, source) in corpus::SMALL {
        let entry = entry(source);
        for (dialect, ending) in [(&CUDA, "cu"), (&HIP, "hip")] {
            let bounds = if *name == "validate" { Bounds::Validate } else { Bounds::Checked };
            let mut texts = vec![(folder.join(format!("{name}.{ending}")), options(dialect))];
            if ["inputs", "reduce"].contains(name) {
                texts.push((folder.join(format!("{name}_indirect.{ending}")), Options { indirect: true, ..options(dialect) }));
            }
            for (path, options) in texts {
                let now = shown(&translate(&entry, bounds, &options));
                if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
                    std::fs::write(&path, now).unwrap();
                } else if std::fs::read_to_string(&path).unwrap_or_default() != now {
                    changed.push(format!("{}:\n{now}", path.display()));
                }
            }
        }
    }
    assert!(changed.is_empty(), "texts that are not what they were (UPDATE_SNAPSHOTS=1 writes them):\n{}", changed.join("\n"));
}

#[test]
fn the_same_kernel_gives_the_same_text() {
    for (_, source) in corpus::SMALL {
        let text = || translate(&entry(source), Bounds::Checked, &options(&CUDA)).source;
        assert_eq!(text(), text());
    }
}
