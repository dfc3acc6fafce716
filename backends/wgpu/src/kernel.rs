//! From an entry point to a pipeline: lowered, cut off, and bent to wgpu's ways.
//!
//! wgpu tracks usage per buffer, so every storage variable becomes read-write; all bindings move to group 0, in the order of the reflection.

use std::borrow::Cow;
use std::sync::Arc;

use compute_hal::kernel::lower::{Lowering, Reports};
use compute_hal::kernel::reflection::{BindingKind, Bounds, Reflection};
use compute_hal::stack::on_large_stack;
use compute_hal::{CompileRequest, CompileSource, DeviceError, KernelFacts};
use naga::compact::{KeepUnused, compact};
use naga::{AddressSpace, ResourceBinding, StorageAccess};
use parking_lot::Mutex;

use crate::artifact::{Artifact, Cache};
use crate::errors::{chain, scoped, survive};
use crate::slices::see_the_whole;
use crate::{passthrough, turns};

/// A record comes to the host in one piece; lines beyond are counted as lost.
const MOST_PRINT_ROOM: u32 = 8 << 20;

/// A binding that the pipeline has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    /// Its place among a launch's bindings.
    pub(crate) index: usize,
    /// `@binding` in the pipeline.
    pub(crate) binding: u32,
    pub(crate) kind: BindingKind,
    /// The fewest bytes that must be bound.
    pub(crate) least: u64,
    /// Whether its offset is given with each launch rather than by the bind group.
    pub(crate) dynamic: bool,
}

/// The buffer that a kernel reports into.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordSlot {
    pub(crate) binding: u32,
    pub(crate) size: u64,
}

pub(crate) struct Kernel {
    pub(crate) id: u64,
    pub(crate) pipeline: wgpu::ComputePipeline,
    pub(crate) layout: wgpu::BindGroupLayout,
    pub(crate) slots: Vec<Slot>,
    pub(crate) record: Option<RecordSlot>,
    /// Where it is told which slice of the grid it is; `@binding` in the pipeline, behind all others.
    pub(crate) slice: Option<u32>,
    pub(crate) reports: Arc<Reports>,
    pub(crate) workgroup_memory: u64,
    /// What the driver made, until somebody asks for it.
    pub(crate) artifact: Mutex<Option<Vec<u8>>>,
}

/// What compiling needs to know of a device.
pub(crate) struct Compiler<'a> {
    pub(crate) device: &'a wgpu::Device,
    /// Uniform bindings that may have their offset given with each launch.
    pub(crate) dynamic_uniforms: u32,
    /// Whether launches may be sliced.
    pub(crate) sliced: bool,
    /// Whether its driver must not make a pipeline while it makes a device.
    pub(crate) beside: bool,
    pub(crate) artifact: Artifact<'a>,
}

impl Kernel {
    pub(crate) fn compile(compiler: &Compiler<'_>, id: u64, request: &CompileRequest<'_>) -> Result<Self, DeviceError> {
        on_large_stack(|| Self::compile_here(compiler, id, request))
    }

    fn compile_here(compiler: &Compiler<'_>, id: u64, request: &CompileRequest<'_>) -> Result<Self, DeviceError> {
        let entry = match request.source {
            CompileSource::Portable(entry) => entry,
            CompileSource::Native { source, interface } => {
                return passthrough::compile(compiler, id, request.label, source, interface);
            }
        };
        if request.strict {
            return Err(DeviceError::Unsupported("kernels with the same bits on every device"));
        }
        let print_room = request.print_room.min(MOST_PRINT_ROOM);
        let lowering = Lowering { bounds: request.bounds, deferred: false, print_room, names: None };
        let internal = |found: compute_hal::kernel::Diagnostics| DeviceError::Internal(found.text);
        let lowered = entry.lower(&lowering).map_err(internal)?;
        if let Some(function) = missing_function(lowered.module(), lowered.info(), lowered.index()) {
            return Err(refused(
                format!("`{function}` of f64 is not there in any API that wgpu reaches; compute it in f32"),
                true,
            ));
        }
        let lowered = lowered.cut(request.bounds != Bounds::Unchecked).map_err(internal)?;
        let reflection = entry.reflection();
        let mut module = lowered.module().clone();
        let entry_point = module.entry_points.swap_remove(lowered.index());
        let name = entry_point.name.clone();
        module.entry_points = vec![entry_point];
        compact(&mut module, KeepUnused::No);
        let record = lowered.reports().record();
        // Its offset is given with each slice.
        let sliced = compiler.sliced && compiler.dynamic_uniforms > 0;
        let dynamic_left = compiler.dynamic_uniforms - u32::from(sliced);
        let (slots, record) = bind(&mut module, reflection, record.map(|r| (r.group, r.binding, r.size.into())), dynamic_left)?;
        let slice = sliced.then(|| number(reflection.bindings.len() + 1)).transpose()?;
        if let Some(binding) = slice {
            see_the_whole(&mut module, binding)?;
        }
        let places = Places { slots: &slots, record, slice, immediate_size: reflection.immediate_size };
        let shader = |device: &wgpu::Device| {
            let shader =
                wgpu::ShaderModuleDescriptor { label: Some(request.label), source: wgpu::ShaderSource::Naga(Cow::Owned(module)) };
            // SAFETY: what is turned off is done by code of the kernel (`Lowered::cut`), or the caller vouches that it is not needed (`Unchecked`).
            unsafe { device.create_shader_module_trusted(shader, checks(request.bounds)) }
        };
        let Built { pipeline, layout, artifact } = build(compiler, request.label, shader, &name, &places)?;
        let reports = Arc::clone(lowered.reports());
        let (artifact, workgroup_memory) = (Mutex::new(artifact), reflection.workgroup_memory);
        Ok(Self { id, pipeline, layout, slots, record, slice, reports, workgroup_memory, artifact })
    }

