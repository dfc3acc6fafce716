//! Functions: their heads, their variables, and the entry point around its body.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Write as _;

use naga::valid::{FunctionInfo, ModuleInfo};
use naga::{AddressSpace, Binding, BuiltIn, EntryPoint, Expression, Function, Handle, LocalVariable, Module, TypeInner};

use super::dialect::Part;
use super::globals::Globals;
use super::types::{self, Types};
use super::{Options, Refusal, Result, constants};
use crate::lower::Lowered;
use crate::range::{ModuleRanges, Ranges};
use crate::walk;

/// What all functions of a kernel share.
pub(super) struct Context<'a> {
    pub(super) module: &'a Module,
    pub(super) info: &'a ModuleInfo,
    pub(super) options: &'a Options<'a>,
    pub(super) types: &'a Types<'a>,
    pub(super) globals: &'a Globals<'a>,
    pub(super) ranges: &'a ModuleRanges<'a>,
}

impl Context<'_> {
    /// Whether a function, or what it calls, touches private variables. Whoever does not is not passed them: their address alone keeps them out of registers.
    fn uses_private(&self, info: &FunctionInfo) -> bool {
        let mut variables = self.module.global_variables.iter();
        variables.any(|(handle, variable)| variable.space == AddressSpace::Private && !info[handle].is_empty())
    }
}

/// The code of a kernel.
#[derive(Default)]
pub(super) struct Body {
    /// Parts of the library that it calls.
    pub(super) parts: BTreeSet<Part>,
    /// Tables of constants.
    pub(super) constants: String,
    pub(super) functions: String,
    /// The inside of the entry point.
    pub(super) entry: String,
}

/// Writes one function.
pub(super) struct Writer<'a> {
    pub(super) context: &'a Context<'a>,
    pub(super) function: &'a Function,
    pub(super) info: &'a FunctionInfo,
    pub(super) ranges: Option<&'a Ranges<'a>>,
    /// By parameter: whether the pointer in it may be null, because an index on its way was out of range.
    pub(super) nullable: &'a [bool],
    /// Whether nothing is written, so that values need no names.
    pub(super) dry: bool,
    arguments: Vec<String>,
    /// Values that have a variable already, declared without a value.
    pub(super) declared: HashSet<Handle<Expression>>,
    /// Values that have been computed.
    pub(super) known: HashMap<Handle<Expression>, String>,
    /// Labels that `continue` goes to, of the loops around.
    pub(super) labels: Vec<u32>,
    pub(super) next_label: u32,
    /// How often the code at hand is repeated by loops that are unrolled.
    pub(super) copies: u64,
    depth: usize,
    out: String,
    pub(super) parts: BTreeSet<Part>,
}

/// All functions that the entry point reaches, and itself.
pub(super) fn write_all(context: &Context<'_>, entry: &EntryPoint, lowered: &Lowered) -> Result<Body> {
    let module = context.module;
    let reached = walk::reached(module, &entry.function.body);
    let nullable = nullable(context, entry, lowered.index());
    let mut body = Body::default();
    let mut tables = BTreeSet::new();
    note_tables(module, &entry.function, &mut tables);
    for (handle, function) in module.functions.iter().filter(|(handle, _)| reached[handle.index()]) {
        note_tables(module, function, &mut tables);
        let own = nullable.get(handle.index()).map_or(&[][..], Vec::as_slice);
        let mut writer = Writer::new(context, function, &context.info[handle], context.ranges.of(Some(handle)), own);
        let cold = lowered.reporter() == Some(handle);
        let text = writer.function(handle, cold).map_err(|refusal| refusal.at(module.functions.get_span(handle)))?;
        body.functions.push_str(&text);
        body.parts.append(&mut writer.parts);
    }
    let info = context.info.get_entry_point(lowered.index());
    let mut writer = Writer::new(context, &entry.function, info, context.ranges.of(None), &[]);
    body.entry = writer.entry_point()?;
    body.parts.append(&mut writer.parts);
    if module.types.iter().any(|(_, ty)| matches!(ty.inner, TypeInner::Matrix { .. })) {
        body.parts.insert(Part::Matrix);
    }
    for table in tables {
        let constant = &module.constants[table];
        let name = constants::table(module, table).unwrap_or_default();
        let value = constants::expression(module, context.types, &module.global_expressions, constant.init)?;
        let _ = writeln!(body.constants, "C_TABLE {} {name} = {value};", context.types.name(constant.ty)?);
    }
    Ok(body)
}

