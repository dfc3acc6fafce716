//! Lowering: what a kernel's IR becomes on the way to a device, the same for all of them. Validate mode and prints turn into ordinary code
//! that writes into one hidden storage buffer, the *record*.
//!
//! A device compiles the lowered module, binds a zeroed record to each launch, and hands its bytes back to [`Reports::violation`] and
//! [`Reports::printed`] when the launch is over. It knows nothing else about either. No code is generated here, and no device is known.

mod build;
mod check;
mod cut;
pub(crate) mod format;
mod lanes;
pub mod names;
mod record;
mod report;
mod spell;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;

use naga::valid::ModuleInfo;
use naga::{
    AddressSpace, BuiltIn, Expression, Function, FunctionArgument, GlobalVariable, Handle, Module, ResourceBinding, Span,
    Statement, StorageAccess,
};

use crate::diagnostics::{self, Diagnostics};
use crate::range::ModuleRanges;
use crate::reflection::{Bounds, Reflection};
use crate::{EntryPoint, parse, walk};
use build::{Types, Writer};
use check::{Rewriter, SiteAt, View};
pub(crate) use record::Print;
pub use record::{Line, Printed, Record, Site, Violation};

/// Room for printed lines that a launch gets when nothing else is asked for, in bytes. A line takes 16 bytes and its arguments.
pub const PRINT_ROOM: u32 = 64 << 10;
/// Bytes at the beginning of a record that say how much of it is used.
pub const RECORD_HEAD: u32 = record::member::LINES * 4;
/// The most room for printed lines, in bytes.
pub const MAX_PRINT_ROOM: u32 = 64 << 20;

/// What to lower a kernel for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lowering {
    /// Only [`Bounds::Validate`] changes anything: the other modes are the device's own.
    pub bounds: Bounds,
    /// Whether an invocation keeps its first violation to itself and reports it when it ends, rather than at once. For devices on which code
    /// with a call in its midst is slow. A cancelled invocation then reports nothing.
    pub deferred: bool,
    /// Bytes of room for what a launch prints, at most [`MAX_PRINT_ROOM`]. 0: nobody listens, and prints are left out.
    pub print_room: u32,
    /// Makes every name one that a target language accepts; without it names are as in the source.
    pub names: Option<names::Family>,
}

/// A kernel made ready for a device.
pub struct Lowered {
    entry: Arc<EntryPoint>,
    /// The module and its index of the entry point; `None` when nothing had to change.
    made: Option<(Module, ModuleInfo)>,
    record_variable: Option<Handle<GlobalVariable>>,
    reporter: Option<Handle<Function>>,
    reports: Arc<Reports>,
}

/// What a lowered kernel's record means: all that has to be kept of it once the module is compiled.
#[derive(Debug, Default)]
pub struct Reports {
    record: Option<Record>,
    sites: Vec<Site>,
    /// Those that are not left out.
    prints: Arc<[Print]>,
}

/// Hidden parameters of a function, by position.
#[derive(Clone, Debug, Default)]
struct Hidden {
    /// The invocation's id; a parameter of an entry point may be a structure that has it as a member.
    id: Option<(u32, Option<u32>)>,
    /// By parameter: the one that says what is wrong with the pointer in it.
    pending: HashMap<u32, u32>,
}

impl Hidden {
    fn pending(&self, parameter: u32) -> Option<u32> {
        self.pending.get(&parameter).copied()
    }

    fn id(&self, writer: &mut Writer<'_>) -> Handle<Expression> {
        let (position, member) = self.id.unwrap_or_default();
        let argument = writer.add(Expression::FunctionArgument(position));
        member.map_or(argument, |member| writer.part(argument, member))
    }
}

/// What the pass knows about the whole module.
struct Context {
    validate: bool,
    types: Types,
    sites: Vec<SiteAt>,
    /// By function of the source module: its hidden parameters; `None` when it is dropped.
    callees: Vec<Option<Hidden>>,
    /// By function of the source module: its new handle.
    moved: Vec<Option<Handle<Function>>>,
    recorder: Option<Handle<Function>>,
    /// In the deferred form: what keeps a violation, and where.
    keeper: Option<(Handle<Function>, Handle<GlobalVariable>)>,
}

