//! Native sources: SPIR-V that goes to Vulkan as it is.
//!
//! Parameter n is `DescriptorSet 0`, `Binding n`: a storage buffer, or for a value a uniform block. wgpu neither reads such a module nor adds anything to it; that it does what is
//! declared, its caller vouches for. MSL and HLSL are not taken: wgpu leaves open where their bindings are.

use std::borrow::Cow;
use std::sync::Arc;

use compute_hal::kernel::lower::Reports;
use compute_hal::kernel::reflection::BindingKind;
use compute_hal::{DeviceError, Fit, NativeInterface, NativeLanguage, NativeParameter, NativeSource};
use parking_lot::Mutex;

use crate::kernel::{Built, Compiler, Kernel, Places, Slot, build, number, refused};

const MAGIC: u32 = 0x0723_0203;

/// Whether a device takes native SPIR-V.
pub(crate) fn fit(device: &wgpu::Device, source: &NativeSource) -> Result<Fit, String> {
    let name = source.language.name();
    if source.language != NativeLanguage::SpirV {
        return Err(format!("{name} is not taken by the wgpu device"));
    }
    let backend = device.adapter_info().backend;
    if backend != wgpu::Backend::Vulkan || !device.features().contains(wgpu::Features::PASSTHROUGH_SHADERS) {
        return Err(format!("{name} needs Vulkan; the device is reached through {backend}"));
    }
    if !source.target.is_empty() {
        return Err(format!("{name} for `{}`; it is for no architecture", source.target));
    }
    words(&source.code).map(|_| Fit::Abstract(0)).ok_or_else(|| format!("{name}: it does not begin as a module does"))
}

/// The words of a module, in the processor's order.
fn words(code: &[u8]) -> Option<Vec<u32>> {
    let (whole, rest) = code.as_chunks::<4>();
    let words: Vec<u32> = whole.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
    // Five words are the head.
    (rest.is_empty() && words.len() >= 5 && words.first() == Some(&MAGIC)).then_some(words)
}

pub(crate) fn compile(
    compiler: &Compiler<'_>,
    id: u64,
    label: &str,
    source: &NativeSource,
    interface: &NativeInterface,
) -> Result<Kernel, DeviceError> {
    let words = words(&source.code).ok_or_else(|| DeviceError::Internal("a module that does not suit".into()))?;
    let slots = slots(interface, compiler.dynamic_uniforms)?;
    if interface.workgroup_memory > 0 {
        return Err(refused("SPIR-V declares all of its workgroup memory; launches cannot ask for more".into(), true));
    }
    let places = Places { slots: &slots, record: None, slice: None, immediate_size: 0 };
    let [x, y, z] = interface.workgroup_size;
    let entry = wgpu::PassthroughShaderEntryPoint { name: Cow::Borrowed(&source.entry), workgroup_size: (x, y, z) };
    let shader = |device: &wgpu::Device| {
        let described = wgpu::ShaderModuleDescriptorPassthrough {
            label: Some(label),
            entry_points: Cow::Borrowed(std::slice::from_ref(&entry)),
            spirv: Some(Cow::Owned(words)),
            ..Default::default()
        };
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
            NativeParameter::Null => {
                let why = format!("parameter {index} is declared unused, which SPIR-V has no place for on this device");
                return Err(refused(why, true));
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
    fn f1_only_whole_words_behind_the_magic_number_are_a_module() {
        let head: Vec<u8> = [MAGIC, 0x10300, 0, 1, 0].iter().flat_map(|word| word.to_le_bytes()).collect();
        assert_eq!(words(&head).map(|words| words.len()), Some(5));
        assert!(words(&head[..16]).is_none() && words(&[&head[..], &[0]].concat()).is_none() && words(&[0; 20]).is_none());
    }
}
