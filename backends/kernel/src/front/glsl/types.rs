//! The types of GLSL that a kernel can use, and the words for them and for those that it cannot.

use std::sync::Arc;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Scalar {
    Bool,
    Int16,
    Uint16,
    Int,
    Uint,
    Int64,
    Uint64,
    /// 16 bits.
    Half,
    Float,
    Double,
}

/// A type. Structures are numbers in a table of the translation.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Ty {
    Void,
    Scalar(Scalar),
    Vector(Scalar, u8),
    /// Of floats: columns and rows.
    Matrix(Scalar, u8, u8),
    Struct(usize),
    /// Of the element, and how many; `None`: as many as are bound.
    Array(Arc<Self>, Option<u32>),
}

pub(super) const BOOL: Ty = Ty::Scalar(Scalar::Bool);
pub(super) const INT: Ty = Ty::Scalar(Scalar::Int);
pub(super) const UINT: Ty = Ty::Scalar(Scalar::Uint);
pub(super) const FLOAT: Ty = Ty::Scalar(Scalar::Float);

impl Scalar {
    const ALL: [Self; 10] = [
        Self::Bool,
        Self::Int16,
        Self::Uint16,
        Self::Int,
        Self::Uint,
        Self::Int64,
        Self::Uint64,
        Self::Half,
        Self::Float,
        Self::Double,
    ];

    pub(super) fn to_naga(self) -> naga::Scalar {
        match self {
            Self::Bool => naga::Scalar::BOOL,
            Self::Int16 => naga::Scalar::I16,
            Self::Uint16 => naga::Scalar::U16,
            Self::Int => naga::Scalar::I32,
            Self::Uint => naga::Scalar::U32,
            Self::Int64 => naga::Scalar::I64,
            Self::Uint64 => naga::Scalar::U64,
            Self::Half => naga::Scalar::F16,
            Self::Float => naga::Scalar::F32,
            Self::Double => naga::Scalar::F64,
        }
    }

    pub(super) fn from_naga(scalar: naga::Scalar) -> Option<Self> {
        Self::ALL.into_iter().find(|s| s.to_naga() == scalar)
    }

    pub(super) fn kind(self) -> naga::ScalarKind {
        self.to_naga().kind
    }

    /// In memory; a `bool` there is a word.
    pub(super) fn bytes(self) -> u64 {
        if self == Self::Bool { 4 } else { self.to_naga().width.into() }
    }

    pub(super) fn is_float(self) -> bool {
        self.kind() == naga::ScalarKind::Float
    }

    pub(super) fn is_signed(self) -> bool {
        self.kind() == naga::ScalarKind::Sint
    }

    pub(super) fn is_integer(self) -> bool {
        matches!(self.kind(), naga::ScalarKind::Sint | naga::ScalarKind::Uint)
    }

    /// The integer of the same size.
    pub(super) fn integer(self, signed: bool) -> Self {
        match (self, signed) {
            (Self::Bool, _) => Self::Bool,
            (Self::Int16 | Self::Uint16 | Self::Half, true) => Self::Int16,
            (Self::Int16 | Self::Uint16 | Self::Half, false) => Self::Uint16,
            (Self::Int | Self::Uint | Self::Float, true) => Self::Int,
            (Self::Int | Self::Uint | Self::Float, false) => Self::Uint,
            (Self::Int64 | Self::Uint64 | Self::Double, true) => Self::Int64,
            (Self::Int64 | Self::Uint64 | Self::Double, false) => Self::Uint64,
        }
    }

    /// How far the conversion is that the language makes by itself: to more bits, from signed to unsigned of no fewer bits, and from integers to floats of no
    /// fewer bits. `None` where there is none.
    pub(super) fn distance(self, to: Self) -> Option<u32> {
        if self == to {
            return Some(0);
        }
        let (from_bytes, to_bytes) = (self.bytes(), to.bytes());
        let steps = (to_bytes.checked_div(from_bytes)?).checked_ilog2()?;
        let kind = match (self.kind(), to.kind()) {
            (naga::ScalarKind::Float, naga::ScalarKind::Float) => 0,
            (naga::ScalarKind::Sint, naga::ScalarKind::Sint) | (naga::ScalarKind::Uint, naga::ScalarKind::Uint) => 0,
            (naga::ScalarKind::Sint, naga::ScalarKind::Uint) => 1,
            (naga::ScalarKind::Uint, naga::ScalarKind::Sint) if steps > 0 => 1,
            (naga::ScalarKind::Sint | naga::ScalarKind::Uint, naga::ScalarKind::Float) => 2,
            _ => return None,
        };
        Some(kind + steps)
    }

    /// The one of two that the other becomes by itself.
    pub(super) fn common(self, other: Self) -> Option<Self> {
        match (self.distance(other), other.distance(self)) {
            (Some(_), _) => Some(other),
            (_, Some(_)) => Some(self),
            _ => None,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::Int16 => "int16_t",
            Self::Uint16 => "uint16_t",
            Self::Int => "int",
            Self::Uint => "uint",
            Self::Int64 => "int64_t",
            Self::Uint64 => "uint64_t",
            Self::Half => "float16_t",
            Self::Float => "float",
            Self::Double => "double",
        }
    }

