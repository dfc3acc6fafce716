//! What stands outside of functions: structures, blocks, variables, constants, the workgroup size.

use std::collections::HashMap;
use std::sync::Arc;

use naga::{AddressSpace, Handle, StorageAccess};

use super::atomics::Marks;
use super::constant::{Const, Part};
use super::storage::{Layout, Packing};
use super::{Global, Lower, Lowered, MemberInfo, Rights, StructInfo, Symbol, Wrong};
use crate::front::glsl::ast::*;
use crate::front::glsl::lexer::{At, Name};
use crate::front::glsl::types::{Scalar, Ty, UINT};
use crate::reflection::{OverrideInfo, OverrideType};

/// Types inside each other; as for every language.
const MAX_NESTING: u32 = 15;

/// The workgroup size.
pub(super) struct Group {
    pub(super) size: [u32; 3],
}

impl Default for Group {
    fn default() -> Self {
        Self { size: [1; 3] }
    }
}

impl Group {
    pub(super) fn constant(&self) -> Const {
        Const { ty: Ty::Vector(Scalar::Uint, 3), parts: self.size.iter().map(|&n| Part::Uint(n)).collect() }
    }
}

/// For each axis the size, and the id of the constant that gives it.
type Axes = [(Option<u32>, Option<u32>); 3];

/// Layouts of blocks that do not say theirs.
#[derive(Default)]
pub(super) struct Defaults {
    uniform: LayoutWords,
    buffer: LayoutWords,
}

/// What layout qualifiers say about bytes.
#[derive(Clone, Copy, Default)]
struct LayoutWords {
    packing: Option<Packing>,
    row_major: Option<bool>,
}

pub(super) const READ_ONLY: Rights = Rights { no_read: None, no_write: Some("read-only") };

