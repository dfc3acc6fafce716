//! Variables of the module: how a kernel gets at them, and what a launch has to pass. No code of functions is made here.

use std::collections::HashMap;
use std::fmt::Write as _;

use naga::{AddressSpace, GlobalVariable, Handle, StorageAccess, TypeInner};

use super::types::{self, Types};
use super::{Options, Refusal, Result, constants};
use crate::lower::Lowered;

/// The structure that a kernel is launched with, by value. Bytes that are in no field may be anything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parameters {
    /// In bytes, a multiple of 16.
    pub size: u32,
    /// By offset.
    pub fields: Vec<Field>,
}

/// A field of [`Parameters`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// In bytes from the start of the structure.
    pub offset: u32,
    /// What has to be there.
    pub parameter: Parameter,
}

/// What a field of [`Parameters`] holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// The device address where the bytes of a binding begin, in 8 bytes. `binding` is its index in the reflection.
    Address {
        /// Index in the reflection's bindings.
        binding: usize,
    },
    /// How many elements the runtime-sized array of a binding has, in 4 bytes: `(length of the view - start) / stride`, at most 2^32 - 1.
    Elements {
        /// Index in the reflection's bindings.
        binding: usize,
        /// Where the array begins in the binding.
        start: u32,
        /// Bytes from element to element.
        stride: u32,
    },
    /// The device address of the record, in 8 bytes.
    Record,
    /// What stops a launch of a kernel that is [`super::Options::cancellable`], in [`TIME_LIMIT_SIZE`] bytes: the device addresses of the word where the queue's
    /// launches note when they began and of the word that is set when this one is stopped, the limit in 256 ticks of the device's clock, each in 8 bytes,
    /// and in 2 bytes a number that is another than that of the launch before on the queue. The first word is of the queue's alone, and launches in which
    /// it is used follow one another.
    TimeLimit,
    /// Of a kernel that is [`super::Options::indirect`], in [`INDIRECT_SIZE`] bytes: the device addresses of the three counts, and of four words that are zeros, in
    /// 8 bytes each, then how many workgroups are allowed on each axis, in 4 bytes each. Counts above that run nothing: the first of the four words becomes 1,
    /// the others the counts.
    Indirect,
    /// The immediate block, in so many bytes.
    Immediates {
        /// Its size.
        size: u32,
    },
    /// The inline bytes of a binding themselves. In no text of ours: native kernels have such parameters.
    Value {
        /// Index among the launch's bindings.
        binding: usize,
        /// Its size.
        size: u32,
    },
    /// A tensor map of a binding. In no text of ours either.
    TensorMap {
        /// Index among the launch's bindings.
        binding: usize,
    },
}

/// Bytes of [`Parameter::TimeLimit`].
pub const TIME_LIMIT_SIZE: u32 = 32;

/// Bytes of [`Parameter::Indirect`].
pub const INDIRECT_SIZE: u32 = 32;

/// A variable as the code of functions sees it.
#[derive(Clone, Debug)]
pub(super) struct Variable {
    /// An expression for the variable itself; for a runtime-sized array, for a pointer to its first element.
    pub(super) text: String,
    /// Whether nobody can write it while the kernel runs.
    pub(super) constant: bool,
    /// Whether its pointers are to constants in the text.
    pub(super) read_only: bool,
    /// An expression for the length of its runtime-sized array.
    pub(super) length: Option<String>,
}

/// All variables that the entry point uses.
pub(super) struct Globals<'a> {
    types: &'a Types<'a>,
    variables: HashMap<Handle<GlobalVariable>, Variable>,
    /// C++ that declares them.
    pub(super) definitions: String,
    pub(super) parameters: Parameters,
    /// Initial values of private variables, one after the other; empty when there are none.
    pub(super) private: Vec<String>,
    /// 16 bytes each.
    pub(super) workgroup_blocks: u32,
    dynamic: bool,
}

impl<'a> Globals<'a> {
    pub(super) fn new(lowered: &Lowered, types: &'a Types<'a>, options: &Options<'_>) -> Result<Self> {
        let module = lowered.module();
        let uses = lowered.info().get_entry_point(lowered.index());
        let mut used: Vec<_> = module.global_variables.iter().filter(|(handle, _)| !uses[*handle].is_empty()).collect();
        used.sort_by_key(|(handle, variable)| (variable.binding, handle.index()));
        let mut globals = Self {
            types,
            variables: HashMap::new(),
            definitions: String::new(),
            parameters: Parameters::default(),
            private: Vec::new(),
            workgroup_blocks: 0,
            dynamic: false,
        };
        globals.parameters(lowered, &used, options)?;
        globals.workgroup(&used, options)?;
        globals.private(lowered, &used)?;
        Ok(globals)
    }

