//! A plain interpreter for kernels over u32, bool and vectors of u32: one invocation at a time, straight from the meaning of the IR. It knows nothing of
//! the analyses that it is compared with.

use std::collections::HashMap;

use compute_kernel::naga::{
    self, AddressSpace, BinaryOperator, Block, Expression, Function, Handle, Literal, MathFunction, Module, Statement, TypeInner,
    UnaryOperator,
};

#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    U(u32),
    B(bool),
    List(Vec<Value>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Root {
    Global(usize),
    Local(usize),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Place {
    root: Root,
    path: Vec<usize>,
}

/// What one invocation is given, and what it leaves behind.
pub struct Invocation<'a> {
    pub module: &'a Module,
    pub builtins: HashMap<String, Value>,
    /// Contents by the name of the global.
    pub memory: HashMap<String, Value>,
    /// What loads of memory that others write give: differs between invocations.
    pub noise: u32,
    /// Global names whose loads are noise.
    pub noisy: &'a [&'a str],
    pub fuel: u32,
    /// Top-level indices stored to, by the name of the global.
    pub stored: Vec<(String, usize)>,
    /// Barriers in order, by their address, and what uniform loads loaded from.
    pub trace: Vec<(usize, Vec<usize>)>,
}

#[derive(PartialEq)]
enum Flow {
    Next,
    Break,
    Continue,
    Return(Option<Value>),
}

struct Frame<'a> {
    function: &'a Function,
    arguments: Vec<Value>,
    values: HashMap<usize, Value>,
    places: HashMap<usize, Place>,
    locals: Vec<Value>,
}

impl<'a> Invocation<'a> {
    /// Runs an entry point. False when it ran out of fuel.
    pub fn run(&mut self, entry: &'a naga::EntryPoint) -> bool {
        let arguments =
            entry.function.arguments.iter().map(|a| self.builtins[a.name.as_deref().expect("a name")].clone()).collect();
        self.call(&entry.function, arguments);
        self.fuel > 0
    }

    fn call(&mut self, function: &'a Function, arguments: Vec<Value>) -> Option<Value> {
        let mut frame = Frame { function, arguments, values: HashMap::new(), places: HashMap::new(), locals: Vec::new() };
        for (_, local) in function.local_variables.iter() {
            let value = match local.init {
                Some(init) => self.value(&mut frame, init),
                None => self.zero(local.ty),
            };
            frame.locals.push(value);
        }
        match self.block(&mut frame, &function.body) {
            Flow::Return(value) => value,
            _ => None,
        }
    }

    fn zero(&self, ty: Handle<naga::Type>) -> Value {
        match &self.module.types[ty].inner {
            TypeInner::Scalar(naga::Scalar::BOOL) => Value::B(false),
            TypeInner::Scalar(_) => Value::U(0),
            TypeInner::Vector { size, .. } => Value::List(vec![Value::U(0); *size as usize]),
            TypeInner::Struct { members, .. } => Value::List(members.iter().map(|m| self.zero(m.ty)).collect()),
            other => panic!("no zero for {other:?}"),
        }
    }

    fn block(&mut self, frame: &mut Frame<'a>, block: &'a Block) -> Flow {
        for statement in block {
            if self.fuel == 0 {
                return Flow::Return(None);
            }
            self.fuel -= 1;
            let flow = self.statement(frame, statement);
            if flow != Flow::Next {
                return flow;
            }
        }
        Flow::Next
    }

