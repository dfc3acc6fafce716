//! Types: their names in the text, their layout, their definitions. What a compiler would lay out in another way is refused, and the text asserts the rest.

use std::fmt::Write as _;

use naga::proc::{IndexableLength, TypeResolution};
use naga::{Handle, Module, Scalar, ScalarKind, StructMember, Type, TypeInner};

use super::{Refusal, Result};

/// A type as C++ lays it out.
#[derive(Clone, Debug, Default)]
struct Layout {
    name: String,
    /// In bytes. For a type with a runtime-sized array, of what comes before it.
    size: u32,
    align: u32,
    /// Whether some of its bytes belong to nothing, so that a store must leave them alone.
    padded: bool,
    /// Whether it has a runtime-sized array, and so no values.
    endless: bool,
}

/// The types of a module.
pub(super) struct Types<'a> {
    module: &'a Module,
    layouts: Vec<Layout>,
    /// C++ that defines them.
    pub(super) definitions: String,
}

/// What is indexed with a number.
#[derive(Clone, Debug)]
pub(super) struct Elements {
    /// The type of a cell of the array.
    pub(super) cell: String,
    /// What leads from a cell to the element in it.
    pub(super) suffix: &'static str,
    /// `None` for a runtime-sized array.
    pub(super) count: Option<u32>,
}

/// A part of a name that comes from the source: letters, digits and single underscores.
pub(super) fn word(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars().take(40) {
        let c = if c.is_ascii_alphanumeric() { c } else { '_' };
        if c != '_' || !out.ends_with('_') {
            out.push(c);
        }
    }
    out.trim_matches('_').to_owned()
}

/// A name that no other thing has: a letter, a number, and the word of the source.
pub(super) fn name(kind: &str, number: usize, source: Option<&str>) -> String {
    match source.map(word).filter(|word| !word.is_empty()) {
        Some(word) => format!("{kind}{number}_{word}"),
        None => format!("{kind}{number}"),
    }
}

pub(super) fn scalar(scalar: Scalar) -> Result<&'static str> {
    Ok(match (scalar.kind, scalar.width) {
        (ScalarKind::Bool, _) => "bool",
        (ScalarKind::Sint, 2) => "i16",
        (ScalarKind::Uint, 2) => "u16",
        (ScalarKind::Sint, 4) => "i32",
        (ScalarKind::Uint, 4) => "u32",
        (ScalarKind::Sint, 8) => "i64",
        (ScalarKind::Uint, 8) => "u64",
        (ScalarKind::Float, 2) => "f16",
        (ScalarKind::Float, 4) => "f32",
        (ScalarKind::Float, 8) => "f64",
        _ => return Err(Refusal::bug(format_args!("a scalar {scalar:?}"))),
    })
}

/// The name of a type that has no definition.
fn plain(inner: &TypeInner) -> Result<String> {
    Ok(match *inner {
        TypeInner::Scalar(s) | TypeInner::Atomic(s) => scalar(s)?.to_owned(),
        TypeInner::Vector { size, scalar: s } => format!("vec<{}, {}>", scalar(s)?, size as u8),
        TypeInner::Matrix { columns, rows, scalar: s } => format!("mat<{}, {}, {}>", scalar(s)?, columns as u8, rows as u8),
        TypeInner::Image { .. } | TypeInner::Sampler { .. } => return Err(Refusal::unsupported("a texture or sampler")),
        TypeInner::BindingArray { .. } => return Err(Refusal::unsupported("an array of bindings")),
        TypeInner::AccelerationStructure { .. } | TypeInner::RayQuery { .. } => return Err(Refusal::unsupported("a ray query")),
        TypeInner::CooperativeMatrix { .. } => return Err(Refusal::unsupported("a cooperative matrix")),
        _ => return Err(Refusal::bug("a type that has a definition of its own")),
    })
}

fn plain_layout(inner: &TypeInner) -> Result<Layout> {
    let name = plain(inner)?;
    let of = |size: u32, align: u32, padded| Layout { name: name.clone(), size, align, padded, endless: false };
    Ok(match *inner {
        TypeInner::Vector { size, scalar } => {
            let (n, width) = (size as u32, u32::from(scalar.width));
            of(n * width, if n == 3 { width } else { n * width }, false)
        }
        TypeInner::Matrix { columns, rows, scalar } => {
            let column = (rows as u32).next_power_of_two() * u32::from(scalar.width);
            of(columns as u32 * column, column, rows as u32 == 3)
        }
        TypeInner::Scalar(scalar) | TypeInner::Atomic(scalar) => of(scalar.width.into(), scalar.width.into(), false),
        _ => return Err(Refusal::bug("a type without a layout")),
    })
}

