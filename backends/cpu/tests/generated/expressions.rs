//! Random expressions of a wanted type.

use std::collections::BTreeSet;

use crate::random::Random;
use crate::tree::{Expression, Piece};
use crate::types::{Palette, Scalar, Structs, Type};

/// Something that can be named.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) text: String,
    pub(crate) ty: Type,
    pub(crate) writable: bool,
    /// The same in all invocations of a workgroup.
    pub(crate) uniform: bool,
    /// Compared byte by byte after the run: no NaN may be stored there, because their payloads are open.
    pub(crate) stored: bool,
    /// The address space of pointers to it, where they can be passed to functions.
    pub(crate) space: Option<&'static str>,
}

impl Place {
    /// Known when the kernel is made: then the front end folds what is made of it.
    fn is_override(&self) -> bool {
        matches!(self.text.as_str(), "k0" | "k1" | "k2")
    }
}

/// A function that can be called.
#[derive(Clone, Debug)]
pub(crate) struct Callee {
    pub(crate) name: String,
    pub(crate) result: Type,
    pub(crate) values: Vec<Type>,
    /// Pointers follow the values: address space and type.
    pub(crate) pointers: Vec<(&'static str, Type)>,
}

pub(crate) struct Writer<'a> {
    pub(crate) random: &'a mut Random,
    pub(crate) palette: &'a Palette,
    pub(crate) structs: Structs,
    pub(crate) scope: Vec<Place>,
    pub(crate) functions: Vec<Callee>,
    pub(crate) names: usize,
    pub(crate) budget: usize,
    /// Types whose numbers are made free of NaN somewhere.
    pub(crate) finite: BTreeSet<String>,
    pub(crate) finite_types: Vec<Type>,
    /// Elements of the arrays in workgroup memory.
    pub(crate) shared: Vec<Type>,
    pub(crate) private: Vec<Type>,
    /// Invocations of a workgroup.
    pub(crate) group: usize,
    /// All indices are in range.
    pub(crate) careful: bool,
    /// Functions know nothing of their invocation.
    pub(crate) in_function: bool,
}

/// What an argument must be, relative to the result `T`. Small letters must not be constant, where the front end would refuse some values.
/// `S` its scalar; `U` and `I` u32 and i32 of its shape; `B` bools of its shape; `P` one bool; `W` one u32; `2`, `4` vectors of f32; `V` vec4<i32>,
/// `X` vec4<u32>.
pub(crate) type Pattern = (&'static str, &'static str);

pub(crate) const INTEGER: &[Pattern] = &[
    ("($ + $)", "TT"),
    ("($ - $)", "TT"),
    ("($ * $)", "TT"),
    ("($ / $)", "Tt"),
    ("($ % $)", "Tt"),
    ("($ & $)", "TT"),
    ("($ | $)", "TT"),
    ("($ ^ $)", "TT"),
    ("($ << $)", "tu"),
    ("($ >> $)", "tu"),
    ("(~$)", "T"),
    ("min($, $)", "TT"),
    ("max($, $)", "TT"),
    ("clamp($, $, $)", "Ttt"),
    ("abs($)", "t"),
];
pub(crate) const BITS: &[Pattern] = &[
    ("countOneBits($)", "T"),
    ("countLeadingZeros($)", "T"),
    ("countTrailingZeros($)", "T"),
    ("firstLeadingBit($)", "T"),
    ("firstTrailingBit($)", "T"),
    ("reverseBits($)", "T"),
    ("extractBits($, $, $)", "Tww"),
    ("insertBits($, $, $, $)", "TTww"),
];
pub(crate) const SIGNED: &[Pattern] = &[("(-$)", "t"), ("sign($)", "T")];
pub(crate) const MIXED: &[Pattern] =
    &[("($ + $)", "TS"), ("($ - $)", "ST"), ("($ * $)", "TS"), ("($ * $)", "ST"), ("($ / $)", "Ts"), ("($ / $)", "St")];