    pub(crate) fn take_artifact(&self) -> Option<Vec<u8>> {
        self.artifact.lock().take()
    }

    pub(crate) fn facts(&self) -> KernelFacts {
        KernelFacts { registers: None, max_invocations: None, workgroup_memory: self.workgroup_memory, code_size: 0 }
    }
}

pub(crate) fn refused(log: String, refusal: bool) -> DeviceError {
    DeviceError::Compile { log, location: None, refusal }
}

/// A function of 64-bit floats that the kernel uses and no graphics API has: what drivers make of it is wrong without a word (KT-22).
fn missing_function(module: &naga::Module, info: &naga::valid::ModuleInfo, index: usize) -> Option<String> {
    use naga::MathFunction as M;
    let missing = |fun: M| {
        matches!(
            fun,
            M::Sin
                | M::Cos
                | M::Tan
                | M::Asin
                | M::Acos
                | M::Atan
                | M::Atan2
                | M::Sinh
                | M::Cosh
                | M::Tanh
                | M::Asinh
                | M::Acosh
                | M::Atanh
                | M::Exp
                | M::Exp2
                | M::Log
                | M::Log2
                | M::Pow
                | M::Radians
                | M::Degrees
        )
    };
    let entry = module.entry_points.get(index).map(|entry| (&entry.function, info.get_entry_point(index)));
    let functions = module.functions.iter().map(|(handle, function)| (function, &info[handle])).chain(entry);
    for (function, info) in functions {
        for (_, expression) in function.expressions.iter() {
            let naga::Expression::Math { fun, arg, .. } = expression else { continue };
            let scalar = info[*arg].ty.inner_with(&module.types).scalar();
            if missing(*fun) && scalar == Some(naga::Scalar::F64) {
                return Some(format!("{fun:?}").to_lowercase());
            }
        }
    }
    None
}

/// Gives every variable its place in the pipeline.
fn bind(
    module: &mut naga::Module,
    reflection: &Reflection,
    record: Option<(u32, u32, u64)>,
    dynamic_uniforms: u32,
) -> Result<(Vec<Slot>, Option<RecordSlot>), DeviceError> {
    let (mut slots, mut record_slot, mut dynamic_left) = (Vec::new(), None, dynamic_uniforms);
    for (_, variable) in module.global_variables.iter_mut() {
        if let AddressSpace::Storage { access } = &mut variable.space {
            *access |= StorageAccess::LOAD | StorageAccess::STORE;
        }
        let Some(place) = variable.binding else { continue };
        let binding =
            if let Some((_, _, size)) = record.filter(|(group, slot, _)| (*group, *slot) == (place.group, place.binding)) {
                // Behind all others.
                let binding = number(reflection.bindings.len())?;
                record_slot = Some(RecordSlot { binding, size });
                binding
            } else {
                let Some(index) = reflection.find(place.group, place.binding) else {
                    return Err(DeviceError::Internal(format!(
                        "a variable at group {} binding {} is unknown",
                        place.group, place.binding
                    )));
                };
                let Some(info) = reflection.bindings.get(index) else { continue };
                let dynamic = info.kind == BindingKind::Uniform && dynamic_left > 0;
                dynamic_left -= u32::from(dynamic);
                let binding = number(index)?;
                slots.push(Slot { index, binding, kind: info.kind, least: info.min_size, dynamic });
                binding
            };
        variable.binding = Some(ResourceBinding { group: 0, binding });
    }
    // Offsets are given in the order of the bindings.
    slots.sort_unstable_by_key(|slot| slot.binding);
    Ok((slots, record_slot))
}

