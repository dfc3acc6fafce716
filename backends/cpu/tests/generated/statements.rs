//! Random statements. What they leave in memory must not depend on the order of invocations.

use crate::expressions::{Callee, Place, Writer};
use crate::tree::{Block, Expression, Piece, Statement, fill};
use crate::types::{Scalar, Type};

/// Where a statement stands.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    /// All invocations of a workgroup get here together, and may meet.
    pub(crate) uniform: bool,
    /// Whether the kernel has barriers at all: then nothing but uniform flow may leave the entry point early.
    pub(crate) barriers: bool,
    /// Inside a loop; whether that has to stay uniform.
    pub(crate) in_loop: Option<bool>,
    /// What `break` leaves; whether that has to stay uniform.
    pub(crate) breakable: Option<bool>,
    /// What a return gives: `None` in the entry point.
    pub(crate) result: Option<&'a Type>,
    pub(crate) depth: usize,
}

impl Context<'_> {
    fn inside(self, uniform: bool) -> Self {
        Self { uniform: self.uniform && uniform, depth: self.depth - 1, ..self }
    }
}

fn text(line: impl Into<String>) -> Statement {
    vec![Piece::Text(line.into())]
}

impl Writer<'_> {
    fn name(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}{}", self.names)
    }

    /// A new name, or in an inner block that of something outside, which is hidden from here on.
    fn declared(&mut self, context: Context<'_>, outer: usize) -> String {
        let outside: Vec<String> = self.scope[..outer.min(self.scope.len())]
            .iter()
            .filter(|p| p.text.starts_with('v'))
            .map(|p| p.text.clone())
            .collect();
        if context.depth < 3 && !outside.is_empty() && self.random.chance(15) {
            return self.random.pick(&outside).clone();
        }
        self.name("v")
    }

    pub(crate) fn block(&mut self, context: Context<'_>, most: usize) -> Block {
        let saved = self.scope.clone();
        let outer = saved.len();
        let mut block = Block::new();
        // A name may be declared once in a block.
        let mut own: Vec<String> = Vec::new();
        for _ in 0..1 + self.random.below(most) {
            if self.budget == 0 {
                break;
            }
            self.budget -= 1;
            let (statement, last) = self.statement(context, outer, &mut own);
            block.push(statement);
            if last {
                break;
            }
        }
        self.scope = saved;
        block
    }

    /// A statement, and whether nothing may follow it.
    fn statement(&mut self, context: Context<'_>, outer: usize, own: &mut Vec<String>) -> (Statement, bool) {
        if context.uniform && context.barriers && self.random.chance(22) {
            return (self.meeting(), false);
        }
        if context.depth > 0 && self.random.chance(30) {
            return (self.compound(context), false);
        }
        match self.random.below(20) {
            0..=3 => (self.binding(context, outer, own), false),
            4..=6 => (self.variable(context, outer, own), false),
            7 => (self.pointer(), false),
            8 | 12 | 13 => (self.pointer_call().unwrap_or_else(|| text(";")), false),
            9 if !self.in_function => (self.atomic(), false),
            10 => self.jump(context),
            11 if context.result.is_none() => (self.linear(), false),
            _ => (self.assignment(), false),
        }
    }

    fn any_type(&mut self, stored: bool) -> Type {
        let structs = self.structs.len();
        self.palette.any(self.random, structs, stored, 2)
    }

    fn declare(&mut self, name: String, ty: Type, writable: bool, own: &mut Vec<String>) {
        self.scope.retain(|p| p.text != name && p.text != format!("(*{name})"));
        let space = writable.then_some("function");
        own.push(name.clone());
        self.scope.push(Place { text: name, ty, writable, uniform: false, stored: false, space });
    }

    fn fresh(&mut self, context: Context<'_>, outer: usize, own: &[String]) -> String {
        let name = self.declared(context, outer);
        if own.contains(&name) { self.name("v") } else { name }
    }

    fn binding(&mut self, context: Context<'_>, outer: usize, own: &mut Vec<String>) -> Statement {
        let ty = self.any_type(false);
        let depth = 2 + self.random.below(3);
        let value = self.runtime(&ty, depth);
        let name = self.fresh(context, outer, own);
        let statement = fill(&format!("let {name} = $;"), vec![value]);
        self.declare(name, ty, false, own);
        statement
    }

    fn variable(&mut self, context: Context<'_>, outer: usize, own: &mut Vec<String>) -> Statement {
        let ty = self.any_type(false);
        let statement;
        let name;
        // What begins alike in all invocations may be kept once for all of them, until somebody makes it differ.
        if self.random.chance(if context.uniform && context.barriers { 50 } else { 20 }) {
            name = self.fresh(context, outer, own);
            statement = text(format!("var {name}: {};", ty.name()));
        } else {
            let value = self.expression(&ty, 3);
            name = self.fresh(context, outer, own);
            statement = fill(&format!("var {name}: {} = $;", ty.name()), vec![value]);
        }
        self.declare(name, ty, true, own);
        statement
    }

    /// A place that can be assigned to, and the way to a part of it.
    fn target(&mut self) -> Option<(Place, Type, Vec<Piece>)> {
        let writable: Vec<Place> = self.scope.iter().filter(|p| p.writable).cloned().collect();
        if writable.is_empty() {
            return None;
        }
        let counters: Vec<Place> = writable.iter().filter(|p| p.text.starts_with('n')).cloned().collect();
        let from = if !counters.is_empty() && self.random.chance(20) { counters } else { writable };
        let place = self.random.pick(&from).clone();
        let mut ty = place.ty.clone();
        for _ in 0..self.random.below(5) {
            let parts = ty.parts(&self.structs);
            if !parts.is_empty() {
                ty = self.random.pick(&parts).1.clone();
            }
        }
        // Whole arrays and structures may hold NaN.
        while place.stored && ty.element().is_none() {
            ty = ty.parts(&self.structs)[0].1.clone();
        }
        for _ in 0..6 {
            if let Some(path) = self.path(&place, &ty) {
                return Some((place, ty, path));
            }
        }
        None
    }

    fn assignment(&mut self) -> Statement {
        let Some((place, ty, mut path)) = self.target() else { return text(";") };
        let value = self.expression(&ty, 3);
        let scalar = ty.element();
        let pattern = match scalar {
            _ if place.stored => " = $;",
            Some(Scalar::I32 | Scalar::U32) if matches!(ty, Type::Scalar(_)) && self.random.chance(20) => {
                path.push(Piece::Text(self.random.pick(&["++;", "--;"]).to_string()));
                return path;
            }
            Some(s) if s != Scalar::Bool && self.random.chance(30) && !matches!(ty, Type::Matrix(..)) => {
                self.random.pick(&[" += $;", " -= $;", " *= $;"])
            }
            _ => " = $;",
        };
        let value = if place.stored { self.finite(value) } else { value };
        path.extend(fill(pattern, vec![value]));
        path
    }

    fn pointer(&mut self) -> Statement {
        let Some((place, ty, path)) = self.target() else { return text(";") };
        let name = self.name("q");
        let mut statement = text(format!("let {name} = &("));
        // The address of a component of a vector cannot be taken.
        let of_vector = path.len() > 1 && matches!(ty, Type::Scalar(_));
        if of_vector {
            return text(";");
        }
        statement.extend(path);
        statement.push(Piece::Text(");".into()));
        self.scope.push(Place { text: format!("(*{name})"), ty, space: None, ..place });
        statement
    }

    fn pointer_call(&mut self) -> Option<Statement> {
        let found: Vec<Callee> = self.functions.iter().filter(|f| !f.pointers.is_empty()).cloned().collect();
        if found.is_empty() {
            return None;
        }
        let callee = self.random.pick(&found).clone();
        let mut pointers: Vec<Piece> = Vec::new();
        let mut used: Vec<String> = Vec::new();
        for (space, ty) in &callee.pointers {
            let fits: Vec<Place> =
                self.scope.iter().filter(|p| p.space == Some(space) && !used.contains(&p.text)).cloned().collect();
            let (place, path) = (0..6).find_map(|_| {
                let place = fits.get(self.random.below(fits.len().max(1)))?.clone();
                let path = self.path(&place, ty)?;
                // The address of a component of a vector cannot be taken.
                (path.len() == 1 || !matches!(ty, Type::Scalar(_))).then_some((place, path))
            })?;
            pointers.push(Piece::Text(", &(".into()));
            pointers.extend(path);
            pointers.push(Piece::Text(")".into()));
            used.push(place.text);
        }
        let values = callee.values.iter().map(|t| self.expression(t, 2)).collect();
        let name = self.name("r");
        let pattern = vec!["$"; callee.values.len()].join(", ");
        let mut statement = fill(&format!("let {name} = {}({pattern}", callee.name), values);
        statement.extend(pointers);
        statement.push(Piece::Text(");".into()));
        self.scope.push(Place { text: name, ty: callee.result, writable: false, uniform: false, stored: false, space: None });
        Some(statement)
    }

    /// Atomics of all invocations on one word are all of one kind, and their results are not looked at; a word of one's own may be used at will.
    fn atomic(&mut self) -> Statement {
        let value = self.expression(&Type::Scalar(Scalar::U32), 2);
        match self.random.below(4) {
            0 => {
                let (i, f) =
                    *self.random.pick(&[(0, "Add"), (1, "Max"), (2, "Min"), (3, "And"), (4, "Or"), (5, "Xor"), (6, "Sub")]);
                fill(&format!("atomic{f}(&counts[{i}], $);"), vec![value])
            }
            1 => {
                let value = self.expression(&Type::Scalar(Scalar::I32), 2);
                let (i, f) = *self.random.pick(&[(0, "Add"), (1, "Max"), (2, "Min"), (3, "Sub")]);
                fill(&format!("atomic{f}(&signed_counts[{i}], $);"), vec![value])
            }
            2 => {
                let functions =
                    ["atomicAdd", "atomicSub", "atomicMax", "atomicMin", "atomicAnd", "atomicOr", "atomicXor", "swap", "bump"];
                let (f, name) = (*self.random.pick(&functions), self.name("a"));
                let statement = fill(&format!("let {name} = {f}(&own[me], $);"), vec![value]);
                let ty = Type::Scalar(Scalar::U32);
                self.scope.push(Place { text: name, ty, writable: false, uniform: false, stored: false, space: None });
                statement
            }
            _ => {
                let (name, other) = (self.name("a"), self.expression(&Type::Scalar(Scalar::U32), 1));
                let pattern = format!(
                    "let {name} = atomicCompareExchangeWeak(&own[me], select(atomicLoad(&own[me]), $, me % 3u == 0u), $);"
                );
                let statement = fill(&pattern, vec![other, value]);
                for (member, ty) in [("old_value", Scalar::U32), ("exchanged", Scalar::Bool)] {
                    let (text, ty) = (format!("{name}.{member}"), Type::Scalar(ty));
                    self.scope.push(Place { text, ty, writable: false, uniform: false, stored: false, space: None });
                }
                statement
            }
        }
    }

    /// A store that may be one that covers its binding. Several invocations may store to one element: all store the same.
    pub(crate) fn linear(&mut self) -> Statement {
        text(*self.random.pick(&[
            "line[gid.x] = gid.x * 3u;",
            "if (gid.x < arrayLength(&line)) { line[gid.x] = gid.x * 3u; }",
            "line[gid.x + gid.y * im.w] = (gid.x + gid.y * im.w) * 3u;",
            "if (gid.x < im.w) { line[gid.x] = gid.x * 3u; }",
            "line[i32(gid.x)] = gid.x * 3u;",
            "if (i32(gid.x) < i32(im.w)) { line[i32(gid.x)] = gid.x * 3u; }",
        ]))
    }

    fn jump(&mut self, context: Context<'_>) -> (Statement, bool) {
        let fits = |must: bool| !must || context.uniform;
        match self.random.below(3) {
            0 if context.breakable.is_some_and(fits) => (text("break;"), true),
            1 if context.in_loop.is_some_and(fits) => (text("continue;"), true),
            _ => match context.result {
                Some(ty) if context.depth < 2 => {
                    let value = self.expression(&ty.clone(), 2);
                    (fill("return $;", vec![value]), true)
                }
                None if !context.barriers && context.depth < 2 => (text("return;"), true),
                _ => (self.assignment(), false),
            },
        }
    }

    /// Something that all invocations of a workgroup agree on.
    fn agreed(&mut self) -> Expression {
        let u32 = Type::Scalar(Scalar::U32);
        let names: Vec<String> =
            self.scope.iter().filter(|p| p.uniform && !p.writable && p.ty == u32).map(|p| p.text.clone()).collect();
        let name = self.random.pick(&names).clone();
        let number = self.random.below(5);
        match self.random.below(3) {
            0 => Expression::leaf(u32, name, false),
            1 => Expression::leaf(u32, format!("({name} % {}u)", number + 2), false),
            _ => Expression::leaf(u32, format!("({name} + {number}u)"), false),
        }
    }

    fn condition(&mut self, uniform: bool) -> Expression {
        let ty = Type::Scalar(Scalar::Bool);
        if !uniform {
            return self.runtime(&ty, 3);
        }
        let parts = vec![self.agreed(), self.agreed()];
        Expression::new(ty, self.random.pick::<&str>(&["($ < $)", "($ != $)", "($ >= $)"]), parts)
    }

    fn compound(&mut self, context: Context<'_>) -> Statement {
        let uniform = context.uniform && self.random.chance(65);
        match self.random.below(10) {
            0..=3 => {
                let condition = self.condition(uniform);
                let mut statement = fill("if $ ", vec![condition]);
                statement.push(Piece::Block(self.block(context.inside(uniform), 4)));
                if self.random.chance(30) {
                    let other = self.condition(uniform);
                    statement.extend(fill(" else if $ ", vec![other]));
                    statement.push(Piece::Block(self.block(context.inside(uniform), 3)));
                }
                if self.random.chance(60) {
                    statement.push(Piece::Text(" else ".into()));
                    statement.push(Piece::Block(self.block(context.inside(uniform), 4)));
                }
                statement
            }
            4 | 5 => self.switch(context, uniform),
            6 => vec![Piece::Block(self.block(context.inside(true), 4))],
            _ => self.repeat(context, uniform),
        }
    }

    fn switch(&mut self, context: Context<'_>, uniform: bool) -> Statement {
        let signed = !uniform && self.random.chance(40);
        let selector = match (uniform, signed) {
            (true, _) => self.agreed(),
            (_, true) => {
                let e = self.runtime(&Type::Scalar(Scalar::I32), 2);
                Expression::new(Type::Scalar(Scalar::I32), "($ % 5i)", vec![e])
            }
            _ => {
                let e = self.runtime(&Type::Scalar(Scalar::U32), 2);
                Expression::new(Type::Scalar(Scalar::U32), "($ % 7u)", vec![e])
            }
        };
        let inner = Context { breakable: Some(uniform && context.barriers), ..context.inside(uniform) };
        let mut statement = fill("switch $ {\n", vec![selector]);
        let suffix = if signed { "i" } else { "u" };
        let heads = match self.random.below(4) {
            0 => vec!["case 1$, 2$: ", "default: ", "case 0$: "],
            1 => vec!["case 3$: ", "case 1$, default, 0$: "],
            2 => vec!["default: "],
            _ => vec!["case 0$: ", "case 1$: ", "case 2$, 4$, 5$: ", "default: "],
        };
        for head in heads {
            statement.push(Piece::Text(head.replace('$', suffix)));
            statement.push(Piece::Block(self.block(inner, 3)));
            statement.push(Piece::Text("\n".into()));
        }
        statement.push(Piece::Text("}".into()));
        statement
    }

    fn repeat(&mut self, context: Context<'_>, uniform: bool) -> Statement {
        let bound = if uniform { self.agreed() } else { self.runtime(&Type::Scalar(Scalar::U32), 2) };
        let name = self.name("n");
        let must = Some(uniform && context.barriers);
        let inner = Context { in_loop: must, breakable: must, ..context.inside(uniform) };
        let saved = self.scope.clone();
        let ty = Type::Scalar(Scalar::U32);
        // A counter that the body changes may count for ever: then there are too many steps, and the kernel is left out.
        let writable = !uniform && self.random.chance(25);
        let space = writable.then_some("function");
        self.scope.push(Place { text: name.clone(), ty, writable, uniform, stored: false, space });
        let body = self.block(inner, 4);
        let statement = match self.random.below(4) {
            0 if !uniform => {
                let limit = 1 + self.random.below(5);
                let mut statement = text(format!("for (var {name} = {}u; {name} < {limit}u; {name}++) ", self.random.below(2)));
                let mut body = body;
                if writable && !self.careful {
                    body.insert(0, self.counted_on(&name));
                }
                statement.push(Piece::Block(body));
                statement
            }
            0 | 3 => {
                let mut statement = fill(&format!("for (var {name} = 0u; {name} < min($, 3u); {name}++) "), vec![bound]);
                statement.push(Piece::Block(body));
                statement
            }
            1 => {
                // Counted before the body, so that a `continue` goes on.
                let mut statement =
                    fill(&format!("var {name} = 4u - min($, 3u);\nwhile ({name} < 4u) {{\n{name} += 1u;\n"), vec![bound]);
                statement.extend([Piece::Block(body), Piece::Text("\n}".into())]);
                statement
            }
            _ => self.endless(&name, bound, body),
        };
        self.scope = saved;
        if context.depth > 0 && matches!(&statement[0], Piece::Text(t) if t.starts_with("var")) {
            let mut wrapped = text("{\n");
            wrapped.extend(statement);
            wrapped.push(Piece::Text("\n}".into()));
            return wrapped;
        }
        statement
    }

    /// A counter goes past the bound of its loop, and is an index then.
    fn counted_on(&mut self, name: &str) -> Statement {
        let step = self.runtime(&Type::Scalar(Scalar::U32), 1);
        let lines = format!(
            "{name} += $ & 7u; var t{name} = array<u32, 4>(7u, 8u, 9u, 10u);
t{name}[{name}] = 5u; atomicAdd(&counts[0], t{name}[{name}] + t{name}[0] * 16u);"
        );
        fill(&lines, vec![step])
    }

    /// `loop` with a continuing block, which may end in `break if`.
    fn endless(&mut self, name: &str, bound: Expression, body: Block) -> Statement {
        let mut statement = text(format!("var {name} = 0u;\nloop {{\n"));
        let at_end = self.random.chance(50);
        if !at_end {
            statement.extend(fill(&format!("if ({name} >= min($, 3u)) {{ break; }}\n"), vec![bound.clone()]));
        }
        statement.push(Piece::Block(body));
        statement.push(Piece::Text(format!("\ncontinuing {{\n{name} += 1u;\n")));
        let assignment = self.assignment();
        statement.push(Piece::Block(vec![assignment]));
        if at_end {
            statement.extend(fill(&format!("\nbreak if {name} > min($, 2u);\n"), vec![bound]));
        }
        statement.push(Piece::Text("}\n}".into()));
        statement
    }

    /// What invocations of a workgroup do together.
    fn meeting(&mut self) -> Statement {
        let u32 = Type::Scalar(Scalar::U32);
        let name = self.name("x");
        let (statement, ty, uniform) = match self.random.below(8) {
            6 => {
                let value = self.agreed();
                self.names += 1;
                let name = format!("g{}", self.names);
                let (pattern, parts) = if self.random.chance(50) {
                    (format!("var {name} = $;"), vec![""])
                } else {
                    (format!("var {name} = vec2<u32>($, im.a);"), vec![".x", ".y"])
                };
                for part in parts {
                    let (text, ty) = (format!("{name}{part}"), u32.clone());
                    self.scope.push(Place { text, ty, writable: false, uniform: true, stored: false, space: None });
                }
                return fill(&pattern, vec![value]);
            }
            7 => return self.agreed_assignment(),
            0 => {
                let value = self.expression(&u32, 2);
                let at = self.leaf(&u32, false);
                let line = format!("let {name} = exchanged(li, $, $);");
                (fill(&line, vec![value, at]), u32, false)
            }
            1 => {
                let value = self.expression(&u32, 2);
                let line = if self.random.chance(50) {
                    format!("if (li == 0u) {{ shared_word = $ % 4u; }}\nlet {name} = workgroupUniformLoad(&shared_word);")
                } else {
                    format!("let {name} = share(&shared_word, li, $ % 4u);")
                } + "\nworkgroupBarrier();";
                (fill(&line, vec![value]), u32, true)
            }
            2 => {
                let value = self.expression(&u32, 2);
                let (i, f) = *self.random.pick(&[(0, "Add"), (1, "Max"), (2, "Xor")]);
                let line = format!(
                    "atomic{f}(&shared_counts[{i}], $);\nworkgroupBarrier();\nlet {name} = atomicLoad(&shared_counts[{i}]);\nworkgroupBarrier();"
                );
                (fill(&line, vec![value]), u32, false)
            }
            3 => (text(format!("storageBarrier(); let {name} = im.a;")), u32, true),
            _ => {
                // Each its own element, then anybody's.
                let (table, ty) = self.random.pick(&self.tables()).clone();
                let value = self.expression(&ty, 2);
                let at = self.index(self.group);
                let line = format!("{table}[li] = $;\nworkgroupBarrier();\nlet {name} = {table}[$];\nworkgroupBarrier();");
                (fill(&line, vec![value, at]), ty, false)
            }
        };
        self.scope.push(Place { text: name, ty, writable: false, uniform, stored: false, space: None });
        statement
    }

    /// A variable that is the same in all invocations gets another such value.
    fn agreed_assignment(&mut self) -> Statement {
        let names: Vec<String> =
            self.scope.iter().filter(|p| p.uniform && p.text.starts_with('g')).map(|p| p.text.clone()).collect();
        if names.is_empty() {
            return text(";");
        }
        let (name, value) = (self.random.pick(&names).clone(), self.agreed());
        let operator = *self.random.pick(&["=", "+=", "^="]);
        fill(&format!("{name} {operator} $;"), vec![value])
    }

    /// The arrays in workgroup memory, by name, with the type of their elements.
    fn tables(&self) -> Vec<(String, Type)> {
        self.shared.iter().enumerate().map(|(i, ty)| (format!("shared_{i}"), ty.clone())).collect()
    }
}