/// The tables that a function mentions, with those that they are made of.
fn note_tables(module: &Module, function: &Function, tables: &mut BTreeSet<Handle<naga::Constant>>) {
    let mut open: Vec<Handle<naga::Constant>> = Vec::new();
    for (_, expression) in function.expressions.iter() {
        if let Expression::Constant(handle) = expression {
            open.push(*handle);
        }
    }
    let globals = module.global_variables.iter().filter_map(|(_, variable)| variable.init);
    let mut inner: Vec<Handle<Expression>> = globals.collect();
    let mut seen = HashSet::new();
    loop {
        if let Some(handle) = open.pop() {
            if constants::table(module, handle).is_some() {
                tables.insert(handle);
            }
            inner.push(module.constants[handle].init);
        } else if let Some(at) = inner.pop() {
            if !seen.insert(at) {
                continue;
            }
            match &module.global_expressions[at] {
                Expression::Constant(handle) => open.push(*handle),
                expression => super::uses::operands(expression, &mut |part| inner.push(part)),
            }
        } else {
            return;
        }
    }
}

/// By function and parameter: whether the pointer in it may be null.
fn nullable(context: &Context<'_>, entry: &EntryPoint, index: usize) -> Vec<Vec<bool>> {
    let module = context.module;
    let mut found: Vec<Vec<bool>> = module.functions.iter().map(|(_, f)| vec![false; f.arguments.len()]).collect();
    if !context.options.checked {
        return found;
    }
    let handles: Vec<_> = module.functions.iter().map(|(handle, _)| Some(handle)).collect();
    // Callers before callees: a function is declared before those that call it.
    for handle in std::iter::once(None).chain(handles.into_iter().rev()) {
        let (function, info, own) = match handle {
            None => (&entry.function, context.info.get_entry_point(index), Vec::new()),
            Some(handle) => (&module.functions[handle], &context.info[handle], found[handle.index()].clone()),
        };
        let mut writer = Writer::new(context, function, info, context.ranges.of(handle), &own);
        writer.dry = true;
        walk::calls(&function.body, |callee, arguments| {
            for (parameter, argument) in arguments.iter().enumerate() {
                // A place that cannot be said is refused when the call is written.
                let wrong = writer.is_pointer(*argument) && writer.place(*argument).is_ok_and(|place| !place.checks.is_empty());
                if let Some(slot) = found[callee.index()].get_mut(parameter) {
                    *slot |= wrong;
                }
            }
        });
    }
    found
}

impl<'a> Writer<'a> {
    fn new(
        context: &'a Context<'a>,
        function: &'a Function,
        info: &'a FunctionInfo,
        ranges: Option<&'a Ranges<'a>>,
        nullable: &'a [bool],
    ) -> Self {
        let arguments = (0..).zip(&function.arguments).map(|(n, a)| types::name("a", n, a.name.as_deref())).collect();
        Self {
            context,
            function,
            info,
            ranges,
            nullable,
            dry: false,
            arguments,
            declared: HashSet::new(),
            known: HashMap::new(),
            labels: Vec::new(),
            next_label: 0,
            copies: 1,
            depth: 1,
            out: String::new(),
            parts: BTreeSet::new(),
        }
    }

