//! What naga's IR of a module needs before it means what the module does, and is as plain as that of other languages.

mod zeros;

use crate::bitcast::{self, Casts};
use naga::{AddressSpace, Barrier, Block, Expression, Handle, Module, Statement};

/// All repairs. `casts`: between types of other components.
pub(super) fn repair(module: &mut Module, casts: &Casts) {
    bitcast::reshape(module, casts);
    register_results(module);
    let mut functions = std::mem::take(&mut module.functions);
    let mut parts_left = zeros::MAX_PARTS;
    for (_, function) in functions.iter_mut() {
        barriers(&mut function.body);
        zeros::split(module, function, &mut parts_left);
    }
    module.functions = functions;
    for index in 0..module.entry_points.len() {
        inline(module, index);
    }
    name_bindings(module);
}

/// `frexp` and `modf` give structures that the IR wants to know of. Those of the module stay what they are: only members can be taken.
fn register_results(module: &mut Module) {
    use naga::{MathFunction, PredeclaredType, Scalar, VectorSize};
    let uses = |fun: MathFunction| {
        let functions = module.functions.iter().map(|(_, function)| function);
        let mut expressions = functions.flat_map(|function| function.expressions.iter());
        expressions.any(|(_, e)| matches!(e, Expression::Math { fun: found, .. } if *found == fun))
    };
    let (frexp, modf) = (uses(MathFunction::Frexp), uses(MathFunction::Modf));
    for scalar in [Scalar::F32, Scalar::F16, Scalar::F64] {
        if !module.types.iter().any(|(_, ty)| ty.inner.scalar() == Some(scalar)) {
            continue;
        }
        for size in [None, Some(VectorSize::Bi), Some(VectorSize::Tri), Some(VectorSize::Quad)] {
            if frexp {
                module.generate_predeclared_type(PredeclaredType::FrexpResult { size, scalar });
            }
            if modf {
                module.generate_predeclared_type(PredeclaredType::ModfResult { size, scalar });
            }
        }
    }
}

/// A barrier over images, of which there are none, is one over nothing; one that invocations wait at orders workgroup memory.
fn barriers(block: &mut Block) {
    for statement in block.iter_mut() {
        match statement {
            Statement::ControlBarrier(flags) => {
                flags.remove(Barrier::TEXTURE | Barrier::SUB_GROUP);
                flags.insert(Barrier::WORK_GROUP);
            }
            Statement::MemoryBarrier(flags) => flags.remove(Barrier::TEXTURE | Barrier::SUB_GROUP),
            Statement::Block(inner) => barriers(inner),
            Statement::If { accept, reject, .. } => {
                barriers(accept);
                barriers(reject);
            }
            Statement::Switch { cases, .. } => cases.iter_mut().for_each(|case| barriers(&mut case.body)),
            Statement::Loop { body, continuing, .. } => {
                barriers(body);
                barriers(continuing);
            }
            _ => {}
        }
    }
}

/// A binding without a name goes by its block's.
fn name_bindings(module: &mut Module) {
    let types = &module.types;
    for (_, variable) in module.global_variables.iter_mut() {
        if variable.binding.is_some() && variable.name.as_ref().is_none_or(String::is_empty) {
            variable.name.clone_from(&types[variable.ty].name);
        }
    }
}

