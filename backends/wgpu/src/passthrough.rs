//! Native sources: SPIR-V that goes to Vulkan as it is, MSL to Metal, HLSL to Direct3D 12.
//!
//! Where parameter n is in the code follows from how wgpu-hal 30 numbers what a pipeline layout of one group without immediates binds. SPIR-V: `DescriptorSet 0`, `Binding n`, a storage
//! buffer, or for a value a uniform block. MSL: `[[buffer(n)]]`. HLSL: the buffers are `u0`, `u1` and so on in their order, and the values `b0`, `b1`. wgpu neither reads such code nor adds
//! anything to it; that it does what is declared, its caller vouches for. MSL and HLSL have never run: neither Metal nor Direct3D 12 was at hand.

use std::borrow::Cow;
use std::sync::Arc;

use compute_hal::kernel::lower::Reports;
use compute_hal::kernel::reflection::BindingKind;
use compute_hal::{DeviceError, Fit, NativeInterface, NativeLanguage, NativeParameter, NativeSource};
use parking_lot::Mutex;

use crate::kernel::{Built, Compiler, Kernel, Places, Slot, build, number};

const MAGIC: u32 = 0x0723_0203;
/// Words before the first instruction.
const HEAD: usize = 5;
const ENTRY_POINT: u32 = 15;
const EXECUTION_MODE: u32 = 16;
const GL_COMPUTE: u32 = 5;
const LOCAL_SIZE: u32 = 17;

/// Through what a device has to be reached to take sources of a language.
fn backend_of(language: NativeLanguage) -> Option<wgpu::Backend> {
    match language {
        NativeLanguage::SpirV => Some(wgpu::Backend::Vulkan),
        NativeLanguage::Msl => Some(wgpu::Backend::Metal),
        NativeLanguage::Hlsl => Some(wgpu::Backend::Dx12),
        _ => None,
    }
}

/// As people call it.
fn api(backend: wgpu::Backend) -> &'static str {
    match backend {
        wgpu::Backend::Vulkan => "Vulkan",
        wgpu::Backend::Metal => "Metal",
        wgpu::Backend::Dx12 => "Direct3D 12",
        wgpu::Backend::Gl => "OpenGL",
        _ => "another API",
    }
}

/// Whether sources of a language go to a device that is reached through `backend`.
fn goes(language: NativeLanguage, backend: wgpu::Backend, passes: bool) -> Result<(), String> {
    let name = language.name();
    let Some(wanted) = backend_of(language) else { return Err(format!("{name} is not taken by the wgpu device")) };
    if backend != wanted {
        return Err(format!("{name} needs {}; the device is reached through {}", api(wanted), api(backend)));
    }
    if !passes {
        return Err(format!("{name} needs an adapter to which wgpu hands code on as it is, which this one is not"));
    }
    Ok(())
}

/// Whether a device takes a native source with what is declared of it. `uniform_size`: bytes of one uniform binding at most.
pub(crate) fn fit(
    device: &wgpu::Device,
    source: &NativeSource,
    interface: &NativeInterface,
    uniform_size: u64,
) -> Result<Fit, String> {
    let name = source.language.name();
    let passes = device.features().contains(wgpu::Features::PASSTHROUGH_SHADERS);
    goes(source.language, device.adapter_info().backend, passes)?;
    if !source.target.is_empty() {
        return Err(format!("{name} for `{}`; it is for no architecture", source.target));
    }
    let module = || match source.language {
        NativeLanguage::SpirV => matches(&source.code, &source.entry, interface.workgroup_size),
        _ => alone(source),
    };
    declarable(interface, uniform_size).and_then(|()| module()).map_err(|why| format!("{name}: {why}"))?;
    Ok(if source.language == NativeLanguage::SpirV { Fit::Abstract(0) } else { Fit::Text { named: false } })
}

