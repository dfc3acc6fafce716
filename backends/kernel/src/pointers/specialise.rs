//! Copies of functions, one for each variable, and way into it, that a pointer leads to.
//!
//! A way with an index is told apart by where the index stands in the source, so that an access out of range is reported there; when that
//! makes too many copies, calls share them and the parameter is the place.

use std::collections::HashMap;

use naga::front::Typifier;
use naga::proc::ResolveContext;
use naga::{
    Arena, ArraySize, Block, Expression, Function, FunctionArgument, GlobalVariable, Handle, Module, Range, Scalar, Span,
    Statement, Type, TypeInner,
};

use super::target;
use crate::diagnostics::Finding;
use crate::{remap, walk};

/// Copies of functions in all.
const MAX_COPIES: usize = 1024;
/// Expressions and statements in all of them.
const MAX_OPERATIONS: usize = 1 << 18;

/// A part of what a pointer leads to.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Step {
    Constant(u32, Place),
    /// An index that is known when the kernel runs.
    Value(Scalar, Place),
}

/// Bytes of the source where an index that may be out of range stands.
type Place = Option<(u32, u32)>;

/// Where a pointer leads.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Path {
    variable: Handle<GlobalVariable>,
    steps: Vec<Step>,
}

/// By parameter: where it leads; `None` for those that stay parameters.
type Key = Vec<Option<Path>>;

#[derive(Clone, Copy)]
enum Root {
    Variable(Handle<GlobalVariable>),
    Parameter(usize),
}

/// An argument as the caller spells it.
struct Argument {
    root: Root,
    steps: Vec<Step>,
    /// What its steps with a [`Step::Value`] index with.
    indices: Vec<Handle<Expression>>,
}

/// A call, with what is given to the parameters that go away.
struct Call {
    callee: Handle<Function>,
    arguments: Vec<Option<Argument>>,
}

/// Replaces all functions by their copies.
pub(super) fn run(module: &mut Module) -> Result<(), Finding> {
    let exact = plan(module, true);
    let plan = exact.or_else(|_| plan(module, false)).map_err(|function| too_many(module, function))?;
    let index_types: HashMap<Scalar, Handle<Type>> = plan
        .index_scalars()
        .map(|scalar| (scalar, module.types.insert(Type { name: None, inner: TypeInner::Scalar(scalar) }, Span::UNDEFINED)))
        .collect();
    let functions = std::mem::take(&mut module.functions);
    let mut made: Vec<Vec<Handle<Function>>> = Vec::with_capacity(functions.len());
    for (handle, function) in functions.iter() {
        let mut copies = Vec::new();
        for key in plan.keys(handle) {
            let copy = Copy { plan: &plan, made: &made, index_types: &index_types, key };
            let copy = copy.of(function, plan.calls_of(Some(handle)));
            copies.push(module.functions.append(copy, functions.get_span(handle)));
        }
        made.push(copies);
    }
    for (index, entry) in module.entry_points.iter_mut().enumerate() {
        let key = vec![None; entry.function.arguments.len()];
        let copy = Copy { plan: &plan, made: &made, index_types: &index_types, key: &key };
        entry.function = copy.of(&entry.function, plan.entry_calls.get(index).map(Vec::as_slice).unwrap_or_default());
    }
    Ok(())
}

fn too_many(module: &Module, function: Handle<Function>) -> Finding {
    let name = module.functions[function].name.as_deref().unwrap_or_default();
    let span = module.functions.get_span(function);
    Finding::span(format!("`{name}` is called with too many combinations of pointers"), span)
        .note(format!(
            "a function is made once for each variable and element that its pointers to storage, uniform and workgroup memory lead to: \
             at most {MAX_COPIES} functions with {MAX_OPERATIONS} operations in all"
        ))
        .note("pass indices, or use the variables themselves: functions see all variables of the module")
}

/// Which copies there are.
struct Plan {
    calls: Vec<Vec<Call>>,
    entry_calls: Vec<Vec<Call>>,
    /// By function: its copies, in the order in which they were found, and where each of them is.
    copies: Vec<(Vec<Key>, HashMap<Key, usize>)>,
}

