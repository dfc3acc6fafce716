//! The types of GLSL that a kernel can use, and the words for them and for those that it cannot.

use std::sync::Arc;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub(super) enum Scalar {
    Bool,
    Int,
    Uint,
    Float,
}

/// A type. Structures are numbers in a table of the translation.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Ty {
    Void,
    Scalar(Scalar),
    Vector(Scalar, u8),
    /// Columns and rows.
    Matrix(u8, u8),
    Struct(usize),
    /// Of the element, and how many; `None`: as many as are bound.
    Array(Arc<Self>, Option<u32>),
}

pub(super) const BOOL: Ty = Ty::Scalar(Scalar::Bool);
pub(super) const INT: Ty = Ty::Scalar(Scalar::Int);
pub(super) const UINT: Ty = Ty::Scalar(Scalar::Uint);
pub(super) const FLOAT: Ty = Ty::Scalar(Scalar::Float);

impl Scalar {
    pub(super) fn to_naga(self) -> naga::Scalar {
        match self {
            Self::Bool => naga::Scalar::BOOL,
            Self::Int => naga::Scalar::I32,
            Self::Uint => naga::Scalar::U32,
            Self::Float => naga::Scalar::F32,
        }
    }

    pub(super) fn kind(self) -> naga::ScalarKind {
        self.to_naga().kind
    }

    /// The unsigned integer of the same size.
    pub(super) fn unsigned(self) -> Self {
        match self {
            Self::Bool => Self::Bool,
            Self::Int | Self::Uint | Self::Float => Self::Uint,
        }
    }

    fn prefix(self) -> &'static str {
        match self {
            Self::Bool => "b",
            Self::Int => "i",
            Self::Uint => "u",
            Self::Float => "",
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
            Self::Matrix(..) => Some(Scalar::Float),
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
            other => other.clone(),
        }
    }

    /// A scalar or vector.
    pub(super) fn of(scalar: Scalar, width: u8) -> Self {
        if width == 1 { Self::Scalar(scalar) } else { Self::Vector(scalar, width) }
    }

    pub(super) fn is_integer(&self) -> bool {
        matches!(self, Self::Scalar(s) | Self::Vector(s, _) if matches!(s, Scalar::Int | Scalar::Uint))
    }

    /// As a reader writes it; `structure` gives the names of structures.
    pub(super) fn spell(&self, structure: &dyn Fn(usize) -> String) -> String {
        match self {
            Self::Void => "void".to_owned(),
            Self::Scalar(Scalar::Bool) => "bool".to_owned(),
            Self::Scalar(Scalar::Int) => "int".to_owned(),
            Self::Scalar(Scalar::Uint) => "uint".to_owned(),
            Self::Scalar(Scalar::Float) => "float".to_owned(),
            Self::Vector(scalar, n) => format!("{}vec{n}", scalar.prefix()),
            Self::Matrix(c, r) if c == r => format!("mat{c}"),
            Self::Matrix(c, r) => format!("mat{c}x{r}"),
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
    let scalar = match word {
        "void" => return Some(Ok(Ty::Void)),
        "bool" => Some(BOOL),
        "int" | "int32_t" => Some(INT),
        "uint" | "uint32_t" => Some(UINT),
        "float" | "float32_t" => Some(FLOAT),
        _ => None,
    };
    if let Some(scalar) = scalar {
        return Some(Ok(scalar));
    }
    for (prefix, scalar) in [
        ("vec", Scalar::Float),
        ("f32vec", Scalar::Float),
        ("ivec", Scalar::Int),
        ("i32vec", Scalar::Int),
        ("uvec", Scalar::Uint),
        ("u32vec", Scalar::Uint),
        ("bvec", Scalar::Bool),
    ] {
        if let Some(n) = word.strip_prefix(prefix).and_then(digit) {
            return Some(Ok(Ty::Vector(scalar, n)));
        }
    }
    if let Some(size) = word.strip_prefix("f32mat").or_else(|| word.strip_prefix("mat")) {
        let (columns, rows) = size.split_once('x').unwrap_or((size, size));
        if let (Some(columns), Some(rows)) = (digit(columns), digit(rows)) {
            return Some(Ok(Ty::Matrix(columns, rows)));
        }
    }
    unsupported(word).map(Err)
}

fn unsupported(word: &str) -> Option<&'static str> {
    let sized = |prefix: &str| word.starts_with(prefix) && (word.ends_with("_t") || word.contains("vec") || word.contains("mat"));
    Some(match word {
        "double" => "64-bit floats (`double`)",
        "atomic_uint" => "atomic counters",
        _ if sized("float16") || sized("f16") => "16-bit floats",
        _ if sized("float64") || sized("f64") => "64-bit floats (`double`)",
        _ if (word.starts_with("dvec") && word.len() == 5) || (word.starts_with("dmat") && word.len() <= 7) => {
            "64-bit floats (`double`)"
        }
        _ if sized("int8") || sized("uint8") || sized("i8") || sized("u8") => "8-bit integers",
        _ if sized("int16") || sized("uint16") || sized("i16") || sized("u16") => "16-bit integers",
        _ if sized("int64") || sized("uint64") || sized("i64") || sized("u64") => "64-bit integers",
        _ if ["sampler", "isampler", "usampler"].iter().any(|p| word.starts_with(p)) => "samplers",
        _ if ["image", "iimage", "uimage", "texture", "itexture", "utexture"].iter().any(|p| word.starts_with(p))
            && word.ends_with(|c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == 'y' || c == 'r') =>
        {
            "textures"
        }
        _ => return None,
    })
}