    /// Writes a line.
    pub(super) fn line(&mut self, line: impl AsRef<str>) {
        for _ in 0..self.depth {
            self.out.push_str("  ");
        }
        self.out.push_str(line.as_ref());
        self.out.push('\n');
    }

    /// Writes a line, and others after it further inside.
    pub(super) fn inside(&mut self, write: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        self.depth += 1;
        let result = write(self);
        self.depth -= 1;
        result
    }

    /// The name of a parameter.
    pub(super) fn argument(&self, index: u32) -> Result<&str> {
        self.arguments.get(index as usize).map(String::as_str).ok_or_else(|| Refusal::bug("a parameter that is not there"))
    }

    pub(super) fn local(&self, handle: Handle<LocalVariable>) -> String {
        types::name("l", handle.index(), self.function.local_variables[handle].name.as_deref())
    }

    pub(super) fn function_name(&self, handle: Handle<Function>) -> String {
        types::name("f", handle.index(), self.context.module.functions[handle].name.as_deref())
    }

    /// What a function is passed before its own arguments.
    pub(super) fn hidden_arguments(&self, callee: Handle<Function>) -> Vec<String> {
        let private = self.context.uses_private(&self.context.info[callee]).then(|| "p".to_owned());
        let passes = self.context.options.cancellable.then(|| "t".to_owned());
        std::iter::once("c".to_owned()).chain(private).chain(passes).collect()
    }

    /// The type of a parameter.
    fn parameter_type(&self, handle: Handle<naga::Type>) -> Result<String> {
        let types = self.context.types;
        Ok(match *types.inner(handle) {
            TypeInner::Pointer { base, space } => {
                if types.is_endless(base)? {
                    return Err(Refusal::unsupported("a pointer to a runtime-sized array as an argument"));
                }
                if !matches!(space, naga::AddressSpace::Function | naga::AddressSpace::Private | naga::AddressSpace::WorkGroup) {
                    return Err(Refusal::unsupported("a pointer to a binding as an argument"));
                }
                format!("{}*", types.name(base)?)
            }
            TypeInner::ValuePointer { size: None, scalar, .. } => format!("{}*", types::scalar(scalar)?),
            TypeInner::ValuePointer { size: Some(size), scalar, .. } => {
                format!("vec<{}, {}>*", types::scalar(scalar)?, size as u8)
            }
            _ => types.name(handle)?.to_owned(),
        })
    }

    fn function(&mut self, handle: Handle<Function>, cold: bool) -> Result<String> {
        let mut parameters = vec!["const Parameters& c".to_owned()];
        let private = self.context.uses_private(self.info);
        if private {
            parameters.push("Private& p".to_owned());
        }
        if self.context.options.cancellable {
            parameters.push("u32& t".to_owned());
        }
        for (argument, name) in self.function.arguments.iter().zip(&self.arguments) {
            parameters.push(format!("{} {name}", self.parameter_type(argument.ty)?));
        }
        let result = match &self.function.result {
            Some(result) => self.context.types.name(result.ty)?.to_owned(),
            None => "void".to_owned(),
        };
        self.locals()?;
        self.block(&self.function.body)?;
        let qualifier = match (cold, private) {
            // What it keeps is only kept in registers where nobody has its address.
            (true, true) => "C_FN",
            (true, false) => "C_COLD",
            (false, _) => "C_FUNCTION",
        };
        let head = format!("{qualifier} {result} {}({}) {{\n", self.function_name(handle), parameters.join(", "));
        Ok(format!("{head}{}}}\n", std::mem::take(&mut self.out)))
    }