impl Context {
    fn moved(&self, function: Handle<Function>) -> Option<Handle<Function>> {
        self.moved.get(function.index()).copied().flatten()
    }

    /// Reports a violation: site, low and high word of the index, length.
    fn record(&self, writer: &mut Writer<'_>, hidden: &Hidden, parts: [Handle<Expression>; 4]) {
        let mut arguments = parts.to_vec();
        let function = match (self.keeper, self.recorder) {
            (Some((keeper, _)), _) => keeper,
            (None, Some(recorder)) => {
                arguments.push(hidden.id(writer));
                recorder
            }
            (None, None) => return,
        };
        writer.push(Statement::Call { function, arguments, result: None });
    }

    /// At the end of an entry point: reports what was kept.
    fn flush(&self, writer: &mut Writer<'_>, hidden: &Hidden) {
        let (Some((_, kept)), Some(recorder)) = (self.keeper, self.recorder) else { return };
        let place = writer.add(Expression::GlobalVariable(kept));
        let value = writer.load(place);
        let (site, zero) = (writer.part(value, 0), writer.word(0));
        let some = writer.binary(naga::BinaryOperator::NotEqual, site, zero);
        let report = writer.nested(|writer| {
            let mut arguments: Vec<_> = (0..4).map(|n| writer.part(value, n)).collect();
            arguments.push(hidden.id(writer));
            writer.push(Statement::Call { function: recorder, arguments, result: None });
        });
        writer.if_(some, report, naga::Block::new());
    }
}

impl EntryPoint {
    /// Lowers it. What it means stays the same. Works on a thread of its own, as [`crate::Module::parse`] does.
    ///
    /// # Errors
    /// Only for a bug of ours: the result is validated.
    pub fn lower(self: &Arc<Self>, lowering: &Lowering) -> Result<Lowered, Diagnostics> {
        let prints = !self.prints.is_empty() && self.calls_prints();
        if lowering.bounds != Bounds::Validate && !prints && lowering.names.is_none() {
            let (entry, reports) = (Arc::clone(self), Arc::default());
            return Ok(Lowered { entry, made: None, record_variable: None, reporter: None, reports });
        }
        parse::on_large_stack(|| Pass::new(self, lowering, prints).run())
    }

    fn calls_prints(&self) -> bool {
        let reached = walk::reached(&self.module, &self.function().function.body);
        self.module.functions.iter().any(|(handle, f)| reached[handle.index()] && self.print_of(f).is_some())
    }

    /// The print that a function of the IR stands for.
    fn print_of(&self, function: &Function) -> Option<usize> {
        let number = function.name.as_deref()?.strip_prefix(self.print_prefix.as_deref()?)?;
        number.parse().ok().filter(|number| *number < self.prints.len())
    }
}

impl Lowered {
    /// Makes code of the kernel of what targets leave open: what a subgroup operation takes from a lane that is not there is zero and, if
    /// `indices`, no index is out of range where something is accessed; shift counts are taken modulo the width, NaN is told apart, and functions on bits are of
    /// words only. Works on a thread of its own.
    ///
    /// # Errors
    /// Only for a bug of ours: the result is validated.
    pub fn cut(self, indices: bool) -> Result<Self, Diagnostics> {
        parse::on_large_stack(|| cut::run(self, indices))
    }
    /// The IR, validated with [`Lowered::info`].
    pub fn module(&self) -> &Module {
        self.made.as_ref().map_or(self.entry.module(), |(module, _)| module)
    }
    /// Types and uniformity of the IR's expressions.
    pub fn info(&self) -> &ModuleInfo {
        self.made.as_ref().map_or(self.entry.info(), |(_, info)| info)
    }
    /// The entry point's index in the IR.
    pub fn index(&self) -> usize {
        if self.made.is_some() { 0 } else { self.entry.index() }
    }
    /// The entry point's name in the IR; [`Lowered::reflection`] has the user's.
    pub fn entry_name(&self) -> &str {
        self.module().entry_points.get(self.index()).map_or("", |entry| entry.name.as_str())
    }
    /// What it is for whoever launches it: the record is not part of it.
    pub fn reflection(&self) -> &Reflection {
        self.entry.reflection()
    }
    /// What was lowered.
    pub fn entry(&self) -> &Arc<EntryPoint> {
        &self.entry
    }
    /// The record as a variable of the IR.
    pub fn record_variable(&self) -> Option<Handle<GlobalVariable>> {
        self.record_variable
    }
    /// The function of the IR that is called when an index is out of range, and never otherwise: a branch to it is cold.
    pub fn reporter(&self) -> Option<Handle<Function>> {
        self.reporter
    }
    /// What its record means.
    pub fn reports(&self) -> &Arc<Reports> {
        &self.reports
    }
}