    fn statement(&mut self, frame: &mut Frame<'a>, statement: &'a Statement) -> Flow {
        match statement {
            Statement::Emit(range) => {
                for handle in range.clone() {
                    frame.values.remove(&handle.index());
                    frame.places.remove(&handle.index());
                    self.evaluate(frame, handle);
                }
                Flow::Next
            }
            Statement::Block(inner) => self.block(frame, inner),
            Statement::If { condition, accept, reject } => {
                let side = if self.value(frame, *condition) == Value::B(true) { accept } else { reject };
                self.block(frame, side)
            }
            Statement::Switch { selector, cases } => self.switch(frame, *selector, cases),
            Statement::Loop { body, continuing, break_if } => self.round(frame, body, continuing, *break_if),
            Statement::Break => Flow::Break,
            Statement::Continue => Flow::Continue,
            Statement::Return { value } => Flow::Return(value.map(|v| self.value(frame, v))),
            Statement::ControlBarrier(_) => {
                self.trace.push((std::ptr::from_ref(statement) as usize, Vec::new()));
                Flow::Next
            }
            Statement::WorkGroupUniformLoad { pointer, result } => {
                let place = self.place(frame, *pointer);
                let key = place.path.iter().fold(self.trace.len() as u32, |h, &i| h.wrapping_mul(31).wrapping_add(i as u32));
                self.trace.push((std::ptr::from_ref(statement) as usize, place.path));
                frame.values.insert(result.index(), Value::U(key % 5));
                Flow::Next
            }
            Statement::Store { pointer, value } => {
                let place = self.place(frame, *pointer);
                let value = self.value(frame, *value);
                self.store(frame, &place, value);
                Flow::Next
            }
            Statement::Call { function, arguments, result } => {
                let arguments = arguments.iter().map(|&a| self.value(frame, a)).collect();
                let value = self.call(&self.module.functions[*function], arguments);
                if let (Some(result), Some(value)) = (result, value) {
                    frame.values.insert(result.index(), value);
                }
                Flow::Next
            }
            other => panic!("statement {other:?}"),
        }
    }

    fn switch(&mut self, frame: &mut Frame<'a>, selector: Handle<Expression>, cases: &'a [naga::SwitchCase]) -> Flow {
        let Value::U(selector) = self.value(frame, selector) else { panic!("selector") };
        let hit = cases.iter().position(|c| c.value == naga::SwitchValue::U32(selector));
        let start = hit.or_else(|| cases.iter().position(|c| c.value == naga::SwitchValue::Default)).expect("a default");
        for case in &cases[start..] {
            match self.block(frame, &case.body) {
                Flow::Next if case.fall_through => {}
                Flow::Next | Flow::Break => return Flow::Next,
                other => return other,
            }
        }
        Flow::Next
    }

    fn round(
        &mut self,
        frame: &mut Frame<'a>,
        body: &'a Block,
        continuing: &'a Block,
        break_if: Option<Handle<Expression>>,
    ) -> Flow {
        loop {
            match self.block(frame, body) {
                Flow::Break => return Flow::Next,
                Flow::Return(value) => return Flow::Return(value),
                Flow::Next | Flow::Continue => {}
            }
            if let Flow::Return(value) = self.block(frame, continuing) {
                return Flow::Return(value);
            }
            if break_if.is_some_and(|c| self.value(frame, c) == Value::B(true)) {
                return Flow::Next;
            }
            if self.fuel == 0 {
                return Flow::Return(None);
            }
            self.fuel -= 1;
        }
    }

    fn value(&mut self, frame: &mut Frame<'a>, handle: Handle<Expression>) -> Value {
        if !frame.values.contains_key(&handle.index()) {
            self.evaluate(frame, handle);
        }
        frame.values.get(&handle.index()).cloned().unwrap_or_else(|| panic!("no value: {:?}", frame.function.expressions[handle]))
    }

    fn place(&mut self, frame: &mut Frame<'a>, handle: Handle<Expression>) -> Place {
        if !frame.places.contains_key(&handle.index()) {
            self.evaluate(frame, handle);
        }
        frame.places[&handle.index()].clone()
    }