pub(crate) const FLOAT: &[Pattern] = &[
    ("($ + $)", "Tt"),
    ("($ - $)", "Tt"),
    ("($ * $)", "Tt"),
    ("($ / $)", "Tt"),
    ("($ + $)", "Tt"),
    ("($ * $)", "Tt"),
    ("($ % $)", "Tt"),
    ("(-$)", "T"),
    ("abs($)", "T"),
    ("floor($)", "T"),
    ("ceil($)", "T"),
    ("round($)", "T"),
    ("trunc($)", "T"),
    ("fract($)", "t"),
    ("sqrt($)", "t"),
    ("saturate($)", "t"),
    ("min($, $)", "tT"),
    ("max($, $)", "Tt"),
    ("clamp($, $, $)", "Ttt"),
    ("fma($, $, $)", "tTt"),
    ("mix($, $, $)", "TTt"),
    ("step($, $)", "Tt"),
    ("smoothstep($, $, $)", "ttt"),
    ("modf($).fract", "t"),
    ("modf($).whole", "t"),
    ("frexp($).fract", "f"),
    ("inverseSqrt($)", "t"),
    ("radians($)", "t"),
    ("degrees($)", "t"),
    ("ldexp($, $)", "ti"),
];
pub(crate) const TRANSCENDENTAL: &[Pattern] = &[
    ("sin($)", "t"),
    ("cos($)", "t"),
    ("tan($)", "t"),
    ("asin($)", "t"),
    ("acos($)", "t"),
    ("atan($)", "t"),
    ("sinh($)", "t"),
    ("cosh($)", "t"),
    ("tanh($)", "t"),
    ("asinh($)", "t"),
    ("acosh($)", "t"),
    ("atanh($)", "t"),
    ("exp($)", "t"),
    ("exp2($)", "t"),
    ("log($)", "t"),
    ("log2($)", "t"),
    ("pow($, $)", "tt"),
    ("atan2($, $)", "tt"),
];
pub(crate) const FLOAT_VECTOR: &[Pattern] = &[
    ("reflect($, $)", "tt"),
    ("refract($, $, $)", "tts"),
    ("faceForward($, $, $)", "ttt"),
    ("normalize($)", "t"),
    ("mix($, $, $)", "tts"),
];
pub(crate) const CHOICE: &[Pattern] = &[("select($, $, $)", "TTB"), ("select($, $, $)", "TTP")];
pub(crate) const PACKED: &[Pattern] = &[
    ("pack4x8snorm($)", "4"),
    ("pack4x8unorm($)", "4"),
    ("pack2x16snorm($)", "2"),
    ("pack2x16unorm($)", "2"),
    ("pack4xI8($)", "V"),
    ("pack4xU8($)", "X"),
    ("pack4xI8Clamp($)", "V"),
    ("pack4xU8Clamp($)", "X"),
    ("dot4U8Packed($, $)", "WW"),
    ("bitcast<u32>(dot4I8Packed($, $))", "WW"),
];