impl Reports {
    /// The buffer that the kernel reports into, if it has anything to report.
    pub fn record(&self) -> Option<Record> {
        self.record
    }
    /// The accesses that are checked.
    pub fn sites(&self) -> &[Site] {
        &self.sites
    }
    /// Whether the kernel may print.
    pub fn prints(&self) -> bool {
        !self.prints.is_empty()
    }
    /// The violation that a launch's record tells of.
    pub fn violation(&self, record: &[u8]) -> Option<Violation> {
        if self.sites.is_empty() { None } else { record::violation(&self.sites, record) }
    }
    /// The lines that a launch's record tells of.
    pub fn printed(&self, record: &[u8]) -> Printed {
        if self.prints() { record::printed(&self.prints, record) } else { Printed::default() }
    }
    /// How much of a record holds something, in bytes, given its beginning of [`RECORD_HEAD`] bytes: for devices that fetch it in two steps.
    pub fn used(&self, head: &[u8]) -> u64 {
        record::used(head).min(self.record.map_or(0, |record| record.size.into()))
    }
}

/// One run of the passes.
struct Pass<'a> {
    entry: &'a Arc<EntryPoint>,
    lowering: &'a Lowering,
    /// Whether prints write, and are not left out.
    prints: bool,
    ranges: ModuleRanges<'a>,
    out: Module,
}

impl<'a> Pass<'a> {
    fn new(entry: &'a Arc<EntryPoint>, lowering: &'a Lowering, prints: bool) -> Self {
        let ranges = ModuleRanges::find(&entry.module, &entry.info, entry.index);
        Self { entry, lowering, prints: prints && lowering.print_room >= 4, ranges, out: entry.module.clone() }
    }

    fn validate(&self) -> bool {
        self.lowering.bounds == Bounds::Validate
    }