    pub(super) fn variable(&self, handle: Handle<GlobalVariable>) -> Result<&Variable> {
        self.variables.get(&handle).ok_or_else(|| Refusal::bug("a variable that is not used"))
    }

    /// Bytes of workgroup memory that the launch asks for.
    pub(super) fn dynamic_memory(&self) -> u32 {
        if self.dynamic { self.workgroup_blocks * 16 } else { 0 }
    }

    fn parameters(
        &mut self,
        lowered: &Lowered,
        used: &[(Handle<GlobalVariable>, &GlobalVariable)],
        options: &Options<'_>,
    ) -> Result<()> {
        let mut writer = ParameterWriter::default();
        for (handle, variable) in used {
            let (read_only, uniform) = match variable.space {
                AddressSpace::Uniform => (true, true),
                AddressSpace::Storage { access } => (!access.contains(StorageAccess::STORE), false),
                _ => continue,
            };
            let name = types::name("b", handle.index(), variable.name.as_deref());
            let record = lowered.record_variable() == Some(*handle);
            let parameter = if record { Parameter::Record } else { Parameter::Address { binding: binding(lowered, variable)? } };
            let target = self.target(variable)?;
            let qualifier = if read_only { "const " } else { "" };
            writer.add(&format!("{qualifier}{target}* {name};"), &name, 8, 8, parameter);
            let endless =
                matches!(self.types.inner(variable.ty), TypeInner::Array { .. }) && self.types.is_endless(variable.ty)?;
            let text = if endless { format!("c.{name}") } else { format!("(*c.{name})") };
            let constant = uniform || read_only && !record && never_written(lowered, variable);
            self.variables.insert(*handle, Variable { text, constant, read_only, length: None });
        }
        for (handle, variable) in used {
            if !matches!(variable.space, AddressSpace::Storage { .. }) || lowered.record_variable() == Some(*handle) {
                continue;
            }
            let binding = binding(lowered, variable)?;
            let info =
                lowered.reflection().bindings.get(binding).ok_or_else(|| Refusal::bug("a binding that is not reflected"))?;
            if info.tail_stride > 0 {
                let name = types::name("n", handle.index(), variable.name.as_deref());
                let parameter = Parameter::Elements { binding, start: info.tail_offset, stride: info.tail_stride };
                writer.add(&format!("u32 {name};"), &name, 4, 4, parameter);
                if let Some(variable) = self.variables.get_mut(handle) {
                    variable.length = Some(format!("c.{name}"));
                }
            }
        }
        if options.cancellable {
            writer.add("TimeLimit limit;", "limit", TIME_LIMIT_SIZE, 8, Parameter::TimeLimit);
        }
        if options.indirect {
            writer.add("Indirect grid;", "grid", INDIRECT_SIZE, 8, Parameter::Indirect);
        }
        for (handle, variable) in used.iter().filter(|(_, variable)| variable.space == AddressSpace::Immediate) {
            let (size, align) = self.types.size(variable.ty)?;
            let name = types::name("i", handle.index(), variable.name.as_deref());
            let declaration = format!("{} {name};", self.types.name(variable.ty)?);
            writer.add(&declaration, &name, size, align, Parameter::Immediates { size });
            self.variables
                .insert(*handle, Variable { text: format!("c.{name}"), constant: false, read_only: true, length: None });
        }
        self.definitions.push_str(&writer.finish());
        if writer.parameters.size > options.dialect.parameter_size {
            return Err(Refusal::limit(format!(
                "more bindings than fit into {} bytes of parameters",
                options.dialect.parameter_size
            )));
        }
        self.parameters = writer.parameters;
        Ok(())
    }

    /// What a binding's address leads to.
    fn target(&self, variable: &GlobalVariable) -> Result<String> {
        match self.types.inner(variable.ty) {
            TypeInner::Array { .. } => {
                let elements = self.types.elements(variable.ty)?;
                Ok(if elements.count.is_none() { elements.cell } else { self.types.name(variable.ty)?.to_owned() })
            }
            _ => Ok(self.types.name(variable.ty)?.to_owned()),
        }
    }