    fn entry_point(&mut self) -> Result<String> {
        let globals = self.context.globals;
        if self.context.options.indirect {
            self.parts.insert(Part::Indirect);
        }
        if self.context.options.cancellable {
            self.parts.insert(Part::Limit);
            self.line("u32 t = 0u;");
            self.line("c_keep_time(c.limit, c_local_index() == 0u);");
        }
        if globals.workgroup_blocks > 0 {
            let blocks = globals.workgroup_blocks;
            let start = if globals.dynamic_memory() > 0 { "w" } else { "&w" };
            let step = "n += C_INVOCATIONS";
            self.line(format!(
                "for (u32 n = c_local_index(); n < {blocks}u; {step}) ((vec<u32, 4>*){start})[n] = vec<u32, 4>{{}};"
            ));
            self.line("c_barrier();");
        }
        if !globals.private.is_empty() {
            self.line(format!("Private p = {{{}}};", globals.private.join(", ")));
        }
        for (index, argument) in (0..).zip(&self.function.arguments) {
            let value = self.input(argument)?;
            let name = self.argument(index)?.to_owned();
            self.line(format!("const {} {name} = {value};", self.context.types.name(argument.ty)?));
        }
        self.locals()?;
        self.block(&self.function.body)?;
        Ok(std::mem::take(&mut self.out))
    }

    /// The value of a built-in input, or of a structure of them.
    fn input(&mut self, argument: &naga::FunctionArgument) -> Result<String> {
        if let Some(binding) = &argument.binding {
            return self.built_in(binding);
        }
        let TypeInner::Struct { ref members, .. } = *self.context.types.inner(argument.ty) else {
            return Err(Refusal::bug("an input that is neither built-in nor a structure"));
        };
        let mut parts = Vec::new();
        for member in members {
            let binding = member.binding.as_ref().ok_or_else(|| Refusal::bug("an input that is not built-in"))?;
            parts.push(self.built_in(binding)?);
        }
        self.context.types.braces(argument.ty, &parts)
    }

    fn built_in(&mut self, binding: &Binding) -> Result<String> {
        let Binding::BuiltIn(built_in) = *binding else { return Err(Refusal::bug("an input by location")) };
        let three = |f: &dyn Fn(char) -> String| format!("vec<u32, 3>{{{}}}", ['X', 'Y', 'Z'].map(f).join(", "));
        let indirect = self.context.options.indirect;
        let group =
            |axis: char| if indirect { format!("group.{}", axis.to_ascii_lowercase()) } else { format!("C_GROUP_{axis}") };
        let groups =
            |axis: char| if indirect { format!("groups.{}", axis.to_ascii_lowercase()) } else { format!("C_GROUPS_{axis}") };
        Ok(match built_in {
            BuiltIn::LocalInvocationId => three(&|axis| format!("C_THREAD_{axis}")),
            BuiltIn::WorkGroupId => three(&group),
            BuiltIn::NumWorkGroups => three(&groups),
            BuiltIn::WorkGroupSize => three(&|axis| format!("C_SIZE_{axis}")),
            BuiltIn::GlobalInvocationId => three(&|axis| format!("{} * C_SIZE_{axis} + C_THREAD_{axis}", group(axis))),
            BuiltIn::LocalInvocationIndex => "c_local_index()".to_owned(),
            BuiltIn::SubgroupSize => "C_WAVE".to_owned(),
            BuiltIn::SubgroupInvocationId => "c_local_index() % C_WAVE".to_owned(),
            BuiltIn::SubgroupId => "c_local_index() / C_WAVE".to_owned(),
            BuiltIn::NumSubgroups => "(C_INVOCATIONS + C_WAVE - 1u) / C_WAVE".to_owned(),
            other => return Err(Refusal::unsupported(format_args!("the built-in input {other:?}"))),
        })
    }

    fn locals(&mut self) -> Result<()> {
        let function = self.function;
        for (handle, variable) in function.local_variables.iter() {
            let ty = self.context.types.name(variable.ty)?.to_owned();
            let value = match variable.init {
                Some(init) => constants::expression(self.context.module, self.context.types, &function.expressions, init)?,
                None => format!("{ty}{{}}"),
            };
            let name = self.local(handle);
            self.line(format!("{ty} {name} = {value};"));
        }
        Ok(())
    }
}