/// Finds all copies, or the function that there are too many of. With `exact` the places of indices tell copies apart.
fn plan(module: &Module, exact: bool) -> Result<Plan, Handle<Function>> {
    let functions: Vec<_> = module.functions.iter().collect();
    let calls = functions.iter().map(|(_, function)| calls(module, function, exact)).collect();
    let entry_calls = module.entry_points.iter().map(|entry| self::calls(module, &entry.function, exact)).collect();
    let mut plan = Plan { calls, entry_calls, copies: vec![Default::default(); functions.len()] };
    let mut room = Room { copies: MAX_COPIES, operations: MAX_OPERATIONS };
    for (handle, function) in &functions {
        if function.arguments.iter().all(|argument| target(module, argument).is_none()) {
            plan.add(*handle, vec![None; function.arguments.len()]);
        }
    }
    for call in plan.entry_calls.iter().flatten() {
        let new = add(&mut plan.copies, call.callee, call.key(&[]));
        room.take(module, call.callee, new)?;
    }
    // Callers before callees.
    for (handle, _) in functions.into_iter().rev() {
        let keys = plan.copies.get(handle.index()).map(|(keys, _)| keys.clone()).unwrap_or_default();
        for (key, call) in keys.iter().flat_map(|key| plan.calls.get(handle.index()).into_iter().flatten().map(move |c| (key, c)))
        {
            let new = add(&mut plan.copies, call.callee, call.key(key));
            room.take(module, call.callee, new)?;
        }
    }
    Ok(plan)
}

/// What is left to be used.
struct Room {
    copies: usize,
    operations: usize,
}

impl Room {
    fn take(&mut self, module: &Module, function: Handle<Function>, new: bool) -> Result<(), Handle<Function>> {
        if new {
            self.copies = self.copies.checked_sub(1).ok_or(function)?;
            let body = &module.functions[function];
            let mut operations = body.expressions.len();
            walk::statements(&body.body, &mut |_| operations += 1);
            self.operations = self.operations.checked_sub(operations).ok_or(function)?;
        }
        Ok(())
    }
}

/// Notes a copy; whether it is a new one.
fn add(copies: &mut [(Vec<Key>, HashMap<Key, usize>)], function: Handle<Function>, key: Key) -> bool {
    let Some((keys, places)) = copies.get_mut(function.index()) else { return false };
    if places.contains_key(&key) {
        return false;
    }
    places.insert(key.clone(), keys.len());
    keys.push(key);
    true
}

impl Plan {
    fn add(&mut self, function: Handle<Function>, key: Key) {
        add(&mut self.copies, function, key);
    }

    fn keys(&self, function: Handle<Function>) -> &[Key] {
        self.copies.get(function.index()).map(|(keys, _)| keys.as_slice()).unwrap_or_default()
    }

    fn calls_of(&self, function: Option<Handle<Function>>) -> &[Call] {
        function.and_then(|f| self.calls.get(f.index())).map(Vec::as_slice).unwrap_or_default()
    }

    fn index_scalars(&self) -> impl Iterator<Item = Scalar> {
        let steps = self.calls.iter().chain(&self.entry_calls).flatten().flat_map(|call| call.arguments.iter().flatten());
        steps.flat_map(|argument| &argument.steps).filter_map(|step| match step {
            Step::Value(scalar, _) => Some(*scalar),
            Step::Constant(..) => None,
        })
    }
}

impl Call {
    /// The copy that is called by a copy of the caller.
    fn key(&self, caller: &[Option<Path>]) -> Key {
        let path = |argument: &Argument| match argument.root {
            Root::Variable(variable) => Some(Path { variable, steps: argument.steps.clone() }),
            Root::Parameter(index) => {
                let mut path = caller.get(index)?.clone()?;
                path.steps.extend(&argument.steps);
                Some(path)
            }
        };
        self.arguments.iter().map(|argument| path(argument.as_ref()?)).collect()
    }
}

/// The calls of a function in their order.
fn calls(module: &Module, function: &Function, exact: bool) -> Vec<Call> {
    let mut typifier = Typifier::new();
    let mut calls = Vec::new();
    walk::calls(&function.body, |callee, arguments| {
        let parameters = &module.functions[callee].arguments;
        let arguments = parameters.iter().zip(arguments).map(|(parameter, &pointer)| {
            target(module, parameter)?;
            argument(module, function, &mut typifier, pointer, exact)
        });
        calls.push(Call { callee, arguments: arguments.collect() });
    });
    calls
}

