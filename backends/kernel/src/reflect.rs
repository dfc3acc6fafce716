//! L10: from a resolved entry point to the plain data that describes it.

use naga::proc::Layouter;
use naga::{AddressSpace, Expression, GlobalVariable, Handle, Module, ScalarKind, Type, TypeInner};

use crate::access::Uses;
use crate::diagnostics::Finding;
use crate::reflection::{Access, BindingInfo, BindingKind, Number, OverrideInfo, OverrideType};

/// Sizes and alignments of all types.
pub(crate) struct Layout<'a> {
    module: &'a Module,
    layouter: Layouter,
}

impl<'a> Layout<'a> {
    pub(crate) fn of(module: &'a Module) -> Result<Self, Finding> {
        let mut layouter = Layouter::default();
        let too_large = |e: naga::proc::LayoutError| {
            Finding::span(format!("this type is too large: {}", e.inner), module.types.get_span(e.ty))
        };
        layouter.update(module.to_ctx()).map_err(too_large)?;
        Ok(Self { module, layouter })
    }

    /// (size, alignment) in bytes.
    pub(crate) fn get(&self, ty: Handle<Type>) -> (u64, u32) {
        let layout = self.layouter[ty];
        (u64::from(layout.size), layout.alignment * 1u32)
    }

    /// Stride and offset of a runtime-sized tail, zeros when there is none.
    fn tail(&self, ty: Handle<Type>) -> (u32, u32) {
        match &self.module.types[ty].inner {
            TypeInner::Array { size: naga::ArraySize::Dynamic, stride, .. } => (*stride, 0),
            TypeInner::Struct { members, .. } => members.last().map_or((0, 0), |last| match self.module.types[last.ty].inner {
                TypeInner::Array { size: naga::ArraySize::Dynamic, stride, .. } => (stride, last.offset),
                _ => (0, 0),
            }),
            _ => (0, 0),
        }
    }

    /// Bytes of workgroup memory that the used variables take, in the order of the source.
    pub(crate) fn workgroup_memory(&self, uses: &Uses) -> u64 {
        let used =
            self.module.global_variables.iter().filter(|(handle, v)| v.space == AddressSpace::WorkGroup && uses.uses(*handle));
        used.fold(0u64, |end, (_, variable)| {
            let (size, alignment) = self.get(variable.ty);
            end.next_multiple_of(u64::from(alignment.max(1))).saturating_add(size)
        })
    }

    /// Bytes of the immediate block that is used.
    pub(crate) fn immediate_size(&self, uses: &Uses) -> u32 {
        let used =
            self.module.global_variables.iter().find(|(handle, v)| v.space == AddressSpace::Immediate && uses.uses(*handle));
        used.map_or(0, |(_, variable)| self.layouter[variable.ty].size)
    }

    /// One storage or uniform variable; `None` for anything else.
    fn binding(&self, variable: &GlobalVariable, access: Access) -> Option<BindingInfo> {
        let kind = match variable.space {
            AddressSpace::Storage { .. } => BindingKind::Storage,
            AddressSpace::Uniform => BindingKind::Uniform,
            _ => return None,
        };
        let place = variable.binding?;
        let (min_size, alignment) = self.get(variable.ty);
        let (tail_stride, tail_offset) = self.tail(variable.ty);
        let name = variable.name.clone().unwrap_or_default();
        Some(BindingInfo {
            group: place.group,
            slot: place.binding,
            name,
            kind,
            access,
            min_size,
            alignment,
            tail_stride,
            tail_offset,
        })
    }
}

/// The resources of a module, sorted, and for each the variable that it comes from.
///
/// Variables may share a place as long as an entry point uses one of them at most; then the used one counts.
pub(crate) fn bindings(layout: &Layout<'_>, uses: &Uses) -> Result<Vec<(BindingInfo, Handle<GlobalVariable>)>, Vec<Finding>> {
    let mut found: Vec<(BindingInfo, Handle<GlobalVariable>)> = Vec::new();
    let mut findings = Vec::new();
    for (handle, variable) in layout.module.global_variables.iter() {
        let Some(info) = layout.binding(variable, uses.access(handle)) else { continue };
        let Some(other) = found.iter_mut().find(|(b, _)| (b.group, b.slot) == (info.group, info.slot)) else {
            found.push((info, handle));
            continue;
        };
        match (other.0.access, info.access) {
            (Access::Unused, _) => *other = (info, handle),
            (_, Access::Unused) => {}
            _ => {
                let message = format!(
                    "`{}` and `{}` are both at @group({}) @binding({}) and both used",
                    other.0.name, info.name, info.group, info.slot
                );
                findings.push(Finding::span(message, layout.module.global_variables.get_span(handle)));
            }
        }
    }
    if !findings.is_empty() {
        return Err(findings);
    }
    found.sort_by_key(|(b, _)| (b.group, b.slot));
    Ok(found)
}

/// The resources of a module whoever uses them, each place once.
pub(crate) fn declared(layout: &Layout<'_>) -> Vec<BindingInfo> {
    let mut found: Vec<BindingInfo> = Vec::new();
    for (_, variable) in layout.module.global_variables.iter() {
        if let Some(info) = layout.binding(variable, Access::Unused)
            && !found.iter().any(|b| (b.group, b.slot) == (info.group, info.slot))
        {
            found.push(info);
        }
    }
    found
}

/// The override constants of a module.
pub(crate) fn overrides(module: &Module) -> Vec<OverrideInfo> {
    let all = module.overrides.iter();
    all.filter_map(|(_, o)| {
        // Sizes of arrays that are expressions become overrides without a name: they are nobody's to set.
        let name = match (&o.name, o.id) {
            (None, None) => return None,
            (name, _) => name.clone().unwrap_or_default(),
        };
        let default = o.init.and_then(|init| constant(module, init));
        Some(OverrideInfo { name, id: o.id, ty: override_type(module, o.ty)?, default, has_default: o.init.is_some() })
    })
    .collect()
}

/// The scalar type of an override; `None` for those that are not supported.
pub(crate) fn override_type(module: &Module, ty: Handle<Type>) -> Option<OverrideType> {
    let TypeInner::Scalar(scalar) = module.types[ty].inner else { return None };
    match (scalar.kind, scalar.width) {
        (ScalarKind::Bool, _) => Some(OverrideType::Bool),
        (ScalarKind::Sint, 2) => Some(OverrideType::I16),
        (ScalarKind::Sint, 4) => Some(OverrideType::I32),
        (ScalarKind::Uint, 2) => Some(OverrideType::U16),
        (ScalarKind::Uint, 4) => Some(OverrideType::U32),
        (ScalarKind::Sint, 8) => Some(OverrideType::I64),
        (ScalarKind::Uint, 8) => Some(OverrideType::U64),
        (ScalarKind::Float, 2) => Some(OverrideType::F16),
        (ScalarKind::Float, 4) => Some(OverrideType::F32),
        (ScalarKind::Float, 8) => Some(OverrideType::F64),
        _ => None,
    }
}

fn constant(module: &Module, expression: Handle<Expression>) -> Option<Number> {
    let zero = |ty| match override_type(module, ty) {
        Some(OverrideType::I64) => Number::Int(0),
        Some(OverrideType::U64) => Number::Uint(0),
        _ => Number::Float(0.0),
    };
    match module.global_expressions[expression] {
        Expression::Literal(literal) => Number::of(literal),
        Expression::Constant(c) => constant(module, module.constants[c].init),
        Expression::ZeroValue(ty) => Some(zero(ty)),
        _ => None,
    }
}
