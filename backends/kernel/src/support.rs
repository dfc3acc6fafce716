//! What this library translates of WGSL, and the refusal of the rest with the construct and its place. Runs before validation, so that a reader
//! is told "not supported yet" rather than which switch of the front end is off.
//!
//! The list for readers is in `docs/kernels.md`; change both together.

use naga::valid::Capabilities;
use naga::{AddressSpace, BuiltIn, Expression, Handle, ShaderStage, Span, Statement, Type, TypeInner};

use crate::diagnostics::Finding;
use crate::scan;

/// What the validator may let through.
pub(crate) const CAPABILITIES: Capabilities = Capabilities::IMMEDIATES
    .union(Capabilities::SHADER_FLOAT16_IN_FLOAT32)
    .union(Capabilities::SHADER_FLOAT16)
    .union(Capabilities::FLOAT64)
    .union(Capabilities::SHADER_INT16)
    .union(Capabilities::SHADER_INT64)
    .union(Capabilities::SHADER_INT64_ATOMIC_MIN_MAX)
    .union(Capabilities::SHADER_INT64_ATOMIC_ALL_OPS)
    .union(Capabilities::SHADER_FLOAT32_ATOMIC)
    .union(Capabilities::SUBGROUP)
    .union(Capabilities::SUBGROUP_BARRIER);

/// Bytes of an immediate block: as many as every device has, and as the validator can keep account of without an overflow.
const MAX_IMMEDIATES: u32 = 256;

/// The size of an immediate block that is over the bound.
fn over_immediates(module: &naga::Module, variable: &naga::GlobalVariable) -> Option<u32> {
    let size = || module.types[variable.ty].inner.try_size(module.to_ctx()).unwrap_or(u32::MAX);
    (variable.space == AddressSpace::Immediate).then(size).filter(|size| *size > MAX_IMMEDIATES)
}

/// Whether the validator may see the module at all.
pub(crate) fn can_be_validated(module: &naga::Module) -> bool {
    module.global_variables.iter().all(|(_, variable)| over_immediates(module, variable).is_none())
}

/// Everything in `module` that is not supported.
pub(crate) fn check(module: &naga::Module, source: &str) -> Vec<Finding> {
    let mut check = Check { module, source, findings: Vec::new() };
    for (handle, ty) in module.types.iter() {
        check.ty(&ty.inner, module.types.get_span(handle));
    }
    for (handle, variable) in module.global_variables.iter() {
        check.global(variable, module.global_variables.get_span(handle));
    }
    for (handle, expression) in module.global_expressions.iter() {
        check.expression(expression, module.global_expressions.get_span(handle));
    }
    for (_, function) in module.functions.iter() {
        check.function(function);
    }
    for entry in &module.entry_points {
        check.entry(entry);
    }
    check.findings.dedup_by(|a, b| a.message == b.message && a.at == b.at);
    check.findings
}

/// The construct that a word of WGSL stands for, when it is one that is not supported.
pub(crate) fn unsupported_word(word: &str) -> Option<&'static str> {
    Some(match word {
        "sampler" | "sampler_comparison" => "samplers",
        "ray_query" | "acceleration_structure" | "wgpu_ray_query" => "ray queries",
        "binding_array" | "wgpu_binding_array" => "arrays of bindings",
        "wgpu_cooperative_matrix" => "cooperative matrices",
        _ if word.starts_with("texture_") => "textures",
        _ if word.starts_with("coop_mat") || word.starts_with("coopLoad") => "cooperative matrices",
        _ => return None,
    })
}

pub(crate) fn not_supported(construct: &str) -> String {
    format!("{construct} are not supported yet")
}

struct Check<'a> {
    module: &'a naga::Module,
    source: &'a str,
    findings: Vec<Finding>,
}