    fn evaluate(&mut self, frame: &mut Frame<'a>, handle: Handle<Expression>) {
        let index = handle.index();
        let function = frame.function;
        match &function.expressions[handle] {
            Expression::GlobalVariable(g) => {
                frame.places.insert(index, Place { root: Root::Global(g.index()), path: Vec::new() });
            }
            Expression::LocalVariable(l) => {
                frame.places.insert(index, Place { root: Root::Local(l.index()), path: Vec::new() });
            }
            Expression::Access { base, .. } | Expression::AccessIndex { base, .. } if self.is_place(function, *base) => {
                let mut place = self.place(frame, *base);
                let next = match &function.expressions[handle] {
                    Expression::AccessIndex { index, .. } => *index as usize,
                    Expression::Access { index, .. } => match self.value(frame, *index) {
                        Value::U(i) => i as usize,
                        other => panic!("index {other:?}"),
                    },
                    _ => unreachable!(),
                };
                place.path.push(next);
                frame.places.insert(index, place);
            }
            other => {
                let value = self.compute(frame, other);
                frame.values.insert(index, value);
            }
        }
    }

    fn is_place(&self, function: &Function, handle: Handle<Expression>) -> bool {
        match function.expressions[handle] {
            Expression::GlobalVariable(_) | Expression::LocalVariable(_) => true,
            Expression::Access { base, .. } | Expression::AccessIndex { base, .. } => self.is_place(function, base),
            _ => false,
        }
    }

    fn compute(&mut self, frame: &mut Frame<'a>, expression: &'a Expression) -> Value {
        match expression {
            Expression::Literal(literal) => self.literal(*literal),
            Expression::Constant(c) => self.constant(self.module.constants[*c].init),
            Expression::ZeroValue(ty) => self.zero(*ty),
            Expression::FunctionArgument(i) => frame.arguments[*i as usize].clone(),
            Expression::Compose { components, .. } => {
                let mut list = Vec::new();
                for &c in components {
                    match self.value(frame, c) {
                        Value::List(inner) => list.extend(inner),
                        one => list.push(one),
                    }
                }
                Value::List(list)
            }
            Expression::AccessIndex { base, index } => match self.value(frame, *base) {
                Value::List(list) => list[*index as usize].clone(),
                other => panic!("access {other:?}"),
            },
            Expression::Splat { size, value } => Value::List(vec![self.value(frame, *value); *size as usize]),
            Expression::Swizzle { size, vector, pattern } => match self.value(frame, *vector) {
                Value::List(list) => Value::List(pattern[..*size as usize].iter().map(|&p| list[p as usize].clone()).collect()),
                other => panic!("swizzle {other:?}"),
            },
            Expression::Load { pointer } => {
                let place = self.place(frame, *pointer);
                self.load(frame, &place)
            }
            Expression::ArrayLength(pointer) => {
                let place = self.place(frame, *pointer);
                match self.memory[&self.name(&place)].clone() {
                    Value::List(list) => Value::U(list.len() as u32),
                    other => panic!("length {other:?}"),
                }
            }
            Expression::Unary { op: UnaryOperator::LogicalNot, expr } => Value::B(self.value(frame, *expr) != Value::B(true)),
            Expression::Binary { op, left, right } => binary(*op, self.value(frame, *left), self.value(frame, *right)),
            Expression::Select { condition, accept, reject } => {
                let side = if self.value(frame, *condition) == Value::B(true) { accept } else { reject };
                self.value(frame, *side)
            }
            Expression::Math { fun, arg, arg1: Some(arg1), .. } => match (fun, self.value(frame, *arg), self.value(frame, *arg1))
            {
                (MathFunction::Min, Value::U(a), Value::U(b)) => Value::U(a.min(b)),
                (MathFunction::Max, Value::U(a), Value::U(b)) => Value::U(a.max(b)),
                other => panic!("math {other:?}"),
            },
            Expression::As { expr, .. } => self.value(frame, *expr),
            other => panic!("expression {other:?}"),
        }
    }

    fn literal(&self, literal: Literal) -> Value {
        match literal {
            Literal::U32(v) => Value::U(v),
            Literal::Bool(v) => Value::B(v),
            other => panic!("literal {other:?}"),
        }
    }

    fn constant(&self, handle: Handle<Expression>) -> Value {
        match &self.module.global_expressions[handle] {
            Expression::Literal(literal) => self.literal(*literal),
            Expression::ZeroValue(ty) => self.zero(*ty),
            other => panic!("constant {other:?}"),
        }
    }

