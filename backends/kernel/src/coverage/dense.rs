//! Which types are stored without leaving a byte of them alone. What a store leaves alone keeps the bytes of whoever had the memory before.

use naga::{ArraySize, Handle, Module, StructMember, Type, TypeInner};

use crate::reflect::Layout;

/// Per type, whether a store of a value of it writes every byte of its size.
pub(super) struct Dense(Vec<bool>);

impl Dense {
    /// Types come after those that they are made of, so one pass settles all: no depth, and no type is looked at twice.
    pub(super) fn of(module: &Module, layout: &Layout<'_>) -> Self {
        let mut dense = Self(Vec::with_capacity(module.types.len()));
        for (ty, _) in module.types.iter() {
            let settled = dense.settle(module, layout, ty);
            dense.0.push(settled);
        }
        dense
    }

    /// Whether a value of a type, stored where `room` bytes are kept for it, writes all of these.
    pub(super) fn fills(&self, layout: &Layout<'_>, ty: Handle<Type>, room: u64) -> bool {
        self.0.get(ty.index()) == Some(&true) && layout.get(ty).0 == room
    }

    /// Whether a binding of a type has no padding, up to the last whole element of its tail.
    pub(super) fn is_binding(&self, module: &Module, layout: &Layout<'_>, ty: Handle<Type>) -> bool {
        let tail = |ty: Handle<Type>| match module.types[ty].inner {
            TypeInner::Array { base, size: ArraySize::Dynamic, stride } => Some(self.fills(layout, base, u64::from(stride))),
            _ => None,
        };
        if let TypeInner::Struct { members, .. } = &module.types[ty].inner
            && let Some((last, fixed)) = members.split_last()
            && let Some(dense) = tail(last.ty)
        {
            return dense && (fixed.is_empty() || self.members(layout, fixed, u64::from(last.offset)));
        }
        tail(ty).unwrap_or_else(|| self.0.get(ty.index()) == Some(&true))
    }

    fn settle(&self, module: &Module, layout: &Layout<'_>, ty: Handle<Type>) -> bool {
        match &module.types[ty].inner {
            TypeInner::Scalar(_) | TypeInner::Vector { .. } | TypeInner::Atomic(_) => true,
            // Columns are aligned like vectors: those of three components leave a gap.
            TypeInner::Matrix { columns, rows, scalar } => {
                u64::from(*columns as u8) * u64::from(*rows as u8) * u64::from(scalar.width) == layout.get(ty).0
            }
            TypeInner::Array { base, size: ArraySize::Constant(_), stride } => self.fills(layout, *base, u64::from(*stride)),
            TypeInner::Struct { members, span } => self.members(layout, members, u64::from(*span)),
            _ => false,
        }
    }

    /// Whether each member begins where the one before it ends, and the last ends where the structure does.
    fn members(&self, layout: &Layout<'_>, members: &[StructMember], span: u64) -> bool {
        let offsets = members.iter().map(|member| u64::from(member.offset));
        let ends = offsets.clone().skip(1).chain([span]);
        offsets.clone().next() == Some(0)
            && members
                .iter()
                .zip(offsets.zip(ends))
                .all(|(member, (start, end))| end.checked_sub(start).is_some_and(|room| self.fills(layout, member.ty, room)))
    }
}
