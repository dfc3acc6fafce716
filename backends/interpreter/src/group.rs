//! Grids and workgroups: which invocations there are, what they share, and how they meet at barriers.

use compute_kernel::EntryPoint;
use naga::{AddressSpace, Binding, BuiltIn, Function, FunctionArgument, Module, TypeInner};

use crate::invocation::{Halt, Invocation};
use crate::memory::{self, Bytes};
use crate::scalar::Scalar;
use crate::value::Value;
use crate::{Launch, Outcome, Result, Stop, invalid, unsupported};

/// What invocations share. Memories are by the index of the global variable; those that are not of that kind are empty.
pub(crate) struct Shared {
    pub(crate) buffers: Vec<Bytes>,
    pub(crate) workgroup: Vec<Bytes>,
    pub(crate) out_of_range: bool,
    steps: u64,
    most: u64,
}

impl Shared {
    pub(crate) fn step(&mut self) -> Result<()> {
        self.steps += 1;
        if self.steps > self.most { Err(Stop::Steps) } else { Ok(()) }
    }
}

/// Who an invocation is.
pub(crate) struct Ids {
    grid: [u32; 3],
    size: [u32; 3],
    group: [u32; 3],
    local: [u32; 3],
}

impl Ids {
    /// An argument of an entry point: a builtin, or a structure of them.
    pub(crate) fn argument(&self, module: &Module, argument: &FunctionArgument) -> Result<Value> {
        match (&argument.binding, &module.types[argument.ty].inner) {
            (Some(Binding::BuiltIn(builtin)), _) => self.builtin(*builtin),
            (None, TypeInner::Struct { members, .. }) => {
                let member = |m: &naga::StructMember| match &m.binding {
                    Some(Binding::BuiltIn(builtin)) => self.builtin(*builtin),
                    other => unsupported(other),
                };
                members.iter().map(member).collect::<Result<Vec<_>>>().map(|v| v.into_iter().collect())
            }
            other => unsupported(other),
        }
    }

    fn builtin(&self, builtin: BuiltIn) -> Result<Value> {
        let vector = |v: [u32; 3]| v.into_iter().map(Scalar::u32).collect();
        let [x, y, z] = self.local;
        Ok(match builtin {
            BuiltIn::GlobalInvocationId => {
                vector([0, 1, 2].map(|i| self.group[i].wrapping_mul(self.size[i]).wrapping_add(self.local[i])))
            }
            BuiltIn::LocalInvocationId => vector(self.local),
            BuiltIn::WorkGroupId => vector(self.group),
            BuiltIn::NumWorkGroups => vector(self.grid),
            BuiltIn::LocalInvocationIndex => Scalar::u32(x + self.size[0] * (y + self.size[1] * z)).into(),
            other => return unsupported(other),
        })
    }
}

/// All places of a box, x fastest.
fn places(bounds: [u32; 3], reversed: bool) -> Vec<[u32; 3]> {
    let [width, height, depth] = bounds;
    let mut places: Vec<_> = (0..depth).flat_map(|z| (0..height).flat_map(move |y| (0..width).map(move |x| [x, y, z]))).collect();
    if reversed {
        places.reverse();
    }
    places
}

pub(crate) fn run(entry: &EntryPoint, module: &Module, launch: Launch<'_>) -> Result<Outcome> {
    let Some(function) = module.entry_points.iter().find(|e| e.name == entry.reflection().entry) else {
        return invalid("a module without the entry point");
    };
    let mut shared = Shared { buffers: Vec::new(), workgroup: Vec::new(), out_of_range: false, steps: 0, most: launch.steps };
    let mut given: Vec<Option<Bytes>> = launch.bindings.into_iter().map(|b| Some(Bytes::new(b))).collect();
    for (_, variable) in module.global_variables.iter() {
        let bytes = match (&variable.space, &variable.binding) {
            (AddressSpace::Immediate, _) => {
                let mut bytes = launch.immediates.to_vec();
                bytes.resize(bytes.len().max(memory::size(module, variable.ty)? as usize), 0);
                Bytes::new(bytes)
            }
            (_, Some(binding)) => {
                let found = entry.reflection().find(binding.group, binding.binding);
                found.and_then(|i| given.get_mut(i)).and_then(Option::take).unwrap_or_default()
            }
            _ => Bytes::default(),
        };
        shared.buffers.push(bytes);
    }
    for group in places(launch.grid, launch.reversed) {
        let place = Place { size: entry.reflection().workgroup_size, grid: launch.grid, group };
        workgroup((module, &function.function), &mut shared, place, launch.reversed)?;
    }
    for ((_, variable), bytes) in module.global_variables.iter().zip(shared.buffers) {
        let found = variable.binding.as_ref().and_then(|b| entry.reflection().find(b.group, b.binding));
        if let Some(slot @ None) = found.and_then(|i| given.get_mut(i)) {
            *slot = Some(bytes);
        }
    }
    let bindings = given.into_iter().map(Option::unwrap_or_default).collect();
    Ok(Outcome { bindings, out_of_range: shared.out_of_range, steps: shared.steps })
}

/// Which workgroup of which grid.
struct Place {
    size: [u32; 3],
    grid: [u32; 3],
    group: [u32; 3],
}

fn workgroup((module, function): (&Module, &Function), shared: &mut Shared, place: Place, reversed: bool) -> Result<()> {
    let Place { size, grid, group } = place;
    shared.workgroup.clear();
    for (_, variable) in module.global_variables.iter() {
        let bytes = if variable.space == AddressSpace::WorkGroup { memory::size(module, variable.ty)? } else { 0 };
        shared.workgroup.push(Bytes::zeroed(bytes));
    }
    let mut invocations = Vec::new();
    for local in places(size, reversed) {
        let ids = Ids { grid, size, group, local };
        invocations.push(Invocation::new(module, function, &ids, shared)?);
    }
    loop {
        let halts = invocations.iter_mut().map(|i| i.run(shared)).collect::<Result<Vec<_>>>()?;
        if meet(shared, &mut invocations, &halts)? {
            return Ok(());
        }
    }
}

/// Where all invocations stand must be one place. True when it is the end.
fn meet(shared: &mut Shared, invocations: &mut [Invocation<'_>], halts: &[Halt<'_>]) -> Result<bool> {
    let Some(first) = halts.first() else { return Ok(true) };
    for halt in halts {
        match (first, halt) {
            (Halt::Done, Halt::Done) => {}
            (Halt::Barrier(a), Halt::Barrier(b)) if std::ptr::eq(*a, *b) => {}
            (Halt::UniformLoad(a, from, _), Halt::UniformLoad(b, also, _)) if std::ptr::eq(*a, *b) => {
                if from != also {
                    return Err(Stop::Barrier("a uniform load from several places".into()));
                }
            }
            _ => return Err(Stop::Barrier("not all invocations come to the same barrier".into())),
        }
    }
    match first {
        Halt::Done => Ok(true),
        Halt::Barrier(_) => Ok(false),
        Halt::UniformLoad(_, pointer, result) => {
            for invocation in invocations {
                let value = invocation.load(shared, *pointer)?;
                if matches!(value, Value::Pointer(_)) {
                    return invalid("a uniform load of a pointer");
                }
                invocation.set(*result, value)?;
            }
            Ok(false)
        }
    }
}