    fn prefix(self) -> &'static str {
        match self {
            Self::Bool => "b",
            Self::Int16 => "i16",
            Self::Uint16 => "u16",
            Self::Int => "i",
            Self::Uint => "u",
            Self::Int64 => "i64",
            Self::Uint64 => "u64",
            Self::Half => "f16",
            Self::Float => "",
            Self::Double => "d",
        }
    }
}

pub(super) fn vector_size(n: u8) -> naga::VectorSize {
    match n {
        2 => naga::VectorSize::Bi,
        3 => naga::VectorSize::Tri,
        _ => naga::VectorSize::Quad,
    }
}

impl Ty {
    /// The scalar of a scalar, vector or matrix.
    pub(super) fn scalar(&self) -> Option<Scalar> {
        match self {
            Self::Scalar(scalar) | Self::Vector(scalar, _) => Some(*scalar),
            Self::Matrix(scalar, ..) => Some(*scalar),
            _ => None,
        }
    }

    /// Components of a scalar or vector.
    pub(super) fn width(&self) -> Option<u8> {
        match self {
            Self::Scalar(_) => Some(1),
            Self::Vector(_, n) => Some(*n),
            _ => None,
        }
    }

    /// The same shape of another scalar.
    pub(super) fn with(&self, scalar: Scalar) -> Self {
        match self {
            Self::Scalar(_) => Self::Scalar(scalar),
            Self::Vector(_, n) => Self::Vector(scalar, *n),
            Self::Matrix(_, c, r) => Self::Matrix(scalar, *c, *r),
            other => other.clone(),
        }
    }

    /// A scalar or vector.
    pub(super) fn of(scalar: Scalar, width: u8) -> Self {
        if width == 1 { Self::Scalar(scalar) } else { Self::Vector(scalar, width) }
    }

    pub(super) fn is_integer(&self) -> bool {
        self.width().is_some() && self.scalar().is_some_and(Scalar::is_integer)
    }

    /// As a reader writes it; `structure` gives the names of structures.
    pub(super) fn spell(&self, structure: &dyn Fn(usize) -> String) -> String {
        match self {
            Self::Void => "void".to_owned(),
            Self::Scalar(scalar) => scalar.word().to_owned(),
            Self::Vector(scalar, n) => format!("{}vec{n}", scalar.prefix()),
            Self::Matrix(scalar, c, r) if c == r => format!("{}mat{c}", scalar.prefix()),
            Self::Matrix(scalar, c, r) => format!("{}mat{c}x{r}", scalar.prefix()),
            Self::Struct(index) => structure(*index),
            Self::Array(base, length) => {
                let length = length.map(|n| n.to_string()).unwrap_or_default();
                format!("{}[{length}]", base.spell(structure))
            }
        }
    }
}

/// The type that a word stands for; an error names what is not supported.
pub(super) fn word(word: &str) -> Option<Result<Ty, &'static str>> {
    let digit = |text: &str| match text {
        "2" => Some(2u8),
        "3" => Some(3),
        "4" => Some(4),
        _ => None,
    };
    if word == "void" {
        return Some(Ok(Ty::Void));
    }
    let scalar = match word {
        "int32_t" => Some(Scalar::Int),
        "uint32_t" => Some(Scalar::Uint),
        "float32_t" => Some(Scalar::Float),
        "float64_t" => Some(Scalar::Double),
        _ => Scalar::ALL.into_iter().find(|scalar| scalar.word() == word),
    };
    if let Some(scalar) = scalar {
        return Some(Ok(Ty::Scalar(scalar)));
    }
    // The 32 and 64 bits that other types have without saying so may be said.
    let spelled = [("i32", Scalar::Int), ("u32", Scalar::Uint), ("f32", Scalar::Float), ("f64", Scalar::Double)];
    for (prefix, scalar) in Scalar::ALL.into_iter().map(|scalar| (scalar.prefix(), scalar)).chain(spelled) {
        let Some(rest) = word.strip_prefix(prefix) else { continue };
        if let Some(n) = rest.strip_prefix("vec").and_then(digit) {
            return Some(Ok(Ty::Vector(scalar, n)));
        }
        let Some(size) = rest.strip_prefix("mat").filter(|_| scalar.is_float()) else { continue };
        let (columns, rows) = size.split_once('x').unwrap_or((size, size));
        if let (Some(columns), Some(rows)) = (digit(columns), digit(rows)) {
            return Some(Ok(Ty::Matrix(scalar, columns, rows)));
        }
    }
    unsupported(word).map(Err)
}

fn unsupported(word: &str) -> Option<&'static str> {
    let sized = |prefix: &str| word.starts_with(prefix) && (word.ends_with("_t") || word.contains("vec") || word.contains("mat"));
    Some(match word {
        "atomic_uint" => "atomic counters",
        _ if sized("int8") || sized("uint8") || sized("i8") || sized("u8") => "8-bit integers",
        _ if ["sampler", "isampler", "usampler"].iter().any(|p| word.starts_with(p)) => "samplers",
        _ if ["image", "iimage", "uimage", "texture", "itexture", "utexture"].iter().any(|p| word.starts_with(p))
            && word.ends_with(|c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == 'y' || c == 'r') =>
        {
            "textures"
        }
        _ => return None,
    })
}