impl Check<'_> {
    fn refuse(&mut self, construct: &str, span: Span) {
        // Types that are spelled without a declaration have no place of their own in the IR: the first word that stands for it is close enough.
        let at = span.to_range().or_else(|| scan::find_word(self.source, |word| unsupported_word(word) == Some(construct)));
        self.findings.push(Finding::new(not_supported(construct), at));
    }

    fn ty(&mut self, inner: &TypeInner, span: Span) {
        match inner {
            TypeInner::Scalar(_)
            | TypeInner::Vector { .. }
            | TypeInner::Matrix { .. }
            | TypeInner::Atomic(_)
            | TypeInner::ValuePointer { .. }
            | TypeInner::Array { .. }
            | TypeInner::Struct { .. }
            | TypeInner::Pointer { .. } => {}
            TypeInner::Image { .. } => self.refuse("textures", span),
            TypeInner::Sampler { .. } => self.refuse("samplers", span),
            TypeInner::AccelerationStructure { .. } | TypeInner::RayQuery { .. } => self.refuse("ray queries", span),
            TypeInner::BindingArray { .. } => self.refuse("arrays of bindings", span),
            TypeInner::CooperativeMatrix { .. } => self.refuse("cooperative matrices", span),
        }
    }

    fn global(&mut self, variable: &naga::GlobalVariable, span: Span) {
        match variable.space {
            AddressSpace::Private
            | AddressSpace::WorkGroup
            | AddressSpace::Uniform
            | AddressSpace::Storage { .. }
            | AddressSpace::Immediate
            | AddressSpace::Function
            // Textures and samplers, refused by their types.
            | AddressSpace::Handle => {}
            AddressSpace::TaskPayload | AddressSpace::RayPayload | AddressSpace::IncomingRayPayload => {
                self.refuse("variables of mesh and ray stages", span);
            }
        }
        if let Some(size) = over_immediates(self.module, variable) {
            let message = format!("this immediate block has {size} bytes; at most {MAX_IMMEDIATES} are allowed");
            self.findings.push(Finding::span(message, span));
        }
        if !variable.memory_decorations.is_empty() {
            self.refuse("coherent and volatile variables", span);
        }
    }

    fn entry(&mut self, entry: &naga::EntryPoint) {
        if entry.stage != ShaderStage::Compute {
            let at = scan::find_entry(self.source, &entry.name);
            let message = format!("entry point `{}` is not a compute entry point; only `@compute` is supported", entry.name);
            self.findings.push(Finding::new(message, at));
        }
        for argument in &entry.function.arguments {
            self.builtins(argument.binding.as_ref(), argument.ty);
        }
        self.function(&entry.function);
    }

    /// An argument of an entry point is a builtin or a structure of them.
    fn builtins(&mut self, binding: Option<&naga::Binding>, ty: Handle<Type>) {
        self.builtin(binding, self.module.types.get_span(ty));
        if let TypeInner::Struct { members, .. } = &self.module.types[ty].inner {
            for member in members {
                self.builtin(member.binding.as_ref(), self.module.types.get_span(ty));
            }
        }
    }

    fn builtin(&mut self, binding: Option<&naga::Binding>, span: Span) {
        match binding {
            Some(naga::Binding::BuiltIn(
                BuiltIn::GlobalInvocationId
                | BuiltIn::LocalInvocationId
                | BuiltIn::LocalInvocationIndex
                | BuiltIn::WorkGroupId
                | BuiltIn::NumWorkGroups
                | BuiltIn::NumSubgroups
                | BuiltIn::SubgroupId
                | BuiltIn::SubgroupSize
                | BuiltIn::SubgroupInvocationId,
            ))
            | None => {}
            Some(_) => self.refuse("builtins and locations of stages other than compute", span),
        }
    }

    fn function(&mut self, function: &naga::Function) {
        for (handle, expression) in function.expressions.iter() {
            self.expression(expression, function.expressions.get_span(handle));
        }
        self.block(&function.body);
    }

    fn expression(&mut self, expression: &Expression, span: Span) {
        match expression {
            Expression::ImageSample { .. } | Expression::ImageLoad { .. } | Expression::ImageQuery { .. } => {
                self.refuse("textures", span)
            }
            Expression::Derivative { .. } => self.refuse("derivatives", span),
            Expression::RayQueryVertexPositions { .. }
            | Expression::RayQueryProceedResult
            | Expression::RayQueryGetIntersection { .. } => self.refuse("ray queries", span),
            Expression::CooperativeLoad { .. } | Expression::CooperativeMultiplyAdd { .. } => {
                self.refuse("cooperative matrices", span)
            }
            _ => {}
        }
    }

    fn block(&mut self, block: &naga::Block) {
        for (statement, &span) in block.span_iter() {
            self.statement(statement, span);
        }
    }

    fn statement(&mut self, statement: &Statement, span: Span) {
        match statement {
            Statement::Block(block) => self.block(block),
            Statement::If { accept, reject, .. } => {
                self.block(accept);
                self.block(reject);
            }
            Statement::Switch { cases, .. } => cases.iter().for_each(|case| self.block(&case.body)),
            Statement::Loop { body, continuing, .. } => {
                self.block(body);
                self.block(continuing);
            }
            Statement::Kill => self.refuse("`discard` statements", span),
            Statement::ImageStore { .. } | Statement::ImageAtomic { .. } => self.refuse("textures", span),
            Statement::RayQuery { .. } | Statement::RayPipelineFunction(_) => self.refuse("ray queries", span),
            Statement::CooperativeStore { .. } => self.refuse("cooperative matrices", span),
            Statement::ControlBarrier(flags) | Statement::MemoryBarrier(flags) if flags.contains(naga::Barrier::TEXTURE) => {
                self.refuse("textures", span);
            }
            _ => {}
        }
    }
}
