//! The validator's errors in words that help. It speaks of its IR: types and names are put back here. What is not known here is told as it comes.

use naga::valid::{
    CallError, EntryPointError, ExpressionError, FunctionError, GlobalVariableError, ValidationError, VaryingError,
};
use naga::{AddressSpace, BinaryOperator, Expression, Function, Handle, Module, Scalar, ScalarKind, Type, TypeInner, VectorSize};

use crate::diagnostics::Finding;
use crate::parse;

/// An error of the validator, in bytes of the text that `module` was parsed from.
pub(super) fn finding(module: &Module, error: &naga::WithSpan<ValidationError>) -> Finding {
    let plain = parse::validation_error(error);
    let told = match error.as_inner() {
        ValidationError::Function { handle, source, .. } => in_function(module, &module.functions[*handle], source),
        ValidationError::EntryPoint { name, source, .. } => {
            match (module.entry_points.iter().find(|e| e.name == *name), source) {
                (Some(entry), EntryPointError::Function(source)) => in_function(module, &entry.function, source),
                (Some(entry), EntryPointError::Argument(index, source)) => argument(module, &entry.function, *index, source),
                (_, EntryPointError::BindingCollision(variable)) => Some(collision(module, *variable)),
                _ => None,
            }
        }
        ValidationError::GlobalVariable { handle, source, .. } => global(module, *handle, source),
        _ => None,
    };
    match told {
        Some(mut finding) => {
            finding.at = finding.at.or(plain.at);
            finding
        }
        // The label of a span without a text is the name of a type of the IR.
        None if plain.label.starts_with("naga::") => plain.label(""),
        None => plain,
    }
}

/// The function that may end without returning what it should.
pub(super) fn unreturned(error: &naga::WithSpan<ValidationError>) -> Option<&str> {
    match error.as_inner() {
        ValidationError::Function { name, source: FunctionError::InvalidReturnType { expression: None, .. }, .. } => Some(name),
        _ => None,
    }
}

/// Takes the body of the function away that an error is in; false when it is in none. The front end need not read the source again for that.
pub(super) fn empty(module: &mut Module, error: &naga::WithSpan<ValidationError>) -> bool {
    let function = match error.as_inner() {
        ValidationError::Function { handle, .. } => &mut module.functions[*handle],
        ValidationError::EntryPoint { name, .. } => match module.entry_points.iter_mut().find(|e| e.name == *name) {
            Some(entry) => &mut entry.function,
            None => return false,
        },
        _ => return false,
    };
    let old = std::mem::take(function);
    *function = Function { name: old.name, arguments: old.arguments, result: old.result, ..Function::default() };
    if let Some(result) = &function.result {
        let value = function.expressions.append(Expression::ZeroValue(result.ty), naga::Span::default());
        function.body.push(naga::Statement::Return { value: Some(value) }, naga::Span::default());
    }
    true
}

fn in_function(module: &Module, function: &Function, error: &FunctionError) -> Option<Finding> {
    let at = |handle: Handle<Expression>| function.expressions.get_span(handle).to_range();
    let name = function.name.as_deref().unwrap_or("this function");
    Some(match error {
        FunctionError::Expression { source, .. } => return expression(module, function, source),
        FunctionError::InvalidCall { function: callee, error } => return call(module, function, *callee, error),
        FunctionError::InvalidReturnType { expression: Some(found), expected_ty } => {
            let Some(ty) = expected_ty else {
                return Some(Finding::new(format!("`{name}` returns nothing: declare a type behind `->`"), at(*found)));
            };
            let expected = type_name(module, *ty);
            let finding =
                Finding::new(format!("expected `{expected}`, found {}", found_type(module, function, *found)), at(*found));
            finding.label(format!("`{name}` returns `{expected}`"))
        }
        FunctionError::InvalidReturnType { expression: None, expected_ty: Some(ty) } => {
            Finding::new(format!("`{name}` returns `{}`, but not on every way through it", type_name(module, *ty)), None)
        }
        FunctionError::InvalidIfType(found) => {
            let found_type = found_type(module, function, *found);
            Finding::new(format!("expected `bool` as the condition, found {found_type}"), at(*found))
                .note("there is no conversion to `bool`: compare it, `x != 0`")
        }
        FunctionError::InvalidStorePointer(pointer) => {
            Finding::new("this cannot be written to", at(*pointer)).note(store_hint(module, function, *pointer))
        }
        FunctionError::InvalidStoreTypes { value, .. } => {
            let found = found_type(module, function, *value);
            Finding::new(format!("{found} cannot be stored here: the variable has another type"), at(*value))
        }
        FunctionError::InvalidArgumentPointerSpace { index, name, space } => {
            let message =
                format!("`{name}` is a pointer to {} memory; such pointers cannot be parameters yet", space_name(*space));
            let place = function.expressions.iter().find_map(|(h, e)| match e {
                Expression::FunctionArgument(i) if usize::try_from(*i) == Ok(*index) => at(h),
                _ => None,
            });
            Finding::new(message, place)
                .note("pass an index, or use the variable itself: functions see all variables of the module")
        }
        FunctionError::MissingDefaultCase => Finding::new("this `switch` has no `default`", None),
        FunctionError::BreakOutsideOfLoopOrSwitch => Finding::new("`break` outside of a loop or `switch`", None),
        FunctionError::ContinueOutsideOfLoop => Finding::new("`continue` outside of a loop", None),
        _ => return None,
    })
}