pub(crate) fn number(index: usize) -> Result<u32, DeviceError> {
    u32::try_from(index).map_err(|_| DeviceError::Internal("more bindings than can be numbered".into()))
}

/// What a pipeline is given.
pub(crate) struct Places<'a> {
    pub(crate) slots: &'a [Slot],
    pub(crate) record: Option<RecordSlot>,
    pub(crate) slice: Option<u32>,
    pub(crate) immediate_size: u32,
}

/// What was made of a shader.
pub(crate) struct Built {
    pub(crate) pipeline: wgpu::ComputePipeline,
    pub(crate) layout: wgpu::BindGroupLayout,
    pub(crate) artifact: Option<Vec<u8>>,
}

/// A pipeline of a shader that is made in between.
pub(crate) fn build(
    compiler: &Compiler<'_>,
    label: &str,
    shader: impl FnOnce(&wgpu::Device) -> wgpu::ShaderModule,
    name: &str,
    places: &Places<'_>,
) -> Result<Built, DeviceError> {
    let device = compiler.device;
    let cache = guarded(|| Cache::open(device, compiler.artifact))?;
    if matches!(compiler.artifact, Artifact::Given(_)) && cache.as_ref().is_none_or(|cache| cache.data().is_none()) {
        return Err(DeviceError::Unsupported("a pipeline of an earlier time that the driver takes nothing of"));
    }
    let cache = cache.as_ref();
    let _turn = compiler.beside.then(turns::beside_others);
    let made = guarded(|| build_in_scope(device, Some(label), shader, name, places, cache))?;
    let artifact = cache.filter(|_| matches!(compiler.artifact, Artifact::Wanted)).and_then(Cache::data);
    Ok(Built { artifact, ..made })
}

/// Runs `work`, and tells what it did wrong as what became of compiling.
fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, DeviceError> {
    let made = survive(|| scoped(work));
    let made = made.map_err(|panic| refused(format!("wgpu panicked: {panic}"), false))?;
    made.map_err(|error| match error {
        wgpu::Error::OutOfMemory { .. } => DeviceError::OutOfMemory { asked: 0, free: 0 },
        other => refused(chain(&other), matches!(other, wgpu::Error::Validation { .. })),
    })
}

fn build_in_scope(
    device: &wgpu::Device,
    label: Option<&str>,
    shader: impl FnOnce(&wgpu::Device) -> wgpu::ShaderModule,
    name: &str,
    places: &Places<'_>,
    cache: Option<&Cache>,
) -> Built {
    let shader = shader(device);
    let entry = |binding, dynamic, storage| wgpu::BindGroupLayoutEntry {
        binding,
        visibility: wgpu::ShaderStages::COMPUTE,
        ty: wgpu::BindingType::Buffer {
            ty: if storage { wgpu::BufferBindingType::Storage { read_only: false } } else { wgpu::BufferBindingType::Uniform },
            has_dynamic_offset: dynamic,
            min_binding_size: None,
        },
        count: None,
    };
    let mut entries: Vec<_> =
        places.slots.iter().map(|slot| entry(slot.binding, slot.dynamic, slot.kind == BindingKind::Storage)).collect();
    entries.extend(places.record.map(|record| entry(record.binding, false, true)));
    entries.extend(places.slice.map(|binding| entry(binding, true, false)));
    let layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label, entries: &entries });
    let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label,
        bind_group_layouts: &[Some(&layout)],
        immediate_size: places.immediate_size.next_multiple_of(4),
    });
    let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label,
        layout: Some(&pipeline_layout),
        module: &shader,
        entry_point: Some(name),
        compilation_options: wgpu::PipelineCompilationOptions { constants: &[], zero_initialize_workgroup_memory: true },
        cache: cache.map(|cache| &cache.native),
    });
    Built { pipeline, layout, artifact: None }
}

/// What wgpu adds to a kernel. Divisions have their answer in every corner whatever the bounds. That loops end is assumed by some compilers, which then drop checks
/// behind endless ones (KT-23).
fn checks(bounds: Bounds) -> wgpu::ShaderRuntimeChecks {
    let checked = bounds != Bounds::Unchecked;
    let mut checks = wgpu::ShaderRuntimeChecks::checked();
    checks.bounds_checks = checked;
    checks.force_loop_bounding = checked;
    checks
}
