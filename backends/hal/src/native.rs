//! Native kernels: code in a vendor's own language or format, with what its caller declares of it (T6, L4, L9, L11).
//!
//! Nobody can look inside such code, so the declaration is all that is known. A device says how well a source suits it, and the runtime takes the one that
//! suits best; how arguments lie in memory is here, as every vendor lays them out like a C structure.

/// What a native source is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NativeLanguage {
    /// CUDA C++, compiled by NVRTC for the exact device.
    CudaCpp,
    /// PTX, compiled by CUDA's driver.
    Ptx,
    /// Machine code of an NVIDIA GPU.
    Cubin,
    /// HIP C++, compiled by hiprtc for the exact device.
    HipCpp,
    /// Machine code of an AMD GPU.
    CodeObject,
    /// A SPIR-V module, handed to Vulkan as it is.
    SpirV,
    /// Metal's language, handed to Metal as it is.
    Msl,
    /// HLSL, handed to Direct3D 12's compiler as it is.
    Hlsl,
}

impl NativeLanguage {
    /// For people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CudaCpp => "CUDA C++",
            Self::Ptx => "PTX",
            Self::Cubin => "cubin",
            Self::HipCpp => "HIP C++",
            Self::CodeObject => "AMD code object",
            Self::SpirV => "SPIR-V",
            Self::Msl => "MSL",
            Self::Hlsl => "HLSL",
        }
    }

    /// Whether it is text that a compiler reads.
    pub const fn is_text(self) -> bool {
        matches!(self, Self::CudaCpp | Self::HipCpp | Self::Ptx | Self::Msl | Self::Hlsl)
    }
}

/// A file that a source may include.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NativeHeader {
    /// The path as `#include` names it. Without zero bytes.
    pub name: String,
    /// Its text. Without zero bytes.
    pub text: String,
}

/// One form of a native kernel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NativeSource {
    /// What `code` is.
    pub language: NativeLanguage,
    /// Text without zero bytes, or code.
    pub code: Vec<u8>,
    /// The function to launch, by its name in the code. Without zero bytes.
    pub entry: String,
    /// What its compiler is told besides the architecture. Without zero bytes.
    pub options: Vec<String>,
    /// Files that it includes.
    pub headers: Vec<NativeHeader>,
    /// The architecture that it is for (`sm_90`, `gfx942`); empty: any, or what the code says of itself.
    pub target: String,
}

/// What one parameter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NativeParameter {
    /// The address of a view, which the launch's binding is.
    Address,
    /// A null pointer: the kernel does not use it.
    Null,
    /// So many bytes by value, which the launch's binding has inline.
    Value {
        /// Bytes, at least one.
        size: u32,
        /// Their alignment among the arguments, a power of two.
        alignment: u32,
    },
}

impl NativeParameter {
    /// Bytes among the arguments, and their alignment.
    pub const fn layout(self) -> (u32, u32) {
        match self {
            Self::Address | Self::Null => (8, 8),
            Self::Value { size, alignment } => (size, alignment),
        }
    }
}

/// What is declared of a native kernel, as far as a device has to know it. The runtime's binding with the same index is what a parameter takes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NativeInterface {
    /// In order.
    pub parameters: Vec<NativeParameter>,
    /// Invocations of a workgroup on each axis; none is zero.
    pub workgroup_size: [u32; 3],
    /// Bytes of workgroup memory that a launch asks for beyond what the code declares.
    pub workgroup_memory: u32,
}

impl NativeInterface {
    /// Where each parameter begins, and how long all are, in bytes, laid out like the members of a C structure; `None` when they are longer than `most`.
    pub fn layout(&self, most: u32) -> Option<(Vec<u32>, u32)> {
        let mut end = 0_u32;
        let mut offsets = Vec::with_capacity(self.parameters.len());
        for parameter in &self.parameters {
            let (size, alignment) = parameter.layout();
            let start = end.checked_next_multiple_of(alignment.max(1))?;
            end = start.checked_add(size).filter(|end| *end <= most)?;
            offsets.push(start);
        }
        Some((offsets, end))
    }
}

/// How well a source suits a device; the greatest is taken, and of equal ones the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    /// Machine code that may be for the device or not: only the driver knows. Whatever surely suits goes first.
    Bundle,
    /// Text that is compiled for the exact device.
    Text {
        /// It names this very architecture.
        named: bool,
    },
    /// Code for an abstract machine of that generation, which the driver compiles.
    Abstract(u32),
    /// Machine code for a generation that the device runs.
    Machine(u32),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interface(parameters: &[NativeParameter]) -> NativeInterface {
        NativeInterface { parameters: parameters.to_vec(), workgroup_size: [1; 3], workgroup_memory: 0 }
    }

    #[test]
    fn l4_arguments_lie_like_members_of_a_c_structure() {
        let value = |size, alignment| NativeParameter::Value { size, alignment };
        let three = interface(&[NativeParameter::Address, value(4, 4), value(1, 1), value(2, 2), NativeParameter::Null]);
        assert_eq!(three.layout(4096), Some((vec![0, 8, 12, 14, 16], 24)));
        assert_eq!(three.layout(23), None);
        let long = value(u32::MAX, 16);
        assert_eq!(interface(&[value(1, 1), long, long]).layout(u32::MAX), None, "nothing wraps");
    }

    #[test]
    fn l11_machine_code_goes_before_code_for_an_abstract_machine_and_that_before_text() {
        let text = Fit::Text { named: true };
        assert!(Fit::Text { named: false } < text && text < Fit::Abstract(0) && Fit::Abstract(80) < Fit::Abstract(90));
        assert!(Fit::Abstract(u32::MAX) < Fit::Machine(80) && Fit::Machine(86) > Fit::Machine(80));
        assert!(Fit::Bundle < Fit::Text { named: false }, "what may not run at all goes behind what does");
    }
}