/// Whether text needs nothing beside it: wgpu hands on neither options nor files.
fn alone(source: &NativeSource) -> Result<(), String> {
    if !source.options.is_empty() || !source.headers.is_empty() {
        return Err("its compiler is given neither options nor headers; write them into the text".into());
    }
    std::str::from_utf8(&source.code).map(|_| ()).map_err(|wrong| format!("it is no UTF-8 text: {wrong}"))
}

/// Whether there is a place for everything that is declared.
fn declarable(interface: &NativeInterface, uniform_size: u64) -> Result<(), String> {
    if interface.workgroup_memory > 0 {
        return Err("it declares all of its workgroup memory; launches cannot ask for more".into());
    }
    let wrong = interface.parameters.iter().enumerate().find_map(|(index, parameter)| match *parameter {
        NativeParameter::Null => Some(format!("parameter {index} is declared unused, for which there is no place")),
        NativeParameter::Value { size, .. } if u64::from(size) > uniform_size => {
            Some(format!("parameter {index} has {size} bytes; a uniform block has at most {uniform_size}"))
        }
        NativeParameter::TensorMap => Some(format!("parameter {index} is a tensor map, which only CUDA has")),
        _ => None,
    });
    wrong.map_or(Ok(()), Err)
}

/// Whether a module has the entry point, with the workgroup size that is declared. Nobody behind this looks: a driver that is asked for a name that is not there may end the process.
fn matches(code: &[u8], entry: &str, size: [u32; 3]) -> Result<(), String> {
    let words = words(code).ok_or("it does not begin as a module does")?;
    let mut rest = words.get(HEAD..).unwrap_or_default();
    let mut found = None;
    while let Some(&first) = rest.first() {
        let (count, opcode) = ((first >> 16) as usize, first & 0xffff);
        let (instruction, behind) = rest.split_at_checked(count).filter(|_| count > 0).ok_or("an instruction is cut short")?;
        rest = behind;
        match (opcode, instruction) {
            (ENTRY_POINT, [_, GL_COMPUTE, id, name @ ..]) if is_text(name, entry) => found = Some(*id),
            (EXECUTION_MODE, [_, id, LOCAL_SIZE, made @ ..]) if Some(*id) == found && made != size => {
                return Err(format!("its workgroup size is {made:?}, declared is {size:?}"));
            }
            _ => {}
        }
    }
    found.map(|_| ()).ok_or_else(|| format!("it has no compute entry point `{entry}`"))
}

/// Whether words begin with this text and a zero.
fn is_text(words: &[u32], text: &str) -> bool {
    let bytes = words.iter().flat_map(|word| word.to_le_bytes());
    bytes.take(text.len() + 1).eq(text.bytes().chain([0]))
}

/// The words of a module, in the processor's order.
fn words(code: &[u8]) -> Option<Vec<u32>> {
    let (whole, rest) = code.as_chunks::<4>();
    let words: Vec<u32> = whole.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
    (rest.is_empty() && words.len() >= HEAD && words.first() == Some(&MAGIC)).then_some(words)
}