impl<'a> Types<'a> {
    pub(super) fn new(module: &'a Module) -> Result<Self> {
        let mut types = Self { module, layouts: Vec::with_capacity(module.types.len()), definitions: String::new() };
        for (handle, ty) in module.types.iter() {
            let layout = types.define(handle, ty).map_err(|refusal| refusal.at(module.types.get_span(handle)))?;
            types.layouts.push(layout);
        }
        Ok(types)
    }

    fn define(&mut self, handle: Handle<Type>, ty: &Type) -> Result<Layout> {
        match ty.inner {
            TypeInner::Array { base, size, stride } => {
                let length = size.resolve(self.module.to_ctx()).map_err(|e| Refusal::bug(format_args!("an array size: {e}")))?;
                match length {
                    IndexableLength::Known(count) => self.define_array(handle, base, count, stride),
                    IndexableLength::Dynamic => {
                        let element = self.layout(base)?;
                        Ok(Layout { endless: true, ..element.clone() })
                    }
                }
            }
            TypeInner::Struct { ref members, span } => self.define_struct(handle, ty.name.as_deref(), members, span),
            // Pointers are written where they are used.
            TypeInner::Pointer { .. } | TypeInner::ValuePointer { .. } => Ok(Layout { align: 1, ..Layout::default() }),
            ref inner => plain_layout(inner),
        }
    }

    fn define_array(&mut self, handle: Handle<Type>, base: Handle<Type>, count: u32, stride: u32) -> Result<Layout> {
        let element = self.layout(base)?.clone();
        let name = format!("A{}", handle.index());
        let size = count.checked_mul(stride).ok_or_else(|| Refusal::limit("an array of 4 GiB or more"))?;
        check_stride(&element, stride)?;
        let cell = cell(&element, stride);
        let _ = writeln!(self.definitions, "struct {name} {{ {cell} e[{count}]; }};");
        let _ = writeln!(self.definitions, "static_assert(sizeof({name}) == {size}, \"size of {name}\");");
        let padded = element.padded || stride != element.size;
        if padded {
            let part = if stride == element.size { "e[i]" } else { "e[i].v" };
            let store = stored(&element, part);
            let _ = writeln!(
                self.definitions,
                "C_FN void c_store({name}* to, const {name}& from) {{ for (u32 i = 0; i < {count}u; i++) {store} }}"
            );
        }
        Ok(Layout { name, size, align: element.align, padded, endless: false })
    }

    fn define_struct(
        &mut self,
        handle: Handle<Type>,
        source: Option<&str>,
        members: &[StructMember],
        span: u32,
    ) -> Result<Layout> {
        let name = name("S", handle.index(), source);
        let (mut fields, mut asserts, mut stores) = (String::new(), String::new(), String::new());
        let (mut at, mut align, mut padded, mut endless) = (0, 1, false, false);
        for (index, member) in members.iter().enumerate() {
            let layout = self.layout(member.ty)?.clone();
            if layout.endless {
                endless = true;
                break;
            }
            if let Some(gap) = gap(at, &layout, member.offset)? {
                let _ = write!(fields, " unsigned char pad{index}[{gap}];");
            }
            let field = self.member(members, index)?;
            let _ = write!(fields, " {} {field};", layout.name);
            let offset = member.offset;
            let _ = writeln!(asserts, "static_assert(C_OFFSET({name}, {field}) == {offset}, \"offset of {name}::{field}\");");
            let _ = write!(stores, " {}", stored(&layout, &field));
            padded |= layout.padded || at != offset;
            at = offset.saturating_add(layout.size);
            align = align.max(layout.align);
        }
        if !endless {
            let rest = Layout { align, ..Layout::default() };
            if let Some(gap) = gap(at, &rest, span)? {
                let _ = write!(fields, " unsigned char rest[{gap}];");
            }
            padded |= at != span;
            let _ = writeln!(asserts, "static_assert(sizeof({name}) == {span}, \"size of {name}\");");
        }
        let _ = write!(self.definitions, "struct {name} {{{fields} }};\n{asserts}");
        if padded && !endless {
            let _ = writeln!(self.definitions, "C_FN void c_store({name}* to, const {name}& from) {{{stores} }}");
        }
        Ok(Layout { name, size: span, align, padded, endless })
    }

    fn layout(&self, handle: Handle<Type>) -> Result<&Layout> {
        self.layouts.get(handle.index()).ok_or_else(|| Refusal::bug("a type that is declared later"))
    }