fn expression(module: &Module, function: &Function, error: &ExpressionError) -> Option<Finding> {
    let at = |handle: Handle<Expression>| function.expressions.get_span(handle).to_range();
    Some(match error {
        ExpressionError::InvalidBinaryOperandTypes { op, lhs_expr, lhs_type, rhs_expr, rhs_type } => {
            let (left, right) = (inner_name(module, lhs_type), inner_name(module, rhs_type));
            let place = at(*lhs_expr).zip(at(*rhs_expr)).map(|(l, r)| l.start.min(r.start)..r.end.max(l.end));
            let finding = Finding::new(format!("`{}` cannot work with `{left}` and `{right}`", symbol(*op)), place);
            if left == right {
                finding
            } else {
                finding.note("there are no implicit conversions: write `f32(x)`, `i32(x)` or `u32(x)`")
            }
        }
        ExpressionError::InvalidUnaryOperandType(_, operand) => {
            Finding::new(format!("this operator cannot work with {}", found_type(module, function, *operand)), at(*operand))
        }
        ExpressionError::DivideByZero => Finding::new("this divides by zero", None),
        ExpressionError::ShiftAmountTooLarge { rhs_expr, .. } => Finding::new("this shifts by 32 bits or more", at(*rhs_expr))
            .note("only a count that is known at run time alone is taken modulo 32"),
        ExpressionError::IndexOutOfBounds(_, index) => Finding::new(format!("the index {index} is past the end"), None),
        ExpressionError::NegativeIndex(_) => Finding::new("this index is negative", None),
        _ => return None,
    })
}

fn call(module: &Module, function: &Function, callee: Handle<Function>, error: &CallError) -> Option<Finding> {
    let called = &module.functions[callee];
    let name = called.name.as_deref().unwrap_or("the function");
    let declared = module.functions.get_span(callee).to_range().map(|range| range.start..range.start + 2);
    let mut finding = match error {
        CallError::ArgumentCount { required, seen } => {
            let s = if *required == 1 { "" } else { "s" };
            Finding::new(format!("`{name}` takes {required} argument{s}, but {seen} are given"), None)
        }
        CallError::ArgumentType { index, required, seen_expression } => {
            let parameter = called.arguments.get(*index).and_then(|a| a.name.as_deref()).unwrap_or("?");
            let found = found_type(module, function, *seen_expression);
            let at = function.expressions.get_span(*seen_expression).to_range();
            Finding::new(
                format!("expected `{}` for the parameter `{parameter}` of `{name}`, found {found}", type_name(module, *required)),
                at,
            )
        }
        _ => return None,
    };
    finding.related = declared.map(|range| Box::new((range, format!("`{name}` is declared here"))));
    Some(finding)
}

fn argument(module: &Module, function: &Function, index: u32, error: &VaryingError) -> Option<Finding> {
    let at = function.expressions.iter().find_map(|(handle, e)| match e {
        Expression::FunctionArgument(i) if *i == index => function.expressions.get_span(handle).to_range(),
        _ => None,
    });
    let argument = function.arguments.get(index as usize)?;
    let name = argument.name.as_deref().unwrap_or("this parameter");
    let found = type_name(module, argument.ty);
    match error {
        VaryingError::InvalidBuiltInType(builtin, _) => {
            let expected = match builtin {
                naga::BuiltIn::LocalInvocationIndex => "u32",
                _ => "vec3<u32>",
            };
            Some(Finding::new(format!("expected `{expected}` for this builtin, found `{found}`"), at))
        }
        VaryingError::MissingBinding => {
            Some(Finding::new(format!("`{name}` needs a `@builtin`: an entry point has no other parameters"), at))
        }
        _ => None,
    }
}

