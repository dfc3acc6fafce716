//! Compiled kernels as bytes: what a device's answer to a request depends on, for whoever keeps such bytes (L7). Where they are kept is not known here.

use blake3::Hasher;

use super::kernel::reflection::Bounds;
use super::{CompileRequest, CompileSource};

impl CompileRequest<'_> {
    /// A digest of all that the compiled kernel depends on, besides the library and what the device says in [`super::Device::artifact_identity`].
    pub fn digest(&self) -> [u8; 32] {
        // Without `..`, so that a new field cannot be forgotten here. The label is for messages only.
        let Self { source, bounds, cancellable, print_room, label: _ } = self;
        let mut parts = Parts(Hasher::new());
        parts.source(source);
        parts.number(match bounds {
            Bounds::Checked => 0,
            Bounds::Unchecked => 1,
            Bounds::Validate => 2,
        });
        parts.number((*cancellable).into());
        parts.number((*print_room).into());
        *parts.0.finalize().as_bytes()
    }
}

/// Each part goes in with its length before it, so that no two requests become the same bytes.
struct Parts(Hasher);

impl Parts {
    fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.update(bytes);
    }

    fn number(&mut self, number: u64) {
        self.0.update(&number.to_le_bytes());
    }

    fn source(&mut self, source: &CompileSource<'_>) {
        match source {
            CompileSource::Portable(entry) => {
                self.bytes(b"portable");
                self.bytes(&entry.hash());
            }
            CompileSource::Text { language, text, entry } => {
                self.bytes(b"text");
                [language, text, entry].into_iter().for_each(|part| self.bytes(part.as_bytes()));
            }
            CompileSource::Binary { format, bytes, entry } => {
                self.bytes(b"binary");
                self.bytes(format.as_bytes());
                self.bytes(bytes);
                self.bytes(entry.as_bytes());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "ends at the first thing that is wrong")]

    use std::collections::HashSet;
    use std::sync::Arc;

    use compute_kernel::{Module, Source};

    use super::*;

    #[test]
    fn l7_every_part_of_a_request_but_its_label_is_in_its_digest() {
        let entry =
            |source: &str, name: &str| Module::parse(&Source::wgsl(source)).unwrap().entry_point(Some(name), &[]).unwrap();
        let two = "@compute @workgroup_size(1) fn a() {} @compute @workgroup_size(1) fn b() {}";
        let (a, b, other) = (entry(two, "a"), entry(two, "b"), entry(&format!("{two} "), "a"));
        let request = |source, bounds, cancellable, print_room, label: &'static str| {
            CompileRequest { source, bounds, cancellable, print_room, label }.digest()
        };
        let portable = |entry: &Arc<_>, label| request(CompileSource::Portable(entry), Bounds::Checked, false, 0, label);
        let text = |language, text, entry| request(CompileSource::Text { language, text, entry }, Bounds::Checked, false, 0, "");
        let binary =
            |format, bytes, entry| request(CompileSource::Binary { format, bytes, entry }, Bounds::Checked, false, 0, "");
        assert_eq!(portable(&a, "one"), portable(&a, "two"));
        let all = [
            portable(&a, ""),
            portable(&b, ""),
            portable(&other, ""),
            request(CompileSource::Portable(&a), Bounds::Unchecked, false, 0, ""),
            request(CompileSource::Portable(&a), Bounds::Validate, false, 0, ""),
            request(CompileSource::Portable(&a), Bounds::Checked, true, 0, ""),
            request(CompileSource::Portable(&a), Bounds::Checked, false, 1, ""),
            text("cuda", "x", "e"),
            text("hip", "x", "e"),
            text("cuda", "xe", ""),
            text("cuda", "", "xe"),
            text("cuda", "x", "f"),
            binary("cuda", b"x", "e"),
            binary("ptx", b"x", "e"),
            binary("cuda", b"y", "e"),
            binary("cuda", b"x", "f"),
        ];
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), all.len());
    }
}