    fn view(&self, function: Option<Handle<Function>>) -> Option<View<'_>> {
        View::new(&self.entry.module, (&self.entry.info, self.entry.index), &self.ranges, function)
    }

    fn run(mut self) -> Result<Lowered, Diagnostics> {
        let module = &self.entry.module;
        let pending = self.pending();
        let needs = self.needs(&pending);
        let types = Types::new(&mut self.out.types);
        self.out.functions = naga::Arena::new();
        self.out.entry_points = vec![self.entry.function().clone()];
        let reports = needs.iter().any(|needs| *needs);
        let record = reports.then(|| self.record(&types));
        let mut context = Context {
            validate: self.validate(),
            types,
            sites: Vec::new(),
            callees: vec![None; module.functions.len()],
            moved: vec![None; module.functions.len()],
            recorder: None,
            keeper: None,
        };
        if let (Some((_, variable)), true) = (record, self.validate()) {
            self.add_reporters(&mut context, variable);
        }
        for (handle, before) in module.functions.iter() {
            let hidden = hidden(before, needs[handle.index()], &pending[handle.index()]);
            let made = match (self.entry.print_of(before), record) {
                (Some(number), Some((_, variable))) if self.prints => Some(self.printer(number, before, variable, &types)),
                (Some(_), _) => None,
                (None, _) => self.function(&mut context, handle, before, &hidden),
            };
            if let Some(made) = made {
                context.moved[handle.index()] = Some(self.out.functions.append(made, module.functions.get_span(handle)));
                context.callees[handle.index()] = Some(hidden);
            }
        }
        self.entry_point(&mut context, needs.last().copied().unwrap_or(false));
        self.finish(context, record)
    }

    /// By function and parameter: whether what is wrong with the pointer in it may have to be told along with it. The last is the entry point.
    fn pending(&self) -> Vec<Vec<bool>> {
        let module = &self.entry.module;
        let mut pending: Vec<Vec<bool>> = module.functions.iter().map(|(_, f)| vec![false; f.arguments.len()]).collect();
        pending.push(Vec::new());
        if !self.validate() {
            return pending;
        }
        let handles: Vec<_> = module.functions.iter().map(|(handle, _)| handle).collect();
        // Callers before callees.
        for function in std::iter::once(None).chain(handles.into_iter().rev().map(Some)) {
            let Some(view) = self.view(function) else { continue };
            let own = pending[function.map_or(module.functions.len(), Handle::index)].clone();
            walk::calls(&view.function.body, |callee, arguments| {
                for (parameter, argument) in arguments.iter().enumerate() {
                    if view.is_pointer(*argument) && view.may_be_wrong(*argument, &own) {
                        pending[callee.index()][parameter] = true;
                    }
                }
            });
        }
        pending
    }

    /// By function: whether it may report something. The last is the entry point.
    fn needs(&self, pending: &[Vec<bool>]) -> Vec<bool> {
        let module = &self.entry.module;
        let mut needs = vec![false; module.functions.len() + 1];
        // Callees before callers.
        for function in module.functions.iter().map(|(handle, _)| Some(handle)).chain([None]) {
            let Some(view) = self.view(function) else { continue };
            let index = function.map_or(module.functions.len(), Handle::index);
            let prints = self.prints && self.entry.print_of(view.function).is_some();
            let own: &[bool] = &pending[index];
            needs[index] = prints || view.reports(&view.function.body, own, self.validate(), &|callee| needs[callee.index()]);
        }
        needs
    }

    /// Adds the record to the module.
    fn record(&mut self, types: &Types) -> (Record, Handle<GlobalVariable>) {
        let room = if self.prints { self.lowering.print_room.min(MAX_PRINT_ROOM) / 4 } else { 0 };
        let (ty, size) = record::ty(&mut self.out, types, room);
        let reflection = self.entry.reflection();
        let binding = (0..).find(|slot| reflection.find(0, *slot).is_none()).unwrap_or(u32::MAX);
        let variable = GlobalVariable {
            name: Some("compute_record".into()),
            space: AddressSpace::Storage { access: StorageAccess::LOAD | StorageAccess::STORE },
            binding: Some(ResourceBinding { group: 0, binding }),
            ty,
            init: None,
            memory_decorations: naga::MemoryDecorations::empty(),
        };
        let variable = self.out.global_variables.append(variable, Span::UNDEFINED);
        (Record { group: 0, binding, size }, variable)
    }

    fn add_reporters(&mut self, context: &mut Context, record: Handle<GlobalVariable>) {
        let recorder = report::recorder(record, &context.types);
        context.recorder = Some(self.out.functions.append(recorder, Span::UNDEFINED));
        if self.lowering.deferred {
            let variable = GlobalVariable {
                name: Some("compute_kept".into()),
                space: AddressSpace::Private,
                binding: None,
                ty: context.types.pending,
                init: None,
                memory_decorations: naga::MemoryDecorations::empty(),
            };
            let kept = self.out.global_variables.append(variable, Span::UNDEFINED);
            let keeper = report::keeper(kept, &context.types);
            context.keeper = Some((self.out.functions.append(keeper, Span::UNDEFINED), kept));
        }
    }

    fn printer(&self, number: usize, before: &Function, record: Handle<GlobalVariable>, types: &Types) -> Function {
        let room = self.lowering.print_room.min(MAX_PRINT_ROOM) / 4;
        let index = u32::try_from(number).unwrap_or(u32::MAX);
        report::printer(before, index, &self.entry.prints[number], record, types, room)
    }

    /// A function with its hidden parameters, and with everything in it rewritten; `None` when it is not reached.
    fn function(&self, context: &mut Context, handle: Handle<Function>, before: &Function, hidden: &Hidden) -> Option<Function> {
        let view = self.view(Some(handle))?;
        let mut out = before.clone();
        if hidden.id.is_some() {
            out.arguments.push(parameter("compute_invocation", context.types.id));
        }
        let mut pending: Vec<u32> = hidden.pending.values().copied().collect();
        pending.sort_unstable();
        for position in pending {
            out.arguments.push(parameter(&format!("compute_pending_{position}"), context.types.pending));
        }
        move_calls(context, &mut out);
        Rewriter::new(view, context, hidden.clone(), &mut out, false).run();
        Some(out)
    }

    fn entry_point(&mut self, context: &mut Context, reports: bool) {
        let mut out = self.entry.function().function.clone();
        let mut hidden = Hidden::default();
        if reports {
            hidden.id =
                Some(find_input(&self.out, &mut out, BuiltIn::GlobalInvocationId, ("compute_invocation", context.types.id)));
        }
        move_calls(context, &mut out);
        if let Some(view) = self.view(None) {
            Rewriter::new(view, context, hidden, &mut out, reports).run();
        }
        self.out.entry_points[0].function = out;
    }

    fn finish(mut self, context: Context, record: Option<(Record, Handle<GlobalVariable>)>) -> Result<Lowered, Diagnostics> {
        if let Some(family) = self.lowering.names {
            names::make_safe(&mut self.out, family);
        }
        let info = parse::validator().validate(&self.out).map_err(|error| {
            diagnostics::internal(format!("a lowered kernel is not valid: {}", error.emit_to_string(self.entry.text.as_str())))
        })?;
        let locate = |span| self.entry.location(span);
        let reporter = context.keeper.map(|(keeper, _)| keeper).or(context.recorder);
        Ok(Lowered {
            entry: Arc::clone(self.entry),
            made: Some((self.out, info)),
            record_variable: record.map(|(_, variable)| variable),
            reporter,
            reports: Arc::new(Reports {
                record: record.map(|(record, _)| record),
                sites: context.sites.into_iter().map(|site| site.resolve(&locate)).collect(),
                prints: if self.prints { Arc::clone(&self.entry.prints) } else { Arc::default() },
            }),
        })
    }
}