/// A source as wgpu takes it.
enum Code<'a> {
    SpirV(Vec<u32>),
    Msl(&'a str),
    Hlsl(&'a str),
}

impl<'a> Code<'a> {
    fn of(source: &'a NativeSource) -> Option<Self> {
        let text = || std::str::from_utf8(&source.code).ok();
        match source.language {
            NativeLanguage::SpirV => words(&source.code).map(Self::SpirV),
            NativeLanguage::Msl => text().map(Self::Msl),
            NativeLanguage::Hlsl => text().map(Self::Hlsl),
            _ => None,
        }
    }
}

pub(crate) fn compile(
    compiler: &Compiler<'_>,
    id: u64,
    label: &str,
    source: &NativeSource,
    interface: &NativeInterface,
) -> Result<Kernel, DeviceError> {
    let code = Code::of(source).ok_or_else(|| DeviceError::Internal("a module that does not suit".into()))?;
    // Direct3D numbers uniform blocks whose offset comes with each launch behind all others.
    let dynamic_uniforms = if source.language == NativeLanguage::Hlsl { 0 } else { compiler.dynamic_uniforms };
    let slots = slots(interface, dynamic_uniforms)?;
    let places = Places { slots: &slots, record: None, slice: None, immediate_size: 0 };
    let [x, y, z] = interface.workgroup_size;
    let entry = wgpu::PassthroughShaderEntryPoint { name: Cow::Borrowed(&source.entry), workgroup_size: (x, y, z) };
    let shader = |device: &wgpu::Device| {
        let mut described = wgpu::ShaderModuleDescriptorPassthrough {
            label: Some(label),
            entry_points: Cow::Borrowed(std::slice::from_ref(&entry)),
            ..Default::default()
        };
        match code {
            Code::SpirV(words) => described.spirv = Some(Cow::Owned(words)),
            Code::Msl(text) => described.msl = Some(Cow::Borrowed(text)),
            Code::Hlsl(text) => described.hlsl = Some(Cow::Borrowed(text)),
        }
        // SAFETY: the caller vouches for native code.
        unsafe { device.create_shader_module_passthrough(described) }
    };
    let Built { pipeline, layout, artifact } = build(compiler, label, shader, &source.entry, &places)?;
    let reports = Arc::new(Reports::default());
    let artifact = Mutex::new(artifact);
    Ok(Kernel { id, pipeline, layout, slots, record: None, slice: None, reports, workgroup_memory: 0, artifact })
}

/// A place for each parameter. Vulkan's bindings are counted by wgpu, so that none may be left out.
fn slots(interface: &NativeInterface, dynamic_uniforms: u32) -> Result<Vec<Slot>, DeviceError> {
    let mut dynamic_left = dynamic_uniforms;
    let slot = |(index, parameter): (usize, &NativeParameter)| {
        let (kind, least) = match *parameter {
            NativeParameter::Address => (BindingKind::Storage, 0),
            NativeParameter::Value { size, .. } => (BindingKind::Uniform, size.into()),
            NativeParameter::Null | NativeParameter::TensorMap => {
                return Err(DeviceError::Internal("a parameter without a place, of code that suited".into()));
            }
        };
        let dynamic = kind == BindingKind::Uniform && dynamic_left > 0;
        dynamic_left -= u32::from(dynamic);
        Ok(Slot { index, binding: number(index)?, kind, least, dynamic })
    };
    interface.parameters.iter().enumerate().map(slot).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f1_a_module_without_the_entry_point_or_with_another_workgroup_size_does_not_suit() {
        let instruction = |opcode: u32, operands: &[u32]| [&[(operands.len() as u32 + 1) << 16 | opcode], operands].concat();
        let name = |text: &[u8; 4]| u32::from_le_bytes(*text);
        let module = [
            vec![MAGIC, 0x10300, 0, 9, 0],
            instruction(ENTRY_POINT, &[0, 3, name(b"main"), 0]),
            instruction(ENTRY_POINT, &[GL_COMPUTE, 4, name(b"scal"), name(b"e\0\0\0"), 7]),
            instruction(EXECUTION_MODE, &[4, LOCAL_SIZE, 64, 1, 1]),
        ];
        let code: Vec<u8> = module.concat().iter().flat_map(|word| word.to_le_bytes()).collect();
        assert_eq!(matches(&code, "scale", [64, 1, 1]), Ok(()));
        for (entry, size, words) in [
            ("main", [64, 1, 1], "no compute entry point `main`"),
            ("scal", [64, 1, 1], "no compute entry point"),
            ("scale", [256, 1, 1], "[64, 1, 1], declared is [256, 1, 1]"),
        ] {
            let why = matches(&code, entry, size).unwrap_err();
            assert!(why.contains(words), "{why}");
        }
        assert!(matches(&code[..code.len() - 4], "scale", [64, 1, 1]).is_err());
        assert!(matches(&[&code[..], &[0; 4]].concat(), "scale", [64, 1, 1]).is_err(), "no instruction has no words");
    }

    #[test]
    fn l11_what_spirv_has_no_place_for_is_told_before_it_is_taken() {
        let interface = |parameters, workgroup_memory| NativeInterface { parameters, workgroup_size: [1; 3], workgroup_memory };
        let value = |size| NativeParameter::Value { size, alignment: 4 };
        assert_eq!(declarable(&interface(vec![NativeParameter::Address, value(64)], 0), 64), Ok(()));
        for wrong in [interface(vec![], 4), interface(vec![NativeParameter::Null], 0), interface(vec![value(68)], 0)] {
            assert!(declarable(&wrong, 64).is_err());
        }
    }

    #[test]
    fn l11_each_language_goes_to_its_own_api_and_the_answer_names_both() {
        use wgpu::Backend::{Dx12, Gl, Metal, Vulkan};
        let homes = [(NativeLanguage::SpirV, Vulkan), (NativeLanguage::Msl, Metal), (NativeLanguage::Hlsl, Dx12)];
        for (language, home) in homes {
            for backend in [Vulkan, Metal, Dx12, Gl] {
                let goes = goes(language, backend, true);
                if backend == home {
                    assert_eq!(goes, Ok(()));
                } else {
                    let why = goes.unwrap_err();
                    assert!([language.name(), api(home), api(backend)].iter().all(|word| why.contains(word)), "{why}");
                }
            }
            assert!(goes(language, home, false).unwrap_err().contains(language.name()));
        }
        for language in [NativeLanguage::CudaCpp, NativeLanguage::Ptx, NativeLanguage::CodeObject] {
            assert!(goes(language, Vulkan, true).unwrap_err().contains("not taken by the wgpu device"));
        }
    }

    #[test]
    fn l11_text_that_wants_options_or_headers_is_passed_over_rather_than_compiled_without_them() {
        let source = |options: &[&str], code: &[u8]| NativeSource {
            language: NativeLanguage::Msl,
            code: code.to_vec(),
            entry: "scale".into(),
            options: options.iter().map(|option| (*option).into()).collect(),
            headers: Vec::new(),
            target: String::new(),
        };
        assert_eq!(alone(&source(&[], b"kernel void scale() {}")), Ok(()));
        assert!(alone(&source(&["-DN=4"], b"")).unwrap_err().contains("options"));
        assert!(alone(&source(&[], b"\xff")).unwrap_err().contains("UTF-8"));
        let header = compute_hal::NativeHeader { name: "n.h".into(), text: String::new() };
        assert!(alone(&NativeSource { headers: vec![header], ..source(&[], b"") }).is_err());
    }

    #[test]
    fn l11_parameters_keep_their_order_and_hlsl_has_no_block_behind_the_others() {
        let value = NativeParameter::Value { size: 4, alignment: 4 };
        let parameters = vec![value, NativeParameter::Address, value];
        let interface = NativeInterface { parameters, workgroup_size: [1; 3], workgroup_memory: 0 };
        let made =
            |dynamic| slots(&interface, dynamic).unwrap().iter().map(|slot| (slot.binding, slot.dynamic)).collect::<Vec<_>>();
        assert_eq!(made(0), [(0, false), (1, false), (2, false)]);
        assert_eq!(made(1), [(0, true), (1, false), (2, false)]);
    }

    #[test]
    fn f1_only_whole_words_behind_the_magic_number_are_a_module() {
        let head: Vec<u8> = [MAGIC, 0x10300, 0, 1, 0].iter().flat_map(|word| word.to_le_bytes()).collect();
        assert_eq!(words(&head).map(|words| words.len()), Some(5));
        assert!(words(&head[..16]).is_none() && words(&[&head[..], &[0]].concat()).is_none() && words(&[0; 20]).is_none());
    }
}