impl Writer<'_> {
    /// An expression of this type.
    pub(crate) fn expression(&mut self, ty: &Type, depth: usize) -> Expression {
        if depth == 0 || self.random.chance(20) {
            return self.leaf(ty, true);
        }
        if let Type::Array(..) | Type::Struct(_) = ty {
            return self.leaf(ty, true);
        }
        if self.random.chance(12) {
            return self.call(ty, depth).unwrap_or_else(|| self.leaf(ty, false));
        }
        match ty {
            Type::Scalar(Scalar::Bool) => self.truth(depth),
            Type::Matrix(c, r, s) => self.matrix(*c, *r, *s, depth),
            Type::Vector(n, s) if self.random.chance(25) => self.composed(*n, *s, depth),
            Type::Vector(n, s) if s.is_float() && self.random.chance(8) => self.transformed(*n, *s, depth),
            _ if self.random.chance(12) => self.converted(ty, depth),
            Type::Scalar(s) if self.random.chance(18) => self.reduced(*s, depth),
            _ => self.operation(ty, depth),
        }
    }

    /// One that is computed at run time.
    pub(crate) fn runtime(&mut self, ty: &Type, depth: usize) -> Expression {
        let e = self.expression(ty, depth);
        if e.constant { self.leaf(ty, false) } else { e }
    }

    /// A name, a literal or a word of the input.
    pub(crate) fn leaf(&mut self, ty: &Type, literals: bool) -> Expression {
        if self.random.chance(60)
            && let Some(found) = self.read(ty)
            && (literals || !found.constant)
        {
            return found;
        }
        match ty {
            Type::Scalar(s) if literals && self.random.chance(60) => Expression::leaf(ty.clone(), s.literal(self.random), true),
            Type::Scalar(s) => self.input(*s),
            Type::Vector(n, s) => {
                let parts: Vec<_> = (0..*n).map(|_| self.leaf(&Type::Scalar(*s), literals)).collect();
                self.constructed(ty, parts)
            }
            Type::Matrix(c, r, s) => {
                let parts: Vec<_> = (0..*c).map(|_| self.leaf(&Type::Vector(*r, *s), literals)).collect();
                self.constructed(ty, parts)
            }
            Type::Array(base, n) => {
                let parts: Vec<_> = (0..*n).map(|_| self.leaf(base, literals)).collect();
                self.constructed(ty, parts)
            }
            Type::Struct(i) => {
                let members = self.structs[*i].clone();
                let parts: Vec<_> = members.iter().map(|m| self.leaf(m, literals)).collect();
                self.constructed(ty, parts)
            }
        }
    }

    fn constructed(&mut self, ty: &Type, parts: Vec<Expression>) -> Expression {
        let pattern = format!("{}({})", ty.name(), vec!["$"; parts.len()].join(", "));
        Expression::new(ty.clone(), &pattern, parts)
    }

    /// A word of the input as a scalar.
    fn input(&mut self, scalar: Scalar) -> Expression {
        let (a, b) = (self.random.below(48), self.random.below(48));
        let float = format!("bitcast<f32>(input[{a}])");
        let text = match scalar {
            Scalar::Bool => format!("((input[{a}] & 1u) == 1u)"),
            Scalar::I32 => format!("bitcast<i32>(input[{a}])"),
            Scalar::U32 => format!("input[{a}]"),
            Scalar::F32 => float,
            Scalar::F16 => format!("f16({float})"),
            Scalar::I64 => format!("((i64(input[{a}]) << 32u) | i64(input[{b}]))"),
            Scalar::U64 => format!("((u64(input[{a}]) << 32u) | u64(input[{b}]))"),
            Scalar::F64 => format!("(f64({float}) * f64(bitcast<f32>(input[{b}])))"),
        };
        Expression::leaf(Type::Scalar(scalar), text, false)
    }

    /// A part of something in scope that has the type, if one is found soon.
    pub(crate) fn read(&mut self, ty: &Type) -> Option<Expression> {
        if self.scope.is_empty() {
            return None;
        }
        for _ in 0..10 {
            let place = self.random.pick(&self.scope).clone();
            if let Some(pieces) = self.path(&place, ty) {
                return Some(Expression { ty: ty.clone(), pieces, constant: place.is_override() });
            }
        }
        None
    }

    /// The way from a place to a part of this type.
    pub(crate) fn path(&mut self, place: &Place, wanted: &Type) -> Option<Vec<Piece>> {
        let mut pieces = vec![Piece::Text(place.text.clone())];
        let mut ty = place.ty.clone();
        for _ in 0..5 {
            if ty == *wanted {
                return Some(pieces);
            }
            let parts = ty.parts(&self.structs);
            if parts.is_empty() {
                return None;
            }
            let (text, next) = self.random.pick(&parts).clone();
            if !matches!(ty, Type::Struct(_)) && self.random.chance(45) {
                pieces.push(Piece::Text("[".into()));
                pieces.push(Piece::Expression(self.index(parts.len())));
                pieces.push(Piece::Text("]".into()));
            } else {
                pieces.push(Piece::Text(text));
            }
            ty = next;
        }
        None
    }

    /// An index, mostly of something that has `count` parts, sometimes far from it. Many of the forms are those from which a translation may see that no
    /// check is needed.
    pub(crate) fn index(&mut self, count: usize) -> Expression {
        let (unsigned, signed) = (Type::Scalar(Scalar::U32), Type::Scalar(Scalar::I32));
        let one = |w: &mut Self| vec![w.small(&unsigned)];
        let two = |w: &mut Self| vec![w.small(&unsigned), w.small(&unsigned)];
        let half = (count / 2).max(1);
        let form = if self.careful { *self.random.pick(&[0, 1, 5, 8, 11, 18]) } else { self.random.below(18) };
        let (parts, pattern) = match form {
            0..=4 => (one(self), format!("($ % {count}u)")),
            5 => (one(self), format!("min($, {}u)", count - 1)),
            6 => (one(self), format!("($ & {}u)", [1, 3, 7][self.random.below(3)])),
            7 => (one(self), format!("($ >> {}u)", 28 + self.random.below(4))),
            8 => (two(self), format!("(($ % {half}u) + ($ % {half}u))")),
            9 => (two(self), format!("(($ % {half}u) * 2u + ($ & 1u))")),
            10 => (two(self), format!("select($ % {count}u, $ % {}u, im.a > 2u)", count + 1)),
            11 => (one(self), format!("(($ % {}u) / 2u)", 2 * count)),
            12 => (one(self), format!("($ - {}u)", self.random.below(3))),
            13 | 14 => {
                let part = vec![self.small(&signed)];
                let pattern =
                    *self.random.pick(&["($ % 3i)", "($ & 3i)", "abs($ % 3i)", "min($, 2i)", "max($, 0i)", "($ / 1000i)", "$"]);
                return Expression::new(signed, pattern, part);
            }
            15 | 16 => match self.counter() {
                Some(name) => return Expression::leaf(unsigned, name, false),
                None => (one(self), "$".into()),
            },
            17 => match self.counter() {
                Some(name) => return Expression::leaf(unsigned, format!("({name} + 1u)"), false),
                None => (one(self), "$".into()),
            },
            _ => match self.counter() {
                Some(name) => return Expression::leaf(unsigned, format!("min({name}, {}u)", count - 1), false),
                None => (one(self), format!("($ % {count}u)")),
            },
        };
        Expression::new(unsigned, &pattern, parts)
    }

    /// The counter of some loop around.
    fn counter(&mut self) -> Option<String> {
        let found: Vec<&Place> = self.scope.iter().filter(|p| p.text.starts_with('n') && !p.text.contains('.')).collect();
        if found.is_empty() { None } else { Some(self.random.pick(&found).text.clone()) }
    }

    fn small(&mut self, ty: &Type) -> Expression {
        if self.random.chance(70)
            && let Some(place) = self.scalar_place(ty)
        {
            return Expression::leaf(ty.clone(), place, false);
        }
        let Type::Scalar(s) = ty else { return self.leaf(ty, false) };
        self.input(*s)
    }

    /// The name of a scalar, without any index on the way.
    fn scalar_place(&mut self, ty: &Type) -> Option<String> {
        let found: Vec<&Place> = self.scope.iter().filter(|p| p.ty == *ty && !p.is_override()).collect();
        if found.is_empty() { None } else { Some(self.random.pick(&found).text.clone()) }
    }

    fn operation(&mut self, ty: &Type, depth: usize) -> Expression {
        let Some(scalar) = ty.element() else { return self.leaf(ty, true) };
        let vector = matches!(ty, Type::Vector(..));
        if scalar == Scalar::Bool {
            return self.truths(ty, depth);
        }
        let mut tables: Vec<&[Pattern]> = Vec::new();
        if scalar.is_integer() {
            tables.extend([INTEGER, INTEGER, BITS]);
        } else {
            tables.extend([FLOAT, FLOAT, FLOAT, TRANSCENDENTAL]);
        }
        if scalar.is_signed() {
            tables.push(SIGNED);
        }
        if vector {
            tables.push(MIXED);
        }
        if vector && scalar.is_float() {
            tables.push(FLOAT_VECTOR);
        }
        if *ty == Type::Scalar(Scalar::U32) {
            tables.push(PACKED);
        }
        tables.push(CHOICE);
        let table = *self.random.pick(&tables);
        let pattern = *self.random.pick(table);
        self.apply(ty, pattern, depth)
    }

    /// Fills a pattern in. Not all arguments may be constant: folding would refuse what overflows.
    fn apply(&mut self, ty: &Type, (text, kinds): Pattern, depth: usize) -> Expression {
        let scalar = ty.element().unwrap_or(Scalar::U32);
        let mut parts = Vec::new();
        for kind in kinds.chars() {
            let wanted = match kind.to_ascii_uppercase() {
                'T' | 'F' => ty.clone(),
                'S' => Type::Scalar(scalar),
                'U' => ty.with(Scalar::U32),
                'I' => ty.with(Scalar::I32),
                'B' => ty.with(Scalar::Bool),
                'P' => Type::Scalar(Scalar::Bool),
                '2' => Type::Vector(2, Scalar::F32),
                '4' => Type::Vector(4, Scalar::F32),
                'V' => Type::Vector(4, Scalar::I32),
                'X' => Type::Vector(4, Scalar::U32),
                _ => Type::Scalar(Scalar::U32),
            };
            let must_run = kind.is_ascii_lowercase() || kind.is_ascii_digit();
            let part = if must_run { self.runtime(&wanted, depth - 1) } else { self.expression(&wanted, depth - 1) };
            // The specification leaves open what NaN gives here.
            parts.push(if matches!(kind, 'f' | '2' | '4') { self.finite(part) } else { part });
        }
        if parts.iter().all(|p| p.constant) {
            parts[0] = self.leaf(&parts[0].ty.clone(), false);
        }
        Expression::new(ty.clone(), text, parts)
    }

    /// NaN replaced by a number.
    pub(crate) fn finite(&mut self, e: Expression) -> Expression {
        let ty = e.ty.clone();
        if !ty.element().is_some_and(Scalar::is_float) {
            return e;
        }
        let name = finite_name(&ty);
        if self.finite.insert(name.clone()) {
            self.finite_types.push(ty.clone());
        }
        Expression { constant: false, ..Expression::new(ty, &format!("{name}($)"), vec![e]) }
    }

    /// A vector from parts, a swizzle, or one number everywhere.
    fn composed(&mut self, n: usize, scalar: Scalar, depth: usize) -> Expression {
        let ty = Type::Vector(n, scalar);
        match self.random.below(3) {
            0 => {
                let from = 2 + self.random.below(3);
                let vector = self.expression(&Type::Vector(from, scalar), depth - 1);
                let components: String = (0..n).map(|_| *self.random.pick(&["x", "y", "z", "w"][..from])).collect();
                Expression::new(ty, &format!("$.{components}"), vec![vector])
            }
            1 => {
                let part = self.expression(&Type::Scalar(scalar), depth - 1);
                Expression::new(ty.clone(), &format!("{}($)", ty.name()), vec![part])
            }
            _ => {
                let (mut left, mut parts) = (n, Vec::new());
                while left > 0 {
                    let size = 1 + self.random.below(left.min(3));
                    let wanted = if size == 1 || size == n { Type::Scalar(scalar) } else { Type::Vector(size, scalar) };
                    left -= if matches!(wanted, Type::Scalar(_)) { 1 } else { size };
                    parts.push(self.expression(&wanted, depth - 1));
                }
                self.constructed(&ty, parts)
            }
        }
    }

    fn transformed(&mut self, n: usize, s: Scalar, depth: usize) -> Expression {
        let ty = Type::Vector(n, s);
        let k = 2 + self.random.below(3);
        if n == 3 && self.random.chance(30) {
            let parts = vec![self.runtime(&ty, depth - 1), self.runtime(&ty, depth - 1)];
            return Expression::new(ty, "cross($, $)", parts);
        }
        if self.random.chance(50) {
            let parts = vec![self.runtime(&Type::Matrix(k, n, s), depth - 1), self.runtime(&Type::Vector(k, s), depth - 1)];
            Expression::new(ty, "($ * $)", parts)
        } else {
            let parts = vec![self.runtime(&Type::Vector(k, s), depth - 1), self.runtime(&Type::Matrix(n, k, s), depth - 1)];
            Expression::new(ty, "($ * $)", parts)
        }
    }

    fn matrix(&mut self, c: usize, r: usize, s: Scalar, depth: usize) -> Expression {
        let ty = Type::Matrix(c, r, s);
        let same = |w: &mut Self| w.runtime(&Type::Matrix(c, r, s), depth - 1);
        match self.random.below(7) {
            0 => {
                let parts = vec![same(self), same(self)];
                Expression::new(ty, "($ + $)", parts)
            }
            1 => {
                let parts = vec![same(self), same(self)];
                Expression::new(ty, "($ - $)", parts)
            }
            2 => {
                let parts = vec![same(self), self.runtime(&Type::Scalar(s), depth - 1)];
                Expression::new(ty, "($ * $)", parts)
            }
            3 => {
                let k = 2 + self.random.below(3);
                let parts =
                    vec![self.runtime(&Type::Matrix(k, r, s), depth - 1), self.runtime(&Type::Matrix(c, k, s), depth - 1)];
                Expression::new(ty, "($ * $)", parts)
            }
            4 => {
                let part = self.runtime(&Type::Matrix(r, c, s), depth - 1);
                Expression::new(ty, "transpose($)", vec![part])
            }
            _ => {
                let parts = (0..c).map(|_| self.expression(&Type::Vector(r, s), depth - 1)).collect();
                self.constructed(&ty, parts)
            }
        }
    }

    /// A conversion or the same bits as another type.
    fn converted(&mut self, ty: &Type, depth: usize) -> Expression {
        let Some(to) = ty.element() else { return self.leaf(ty, true) };
        let mut all = self.palette.stored.clone();
        all.push(Scalar::Bool);
        let from = *self.random.pick(&all);
        let part = self.runtime(&ty.with(from), depth - 1);
        let same_size = |a: Scalar, b: Scalar| size(a) == size(b);
        if to != Scalar::Bool && from != Scalar::Bool && same_size(to, from) && self.random.chance(60) {
            let part = self.finite(part);
            return Expression::new(ty.clone(), &format!("bitcast<{}>($)", ty.name()), vec![part]);
        }
        // What a NaN becomes as an integer is open.
        let part = if from.is_float() && !to.is_float() { self.finite(part) } else { part };
        Expression::new(ty.clone(), &format!("{}($)", ty.name()), vec![part])
    }

    /// A scalar from something larger.
    fn reduced(&mut self, s: Scalar, depth: usize) -> Expression {
        let (ty, n) = (Type::Scalar(s), 2 + self.random.below(3));
        let vector = Type::Vector(n, s);
        match self.random.below(5) {
            0 => {
                let parts = vec![self.runtime(&vector, depth - 1), self.index(n)];
                Expression::new(ty, "$[$]", parts)
            }
            1 if s != Scalar::Bool => {
                let parts = vec![self.runtime(&vector, depth - 1), self.runtime(&vector, depth - 1)];
                Expression::new(ty, "dot($, $)", parts)
            }
            2 if s.is_float() => {
                let parts = vec![self.runtime(&vector, depth - 1), self.runtime(&vector, depth - 1)];
                Expression::new(ty, self.random.pick::<&str>(&["distance($, $)", "length($ + $)"]), parts)
            }
            3 if s == Scalar::F32 => {
                let (text, count) = *self.random.pick(&[
                    ("unpack4x8snorm($)", 4),
                    ("unpack4x8unorm($)", 4),
                    ("unpack2x16snorm($)", 2),
                    ("unpack2x16unorm($)", 2),
                    ("unpack2x16float($)", 2),
                ]);
                let part = self.runtime(&Type::Scalar(Scalar::U32), depth - 1);
                let component = *self.random.pick(&["x", "y", "z", "w"][..count]);
                Expression::new(ty, &format!("{text}.{component}"), vec![part])
            }
            3 if s == Scalar::I32 || s == Scalar::U32 => {
                let text = if s == Scalar::I32 { "unpack4xI8($)" } else { "unpack4xU8($)" };
                let part = self.runtime(&Type::Scalar(Scalar::U32), depth - 1);
                Expression::new(ty, &format!("{text}.{}", self.random.pick(&["x", "y", "z", "w"])), vec![part])
            }
            3 if s == Scalar::Bool => {
                let part = self.runtime(&vector, depth - 1);
                Expression::new(ty, self.random.pick::<&str>(&["any($)", "all($)"]), vec![part])
            }
            4 if s.is_float() => {
                let part = self.runtime(&Type::Matrix(2, 2, s), depth - 1);
                Expression::new(ty, "determinant($)", vec![part])
            }
            _ => {
                let part = self.runtime(&vector, depth - 1);
                Expression::new(ty, &format!("$.{}", self.random.pick(&["x", "y", "z", "w"][..n])), vec![part])
            }
        }
    }

    fn truth(&mut self, depth: usize) -> Expression {
        let ty = Type::Scalar(Scalar::Bool);
        let sides = |w: &mut Self| {
            vec![w.runtime(&Type::Scalar(Scalar::Bool), depth - 1), w.expression(&Type::Scalar(Scalar::Bool), depth - 1)]
        };
        match self.random.below(8) {
            0 => {
                let parts = sides(self);
                Expression::new(ty, "($ && $)", parts)
            }
            1 => {
                let parts = sides(self);
                Expression::new(ty, "($ || $)", parts)
            }
            2 => self.reduced(Scalar::Bool, depth),
            _ => self.truths(&ty, depth),
        }
    }

    /// Comparisons and logic, of scalars or component by component.
    fn truths(&mut self, ty: &Type, depth: usize) -> Expression {
        match self.random.below(6) {
            0 => {
                let part = self.runtime(ty, depth - 1);
                Expression::new(ty.clone(), "(!$)", vec![part])
            }
            1 => {
                let parts = vec![self.runtime(ty, depth - 1), self.runtime(ty, depth - 1)];
                Expression::new(ty.clone(), self.random.pick::<&str>(&["($ & $)", "($ | $)", "($ == $)", "($ != $)"]), parts)
            }
            _ => {
                let of = ty.with(*self.random.pick(&self.palette.stored));
                let parts = vec![self.runtime(&of, depth - 1), self.expression(&of, depth - 1)];
                let text = self.random.pick(&["($ < $)", "($ <= $)", "($ > $)", "($ >= $)", "($ == $)", "($ != $)"]);
                Expression::new(ty.clone(), text, parts)
            }
        }
    }

    /// A call of a function without pointers.
    fn call(&mut self, ty: &Type, depth: usize) -> Option<Expression> {
        let found: Vec<Callee> = self.functions.iter().filter(|f| f.result == *ty && f.pointers.is_empty()).cloned().collect();
        if found.is_empty() {
            return None;
        }
        let callee = self.random.pick(&found).clone();
        let parts: Vec<_> = callee.values.iter().map(|t| self.expression(t, depth - 1)).collect();
        let pattern = format!("{}({})", callee.name, vec!["$"; parts.len()].join(", "));
        Some(Expression { constant: false, ..Expression::new(ty.clone(), &pattern, parts) })
    }
}

fn size(scalar: Scalar) -> usize {
    match scalar {
        Scalar::F16 => 2,
        Scalar::I64 | Scalar::U64 | Scalar::F64 => 8,
        _ => 4,
    }
}

pub(crate) fn finite_name(ty: &Type) -> String {
    match ty {
        Type::Vector(n, s) => format!("finite_{n}{}", s.name()),
        Type::Matrix(c, r, s) => format!("finite_{c}{r}{}", s.name()),
        _ => format!("finite_{}", ty.name()),
    }
}