fn parameter(name: &str, ty: Handle<naga::Type>) -> FunctionArgument {
    FunctionArgument { name: Some(name.into()), ty, binding: None }
}

/// Where the hidden parameters of a function go: behind its own, the invocation first.
fn hidden(function: &Function, needs: bool, pending: &[bool]) -> Hidden {
    let mut hidden = Hidden::default();
    let mut next = u32::try_from(function.arguments.len()).unwrap_or(u32::MAX);
    let mut place = || {
        next = next.saturating_add(1);
        next - 1
    };
    if needs {
        hidden.id = Some((place(), None));
    }
    for (parameter, pending) in (0..).zip(pending) {
        if *pending {
            hidden.pending.insert(parameter, place());
        }
    }
    hidden
}

/// The parameter of an entry point that is this input, added under that name and type when there is none; the member, when it is a structure.
fn find_input(
    module: &Module,
    function: &mut Function,
    input: BuiltIn,
    (name, ty): (&str, Handle<naga::Type>),
) -> (u32, Option<u32>) {
    let wanted = Some(naga::Binding::BuiltIn(input));
    for (position, argument) in (0..).zip(&function.arguments) {
        if argument.binding == wanted {
            return (position, None);
        }
        if let naga::TypeInner::Struct { members, .. } = &module.types[argument.ty].inner
            && let Some((member, _)) = (0..).zip(members).find(|(_, member)| member.binding == wanted)
        {
            return (position, Some(member));
        }
    }
    function.arguments.push(FunctionArgument { name: Some(name.into()), ty, binding: wanted });
    (u32::try_from(function.arguments.len() - 1).unwrap_or(u32::MAX), None)
}

/// Functions are numbered anew, so the results of their calls are, too.
fn move_calls(context: &Context, function: &mut Function) {
    for (_, expression) in function.expressions.iter_mut() {
        if let Expression::CallResult(callee) = expression
            && let Some(moved) = context.moved(*callee)
        {
            *callee = moved;
        }
    }
}
