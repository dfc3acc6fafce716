//! Calls of functions that the source declares, and constructors.

use naga::{Expression, Statement};

use super::convert::distance;
use super::storage::Place;
use super::{Lower, Lowered, Passing, State, Value, Wrong};
use crate::front::glsl::ast::*;
use crate::front::glsl::lexer::{At, Name};
use crate::front::glsl::types::{Scalar, Ty};

/// Functions that are translated inside each other. Callees come first, so that this happens only among functions of one name, and where they recurse.
const MAX_OPEN: usize = 8;

impl Lower<'_> {
    pub(super) fn call(&mut self, name: Name, arguments: &[Expr], at: At) -> Lowered<Value> {
        if !self.overloads.contains_key(&name) {
            return if super::prints::is_print(self.names.get(name)) {
                self.print(arguments, at)
            } else {
                self.builtin(name, arguments, at)
            };
        }
        // `in` arguments are values; the places of the others are evaluated once, here too.
        let outputs = self.may_be_outputs(name, arguments.len());
        let evaluated = self.each(arguments.iter().zip(outputs), |lower, (argument, output)| {
            Ok(if output {
                let place = lower.target(argument)?;
                (Some(place.clone()), None, place.ty)
            } else {
                let value = lower.rvalue(argument)?;
                (None, Some(value.clone()), value.ty)
            })
        })?;
        let types: Vec<Ty> = evaluated.iter().map(|(_, _, ty)| ty.clone()).collect();
        let index = self.overload(name, &types, at)?;
        self.perform(index, evaluated, arguments, at)
    }

    /// Which arguments some overload writes to. Overloads that differ in that are told apart by nothing else, so any will do.
    fn may_be_outputs(&self, name: Name, count: usize) -> Vec<bool> {
        let mut outputs = vec![false; count];
        for &index in self.overloads.get(&name).into_iter().flatten() {
            let Some(function) = self.functions.get(index).filter(|f| f.parameters.len() == count) else { continue };
            for (output, (_, passing)) in outputs.iter_mut().zip(&function.parameters) {
                *output |= *passing != Passing::In;
            }
        }
        outputs
    }

    /// The overload that takes these types: exactly, or else the nearest.
    fn overload(&self, name: Name, types: &[Ty], at: At) -> Lowered<usize> {
        let mut best: Option<(u32, usize)> = None;
        let mut ambiguous = false;
        for &index in self.overloads.get(&name).into_iter().flatten() {
            let Some(function) = self.functions.get(index).filter(|f| f.parameters.len() == types.len()) else { continue };
            let far = |(given, (wanted, passing)): (&Ty, &(Ty, Passing))| match passing {
                Passing::In => distance(given, wanted),
                Passing::Out => distance(wanted, given),
                Passing::InOut => (given == wanted).then_some(0),
            };
            let Some(far) = types.iter().zip(&function.parameters).map(far).try_fold(0u32, |sum, d| Some(sum + d?)) else {
                continue;
            };
            ambiguous = best.is_some_and(|(least, _)| least == far) || (ambiguous && best.is_some_and(|(least, _)| least <= far));
            if best.is_none_or(|(least, _)| far < least) {
                best = Some((far, index));
            }
        }
        let spelled: Vec<String> = types.iter().map(|ty| self.spell(ty)).collect();
        let call = format!("{}({})", self.names.get(name), spelled.join(", "));
        match best {
            Some((far, _)) if ambiguous && far > 0 => Err(Wrong::new(format!("more than one function fits `{call}`"), at)),
            Some((_, index)) => Ok(index),
            None if self.is_lost(name) => Err(Wrong::told()),
            None => Err(Wrong::new(format!("no function fits `{call}`"), at).note(self.fitting(name))),
        }
    }

    /// What the overloads take, for one that fits none.
    fn fitting(&self, name: Name) -> Option<String> {
        let overloads = self.overloads.get(&name).into_iter().flatten().filter_map(|index| self.functions.get(*index));
        let spell = |function: &super::FunctionInfo| {
            let types: Vec<String> = function.parameters.iter().map(|(ty, _)| self.spell(ty)).collect();
            format!("`{}({})`", self.names.get(name), types.join(", "))
        };
        let list: Vec<String> = overloads.take(4).map(spell).collect();
        (!list.is_empty()).then(|| format!("there is {}", list.join(", ")))
    }

    fn perform(
        &mut self,
        index: usize,
        evaluated: Vec<(Option<Place>, Option<Value>, Ty)>,
        arguments: &[Expr],
        at: At,
    ) -> Lowered<Value> {
        let Some(info) = self.functions.get(index) else { return Err(Wrong::new("unknown function".to_owned(), at)) };
        let (parameters, result) = (info.parameters.clone(), info.result.clone());
        let mut handles = Vec::new();
        let mut copies: Vec<(Place, Place)> = Vec::new();
        for (((place, value, _), (ty, passing)), argument) in evaluated.into_iter().zip(&parameters).zip(arguments) {
            let value = match (value, &place) {
                (Some(value), _) => Some(value),
                (None, Some(place)) if *passing != Passing::Out => Some(self.load(place, argument.at)?),
                _ => None,
            };
            if *passing == Passing::In {
                let Some(value) = value else { return Err(Wrong::new("an argument is missing".to_owned(), at)) };
                handles.push(self.implicit(value, ty, argument.at)?.handle);
                continue;
            }
            let Some(place) = place else { return Err(Wrong::new("this cannot be assigned to".to_owned(), argument.at)) };
            let pointer = self.local(None, ty, argument.at);
            let copy = Place::local(pointer, ty.clone());
            match value {
                Some(value) => self.assign(&copy, &value, argument.at)?,
                // What an `out` parameter holds at first is up to the language: zeros, as of any variable.
                None => self.zero(&copy, argument.at),
            }
            handles.push(pointer);
            copies.push((place, copy));
        }
        let function = self.made(index, at)?;
        let value = match result {
            Ty::Void => None,
            _ => Some(self.result_of(Expression::CallResult(function), at)),
        };
        self.push(Statement::Call { function, arguments: handles, result: value }, at);
        for (place, copy) in copies {
            let value = self.load(&copy, at)?;
            let value = self.implicit(value, &place.ty.clone(), at)?;
            self.assign(&place, &value, at)?;
        }
        match value {
            Some(handle) => Ok(Value { handle, ty: result }),
            None => Ok(Value { handle: self.literal(naga::Literal::U32(0), at), ty: Ty::Void }),
        }
    }

    /// Sets a variable to zero.
    pub(super) fn zero(&mut self, place: &Place, at: At) {
        let ty = self.value_type(&place.ty);
        let zero = self.add(Expression::ZeroValue(ty), at);
        self.store(place.pointer, zero, at);
    }

    /// The function, translated now when it is not yet.
    fn made(&mut self, index: usize, at: At) -> Lowered<naga::Handle<naga::Function>> {
        let Some(info) = self.functions.get(index) else { return Err(Wrong::new("unknown function".to_owned(), at)) };
        let name = self.names.get(info.name).to_owned();
        match &info.state {
            State::Done(handle) => Ok(*handle),
            State::Open => {
                let chain: Vec<&str> = self.open.iter().map(|n| self.names.get(*n)).chain([name.as_str()]).collect();
                Err(Wrong::new(format!("`{name}` calls itself, which GLSL has no stack for: {}", chain.join(" -> ")), at))
            }
            State::Declared if name == "main" => Err(Wrong::new("`main` cannot be called".to_owned(), at)),
            State::Declared if info.tree.body.is_none() => Err(Wrong::new(format!("`{name}` is declared but not defined"), at)),
            State::Declared if self.open.len() >= MAX_OPEN => {
                Err(Wrong::new(format!("calls are nested too deeply: at most {MAX_OPEN} may be inside each other"), at))
            }
            State::Declared => self.separately(|lower| lower.function_body(index)),
        }
    }

    pub(super) fn construct(&mut self, name: &TypeName, arguments: &[Expr], at: At) -> Lowered<Value> {
        let ty = self.constructed_type(name, arguments.len());
        let values = self.each(arguments, |lower, argument| lower.rvalue(argument));
        let (ty, values) = self.both(ty, values)?;
        self.construct_from(&ty, values, at)
    }

    /// The type that a constructor makes: `float[](1, 2)` has as many elements as arguments.
    pub(super) fn constructed_type(&mut self, name: &TypeName, arguments: usize) -> Lowered<Ty> {
        let ty = self.type_of(name)?;
        Ok(match ty {
            Ty::Array(base, None) => Ty::Array(base, u32::try_from(arguments).ok()),
            ty => ty,
        })
    }

    pub(super) fn construct_from(&mut self, ty: &Ty, values: Vec<Value>, at: At) -> Lowered<Value> {
        match ty {
            Ty::Array(base, Some(length)) => {
                let types = vec![(**base).clone(); values.len()];
                if u32::try_from(values.len()) != Ok(*length) {
                    return Err(Wrong::new(
                        format!("`{}` takes {length} values, {} are given", self.spell(ty), values.len()),
                        at,
                    ));
                }
                self.aggregate(ty, &types, values, at)
            }
            Ty::Struct(index) => {
                let types: Vec<Ty> =
                    self.structs.get(*index).into_iter().flat_map(|s| &s.members).map(|m| m.ty.clone()).collect();
                if types.len() != values.len() {
                    let message = format!("`{}` takes {} values, {} are given", self.spell(ty), types.len(), values.len());
                    return Err(Wrong::new(message, at));
                }
                self.aggregate(ty, &types, values, at)
            }
            Ty::Scalar(scalar) => self.make_scalar(*scalar, &values, at),
            Ty::Vector(scalar, n) => self.make_vector(*scalar, *n, values, at),
            Ty::Matrix(scalar, c, r) => self.make_matrix(*scalar, *c, *r, values, at),
            _ => Err(Wrong::new(format!("`{}` cannot be made", self.spell(ty)), at)),
        }
    }

    fn aggregate(&mut self, ty: &Ty, types: &[Ty], values: Vec<Value>, at: At) -> Lowered<Value> {
        let components =
            self.each(values.into_iter().zip(types), |lower, (value, ty)| Ok(lower.implicit(value, ty, at)?.handle))?;
        let handle = self.value_type(ty);
        Ok(self.value(Expression::Compose { ty: handle, components }, ty.clone(), at))
    }

    /// The scalars of scalars, vectors and matrices, in order.
    fn scalars(&mut self, values: &[Value], at: At) -> Lowered<Vec<Value>> {
        let mut list = Vec::new();
        for value in values {
            match value.ty.clone() {
                Ty::Scalar(_) => list.push(value.clone()),
                Ty::Vector(scalar, n) => {
                    (0..u32::from(n)).for_each(|i| list.push(self.extract(value, i, Ty::Scalar(scalar), at)));
                }
                Ty::Matrix(scalar, c, r) => {
                    for column in 0..u32::from(c) {
                        let column = self.extract(value, column, Ty::Vector(scalar, r), at);
                        (0..u32::from(r)).for_each(|i| list.push(self.extract(&column, i, Ty::Scalar(scalar), at)));
                    }
                }
                ty => return Err(Wrong::new(format!("`{}` has no place in a constructor of numbers", self.spell(&ty)), at)),
            }
        }
        Ok(list)
    }

    fn make_scalar(&mut self, scalar: Scalar, values: &[Value], at: At) -> Lowered<Value> {
        let [value] = values else {
            return Err(Wrong::new(format!("a scalar is made of one value, {} are given", values.len()), at));
        };
        let first = match self.scalars(std::slice::from_ref(value), at)?.into_iter().next() {
            Some(first) => first,
            None => return Err(Wrong::new("a scalar is made of one value".to_owned(), at)),
        };
        Ok(self.cast(&first, scalar, at))
    }

    fn make_vector(&mut self, scalar: Scalar, n: u8, values: Vec<Value>, at: At) -> Lowered<Value> {
        if let [one] = values.as_slice() {
            match one.ty {
                Ty::Scalar(_) => {
                    let one = self.cast(one, scalar, at);
                    return Ok(self.splat(one, n, at));
                }
                Ty::Vector(_, width) if width >= n => {
                    let keep: Vec<u8> = (0..n).collect();
                    let part = if width == n { one.clone() } else { self.choose_components(one, &keep, at)? };
                    return Ok(self.cast(&part, scalar, at));
                }
                _ => {}
            }
        }
        let flat = values.iter().all(|v| v.ty.width().is_some());
        let exact = flat && values.iter().filter_map(|v| v.ty.width()).map(u32::from).sum::<u32>() == u32::from(n);
        let ty = Ty::Vector(scalar, n);
        if exact {
            let components = values.iter().map(|v| self.cast(v, scalar, at).handle).collect();
            let handle = self.value_type(&ty);
            return Ok(self.value(Expression::Compose { ty: handle, components }, ty, at));
        }
        let all = self.scalars(&values, at)?;
        // The last argument may have components left over; a whole argument may not.
        let last = values.last().and_then(|v| v.ty.width()).map_or(16, usize::from);
        if all.len() < usize::from(n) || all.len().saturating_sub(last) >= usize::from(n) {
            return Err(Wrong::new(format!("`{}` is made of {n} numbers, {} are given", self.spell(&ty), all.len()), at));
        }
        let components = all.iter().take(usize::from(n)).map(|v| self.cast(v, scalar, at).handle).collect();
        let handle = self.value_type(&ty);
        Ok(self.value(Expression::Compose { ty: handle, components }, ty, at))
    }

    fn make_matrix(&mut self, scalar: Scalar, c: u8, r: u8, values: Vec<Value>, at: At) -> Lowered<Value> {
        let ty = Ty::Matrix(scalar, c, r);
        let (zero, one) = (self.small(scalar, 0, at), self.small(scalar, 1, at));
        // A scalar is the diagonal; a matrix fills the corner, the rest is that of the unit matrix.
        let diagonal = |i: u8, j: u8, on: &Value| if i == j { on.clone() } else { zero.clone() };
        let mut cells = Vec::new();
        match values.as_slice() {
            [single] if matches!(single.ty, Ty::Scalar(_)) => {
                let on = self.cast(single, scalar, at);
                (0..c).for_each(|i| (0..r).for_each(|j| cells.push(diagonal(i, j, &on))));
            }
            [single] if matches!(single.ty, Ty::Matrix(..)) => {
                let Ty::Matrix(_, d, s) = single.ty else { return Err(Wrong::new("no matrix".to_owned(), at)) };
                let given = self.cast(single, scalar, at);
                let given = self.scalars(&[given], at)?;
                for i in 0..c {
                    for j in 0..r {
                        let inside = (i < d && j < s).then(|| usize::from(i) * usize::from(s) + usize::from(j));
                        cells.push(inside.and_then(|k| given.get(k)).cloned().unwrap_or_else(|| diagonal(i, j, &one)));
                    }
                }
            }
            _ => {
                let given = self.scalars(&values, at)?;
                if given.len() != usize::from(c) * usize::from(r) {
                    let message = format!("`{}` is made of {} numbers, {} are given", self.spell(&ty), c * r, given.len());
                    return Err(Wrong::new(message, at));
                }
                for value in &given {
                    cells.push(self.cast(value, scalar, at));
                }
            }
        }
        let vector = self.value_type(&Ty::Vector(scalar, r));
        let columns: Vec<_> = cells.chunks(usize::from(r)).map(|c| c.iter().map(|v| v.handle).collect::<Vec<_>>()).collect();
        let columns =
            columns.into_iter().map(|components| self.add(Expression::Compose { ty: vector, components }, at)).collect();
        let handle = self.value_type(&ty);
        Ok(self.value(Expression::Compose { ty: handle, components: columns }, ty, at))
    }
}
