//! Pointers to storage, uniform and workgroup memory as parameters of functions. The validator and most targets have no such parameters, so a
//! function that has some is made once for each variable, and way into it, that it is called with; indices on the way become parameters of their
//! own. What comes out knows every variable that it uses by its name, and all analyses see it so.
//!
//! Runs on a module that is not validated yet. What is wrong with a function must be told once, and also where nobody calls it: so a
//! *general* module, in which each such parameter is a variable that stands for all of them, is validated first.

pub(crate) mod aliases;
mod specialise;

use naga::front::Typifier;
use naga::proc::ResolveContext;
use naga::{
    AddressSpace, Block, Expression, Function, FunctionArgument, GlobalVariable, Handle, Module, ResourceBinding, Scalar,
    Statement, Type, TypeInner,
};

use crate::access;
use crate::diagnostics::Finding;
use crate::parse;
use crate::walk;
use crate::wgsl::type_text;

/// Makes the functions that a module's pointers need. A module that is refused stays as it was.
pub(crate) fn resolve(module: &mut Module) -> Result<(), Vec<Finding>> {
    if !are_there(module) {
        return Ok(());
    }
    let findings = check(module);
    if !findings.is_empty() {
        return Err(findings);
    }
    let mut general = module.clone();
    generalise(&mut general);
    parse::validator().validate(&general).map_err(|error| vec![parse::validation_error(&error)])?;
    specialise::run(module).map_err(|finding| vec![finding])
}

/// Whether any function has such parameters.
fn are_there(module: &Module) -> bool {
    module.functions.iter().any(|(_, function)| function.arguments.iter().any(|argument| target(module, argument).is_some()))
}

/// What a parameter of this kind points to.
fn target(module: &Module, argument: &FunctionArgument) -> Option<(Handle<Type>, AddressSpace)> {
    match module.types[argument.ty].inner {
        TypeInner::Pointer { base, space } => fixed(space).then_some((base, space)),
        _ => None,
    }
}

/// Whether pointers into an address space are known by their variable.
fn fixed(space: AddressSpace) -> bool {
    matches!(space, AddressSpace::Storage { .. } | AddressSpace::Uniform | AddressSpace::WorkGroup)
}

/// Arguments that do not fit such parameters: the validator will not see them.
pub(crate) fn check(module: &Module) -> Vec<Finding> {
    if !are_there(module) {
        return Vec::new();
    }
    let mut findings = Vec::new();
    let functions = module.functions.iter().map(|(_, function)| function);
    for function in functions.chain(module.entry_points.iter().map(|entry| &entry.function)) {
        check_calls(module, function, &mut findings);
    }
    findings
}

fn check_calls(module: &Module, function: &Function, findings: &mut Vec<Finding>) {
    let mut typifier = Typifier::new();
    let context = ResolveContext::with_locals(module, &function.local_variables, &function.arguments);
    walk::calls_with_places(&function.body, &mut |callee, arguments, call| {
        let called = &module.functions[callee];
        for (parameter, &argument) in called.arguments.iter().zip(arguments) {
            // What has no type is wrong for reasons of its own.
            if target(module, parameter).is_none() || typifier.grow(argument, &function.expressions, &context).is_err() {
                continue;
            }
            // A variable by its name has no place in the IR.
            let at = Some(function.expressions.get_span(argument)).filter(naga::Span::is_defined).unwrap_or(call);
            let found = typifier.get(argument, &module.types);
            let wanted = &module.types[parameter.ty].inner;
            if !same(module, wanted, found) {
                findings.push(mismatch(module, (callee, parameter), (wanted, found), at));
            } else if !leads_to_variable(module, function, argument) {
                let message = "this pointer is none of a variable: only those can be given to functions";
                findings.push(Finding::span(message, at));
            }
        }
    });
}

fn leads_to_variable(module: &Module, function: &Function, pointer: Handle<Expression>) -> bool {
    match function.expressions[access::root(function, pointer)] {
        Expression::GlobalVariable(_) => true,
        Expression::FunctionArgument(index) => {
            function.arguments.get(index as usize).is_some_and(|argument| target(module, argument).is_some())
        }
        _ => false,
    }
}