    fn name(&self, place: &Place) -> String {
        let Root::Global(index) = place.root else { panic!("not a global") };
        let (_, variable) = self.module.global_variables.iter().nth(index).expect("the global");
        variable.name.clone().expect("a name")
    }

    /// Out of range gives zero. Memory that others write gives noise.
    fn load(&mut self, frame: &Frame<'a>, place: &Place) -> Value {
        let value = match place.root {
            Root::Local(index) => &frame.locals[index],
            Root::Global(_) => {
                let name = self.name(place);
                if self.noisy.contains(&name.as_str()) {
                    self.noise = self.noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    return Value::U(self.noise >> 24 & 3);
                }
                &self.memory[&name]
            }
        };
        let mut value = value.clone();
        for &step in &place.path {
            value = match value {
                Value::List(list) => list.get(step).cloned().unwrap_or(Value::U(0)),
                other => panic!("path into {other:?}"),
            };
        }
        value
    }

    /// Out of range is dropped.
    fn store(&mut self, frame: &mut Frame<'a>, place: &Place, new: Value) {
        let mut slot = match place.root {
            Root::Local(index) => &mut frame.locals[index],
            Root::Global(index) => {
                let (_, variable) = self.module.global_variables.iter().nth(index).expect("the global");
                let name = variable.name.clone().expect("a name");
                if matches!(variable.space, AddressSpace::WorkGroup) {
                    return;
                }
                let slot = self.memory.get_mut(&name).expect("memory");
                let inside = match (place.path.first(), &*slot) {
                    (Some(&first), Value::List(list)) => first < list.len(),
                    _ => true,
                };
                if !inside {
                    return;
                }
                self.stored.push((name, place.path.first().copied().unwrap_or(0)));
                slot
            }
        };
        for &step in &place.path {
            slot = match slot {
                Value::List(list) => &mut list[step],
                other => panic!("path into {other:?}"),
            };
        }
        *slot = new;
    }
}

fn binary(op: BinaryOperator, left: Value, right: Value) -> Value {
    let (a, b) = match (left, right) {
        (Value::U(a), Value::U(b)) => (a, b),
        (Value::List(a), Value::List(b)) => return Value::List(a.into_iter().zip(b).map(|(a, b)| binary(op, a, b)).collect()),
        (Value::List(a), b) => return Value::List(a.into_iter().map(|a| binary(op, a, b.clone())).collect()),
        (a, Value::List(b)) => return Value::List(b.into_iter().map(|b| binary(op, a.clone(), b)).collect()),
        (Value::B(a), Value::B(b)) => {
            return Value::B(match op {
                BinaryOperator::And => a & b,
                BinaryOperator::InclusiveOr => a | b,
                BinaryOperator::Equal => a == b,
                _ => panic!("bool {op:?}"),
            });
        }
        other => panic!("operands {other:?}"),
    };
    match op {
        BinaryOperator::Add => Value::U(a.wrapping_add(b)),
        BinaryOperator::Subtract => Value::U(a.wrapping_sub(b)),
        BinaryOperator::Multiply => Value::U(a.wrapping_mul(b)),
        BinaryOperator::Divide => Value::U(a.checked_div(b).unwrap_or(a)),
        BinaryOperator::Modulo => Value::U(a.checked_rem(b).unwrap_or(0)),
        BinaryOperator::And => Value::U(a & b),
        BinaryOperator::InclusiveOr => Value::U(a | b),
        BinaryOperator::ExclusiveOr => Value::U(a ^ b),
        BinaryOperator::ShiftLeft => Value::U(a << (b & 31)),
        BinaryOperator::ShiftRight => Value::U(a >> (b & 31)),
        BinaryOperator::Equal => Value::B(a == b),
        BinaryOperator::NotEqual => Value::B(a != b),
        BinaryOperator::Less => Value::B(a < b),
        BinaryOperator::LessEqual => Value::B(a <= b),
        BinaryOperator::Greater => Value::B(a > b),
        BinaryOperator::GreaterEqual => Value::B(a >= b),
        BinaryOperator::LogicalAnd | BinaryOperator::LogicalOr => panic!("spelled as branches"),
    }
}