fn argument(
    module: &Module,
    function: &Function,
    typifier: &mut Typifier,
    pointer: Handle<Expression>,
    exact: bool,
) -> Option<Argument> {
    let context = ResolveContext::with_locals(module, &function.local_variables, &function.arguments);
    typifier.grow(pointer, &function.expressions, &context).ok()?;
    let place = |at| function.expressions.get_span(at).to_range().filter(|_| exact);
    let place = |at| place(at).and_then(|range| Some((u32::try_from(range.start).ok()?, u32::try_from(range.end).ok()?)));
    let (mut steps, mut indices) = (Vec::new(), Vec::new());
    let mut at = pointer;
    let root = loop {
        match function.expressions[at] {
            Expression::GlobalVariable(variable) => break Root::Variable(variable),
            Expression::FunctionArgument(index) => break Root::Parameter(index as usize),
            Expression::AccessIndex { base, index } => {
                // Only where the binding says how long an array is can such an index be out of range.
                let runtime = is_runtime_sized(module, typifier.get(base, &module.types));
                steps.push(Step::Constant(index, place(at).filter(|_| runtime)));
                at = base;
            }
            Expression::Access { base, index } => {
                typifier.grow(index, &function.expressions, &context).ok()?;
                steps.push(Step::Value(typifier.get(index, &module.types).scalar()?, place(at)));
                indices.push(index);
                at = base;
            }
            _ => return None,
        }
    };
    steps.reverse();
    indices.reverse();
    Some(Argument { root, steps, indices })
}

fn is_runtime_sized(module: &Module, pointer: &TypeInner) -> bool {
    let TypeInner::Pointer { base, .. } = *pointer else { return false };
    matches!(module.types[base].inner, TypeInner::Array { size: ArraySize::Dynamic, .. })
}

/// One copy on its way.
struct Copy<'a> {
    plan: &'a Plan,
    /// By function: its copies, for those that are declared before.
    made: &'a [Vec<Handle<Function>>],
    index_types: &'a HashMap<Scalar, Handle<Type>>,
    key: &'a Key,
}

/// Where things of the function are in its copy.
struct Moved {
    /// By expression.
    expressions: Vec<Handle<Expression>>,
    /// By parameter that goes away: the pointer in its place, and the indices on the way to it.
    pointers: HashMap<usize, (Handle<Expression>, Vec<Handle<Expression>>)>,
    /// How many expressions come before those of the function.
    before: u32,
}

