//! Functions as wholes: their overloads, parameters and bodies, the entry point and its inputs.

use std::collections::HashSet;
use std::sync::Arc;

use naga::{AddressSpace, BuiltIn, Expression, Handle};

use super::atomics;
use super::builder::Func;
use super::declarations::READ_ONLY;
use super::expression::Operand;
use super::storage::{Layout, Place};
use super::{FunctionInfo, Lower, Lowered, Passing, State, Symbol, Value, Wrong};
use crate::front::glsl::ast::*;
use crate::front::glsl::lexer::{At, Name};
use crate::front::glsl::types::{Scalar, Ty, UINT};

/// Functions of one name.
const MAX_OVERLOADS: usize = 256;

/// What a builtin input is.
fn input(name: &str) -> Option<(BuiltIn, Ty)> {
    let vector = Ty::Vector(Scalar::Uint, 3);
    Some(match name {
        "gl_GlobalInvocationID" => (BuiltIn::GlobalInvocationId, vector),
        "gl_LocalInvocationID" => (BuiltIn::LocalInvocationId, vector),
        "gl_WorkGroupID" => (BuiltIn::WorkGroupId, vector),
        "gl_NumWorkGroups" => (BuiltIn::NumWorkGroups, vector),
        "gl_LocalInvocationIndex" => (BuiltIn::LocalInvocationIndex, UINT),
        "gl_SubgroupSize" => (BuiltIn::SubgroupSize, UINT),
        "gl_SubgroupInvocationID" => (BuiltIn::SubgroupInvocationId, UINT),
        "gl_NumSubgroups" => (BuiltIn::NumSubgroups, UINT),
        "gl_SubgroupID" => (BuiltIn::SubgroupId, UINT),
        _ => return None,
    })
}