fn collision(module: &Module, variable: Handle<naga::GlobalVariable>) -> Finding {
    let found = &module.global_variables[variable];
    let name = found.name.as_deref().unwrap_or("this variable");
    let other = module.global_variables.iter().find(|(h, v)| *h != variable && v.binding == found.binding);
    let mut finding = Finding::new(
        format!("`{name}` has the group and binding of another variable of this entry point"),
        module.global_variables.get_span(variable).to_range(),
    );
    finding.related = other
        .and_then(|(h, _)| module.global_variables.get_span(h).to_range())
        .map(|range| Box::new((range, "which is this one".to_owned())));
    finding
}

fn global(module: &Module, handle: Handle<naga::GlobalVariable>, error: &GlobalVariableError) -> Option<Finding> {
    let variable = &module.global_variables[handle];
    let name = variable.name.as_deref().unwrap_or("this variable");
    let at = module.global_variables.get_span(handle).to_range();
    let space = space_name(variable.space);
    Some(match error {
        GlobalVariableError::InvalidBinding if variable.binding.is_none() => {
            Finding::new(format!("`{name}` needs `@group(...)` and `@binding(...)`: it is a {space} variable"), at)
        }
        GlobalVariableError::InvalidBinding => {
            Finding::new(format!("`{name}` cannot have a `@group` or `@binding`: it is a {space} variable"), at)
        }
        GlobalVariableError::MissingTypeFlags { .. } => {
            Finding::new(format!("`{}` cannot be the type of a {space} variable", type_name(module, variable.ty)), at)
        }
        GlobalVariableError::InitializerNotAllowed(_) => {
            Finding::new(format!("a {space} variable cannot have an initial value"), at)
        }
        _ => return None,
    })
}

/// Why a place cannot be written to.
fn store_hint(module: &Module, function: &Function, pointer: Handle<Expression>) -> String {
    let mut at = pointer;
    loop {
        match function.expressions[at] {
            Expression::Access { base, .. } | Expression::AccessIndex { base, .. } => at = base,
            Expression::GlobalVariable(variable) => {
                let variable = &module.global_variables[variable];
                let name = variable.name.as_deref().unwrap_or("it");
                return match variable.space {
                    AddressSpace::Storage { .. } => format!("`{name}` is read only: declare it as `var<storage, read_write>`"),
                    space => format!("`{name}` is a {} variable, which kernels only read", space_name(space)),
                };
            }
            _ => return "only variables, and what pointers point to, can be written to".to_owned(),
        }
    }
}

fn space_name(space: AddressSpace) -> &'static str {
    match space {
        AddressSpace::Function => "function",
        AddressSpace::Private => "private",
        AddressSpace::WorkGroup => "workgroup",
        AddressSpace::Uniform => "uniform",
        AddressSpace::Storage { .. } => "storage",
        AddressSpace::Immediate => "immediate",
        _ => "module",
    }
}

fn symbol(operator: BinaryOperator) -> &'static str {
    match operator {
        BinaryOperator::Add => "+",
        BinaryOperator::Subtract => "-",
        BinaryOperator::Multiply => "*",
        BinaryOperator::Divide => "/",
        BinaryOperator::Modulo => "%",
        BinaryOperator::Equal => "==",
        BinaryOperator::NotEqual => "!=",
        BinaryOperator::Less => "<",
        BinaryOperator::LessEqual => "<=",
        BinaryOperator::Greater => ">",
        BinaryOperator::GreaterEqual => ">=",
        BinaryOperator::And => "&",
        BinaryOperator::ExclusiveOr => "^",
        BinaryOperator::InclusiveOr => "|",
        BinaryOperator::LogicalAnd => "&&",
        BinaryOperator::LogicalOr => "||",
        BinaryOperator::ShiftLeft => "<<",
        BinaryOperator::ShiftRight => ">>",
    }
}

