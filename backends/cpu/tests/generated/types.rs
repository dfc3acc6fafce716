//! The types of generated kernels.

use crate::random::Random;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scalar {
    Bool,
    I32,
    U32,
    F32,
    F16,
    I64,
    U64,
    F64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Scalar(Scalar),
    Vector(usize, Scalar),
    /// Columns, rows.
    Matrix(usize, usize, Scalar),
    Array(Box<Type>, usize),
    /// Its name; the members are in the table.
    Struct(usize),
}

/// The structures of a program: the types of their members, which are called m0, m1, ...
pub(crate) type Structs = Vec<Vec<Type>>;

impl Scalar {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::I32 => "i32",
            Self::U32 => "u32",
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::I64 => "i64",
            Self::U64 => "u64",
            Self::F64 => "f64",
        }
    }

    pub(crate) fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F16 | Self::F64)
    }

    pub(crate) fn is_integer(self) -> bool {
        matches!(self, Self::I32 | Self::U32 | Self::I64 | Self::U64)
    }

    pub(crate) fn is_signed(self) -> bool {
        self.is_float() || matches!(self, Self::I32 | Self::I64)
    }

    pub(crate) fn suffix(self) -> &'static str {
        match self {
            Self::Bool => "",
            Self::I32 => "i",
            Self::U32 => "u",
            Self::F32 => "f",
            Self::F16 => "h",
            Self::I64 => "li",
            Self::U64 => "lu",
            Self::F64 => "lf",
        }
    }

    /// Numbers of every kind, those where rules change among them; all can be written down in the type.
    pub(crate) fn literal(self, random: &mut Random) -> String {
        let text = match self {
            Self::Bool => *random.pick(&["true", "false"]),
            Self::I32 => {
                *random.pick(&["0", "1", "-1", "2", "3", "7", "-5", "31", "32", "100", "65536", "2147483647", "-2147483648"])
            }
            Self::U32 => {
                *random.pick(&["0", "1", "2", "3", "5", "8", "31", "32", "33", "255", "65535", "2147483648", "4294967295"])
            }
            Self::I64 => {
                *random.pick(&["0", "1", "-1", "3", "63", "64", "-7", "4294967296", "-2147483649", "9223372036854775807"])
            }
            Self::U64 => *random.pick(&["0", "1", "2", "7", "63", "64", "4294967295", "4294967296", "18446744073709551615"]),
            Self::F32 => *random.pick(&[
                "0.0",
                "-0.0",
                "1.0",
                "-1.0",
                "0.5",
                "-0.25",
                "1.5",
                "2.5",
                "-3.5",
                "0.1",
                "7.0",
                "100.25",
                "-1e10",
                "3.4e38",
                "1e-40",
                "16777217.0",
            ]),
            Self::F16 => {
                *random.pick(&["0.0", "-0.0", "1.0", "-1.0", "0.5", "2.5", "-3.5", "0.1", "2049.0", "65504.0", "6e-8", "-100.25"])
            }
            Self::F64 => *random.pick(&[
                "0.0",
                "-0.0",
                "1.0",
                "-1.0",
                "0.5",
                "2.5",
                "0.1",
                "1e300",
                "-1e-310",
                "9007199254740993.0",
                "-100.25",
            ]),
        };
        // The least number has no literal of its own: it is minus something that does not fit.
        if text == "-2147483648" {
            return "i32(-2147483648)".into();
        }
        format!("{text}{}", self.suffix())
    }
}

impl Type {
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Scalar(s) => s.name().into(),
            Self::Vector(n, s) => format!("vec{n}<{}>", s.name()),
            Self::Matrix(c, r, s) => format!("mat{c}x{r}<{}>", s.name()),
            Self::Array(base, n) => format!("array<{}, {n}>", base.name()),
            Self::Struct(i) => format!("S{i}"),
        }
    }

    /// The type of each component.
    pub(crate) fn element(&self) -> Option<Scalar> {
        match self {
            Self::Scalar(s) | Self::Vector(_, s) | Self::Matrix(_, _, s) => Some(*s),
            Self::Array(..) | Self::Struct(_) => None,
        }
    }

    /// The same shape of another scalar type.
    pub(crate) fn with(&self, scalar: Scalar) -> Self {
        match self {
            Self::Vector(n, _) => Self::Vector(*n, scalar),
            Self::Matrix(c, r, _) => Self::Matrix(*c, *r, scalar),
            _ => Self::Scalar(scalar),
        }
    }

    /// The parts that an access can give: how it is spelled after the name, and the type.
    pub(crate) fn parts(&self, structs: &Structs) -> Vec<(String, Type)> {
        match self {
            Self::Scalar(_) => Vec::new(),
            Self::Vector(n, s) => ["x", "y", "z", "w"][..*n].iter().map(|c| (format!(".{c}"), Self::Scalar(*s))).collect(),
            Self::Matrix(c, r, s) => (0..*c).map(|i| (format!("[{i}]"), Self::Vector(*r, *s))).collect(),
            Self::Array(base, n) => (0..*n).map(|i| (format!("[{i}]"), (**base).clone())).collect(),
            Self::Struct(s) => structs[*s].iter().enumerate().map(|(i, ty)| (format!(".m{i}"), ty.clone())).collect(),
        }
    }
}

/// What types a program may use.
#[derive(Clone)]
pub(crate) struct Palette {
    /// Scalars that buffers may hold.
    pub(crate) stored: Vec<Scalar>,
    /// Scalars with matrices.
    pub(crate) floats: Vec<Scalar>,
}

impl Palette {
    /// A scalar, a vector or a matrix. Bools only where buffers are not concerned.
    pub(crate) fn plain(&self, random: &mut Random, stored: bool) -> Type {
        let scalar = if !stored && random.chance(15) { Scalar::Bool } else { *random.pick(&self.stored) };
        match random.below(10) {
            0..=3 => Type::Scalar(scalar),
            4..=7 => Type::Vector(2 + random.below(3), scalar),
            _ => Type::Matrix(2 + random.below(3), 2 + random.below(3), *random.pick(&self.floats)),
        }
    }

    /// Also arrays and structures, of those that are declared already.
    pub(crate) fn any(&self, random: &mut Random, structs: usize, stored: bool, depth: usize) -> Type {
        match random.below(10) {
            0 | 1 if depth > 0 => Type::Array(Box::new(self.any(random, structs, stored, depth - 1)), 1 + random.below(5)),
            2 | 3 if structs > 0 => Type::Struct(random.below(structs)),
            _ => self.plain(random, stored),
        }
    }
}