impl Lower<'_> {
    pub(super) fn declare_function(&mut self, tree: &Arc<Function>) -> Lowered<()> {
        if tree.broken {
            return Err(Wrong::told());
        }
        let result = self.type_of(&tree.result)?;
        if matches!(result, Ty::Array(_, None)) {
            return Err(Wrong::new("a function cannot return an array without a length".to_owned(), tree.result.at));
        }
        let parameters = self.each(&tree.parameters, |lower, parameter| {
            let passing = match parameter.qualifiers.storage {
                None | Some((Storage::In | Storage::Const, _)) => Passing::In,
                Some((Storage::Out, _)) => Passing::Out,
                Some((Storage::InOut, _)) => Passing::InOut,
                Some((_, at)) => return Err(Wrong::new("this qualifier does not fit a parameter".to_owned(), at)),
            };
            Ok((lower.declared_type(&parameter.ty, &parameter.arrays, None)?, passing))
        })?;
        let same = |f: &&usize| {
            self.functions.get(**f).is_some_and(|known| known.parameters.iter().map(|p| &p.0).eq(parameters.iter().map(|p| &p.0)))
        };
        let known = self.overloads.get(&tree.name).into_iter().flatten().find(same).copied();
        if let Some(known) = known.and_then(|index| self.functions.get_mut(index)) {
            if known.tree.body.is_some() && tree.body.is_some() {
                return Err(Wrong::new(format!("`{}` is defined twice", self.names.get(tree.name)), tree.at));
            }
            if known.result != result || known.parameters != parameters {
                return Err(Wrong::new(format!("`{}` was declared otherwise before", self.names.get(tree.name)), tree.at));
            }
            if tree.body.is_some() {
                known.tree = Arc::clone(tree);
            }
            return Ok(());
        }
        if self.overloads.get(&tree.name).map_or(0, Vec::len) >= MAX_OVERLOADS {
            return Err(Wrong::new(format!("too many functions of one name: at most {MAX_OVERLOADS} are allowed"), tree.at));
        }
        let info = FunctionInfo { tree: Arc::clone(tree), name: tree.name, result, parameters, state: State::Declared };
        self.functions.push(info);
        self.overloads.entry(tree.name).or_default().push(self.functions.len() - 1);
        Ok(())
    }

    /// Translates every function, `main` last: only then it is known which inputs the others use.
    pub(super) fn bodies(&mut self) {
        let mut main = None;
        for tree in std::mem::take(&mut self.lost_functions) {
            self.lost_function(&tree);
        }
        for index in self.callees_first() {
            let Some(info) = self.functions.get(index) else { continue };
            if self.names.get(info.name) == "main" {
                if info.result != Ty::Void || !info.parameters.is_empty() {
                    self.findings.note(Wrong::new("the entry point is `void main()`", info.tree.at));
                }
                main = info.tree.body.is_some().then_some(index).or(main);
            } else if matches!(info.state, State::Declared) && info.tree.body.is_some() {
                let made = self.separately(|lower| lower.function_body(index));
                self.attempt(made);
            }
            if self.findings.are_enough() {
                return;
            }
        }
        match main {
            Some(index) => self.main(index),
            // Where something else is wrong, `main` may be what is missing because of it.
            None if !self.clean || !self.findings.is_empty() => {}
            None => self.findings.note(Wrong::new("the source has no entry point: `void main()`", (0, 0))),
        }
    }

    /// The functions in an order in which those that are called come before their callers, as far as names tell. Without recursion, for chains of calls may
    /// be long.
    fn callees_first(&self) -> Vec<usize> {
        let calls = |function: &FunctionInfo| {
            let mut called = Vec::new();
            let mut visit = |expr: &Expr| {
                if let ExprKind::Call(name, _) = &expr.kind {
                    called.extend(self.overloads.get(name).into_iter().flatten().copied());
                }
            };
            function.tree.body.iter().flatten().for_each(|statement| atomics::walk_statement(statement, &mut visit));
            called.sort_unstable();
            called.dedup();
            called
        };
        let (mut order, mut seen) = (Vec::new(), vec![false; self.functions.len()]);
        for root in 0..self.functions.len() {
            let mut stack = vec![(root, None::<std::vec::IntoIter<usize>>)];
            while let Some((index, rest)) = stack.last_mut() {
                let (Some(function), Some(known)) = (self.functions.get(*index), seen.get_mut(*index)) else { break };
                if rest.is_none() {
                    if *known {
                        stack.pop();
                        continue;
                    }
                    *known = true;
                    *rest = Some(calls(function).into_iter());
                }
                match rest.as_mut().and_then(Iterator::next) {
                    Some(next) => stack.push((next, None)),
                    None => {
                        order.push(*index);
                        stack.pop();
                    }
                }
            }
        }
        order
    }

    /// Works on another function, and comes back to this one.
    pub(super) fn separately<T>(&mut self, work: impl FnOnce(&mut Self) -> Lowered<T>) -> Lowered<T> {
        let outer = std::mem::take(&mut self.func);
        let scopes = self.scopes.split_off(1);
        let done = work(self);
        self.scopes.truncate(1);
        self.scopes.extend(scopes);
        self.func = outer;
        done
    }

    pub(super) fn function_body(&mut self, index: usize) -> Lowered<Handle<naga::Function>> {
        let Some(info) = self.functions.get_mut(index) else { return Err(Wrong::new("unknown function".to_owned(), (0, 0))) };
        info.state = State::Open;
        let (tree, name) = (Arc::clone(&info.tree), info.name);
        let (result, parameters) = (info.result.clone(), info.parameters.clone());
        self.open.push(name);
        self.begin(&tree, result.clone());
        self.func.function.name = Some(self.name(name));
        if result != Ty::Void {
            let ty = self.value_type(&result);
            self.func.function.result = Some(naga::FunctionResult { ty, binding: None });
        }
        let made = self.scoped(|lower| {
            for ((at, variable), (ty, passing)) in (0..).zip(&tree.parameters).zip(&parameters) {
                lower.parameter(at, variable, ty, *passing)?;
            }
            lower.whole_body(&tree, &result)
        });
        // What is wrong inside is the body's: who calls the function gets one of the right type.
        self.attempt(made);
        self.open.pop();
        let mut function = std::mem::take(&mut self.func.function);
        function.body = std::mem::take(&mut self.func.body);
        let handle = self.module.functions.append(function, super::span(tree.at));
        if let Some(info) = self.functions.get_mut(index) {
            info.state = State::Done(handle);
        }
        Ok(handle)
    }

    fn begin(&mut self, tree: &Function, result: Ty) {
        let assigned = self.assigned(tree);
        self.func = Func::default();
        self.func.assigned = assigned;
        self.func.result = Some(result);
    }

    /// The statements of a function in a scope of their own, and an end that returns.
    fn whole_body(&mut self, tree: &Function, result: &Ty) -> Lowered<()> {
        let list = tree.body.as_deref().unwrap_or_default();
        let ends = self.scoped(|lower| lower.statements(list))?;
        if !ends {
            // Running off the end of a function with a result is undefined; here it gives zero.
            let value = (*result != Ty::Void).then(|| {
                let ty = self.value_type(result);
                self.add(Expression::ZeroValue(ty), tree.at)
            });
            self.push(naga::Statement::Return { value }, tree.at);
        }
        self.flush();
        Ok(())
    }

    fn parameter(&mut self, index: u32, variable: &Variable, ty: &Ty, passing: Passing) -> Lowered<()> {
        let at = variable.at;
        let value = self.value_type(ty);
        let handle = match passing {
            Passing::In => value,
            Passing::Out | Passing::InOut => {
                let inner = naga::TypeInner::Pointer { base: value, space: AddressSpace::Function };
                self.module.types.insert(naga::Type { name: None, inner }, naga::Span::UNDEFINED)
            }
        };
        let name = self.names.get(variable.name);
        let name = (name != "(").then(|| name.to_owned());
        self.func.function.arguments.push(naga::FunctionArgument { name: name.clone(), ty: handle, binding: None });
        let argument = self.argument(index, at);
        let symbol = match passing {
            Passing::In if ty.width().is_some() && !self.func.assigned.contains(&variable.name) => {
                Symbol::Value(Value { handle: argument, ty: ty.clone() })
            }
            Passing::In => {
                let pointer = self.local(name, ty, at);
                self.store(pointer, argument, at);
                Symbol::Variable(Place::local(pointer, ty.clone()))
            }
            Passing::Out | Passing::InOut => Symbol::Variable(Place::local(argument, ty.clone())),
        };
        self.declare(variable.name, symbol, at)
    }

    /// Names that anything in a function may be assigned to; too many only make more variables.
    pub(super) fn assigned(&self, tree: &Function) -> HashSet<Name> {
        let mut found = HashSet::new();
        let mut note = |expr: &Expr| {
            if let Some(name) = atomics::root_of_target(expr) {
                found.insert(name);
            }
        };
        let mut visit = |expr: &Expr| match &expr.kind {
            ExprKind::Assign(_, target, _) | ExprKind::Step { target, .. } => note(target),
            ExprKind::Call(_, arguments) => arguments.iter().for_each(&mut note),
            _ => {}
        };
        tree.body.iter().flatten().for_each(|statement| atomics::walk_statement(statement, &mut visit));
        found
    }

    fn main(&mut self, index: usize) {
        let Some(info) = self.functions.get_mut(index) else { return };
        info.state = State::Open;
        let tree = Arc::clone(&info.tree);
        self.open.push(tree.name);
        self.begin(&tree, Ty::Void);
        self.func.entry = true;
        for (builtin, variable) in self.inputs.clone() {
            let argument = self.input_argument(builtin, tree.at);
            let pointer = self.global(variable, tree.at);
            self.store(pointer, argument, tree.at);
        }
        for (variable, ty, init) in std::mem::take(&mut self.initializers) {
            let value = self.initializer(&ty, &init);
            let Some(value) = self.attempt(value) else { continue };
            let pointer = self.global(variable, init.at);
            self.store(pointer, value.handle, init.at);
        }
        let made = self.whole_body(&tree, &Ty::Void);
        self.attempt(made);
        let mut function = std::mem::take(&mut self.func.function);
        function.body = std::mem::take(&mut self.func.body);
        function.name = Some("main".to_owned());
        self.module.entry_points.push(naga::EntryPoint {
            name: "main".to_owned(),
            stage: naga::ShaderStage::Compute,
            early_depth_test: None,
            workgroup_size: self.group.size,
            workgroup_size_overrides: None,
            function,
            mesh_info: None,
            task_payload: None,
            incoming_ray_payload: None,
        });
    }

    fn input_type(&mut self, builtin: BuiltIn) -> Handle<naga::Type> {
        let vector = matches!(
            builtin,
            BuiltIn::GlobalInvocationId | BuiltIn::LocalInvocationId | BuiltIn::WorkGroupId | BuiltIn::NumWorkGroups
        );
        self.value_type(&if vector { Ty::Vector(Scalar::Uint, 3) } else { UINT })
    }

    /// An input as an argument of the entry point.
    fn input_argument(&mut self, builtin: BuiltIn, at: At) -> Handle<Expression> {
        let binding = naga::Binding::BuiltIn(builtin);
        let arguments = &self.func.function.arguments;
        let known = arguments.iter().position(|a| a.binding.as_ref() == Some(&binding));
        let index = match known {
            Some(index) => index,
            None => {
                let ty = self.input_type(builtin);
                let name = Some(format!("{builtin:?}"));
                self.func.function.arguments.push(naga::FunctionArgument { name, ty, binding: Some(binding) });
                self.func.function.arguments.len() - 1
            }
        };
        self.argument(u32::try_from(index).unwrap_or(0), at)
    }

    /// A name that no scope has: an input of the language, or a mistake.
    pub(super) fn input(&mut self, name: Name, at: At) -> Lowered<Operand> {
        let text = self.names.get(name);
        if text == "gl_WorkGroupSize" {
            let size = self.group.constant();
            return Ok(Operand::Value(self.constant_value(&size, at)));
        }
        if let Some(mask) = self.mask_input(text, at)? {
            return Ok(Operand::Value(mask));
        }
        let Some((builtin, ty)) = input(text) else { return Err(self.unknown(name, at)) };
        Ok(self.input_operand(builtin, text, ty, at))
    }

    /// The value of an input.
    pub(super) fn input_value(&mut self, builtin: BuiltIn, name: &str, ty: Ty, at: At) -> Lowered<Value> {
        match self.input_operand(builtin, name, ty, at) {
            Operand::Value(value) => Ok(value),
            Operand::Place(place) => self.load(&place, at),
        }
    }

    fn input_operand(&mut self, builtin: BuiltIn, text: &str, ty: Ty, at: At) -> Operand {
        if self.func.entry {
            let handle = self.input_argument(builtin, at);
            return Operand::Value(Value { handle, ty });
        }
        let known = self.inputs.iter().find(|(b, _)| *b == builtin).map(|(_, variable)| *variable);
        let variable = match known {
            Some(variable) => variable,
            None => {
                let stored = self.input_type(builtin);
                let variable = self.add_global(Some(text.to_owned()), AddressSpace::Private, None, stored, at);
                self.inputs.push((builtin, variable));
                variable
            }
        };
        let pointer = self.global(variable, at);
        Operand::Place(Place::new(pointer, ty, Layout::value(), READ_ONLY))
    }
}