impl Lower<'_> {
    pub(super) fn item(&mut self, item: &'_ Item) {
        match item {
            Item::Function(tree) => {
                let made = self.declare_function(tree);
                if self.attempt(made).is_none() {
                    self.lost.insert(tree.name);
                    self.lost_functions.push(Arc::clone(tree));
                }
            }
            Item::Block(block) => {
                let made = self.block_declaration(block);
                if self.attempt(made).is_none() {
                    let members = block.members.iter().map(|m| m.name).filter(|_| block.instance.is_none());
                    block.instance.iter().map(|i| i.0).chain(members).for_each(|name| self.lose(name));
                }
            }
            Item::Variables(list) => {
                for variable in list {
                    let made = self.module_variable(variable);
                    if self.attempt(made).is_none() {
                        self.lose(variable.name);
                    }
                }
            }
            Item::Struct(tree) => {
                let made = self.structure(tree);
                if self.attempt(made).is_none() {
                    self.lose(tree.name);
                }
            }
            Item::Defaults(qualifiers) => {
                let made = self.defaults(qualifiers);
                self.attempt(made);
            }
        }
    }

    /// The workgroup size holds for the whole source, wherever it stands.
    pub(super) fn group_size(&mut self, unit: &Unit) {
        let mut declared: Option<Axes> = None;
        for item in &unit.items {
            // A size may be written with constants that stand above it.
            match item {
                Item::Variables(list) => {
                    for variable in list {
                        self.early_constant(variable);
                    }
                }
                Item::Defaults(qualifiers) if matches!(qualifiers.storage, Some((Storage::In, _))) => {
                    let axes = declared.get_or_insert_default();
                    for word in &qualifiers.layout {
                        let made = self.group_word(word, axes);
                        self.attempt(made);
                    }
                }
                _ => {}
            }
        }
        self.scopes = vec![HashMap::new()];
        self.overrides.clear();
        for (axis, (size, id)) in declared.unwrap_or_default().into_iter().enumerate() {
            let default = size.unwrap_or(1);
            let value = match id {
                Some(id) => {
                    let made = self.specialized(id, "", UINT, Part::Uint(default), (0, 0));
                    self.attempt(made).unwrap_or(Part::Uint(default))
                }
                None => Part::Uint(default),
            };
            if let (Some(slot), Part::Uint(value)) = (self.group.size.get_mut(axis), value) {
                *slot = value;
            }
        }
    }

    /// One word about the workgroup size.
    fn group_word(&mut self, (name, value, at): &(Name, Option<Expr>, At), axes: &mut Axes) -> Lowered<()> {
        let text = self.names.get(*name).to_owned();
        let Some((axis, id)) = axis(&text) else {
            return Err(Wrong::new(format!("`{text}` is no layout of a compute shader's input"), *at));
        };
        let Some(value) = value else { return Err(Wrong::new(format!("`{text}` needs a value"), *at)) };
        let number = self.known_integer(value, &format!("`{text}`"))?;
        let number = u32::try_from(number).ok().filter(|&n| id || n > 0);
        let Some(number) = number else { return Err(Wrong::new(format!("`{text}` must be at least 1"), *at)) };
        let Some(slot) = axes.get_mut(axis) else { return Ok(()) };
        let slot = if id { &mut slot.1 } else { &mut slot.0 };
        if slot.is_some_and(|before| before != number) {
            return Err(Wrong::new(format!("`{text}` is declared twice with different values"), *at));
        }
        *slot = Some(number);
        Ok(())
    }

    /// Constants that sizes may use; whatever is wrong with one is told when its turn comes.
    fn early_constant(&mut self, variable: &Variable) {
        if !matches!(variable.qualifiers.storage, Some((Storage::Const, _))) || !variable.arrays.is_empty() {
            return;
        }
        let Some(init) = &variable.init else { return };
        let Ok(ty) = self.type_of(&variable.ty) else { return };
        if let Ok(Some(value)) = self.constant_initializer(&ty, init)
            && let Ok(value) = self.specialized_constant(variable, value)
        {
            let _ = self.declare(variable.name, Symbol::Constant(value), variable.at);
        }
    }

    /// The value of a specialization constant, which is listed among the overrides.
    fn specialized(&mut self, id: u32, name: &str, ty: Ty, default: Part, at: At) -> Lowered<Part> {
        let Ok(small) = u16::try_from(id) else {
            return Err(Wrong::new(format!("the constant_id {id} is too high; at most 65535 is"), at));
        };
        let Ty::Scalar(scalar) = ty else { return Err(Wrong::new("a specialization constant is a scalar", at)) };
        let ty = match scalar {
            Scalar::Bool => OverrideType::Bool,
            Scalar::Int16 => OverrideType::I16,
            Scalar::Uint16 => OverrideType::U16,
            Scalar::Int => OverrideType::I32,
            Scalar::Uint => OverrideType::U32,
            Scalar::Half => OverrideType::F16,
            Scalar::Float => OverrideType::F32,
            Scalar::Double => OverrideType::F64,
            Scalar::Int64 => OverrideType::I64,
            Scalar::Uint64 => OverrideType::U64,
        };
        let known = self.overrides.iter_mut().find(|o| o.id == Some(small));
        match known {
            Some(known) => {
                if known.ty != ty && known.default != Some(default.value()) {
                    return Err(Wrong::new(format!("the constant_id {id} is used for constants of different types"), at));
                }
                if known.name.is_empty() {
                    name.clone_into(&mut known.name);
                }
            }
            None => self.overrides.push(OverrideInfo {
                name: name.to_owned(),
                id: Some(small),
                ty,
                default: Some(default.value()),
                has_default: true,
            }),
        }
        Ok(self.specialization.get(&id).and_then(|value| Part::of(value.literal(ty)?)).unwrap_or(default))
    }

    fn specialized_constant(&mut self, variable: &Variable, value: Const) -> Lowered<Const> {
        let mut value = value;
        for (name, number, at) in &variable.qualifiers.layout {
            if self.names.get(*name) != "constant_id" {
                return Err(Wrong::new(format!("`{}` is no layout of a constant", self.names.get(*name)), *at));
            }
            let Some(number) = number else { return Err(Wrong::new("`constant_id` needs a value".to_owned(), *at)) };
            let id = self.known_integer(number, "`constant_id`")?;
            let id = u32::try_from(id).unwrap_or(u32::MAX);
            let Some(&default) = value.parts.first() else { continue };
            let name = self.name(variable.name);
            let part = self.specialized(id, &name, value.ty.clone(), default, *at)?;
            value = Const { ty: value.ty, parts: [part].into() };
        }
        Ok(value)
    }

    pub(super) fn structure(&mut self, tree: &Arc<Struct>) -> Lowered<()> {
        if tree.broken {
            return Err(Wrong::told());
        }
        let mut members: Vec<MemberInfo> = Vec::new();
        for member in &tree.members {
            if !member.qualifiers.layout.is_empty() || member.qualifiers.storage.is_some() {
                return Err(Wrong::new("a member of a structure has no qualifiers; those of blocks have".to_owned(), member.at));
            }
            let ty = self.declared_type(&member.ty, &member.arrays, None)?;
            if members.iter().any(|m| m.name == member.name) {
                return Err(Wrong::new(format!("`{}` is declared twice", self.names.get(member.name)), member.at));
            }
            members.push(plain_member(member.name, ty));
        }
        let name = self.name(tree.name);
        let value = self.members(name.clone(), &members, &Layout::value(), 1, tree.at)?.ty;
        let index = self.add_struct(name, members, value);
        self.check_nesting(&Ty::Struct(index), tree.at)?;
        self.declare(tree.name, Symbol::Struct(index), tree.at)
    }

    fn add_struct(&mut self, name: String, members: Vec<MemberInfo>, value: Handle<naga::Type>) -> usize {
        let nesting = members.iter().map(|m| self.nesting(&m.ty)).max().unwrap_or(0) + 1;
        let has_matrix = members.iter().any(|m| self.has_matrix(&m.ty));
        let parts = members.iter().try_fold(0usize, |sum, m| sum.checked_add(self.part_count(&m.ty)?));
        let parts = parts.filter(|&n| n <= super::constant::MAX_PARTS);
        self.structs.push(StructInfo { name, members, value, nesting, has_matrix, parts });
        self.structs.len() - 1
    }

    fn check_nesting(&self, ty: &Ty, at: At) -> Lowered<()> {
        if self.nesting(ty) > MAX_NESTING {
            let message = format!(
                "this type is nested too deeply: at most {MAX_NESTING} structures, arrays and vectors may be inside each other"
            );
            return Err(Wrong::new(message, at));
        }
        Ok(())
    }

    fn nesting(&self, ty: &Ty) -> u32 {
        match ty {
            Ty::Array(base, _) => self.nesting(base) + 1,
            Ty::Struct(index) => self.structs.get(*index).map_or(0, |s| s.nesting),
            Ty::Matrix(..) => 2,
            Ty::Vector(..) => 1,
            Ty::Void | Ty::Scalar(_) => 0,
        }
    }

    pub(super) fn type_of(&mut self, name: &TypeName) -> Lowered<Ty> {
        let base = match &name.base {
            Base::Known(ty) => ty.clone(),
            Base::Lost => return Err(Wrong::told()),
            Base::Named(word) => self.struct_named(*word, name.at)?,
            Base::Declared(tree) => {
                if !matches!(self.find(tree.name), Some(Symbol::Struct(_))) {
                    self.structure(tree)?;
                }
                self.struct_named(tree.name, name.at)?
            }
        };
        let ty = self.arrays(base, &name.arrays)?;
        self.check_nesting(&ty, name.at)?;
        Ok(ty)
    }

    fn struct_named(&self, word: Name, at: At) -> Lowered<Ty> {
        match self.find(word) {
            Some(Symbol::Struct(index)) => Ok(Ty::Struct(*index)),
            Some(Symbol::Lost) => Err(Wrong::told()),
            None if self.is_lost(word) => Err(Wrong::told()),
            _ => Err(Wrong::new(format!("`{}` is not a type here", self.names.get(word)), at)),
        }
    }

    fn arrays(&mut self, base: Ty, dimensions: &Dimensions) -> Lowered<Ty> {
        let mut ty = base;
        for dimension in dimensions.iter().rev() {
            let length = match dimension {
                None => None,
                Some(expr) => {
                    let length = self.known_integer(expr, "the length of an array")?;
                    let length = u32::try_from(length).ok().filter(|n| *n > 0);
                    Some(length.ok_or_else(|| Wrong::new("the length of an array is at least 1".to_owned(), expr.at))?)
                }
            };
            if matches!(ty, Ty::Void | Ty::Array(_, None)) {
                return Err(Wrong::new(
                    "only the first length of an array may be left out".to_owned(),
                    dimension.as_ref().map_or((0, 0), |e| e.at),
                ));
            }
            ty = Ty::Array(Arc::new(ty), length);
        }
        Ok(ty)
    }

    /// The type of a declaration; a length that is left out comes from what it is set to.
    pub(super) fn declared_type(&mut self, name: &TypeName, arrays: &Dimensions, init: Option<&Expr>) -> Lowered<Ty> {
        let base = self.type_of(name)?;
        let mut ty = self.arrays(base, arrays)?;
        if let (Ty::Array(base, None), Some(init)) = (&ty, init) {
            let count = match &init.kind {
                ExprKind::List(list) => u32::try_from(list.len()).ok(),
                ExprKind::Construct(made, arguments) => match self.constructed_type(made, arguments.len())? {
                    Ty::Array(_, length) => length,
                    _ => None,
                },
                _ => match self.static_type(init) {
                    Some(Ty::Array(_, length)) => length,
                    _ => None,
                },
            };
            ty = Ty::Array(Arc::clone(base), count);
        }
        if ty == Ty::Void || matches!(ty, Ty::Array(_, None)) {
            return Err(Wrong::new(format!("a variable of type `{}` cannot be made", self.spell(&ty)), name.at));
        }
        self.check_nesting(&ty, name.at)?;
        self.stored(&ty, &Layout::value(), name.at)?;
        Ok(ty)
    }

    /// The value of an initializer that is constant here.
    pub(super) fn constant_initializer(&mut self, ty: &Ty, init: &Expr) -> Lowered<Option<Const>> {
        if let ExprKind::List(_) = init.kind {
            return Ok(None);
        }
        let Some(value) = self.fold(init)? else { return Ok(None) };
        if value.ty == *ty {
            return Ok(Some(value));
        }
        match (super::convert::distance(&value.ty, ty), ty.scalar()) {
            (Some(_), Some(scalar)) => Ok(value.convert(scalar)),
            _ => Err(self.no_conversion(&value.ty, ty, init.at)),
        }
    }

    fn module_variable(&mut self, variable: &Variable) -> Lowered<()> {
        let at = variable.at;
        if let Base::Lost = variable.ty.base {
            return Err(Wrong::told());
        }
        let (space, constant) = match variable.qualifiers.storage {
            None => (AddressSpace::Private, false),
            Some((Storage::Const, _)) => (AddressSpace::Private, true),
            Some((Storage::Shared, _)) => (AddressSpace::WorkGroup, false),
            Some((Storage::Uniform, at)) => {
                return Err(Wrong::new("a uniform stands in a block: `uniform Name { ... };`".to_owned(), at));
            }
            Some((Storage::Buffer, at)) => return Err(Wrong::new("a buffer is a block: `buffer Name { ... };`".to_owned(), at)),
            Some((Storage::In | Storage::Out | Storage::InOut, at)) => {
                return Err(Wrong::new("a compute shader has no inputs or outputs of its own".to_owned(), at));
            }
        };
        let ty = self.declared_type(&variable.ty, &variable.arrays, variable.init.as_deref())?;
        if constant {
            let Some(init) = &variable.init else { return Err(Wrong::new("a `const` variable needs a value".to_owned(), at)) };
            if let Some(value) = self.constant_initializer(&ty, init)? {
                let value = self.specialized_constant(variable, value)?;
                return self.declare(variable.name, Symbol::Constant(value), at);
            }
        }
        if let Some((name, _, at)) = variable.qualifiers.layout.first() {
            return Err(Wrong::new(format!("`{}` is no layout of this variable", self.names.get(*name)), *at));
        }
        if space == AddressSpace::WorkGroup && variable.init.is_some() {
            return Err(Wrong::new("a shared variable has no value to begin with: it is zero".to_owned(), at));
        }
        let marks = self.marks.get(&variable.name).cloned().filter(|_| space == AddressSpace::WorkGroup);
        let layout = Layout { marks, ..Layout::value() };
        let stored = self.stored(&ty, &layout, at)?.ty;
        let handle = self.add_global(Some(self.name(variable.name)), space, None, stored, at);
        if let Some(init) = &variable.init {
            self.initializers.push((handle, ty.clone(), Arc::clone(init)));
        }
        let rights = if constant { Rights { no_read: None, no_write: Some("a constant") } } else { Rights::default() };
        self.declare(variable.name, Symbol::Global(Global { variable: handle, member: None, ty, layout, rights }), at)
    }

    pub(super) fn add_global(
        &mut self,
        name: Option<String>,
        space: AddressSpace,
        binding: Option<naga::ResourceBinding>,
        ty: Handle<naga::Type>,
        at: At,
    ) -> Handle<naga::GlobalVariable> {
        let memory_decorations = naga::MemoryDecorations::empty();
        let variable = naga::GlobalVariable { name, space, binding, ty, init: None, memory_decorations };
        self.module.global_variables.append(variable, super::span(at))
    }

    fn defaults(&mut self, qualifiers: &Qualifiers) -> Lowered<()> {
        match qualifiers.storage {
            Some((Storage::In, _)) | None => Ok(()),
            Some((Storage::Uniform | Storage::Buffer, _)) => {
                let uniform = matches!(qualifiers.storage, Some((Storage::Uniform, _)));
                let mut words = if uniform { self.defaults.uniform } else { self.defaults.buffer };
                for (name, value, at) in &qualifiers.layout {
                    if value.is_some() || !self.layout_word(*name, &mut words, *at)? {
                        return Err(Wrong::new(format!("`{}` is no default of blocks", self.names.get(*name)), *at));
                    }
                }
                *(if uniform { &mut self.defaults.uniform } else { &mut self.defaults.buffer }) = words;
                Ok(())
            }
            Some((_, at)) => Err(Wrong::new("a declaration is expected after this qualifier".to_owned(), at)),
        }
    }

    /// Takes a word about bytes; says whether it was one.
    fn layout_word(&self, name: Name, words: &mut LayoutWords, at: At) -> Lowered<bool> {
        match self.names.get(name) {
            "std140" => words.packing = Some(Packing::Std140),
            "std430" => words.packing = Some(Packing::Std430),
            "row_major" => words.row_major = Some(true),
            "column_major" => words.row_major = Some(false),
            "scalar" => words.packing = Some(Packing::Scalar),
            word @ ("shared" | "packed") => {
                return Err(Wrong::new(format!("the layout `{word}` is not supported: use std140, std430 or scalar"), at));
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn block_declaration(&mut self, block: &Block) -> Lowered<()> {
        let at = block.at;
        let uniform = match block.qualifiers.storage {
            Some((Storage::Uniform, _)) => true,
            Some((Storage::Buffer, _)) => false,
            Some((_, at)) => return Err(Wrong::new("a compute shader has no inputs or outputs of its own".to_owned(), at)),
            None => return Err(Wrong::new("a block is `uniform` or `buffer`".to_owned(), at)),
        };
        let mut words = if uniform { self.defaults.uniform } else { self.defaults.buffer };
        let (mut group, mut slot, mut immediate, mut align) = (0, None, false, 1);
        for (name, value, at) in &block.qualifiers.layout {
            if value.is_none() && self.layout_word(*name, &mut words, *at)? {
                continue;
            }
            let text = self.names.get(*name).to_owned();
            match (text.as_str(), value) {
                ("push_constant", None) if uniform => immediate = true,
                ("binding" | "set", Some(value)) => {
                    let number = self.known_integer(value, &format!("`{text}`"))?;
                    let Ok(number) = u32::try_from(number) else {
                        return Err(Wrong::new(format!("`{text}` must not be negative"), *at));
                    };
                    if text == "set" { group = number } else { slot = Some(number) }
                }
                ("align", Some(value)) => align = self.bytes(value, &text, *at)?,
                _ => return Err(Wrong::new(format!("`{text}` is no layout of a block"), *at)),
            }
        }
        if block.instance.as_ref().is_some_and(|(_, arrays)| !arrays.is_empty()) {
            return Err(Wrong::not_supported("arrays of bindings", at));
        }
        let packing = words.packing.unwrap_or(if uniform && !immediate { Packing::Std140 } else { Packing::Std430 });
        if packing == Packing::Scalar && uniform && !immediate {
            return Err(Wrong::new("the layout `scalar` is for buffers and push constants, not for uniform blocks", at));
        }
        let layout = Layout { packing, row_major: words.row_major.unwrap_or(false), marks: None };
        let (space, rights) = if immediate {
            (AddressSpace::Immediate, READ_ONLY)
        } else if uniform {
            (AddressSpace::Uniform, READ_ONLY)
        } else {
            let access = if block.qualifiers.readonly { StorageAccess::LOAD } else { StorageAccess::LOAD | StorageAccess::STORE };
            (AddressSpace::Storage { access }, rights(&block.qualifiers))
        };
        let binding = match (slot, immediate) {
            (_, true) => None,
            (Some(binding), _) => Some(naga::ResourceBinding { group, binding }),
            (None, _) => return Err(Wrong::new("a block needs `layout(binding = ...)`".to_owned(), at)),
        };
        if block.broken {
            return Err(Wrong::told());
        }
        let members = self.block_members(block, uniform, align)?;
        let marks = block.instance.as_ref().and_then(|(name, _)| self.marks.get(name).cloned());
        let layout = Layout { marks: if block.instance.is_some() { marks } else { self.loose_marks(&members) }, ..layout };
        let name = self.name(block.name);
        let stored = self.members(name.clone(), &members, &layout, 1, at)?.ty;
        let shown = block.instance.as_ref().map_or(name.clone(), |(instance, _)| self.name(*instance));
        let variable = self.add_global(Some(shown), space, binding, stored, at);
        let ty = Ty::Struct(self.add_struct(name, members.clone(), stored));
        self.check_nesting(&ty, at)?;
        if let Some((instance, _)) = &block.instance {
            return self.declare(*instance, Symbol::Global(Global { variable, member: None, ty, layout, rights }), at);
        }
        for (index, member) in (0..).zip(members) {
            let layout = Layout {
                packing: layout.packing,
                row_major: member.row_major.unwrap_or(layout.row_major),
                marks: self.marks.get(&member.name).cloned(),
            };
            let rights = rights.and(member.rights);
            let global = Global { variable, member: Some(index), ty: member.ty, layout, rights };
            self.declare(member.name, Symbol::Global(global), at)?;
        }
        Ok(())
    }

    /// Members of a block without an instance go by their own names.
    fn loose_marks(&self, members: &[MemberInfo]) -> Option<Arc<Marks>> {
        let found = members.iter().filter_map(|m| Some((m.name, self.marks.get(&m.name)?.clone())));
        Marks::of_members(found.collect())
    }

    /// An `offset` or `align`.
    fn bytes(&mut self, value: &Expr, word: &str, at: At) -> Lowered<u64> {
        let number = self.known_integer(value, &format!("`{word}`"))?;
        let number = u64::try_from(number).ok().filter(|n| word == "offset" || n.is_power_of_two());
        number.ok_or_else(|| Wrong::new(format!("this is no {word} in bytes"), at))
    }

    /// The members of a block, each with that alignment at least unless it has one of its own.
    fn block_members(&mut self, block: &Block, uniform: bool, align: u64) -> Lowered<Vec<MemberInfo>> {
        let mut members: Vec<MemberInfo> = Vec::new();
        let count = block.members.len();
        for (index, member) in block.members.iter().enumerate() {
            let base = self.type_of(&member.ty)?;
            let ty = self.arrays(base, &member.arrays)?;
            let last = index + 1 == count && !uniform;
            if ty == Ty::Void || (matches!(ty, Ty::Array(_, None)) && !last) {
                return Err(Wrong::new("an array without a length stands last in a `buffer` block only".to_owned(), member.at));
            }
            if members.iter().any(|m| m.name == member.name) {
                return Err(Wrong::new(format!("`{}` is declared twice", self.names.get(member.name)), member.at));
            }
            let mut info = MemberInfo { align, rights: rights(&member.qualifiers), ..plain_member(member.name, ty) };
            let mut words = LayoutWords::default();
            for (name, value, at) in &member.qualifiers.layout {
                let text = self.names.get(*name).to_owned();
                match (text.as_str(), value) {
                    ("offset", Some(value)) => info.offset = Some(self.bytes(value, &text, *at)?),
                    ("align", Some(value)) => info.align = self.bytes(value, &text, *at)?,
                    (_, None) if self.layout_word(*name, &mut words, *at)? && words.packing.is_none() => {}
                    _ => return Err(Wrong::new(format!("`{text}` is no layout of a member"), *at)),
                }
            }
            info.row_major = words.row_major;
            members.push(info);
        }
        Ok(members)
    }
}

fn plain_member(name: Name, ty: Ty) -> MemberInfo {
    MemberInfo { name, ty, row_major: None, offset: None, align: 1, rights: Rights::default() }
}

fn rights(qualifiers: &Qualifiers) -> Rights {
    Rights { no_read: qualifiers.writeonly.then_some("write-only"), no_write: qualifiers.readonly.then_some("read-only") }
}

/// The axis of a word for the workgroup size, and whether it gives the id of a constant.
fn axis(word: &str) -> Option<(usize, bool)> {
    let rest = word.strip_prefix("local_size_")?;
    let (axis, id) = match rest.strip_suffix("_id") {
        Some(axis) => (axis, true),
        None => (rest, false),
    };
    Some((["x", "y", "z"].iter().position(|a| *a == axis)?, id))
}