/// The type of an expression with backticks, or words for it where it cannot be told.
fn found_type(module: &Module, function: &Function, handle: Handle<Expression>) -> String {
    let found = match &function.expressions[handle] {
        Expression::Literal(literal) => scalar_name(literal.scalar()).map(str::to_owned),
        Expression::ZeroValue(ty) | Expression::Compose { ty, .. } => Some(type_name(module, *ty)),
        Expression::Constant(constant) => Some(type_name(module, module.constants[*constant].ty)),
        Expression::FunctionArgument(i) => function.arguments.get(*i as usize).map(|a| type_name(module, a.ty)),
        Expression::CallResult(callee) => module.functions[*callee].result.as_ref().map(|r| type_name(module, r.ty)),
        Expression::As { kind, convert: Some(width), expr } => match function.expressions[*expr] {
            Expression::Literal(_) | Expression::AccessIndex { .. } | Expression::Load { .. } => {
                scalar_name(Scalar { kind: *kind, width: *width }).map(str::to_owned)
            }
            _ => None,
        },
        Expression::Load { pointer } => pointee(module, function, *pointer).map(|ty| type_name(module, ty)),
        Expression::AccessIndex { base, .. } | Expression::Access { base, .. } => match &function.expressions[*base] {
            Expression::FunctionArgument(i) => {
                function.arguments.get(*i as usize).and_then(|a| match &module.types[a.ty].inner {
                    TypeInner::Vector { scalar, .. } => scalar_name(*scalar).map(str::to_owned),
                    _ => None,
                })
            }
            _ => None,
        },
        _ => None,
    };
    found.map_or_else(|| "another type".to_owned(), |ty| format!("`{ty}`"))
}

/// What a pointer that is made of a variable and indices points to.
fn pointee(module: &Module, function: &Function, pointer: Handle<Expression>) -> Option<Handle<Type>> {
    match &function.expressions[pointer] {
        Expression::LocalVariable(variable) => Some(function.local_variables[*variable].ty),
        Expression::GlobalVariable(variable) => Some(module.global_variables[*variable].ty),
        Expression::Access { base, .. } => match module.types[pointee(module, function, *base)?].inner {
            TypeInner::Array { base, .. } => Some(base),
            _ => None,
        },
        Expression::AccessIndex { base, index } => match &module.types[pointee(module, function, *base)?].inner {
            TypeInner::Array { base, .. } => Some(*base),
            TypeInner::Struct { members, .. } => members.get(*index as usize).map(|m| m.ty),
            _ => None,
        },
        _ => None,
    }
}

/// The type of a value as the language writes it.
pub(crate) fn type_text(module: &Module, inner: &TypeInner) -> String {
    inner_name(module, inner)
}

/// A type as the language writes it.
pub(super) fn type_name(module: &Module, ty: Handle<Type>) -> String {
    match &module.types[ty] {
        Type { name: Some(name), .. } => name.clone(),
        Type { inner, .. } => inner_name(module, inner),
    }
}

fn inner_name(module: &Module, inner: &TypeInner) -> String {
    let scalar = |s: Scalar| scalar_name(s).unwrap_or("?");
    let size = |s: VectorSize| s as u8;
    match inner {
        TypeInner::Scalar(s) => scalar(*s).to_owned(),
        TypeInner::Atomic(s) => format!("atomic<{}>", scalar(*s)),
        TypeInner::Vector { size: n, scalar: s } => format!("vec{}<{}>", size(*n), scalar(*s)),
        TypeInner::Matrix { columns, rows, scalar: s } => format!("mat{}x{}<{}>", size(*columns), size(*rows), scalar(*s)),
        TypeInner::Array { base, size: naga::ArraySize::Constant(n), .. } => format!("array<{}, {n}>", type_name(module, *base)),
        TypeInner::Array { base, .. } => format!("array<{}>", type_name(module, *base)),
        TypeInner::Pointer { base, space } => pointer_name(*space, &type_name(module, *base)),
        TypeInner::ValuePointer { size: Some(n), scalar: s, space } => {
            pointer_name(*space, &format!("vec{}<{}>", size(*n), scalar(*s)))
        }
        TypeInner::ValuePointer { scalar: s, space, .. } => pointer_name(*space, scalar(*s)),
        _ => "this type".to_owned(),
    }
}

fn pointer_name(space: AddressSpace, target: &str) -> String {
    let access = match space {
        AddressSpace::Storage { access } if access.contains(naga::StorageAccess::STORE) => ", read_write",
        _ => "",
    };
    format!("ptr<{}, {target}{access}>", space_name(space))
}

fn scalar_name(scalar: Scalar) -> Option<&'static str> {
    Some(match (scalar.kind, scalar.width) {
        (ScalarKind::Bool, _) => "bool",
        (ScalarKind::Sint, 4) => "i32",
        (ScalarKind::Uint, 4) => "u32",
        (ScalarKind::Float, 4) => "f32",
        (ScalarKind::Float, 2) => "f16",
        _ => return None,
    })
}