fn mismatch(
    module: &Module,
    (callee, parameter): (Handle<Function>, &FunctionArgument),
    (wanted, found): (&TypeInner, &TypeInner),
    span: naga::Span,
) -> Finding {
    let name = |name: &Option<String>| name.clone().unwrap_or_else(|| "?".to_owned());
    let called = name(&module.functions[callee].name);
    let (wanted, found) = (type_text(module, wanted), type_text(module, found));
    let mut finding = Finding::span(
        format!("expected `{wanted}` for the parameter `{}` of `{called}`, found `{found}`", name(&parameter.name)),
        span,
    );
    let declared = module.functions.get_span(callee).to_range().map(|range| range.start..range.start + 2);
    finding.related = declared.map(|range| Box::new((range, format!("`{called}` is declared here"))));
    finding
}

/// Whether two pointers are of one type, whatever aliases it was spelled with.
fn same(module: &Module, a: &TypeInner, b: &TypeInner) -> bool {
    match (a.canonical_form(&module.types).as_ref().unwrap_or(a), b.canonical_form(&module.types).as_ref().unwrap_or(b)) {
        (TypeInner::Pointer { base: a, space: in_a }, TypeInner::Pointer { base: b, space: in_b }) => {
            in_a == in_b && same_type(module, *a, *b)
        }
        (a, b) => a == b,
    }
}

fn same_type(module: &Module, mut a: Handle<Type>, mut b: Handle<Type>) -> bool {
    loop {
        match (&module.types[a].inner, &module.types[b].inner) {
            _ if a == b => return true,
            (
                TypeInner::Array { base, size, stride },
                TypeInner::Array { base: other, size: other_size, stride: other_stride },
            ) if size == other_size && stride == other_stride => (a, b) = (*base, *other),
            (TypeInner::Struct { .. }, _) => return false,
            (a, b) => return a == b,
        }
    }
}

/// Makes every such parameter a number that nobody reads, and what it points to a variable of its own. Functions, expressions and statements keep
/// their handles, so what the validator says is about the module as it was.
pub(crate) fn generalise(module: &mut Module) {
    if !are_there(module) {
        return;
    }
    let number = Type { name: None, inner: TypeInner::Scalar(Scalar::U32) };
    let number = module.types.insert(number, naga::Span::UNDEFINED);
    let functions: Vec<_> = module.functions.iter().map(|(handle, _)| handle).collect();
    let fixed: Vec<Vec<bool>> = functions
        .iter()
        .map(|handle| module.functions[*handle].arguments.iter().map(|a| target(module, a).is_some()).collect())
        .collect();
    for handle in functions {
        for index in 0..module.functions[handle].arguments.len() {
            stand_in(module, handle, index, number);
        }
    }
    let functions = module.functions.iter_mut().map(|(_, function)| function);
    for function in functions.chain(module.entry_points.iter_mut().map(|entry| &mut entry.function)) {
        let none = function.expressions.append(Expression::ZeroValue(number), naga::Span::UNDEFINED);
        without_pointers(&mut function.body, &fixed, none);
    }
}

/// Puts a variable in the place of one parameter.
fn stand_in(module: &mut Module, function: Handle<Function>, index: usize, number: Handle<Type>) {
    let Some(argument) = module.functions[function].arguments.get(index) else { return };
    let Some((ty, space)) = target(module, argument) else { return };
    let name = argument.name.clone();
    let bound = space != AddressSpace::WorkGroup;
    let binding = u32::try_from(module.global_variables.len()).unwrap_or(u32::MAX);
    let variable = GlobalVariable {
        name,
        space,
        binding: bound.then_some(ResourceBinding { group: u32::MAX, binding }),
        ty,
        init: None,
        memory_decorations: naga::MemoryDecorations::empty(),
    };
    let body = &module.functions[function];
    let is_it = |e: &Expression| matches!(e, Expression::FunctionArgument(i) if usize::try_from(*i) == Ok(index));
    let span = body.expressions.iter().find(|(_, e)| is_it(e)).map(|(handle, _)| body.expressions.get_span(handle));
    let variable = module.global_variables.append(variable, span.unwrap_or_default());
    let body = &mut module.functions[function];
    for (_, expression) in body.expressions.iter_mut().filter(|(_, e)| is_it(e)) {
        *expression = Expression::GlobalVariable(variable);
    }
    if let Some(argument) = body.arguments.get_mut(index) {
        argument.ty = number;
    }
}

fn without_pointers(block: &mut Block, fixed: &[Vec<bool>], none: Handle<Expression>) {
    walk::statements_mut(block, &mut |statement| {
        let Statement::Call { function, arguments, .. } = statement else { return };
        for (argument, fixed) in arguments.iter_mut().zip(fixed.get(function.index()).into_iter().flatten()) {
            if *fixed {
                *argument = none;
            }
        }
    });
}
