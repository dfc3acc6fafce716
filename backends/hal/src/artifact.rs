//! Compiled kernels as bytes: what a device's answer to a request depends on, for whoever keeps such bytes (L7). Where they are kept is not known here.

use blake3::Hasher;

use super::kernel::reflection::Bounds;
use super::{CompileRequest, CompileSource, DeviceError, NativeInterface, NativeLanguage, NativeParameter, NativeSource};

/// A place for the bytes of one thing that a device makes of a kernel. They are, to the bit, what was given for an equal request with the same identity. A device
/// may use it on a thread of its own while the call lasts.
pub trait Kept: Sync {
    /// Shows `restore` the bytes, if there are any. Says whether it made something of them; only a lost device is an error.
    fn restore(&self, restore: &mut dyn FnMut(&[u8]) -> Result<(), DeviceError>) -> Result<bool, DeviceError>;
    /// Keeps bytes for later.
    fn keep(&self, artifact: &[u8]);
}

impl CompileRequest<'_> {
    /// Whether a device may have something to keep of the kernel, and equal requests have equal ones.
    pub fn can_be_kept(&self) -> bool {
        let CompileSource::Native { source, .. } = &self.source else { return true };
        match source.language {
            NativeLanguage::CudaCpp | NativeLanguage::HipCpp | NativeLanguage::SpirV => source.is_closed(),
            // Code, and text of which drivers tell nobody what they made.
            NativeLanguage::Cubin | NativeLanguage::CodeObject | NativeLanguage::Ptx => false,
            NativeLanguage::Msl | NativeLanguage::Hlsl => false,
        }
    }

    /// A digest of all that the compiled kernel depends on, besides the library and what the device says in [`super::Device::artifact_identity`].
    pub fn digest(&self) -> [u8; 32] {
        // Without `..`, so that a new field cannot be forgotten here. The label is for messages only.
        let Self { source, bounds, cancellable, print_room, strict, label: _ } = self;
        let mut parts = Parts(Hasher::new());
        parts.source(source);
        parts.number(match bounds {
            Bounds::Checked => 0,
            Bounds::Unchecked => 1,
            Bounds::Validate => 2,
        });
        parts.number((*cancellable).into());
        parts.number((*print_room).into());
        parts.number((*strict).into());
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
            CompileSource::Native { source, interface } => {
                self.bytes(b"native");
                self.native(source);
                self.interface(interface);
            }
        }
    }
}

impl Parts {
    fn native(&mut self, source: &NativeSource) {
        let NativeSource { language, code, entry, options, headers, target } = source;
        [language.name().as_bytes(), code, entry.as_bytes(), target.as_bytes()].into_iter().for_each(|part| self.bytes(part));
        self.number(options.len() as u64);
        options.iter().for_each(|option| self.bytes(option.as_bytes()));
        self.number(headers.len() as u64);
        for super::NativeHeader { name, text } in headers {
            self.bytes(name.as_bytes());
            self.bytes(text.as_bytes());
        }
    }