impl Copy<'_> {
    fn of(&self, function: &Function, calls: &[Call]) -> Function {
        let mut out = Function {
            name: function.name.clone(),
            result: function.result.clone(),
            local_variables: function.local_variables.clone(),
            diagnostic_filter_leaf: function.diagnostic_filter_leaf,
            ..Function::default()
        };
        let (places, mut moved) = self.parameters(function, &mut out);
        self.expressions(function, &places, &mut out, &mut moved);
        for (_, variable) in out.local_variables.iter_mut() {
            variable.init = variable.init.map(|init| moved.at(init));
        }
        for (handle, name) in &function.named_expressions {
            if self.pointer_of(&function.expressions[*handle], &moved).is_none() {
                out.named_expressions.insert(moved.at(*handle), name.clone());
            }
        }
        let mut body = function.body.clone();
        self.statements(&mut body, &out.expressions, &moved);
        self.calls(&mut body, calls, &mut out.expressions, &moved);
        out.body.append(&mut body);
        out
    }

    /// The parameters of the copy: those that stay, then the indices of those that go. By parameter of the function: its place.
    fn parameters(&self, function: &Function, out: &mut Function) -> (Vec<u32>, Moved) {
        let mut places = Vec::with_capacity(function.arguments.len());
        for (argument, path) in function.arguments.iter().zip(self.key) {
            places.push(out.arguments.len() as u32);
            if path.is_none() {
                out.arguments.push(argument.clone());
            }
        }
        let mut moved = Moved { expressions: Vec::new(), pointers: HashMap::new(), before: 0 };
        let mut starts = Vec::new();
        for (parameter, path) in self.key.iter().enumerate() {
            let Some(path) = path else { continue };
            let span = place_of(function, parameter);
            let name = function.arguments.get(parameter).and_then(|argument| argument.name.clone());
            let mut indices = Vec::new();
            for step in &path.steps {
                let Step::Value(scalar, _) = step else { continue };
                let Some(&ty) = self.index_types.get(scalar) else { continue };
                let name = name.as_ref().map(|name| format!("{name}_index"));
                let index = Expression::FunctionArgument(out.arguments.len() as u32);
                out.arguments.push(FunctionArgument { name, ty, binding: None });
                indices.push(out.expressions.append(index, span));
            }
            starts.push((parameter, path, out.expressions.append(Expression::GlobalVariable(path.variable), span), indices));
        }
        let first = out.expressions.len() as u32;
        for (parameter, path, start, indices) in starts {
            let pointer = follow(&mut out.expressions, path, start, &indices, place_of(function, parameter));
            moved.pointers.insert(parameter, (pointer, indices));
        }
        moved.before = out.expressions.len() as u32;
        if moved.before > first {
            let ways = Range::from_index_range(first..moved.before, &out.expressions);
            out.body.push(Statement::Emit(ways), Span::UNDEFINED);
        }
        (places, moved)
    }

    /// The pointer that an expression of the function, which is one of its parameters, becomes.
    fn pointer_of(&self, expression: &Expression, moved: &Moved) -> Option<Handle<Expression>> {
        let Expression::FunctionArgument(index) = expression else { return None };
        moved.pointers.get(&(*index as usize)).map(|(pointer, _)| *pointer)
    }

    fn expressions(&self, function: &Function, places: &[u32], out: &mut Function, moved: &mut Moved) {
        for (handle, expression) in function.expressions.iter() {
            let span = function.expressions.get_span(handle);
            let mut copy = expression.clone();
            remap::expression(&mut copy, &mut |operand| *operand = moved.at(*operand));
            let pointer = self.pointer_of(expression, moved);
            if let Expression::FunctionArgument(index) = &mut copy {
                // Every expression keeps its distance from the others, also the one that nothing mentions any more.
                match pointer.and_then(|_| self.key.get(*index as usize)?.as_ref()) {
                    Some(path) => copy = Expression::GlobalVariable(path.variable),
                    None => *index = places.get(*index as usize).copied().unwrap_or(*index),
                }
            }
            let at = out.expressions.append(copy, span);
            moved.expressions.push(pointer.unwrap_or(at));
        }
    }

    fn statements(&self, body: &mut Block, expressions: &Arena<Expression>, moved: &Moved) {
        remap::block(body, &mut |operand| *operand = moved.at(*operand), &mut |range| {
            let old = range.index_range();
            *range = Range::from_index_range(old.start + moved.before..old.end + moved.before, expressions);
        });
    }

    /// Leads every call to its copy, and gives it the indices of its pointers.
    fn calls(&self, body: &mut Block, calls: &[Call], expressions: &mut Arena<Expression>, moved: &Moved) {
        let mut calls = calls.iter();
        walk::statements_mut(body, &mut |statement| {
            let Statement::Call { function, arguments, result } = statement else { return };
            let Some(call) = calls.next() else { return };
            let copy = self.plan.copies.get(call.callee.index()).and_then(|(_, places)| places.get(&call.key(self.key)));
            let Some(made) = copy.and_then(|copy| self.made.get(call.callee.index())?.get(*copy)) else { return };
            *function = *made;
            if let Some(result) = result {
                expressions[*result] = Expression::CallResult(*made);
            }
            let mut stay = call.arguments.iter().map(Option::is_none);
            arguments.retain(|_| stay.next().unwrap_or(true));
            for argument in call.arguments.iter().flatten() {
                if let Root::Parameter(index) = argument.root {
                    arguments.extend(moved.pointers.get(&index).into_iter().flat_map(|(_, indices)| indices));
                }
                arguments.extend(argument.indices.iter().map(|index| moved.at(*index)));
            }
        });
    }
}

impl Moved {
    fn at(&self, handle: Handle<Expression>) -> Handle<Expression> {
        self.expressions.get(handle.index()).copied().unwrap_or(handle)
    }
}

/// Where a parameter is declared.
fn place_of(function: &Function, parameter: usize) -> Span {
    let is_it = |e: &Expression| matches!(e, Expression::FunctionArgument(i) if usize::try_from(*i) == Ok(parameter));
    let found = function.expressions.iter().find(|(_, e)| is_it(e));
    found.map_or(Span::UNDEFINED, |(handle, _)| function.expressions.get_span(handle))
}

/// Appends the accesses of a path.
fn follow(
    expressions: &mut Arena<Expression>,
    path: &Path,
    start: Handle<Expression>,
    indices: &[Handle<Expression>],
    declared: Span,
) -> Handle<Expression> {
    let mut indices = indices.iter();
    let mut base = start;
    for step in &path.steps {
        let (expression, place) = match *step {
            Step::Constant(index, place) => (Expression::AccessIndex { base, index }, place),
            Step::Value(_, place) => {
                let Some(&index) = indices.next() else { continue };
                (Expression::Access { base, index }, place)
            }
        };
        let span = place.map_or(declared, |(start, end)| Span::new(start, end));
        base = expressions.append(expression, span);
    }
    base
}