    pub(super) fn inner(&self, handle: Handle<Type>) -> &'a TypeInner {
        &self.module.types[handle].inner
    }

    /// The name of a type of values.
    pub(super) fn name(&self, handle: Handle<Type>) -> Result<&str> {
        Ok(&self.layout(handle)?.name)
    }

    /// The same, of an expression.
    pub(super) fn of(&self, resolution: &TypeResolution) -> Result<String> {
        match resolution {
            TypeResolution::Handle(handle) => Ok(self.name(*handle)?.to_owned()),
            TypeResolution::Value(inner) => plain(inner),
        }
    }

    pub(super) fn is_padded(&self, handle: Handle<Type>) -> Result<bool> {
        Ok(self.layout(handle)?.padded)
    }

    pub(super) fn is_endless(&self, handle: Handle<Type>) -> Result<bool> {
        Ok(self.layout(handle)?.endless)
    }

    /// Size and alignment in bytes.
    pub(super) fn size(&self, handle: Handle<Type>) -> Result<(u32, u32)> {
        let layout = self.layout(handle)?;
        Ok((layout.size, layout.align))
    }

    /// The name of a member.
    pub(super) fn member(&self, members: &[StructMember], index: usize) -> Result<String> {
        let member = members.get(index).ok_or_else(|| Refusal::bug("a member that is not there"))?;
        Ok(name("m", index, member.name.as_deref()))
    }

    /// What an array consists of.
    pub(super) fn elements(&self, handle: Handle<Type>) -> Result<Elements> {
        let TypeInner::Array { base, size, stride } = *self.inner(handle) else {
            return Err(Refusal::bug("an element of something other than an array"));
        };
        let element = self.layout(base)?;
        let count = match size.resolve(self.module.to_ctx()).map_err(|e| Refusal::bug(format_args!("an array size: {e}")))? {
            IndexableLength::Known(count) => Some(count),
            IndexableLength::Dynamic => None,
        };
        check_stride(element, stride)?;
        let suffix = if stride == element.size { "" } else { ".v" };
        Ok(Elements { cell: cell(element, stride), suffix, count })
    }

    /// A value in braces, whose type has a name: members between which padding has to be written too.
    pub(super) fn braces(&self, handle: Handle<Type>, parts: &[String]) -> Result<String> {
        let ty = self.name(handle)?;
        Ok(match *self.inner(handle) {
            TypeInner::Array { .. } => {
                let wrapped = !self.elements(handle)?.suffix.is_empty();
                let parts: Vec<String> = parts.iter().map(|p| if wrapped { format!("{{{p}}}") } else { p.clone() }).collect();
                format!("{ty}{{{{{}}}}}", parts.join(", "))
            }
            TypeInner::Matrix { .. } => {
                let parts: Vec<String> = parts.iter().map(|p| format!("{{{p}}}")).collect();
                format!("{ty}{{{{{}}}}}", parts.join(", "))
            }
            TypeInner::Struct { ref members, .. } => format!("{ty}{{{}}}", self.members(members, parts)?.join(", ")),
            _ => format!("{ty}{{{}}}", parts.join(", ")),
        })
    }

    fn members(&self, members: &[StructMember], parts: &[String]) -> Result<Vec<String>> {
        let mut out = Vec::new();
        let mut at = 0;
        for (member, part) in members.iter().zip(parts) {
            let layout = self.layout(member.ty)?;
            if gap(at, layout, member.offset)?.is_some() {
                out.push("{}".to_owned());
            }
            out.push(part.clone());
            at = member.offset.saturating_add(layout.size);
        }
        Ok(out)
    }
}

fn cell(element: &Layout, stride: u32) -> String {
    match stride.checked_sub(element.size) {
        None | Some(0) => element.name.clone(),
        Some(rest) => format!("c_cell<{}, {rest}>", element.name),
    }
}

fn check_stride(element: &Layout, stride: u32) -> Result<()> {
    if stride < element.size || !stride.is_multiple_of(element.align.max(1)) {
        return Err(Refusal::unsupported(format_args!("an array with a stride of {stride} bytes")));
    }
    Ok(())
}

/// Bytes to put in before something that is to be at `offset` and would not be there by itself.
fn gap(at: u32, layout: &Layout, offset: u32) -> Result<Option<u32>> {
    let refuse = || Refusal::unsupported(format_args!("a structure with a member at byte {offset}"));
    if !offset.is_multiple_of(layout.align) {
        return Err(refuse());
    }
    let gap = offset.checked_sub(at).ok_or_else(refuse)?;
    Ok((at.next_multiple_of(layout.align) != offset).then_some(gap))
}

/// A statement that stores a part, which leaves padding alone.
fn stored(layout: &Layout, part: &str) -> String {
    if layout.padded { format!("c_store(&to->{part}, from.{part});") } else { format!("to->{part} = from.{part};") }
}