    fn workgroup(&mut self, used: &[(Handle<GlobalVariable>, &GlobalVariable)], options: &Options<'_>) -> Result<()> {
        let mut fields = String::new();
        let mut size = 0_u64;
        let mut names = Vec::new();
        for (handle, variable) in used.iter().filter(|(_, variable)| variable.space == AddressSpace::WorkGroup) {
            let name = types::name("w", handle.index(), variable.name.as_deref());
            let (bytes, align) = self.types.size(variable.ty)?;
            // Aligned like this, neighbours are loaded together.
            let align = align.max(16);
            size = size.next_multiple_of(align.into()) + u64::from(bytes);
            let _ = write!(fields, " alignas({align}) {} {name};", self.types.name(variable.ty)?);
            names.push((*handle, name));
        }
        if names.is_empty() {
            return Ok(());
        }
        // A member may be aligned to 32, and so the whole.
        let blocks =
            u32::try_from(size.next_multiple_of(32) / 16).map_err(|_| Refusal::limit("more than 64 GiB of workgroup memory"))?;
        self.workgroup_blocks = blocks;
        self.dynamic = size.next_multiple_of(32) > u64::from(options.dialect.declared_memory);
        let base = if self.dynamic { "w[0]" } else { "w" };
        let declaration = if self.dynamic { "C_DYNAMIC Workgroup w[];" } else { "C_SHARED Workgroup w;" };
        let _ = writeln!(self.definitions, "struct alignas(32) Workgroup {{{fields} }};");
        let _ =
            writeln!(self.definitions, "static_assert(sizeof(Workgroup) == {}, \"size of Workgroup\");", u64::from(blocks) * 16);
        let _ = writeln!(self.definitions, "{declaration}");
        for (handle, name) in names {
            let text = format!("{base}.{name}");
            self.variables.insert(handle, Variable { text, constant: false, read_only: false, length: None });
        }
        Ok(())
    }

    fn private(&mut self, lowered: &Lowered, used: &[(Handle<GlobalVariable>, &GlobalVariable)]) -> Result<()> {
        let module = lowered.module();
        let mut fields = String::new();
        for (handle, variable) in used.iter().filter(|(_, variable)| variable.space == AddressSpace::Private) {
            let name = types::name("p", handle.index(), variable.name.as_deref());
            let ty = self.types.name(variable.ty)?;
            let _ = write!(fields, " {ty} {name};");
            self.private.push(match variable.init {
                Some(init) => constants::expression(module, self.types, &module.global_expressions, init)?,
                None => format!("{ty}{{}}"),
            });
            let text = format!("p.{name}");
            self.variables.insert(*handle, Variable { text, constant: false, read_only: false, length: None });
        }
        if !self.private.is_empty() {
            let _ = writeln!(self.definitions, "struct Private {{{fields} }};");
        }
        Ok(())
    }
}

/// The index of a variable's binding in the reflection.
fn binding(lowered: &Lowered, variable: &GlobalVariable) -> Result<usize> {
    let place = variable.binding.ok_or_else(|| Refusal::bug("a binding without a place"))?;
    lowered.reflection().find(place.group, place.binding).ok_or_else(|| Refusal::bug("a binding that is not reflected"))
}

/// Launches keep what is read apart from what is written, so nobody writes what the kernel itself does not.
fn never_written(lowered: &Lowered, variable: &GlobalVariable) -> bool {
    let Ok(binding) = binding(lowered, variable) else { return false };
    lowered.reflection().bindings.get(binding).is_some_and(|info| !info.access.writes())
}

/// Lays the parameters out.
#[derive(Default)]
struct ParameterWriter {
    fields: String,
    asserts: String,
    align: u32,
    parameters: Parameters,
}

impl ParameterWriter {
    fn add(&mut self, declaration: &str, name: &str, size: u32, align: u32, parameter: Parameter) {
        let offset = self.parameters.size.next_multiple_of(align);
        let _ = write!(self.fields, " {declaration}");
        let _ = writeln!(self.asserts, "static_assert(C_OFFSET(Parameters, {name}) == {offset}, \"offset of {name}\");");
        self.align = self.align.max(align);
        self.parameters.fields.push(Field { offset, parameter });
        self.parameters.size = offset.saturating_add(size);
    }

    fn finish(&mut self) -> String {
        // A structure of nothing has a size all the same.
        let align = self.align.max(16);
        let size = self.parameters.size.max(1).next_multiple_of(align);
        self.parameters.size = size;
        let fields = if self.fields.is_empty() { " u32 nothing;" } else { &self.fields };
        let assert = format!("static_assert(sizeof(Parameters) == {size}, \"size of the parameters\");");
        format!("struct alignas({align}) Parameters {{{fields} }};\n{}{assert}\n", self.asserts)
    }
}