    fn interface(&mut self, interface: &NativeInterface) {
        let NativeInterface { parameters, workgroup_size, workgroup_memory } = interface;
        self.number(parameters.len() as u64);
        for parameter in parameters {
            match *parameter {
                NativeParameter::Address => self.number(0),
                NativeParameter::Null => self.number(1),
                NativeParameter::TensorMap => self.number(3),
                NativeParameter::Value { size, alignment } => {
                    [2, size.into(), alignment.into()].into_iter().for_each(|number| self.number(number))
                }
            }
        }
        workgroup_size.iter().for_each(|size| self.number((*size).into()));
        self.number((*workgroup_memory).into());
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "ends at the first thing that is wrong")]

    use std::collections::HashSet;
    use std::sync::Arc;

    use compute_kernel::{EntryPoint, Module, Source};

    use super::*;
    use crate::NativeHeader;

    #[test]
    fn l7_every_part_of_a_request_but_its_label_is_in_its_digest() {
        let entry =
            |source: &str, name: &str| Module::parse(&Source::wgsl(source)).unwrap().entry_point(Some(name), &[]).unwrap();
        let two = "@compute @workgroup_size(1) fn a() {} @compute @workgroup_size(1) fn b() {}";
        let (a, b, other) = (entry(two, "a"), entry(two, "b"), entry(&format!("{two} "), "a"));
        let request = |entry: &Arc<EntryPoint>, bounds, cancellable, print_room, label: &str| {
            let source = CompileSource::Portable(entry);
            CompileRequest { source, bounds, cancellable, print_room, strict: false, label }.digest()
        };
        let portable = |entry: &Arc<EntryPoint>, label: &str| request(entry, Bounds::Checked, false, 0, label);
        let source = NativeSource {
            language: NativeLanguage::CudaCpp,
            code: b"x".to_vec(),
            entry: "e".into(),
            options: vec!["-o".into()],
            headers: vec![NativeHeader { name: "h".into(), text: "t".into() }],
            target: String::new(),
        };
        let interface =
            NativeInterface { parameters: vec![NativeParameter::Address], workgroup_size: [1; 3], workgroup_memory: 0 };
        let native = |change: &dyn Fn(&mut NativeSource, &mut NativeInterface)| {
            let (mut source, mut interface) = (source.clone(), interface.clone());
            change(&mut source, &mut interface);
            let source = CompileSource::Native { source: &source, interface: &interface };
            CompileRequest { source, bounds: Bounds::Checked, cancellable: false, print_room: 0, strict: false, label: "" }
                .digest()
        };
        assert_eq!(portable(&a, "one"), portable(&a, "two"));
        let strict = {
            let source = CompileSource::Portable(&a);
            CompileRequest { source, bounds: Bounds::Checked, cancellable: false, print_room: 0, strict: true, label: "" }
                .digest()
        };
        let all = [
            portable(&a, ""),
            portable(&b, ""),
            portable(&other, ""),
            request(&a, Bounds::Unchecked, false, 0, ""),
            request(&a, Bounds::Validate, false, 0, ""),
            request(&a, Bounds::Checked, true, 0, ""),
            request(&a, Bounds::Checked, false, 1, ""),
            strict,
            native(&|_, _| {}),
            native(&|source, _| source.language = NativeLanguage::HipCpp),
            native(&|source, _| source.code = b"xe".to_vec()),
            native(&|source, _| source.entry = "f".into()),
            native(&|source, _| source.options.clear()),
            native(&|source, _| source.headers[0].name = "i".into()),
            native(&|source, _| source.headers[0].text = "u".into()),
            native(&|source, _| source.target = "sm_90".into()),
            native(&|_, interface| interface.parameters = vec![NativeParameter::Null]),
            native(&|_, interface| interface.parameters = vec![NativeParameter::Value { size: 4, alignment: 4 }]),
            native(&|_, interface| interface.parameters = vec![NativeParameter::Value { size: 4, alignment: 2 }]),
            native(&|_, interface| interface.workgroup_size = [1, 2, 1]),
            native(&|_, interface| interface.workgroup_memory = 1),
        ];
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), all.len());
    }

    #[test]
    fn l7_only_what_a_compiler_makes_is_worth_keeping() {
        use NativeLanguage as L;
        let kept = |language, code: &str| {
            let (code, headers) = (code.into(), Vec::new());
            let source =
                NativeSource { language, code, entry: String::new(), options: Vec::new(), headers, target: String::new() };
            let interface = NativeInterface { parameters: Vec::new(), workgroup_size: [1; 3], workgroup_memory: 0 };
            let source = CompileSource::Native { source: &source, interface: &interface };
            let (bounds, cancellable, print_room, strict) = (Bounds::Checked, false, 0, false);
            CompileRequest { source, bounds, cancellable, print_room, strict, label: "" }.can_be_kept()
        };
        assert!([L::CudaCpp, L::HipCpp, L::SpirV].into_iter().all(|language| kept(language, "")));
        assert!(![L::CudaCpp, L::HipCpp].into_iter().any(|language| kept(language, "#include \"x\"")));
        assert!(![L::Ptx, L::Cubin, L::CodeObject, L::Msl, L::Hlsl].into_iter().any(|language| kept(language, "")));
    }
}