/// naga makes an entry point that stores its arguments to private variables and calls the function. The function itself, with those stores before it, says
/// the same in a way that proofs about whole writes can follow.
fn inline(module: &mut Module, index: usize) {
    let Some(entry) = module.entry_points.get(index) else { return };
    let Some((stores, callee)) = wrapper(&entry.function) else { return };
    let mut function = module.functions[callee].clone();
    if !function.arguments.is_empty() || function.result.is_some() {
        return;
    }
    function.name.clone_from(&entry.function.name);
    function.arguments.clone_from(&entry.function.arguments);
    let shared = used_elsewhere(module, callee);
    let mut prologue = Block::new();
    for (variable, argument) in stores {
        let value = function.expressions.append(Expression::FunctionArgument(argument), naga::Span::UNDEFINED);
        if !shared.contains(&variable) {
            let global = &module.global_variables[variable];
            let local = naga::LocalVariable { name: global.name.clone(), ty: global.ty, init: None };
            let local = function.local_variables.append(local, naga::Span::UNDEFINED);
            for (_, expression) in function.expressions.iter_mut() {
                if *expression == Expression::GlobalVariable(variable) {
                    *expression = Expression::LocalVariable(local);
                }
            }
            let pointer = function.expressions.append(Expression::LocalVariable(local), naga::Span::UNDEFINED);
            prologue.push(Statement::Store { pointer, value }, naga::Span::UNDEFINED);
            continue;
        }
        let pointer = function.expressions.append(Expression::GlobalVariable(variable), naga::Span::UNDEFINED);
        prologue.push(Statement::Store { pointer, value }, naga::Span::UNDEFINED);
    }
    prologue.extend_block(std::mem::take(&mut function.body));
    function.body = prologue;
    if let Some(entry) = module.entry_points.get_mut(index) {
        entry.function = function;
    }
}

/// A private variable, and the argument that is stored to it.
type ArgumentStore = (Handle<naga::GlobalVariable>, u32);

/// The stores of arguments and the call that an entry point consists of; `None` when it is anything else.
fn wrapper(function: &naga::Function) -> Option<(Vec<ArgumentStore>, Handle<naga::Function>)> {
    let mut stores = Vec::new();
    let mut called = None;
    for statement in function.body.iter() {
        match (statement, called) {
            (Statement::Store { pointer, value }, None) => {
                let (Expression::GlobalVariable(variable), Expression::FunctionArgument(argument)) =
                    (&function.expressions[*pointer], &function.expressions[*value])
                else {
                    return None;
                };
                stores.push((*variable, *argument));
            }
            (Statement::Call { function, arguments, result: None }, None) if arguments.is_empty() => called = Some(*function),
            (Statement::Emit(_), None) | (Statement::Return { value: None }, Some(_)) => {}
            _ => return None,
        }
    }
    Some((stores, called?))
}

/// Private variables that other functions than one do something with. naga lists every variable in every function: mention alone counts for nothing.
fn used_elsewhere(module: &Module, except: Handle<naga::Function>) -> Vec<Handle<naga::GlobalVariable>> {
    let mut found = Vec::new();
    for (_, function) in module.functions.iter().filter(|(handle, _)| *handle != except) {
        let mut note = |pointer: Handle<Expression>| {
            if let Expression::GlobalVariable(variable) = function.expressions[crate::access::root(function, pointer)]
                && module.global_variables[variable].space == AddressSpace::Private
            {
                found.push(variable);
            }
        };
        for (_, expression) in function.expressions.iter() {
            match expression {
                Expression::Load { pointer: base } | Expression::Access { base, .. } | Expression::AccessIndex { base, .. } => {
                    note(*base)
                }
                _ => {}
            }
        }
        pointers(&function.body, &mut note);
    }
    found
}

/// Pointers that statements store through or hand on.
fn pointers(block: &Block, note: &mut impl FnMut(Handle<Expression>)) {
    for statement in block.iter() {
        match statement {
            Statement::Store { pointer, .. } | Statement::Atomic { pointer, .. } => note(*pointer),
            Statement::Call { arguments, .. } => arguments.iter().for_each(|argument| note(*argument)),
            Statement::Block(inner) => pointers(inner, note),
            Statement::If { accept, reject, .. } => {
                pointers(accept, note);
                pointers(reject, note);
            }
            Statement::Switch { cases, .. } => cases.iter().for_each(|case| pointers(&case.body, note)),
            Statement::Loop { body, continuing, .. } => {
                pointers(body, note);
                pointers(continuing, note);
            }
            _ => {}
        }
    }
}
