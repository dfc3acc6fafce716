//! Values of constant expressions: scalars with the abstract ones, and what is built of them; conversion; how they are written down.

use std::fmt::Write as _;
use std::rc::Rc;

use crate::math::{f16_from_f64, round_to_f16};

/// Why an expression has no value here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum No {
    /// It is no constant, or nothing that is evaluated here: the front end decides what becomes of it.
    Unknown,
    /// It is an error of the source, in a sentence.
    Wrong(String),
    /// Likewise: this whole number is to be a half, and is infinite as one. The front end makes it that without a word, and fails over some uses of it.
    PastHalves(i64),
}

impl No {
    pub(super) fn infinite() -> Self {
        Self::Wrong("this constant expression has no value: a result is infinite or no number".to_owned())
    }
}

pub(super) type Result<T> = std::result::Result<T, No>;

/// Arrays that are larger are not evaluated here.
pub(super) const MAX_ELEMENTS: usize = 1 << 16;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Scalar {
    Bool(bool),
    AbstractInt(i64),
    AbstractFloat(f64),
    /// Only what halves become.
    I16(i16),
    I32(i32),
    U32(u32),
    /// A half, exact as an f32.
    F16(f32),
    F32(f32),
    /// Only to be converted to a half: by way of an f32 it would be rounded twice.
    F64(f64),
    /// Likewise.
    I64(i64),
    U64(u64),
}

/// The type of a scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Bool,
    AbstractInt,
    AbstractFloat,
    I16,
    I32,
    U32,
    F16,
    F32,
    F64,
    I64,
    U64,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Scalar(Scalar),
    /// Two to four.
    Vector(Vec<Scalar>),
    /// Columns of equal length.
    Matrix(Vec<Vec<Scalar>>),
    Array(Rc<[Value]>),
    /// The name of its type, empty for the results of builtins, and its members.
    Struct(Rc<str>, Rc<[(Rc<str>, Value)]>),
}

/// A type that a constant can have.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Type {
    Scalar(Kind),
    Vector(usize, Option<Kind>),
    /// Columns, rows.
    Matrix(usize, usize, Option<Kind>),
    Array(Option<Rc<(Type, usize)>>),
    Struct(Rc<str>, Rc<[(Rc<str>, Type)]>),
}

impl Scalar {
    pub(super) fn kind(self) -> Kind {
        match self {
            Self::Bool(_) => Kind::Bool,
            Self::AbstractInt(_) => Kind::AbstractInt,
            Self::AbstractFloat(_) => Kind::AbstractFloat,
            Self::I16(_) => Kind::I16,
            Self::I32(_) => Kind::I32,
            Self::U32(_) => Kind::U32,
            Self::F16(_) => Kind::F16,
            Self::F32(_) => Kind::F32,
            Self::F64(_) => Kind::F64,
            Self::I64(_) => Kind::I64,
            Self::U64(_) => Kind::U64,
        }
    }

    /// The conversion that happens by itself, from abstract types only.
    pub(super) fn convert(self, to: Kind) -> Result<Self> {
        let from_int = |n: i64| -> Option<Self> {
            Some(match to {
                Kind::AbstractInt => Self::AbstractInt(n),
                Kind::AbstractFloat => Self::AbstractFloat(n as f64),
                Kind::I16 => Self::I16(i16::try_from(n).ok()?),
                Kind::I32 => Self::I32(i32::try_from(n).ok()?),
                Kind::U32 => Self::U32(u32::try_from(n).ok()?),
                Kind::F16 => return Some(half(n)).filter(|s| s.finite()),
                Kind::F32 => Self::F32(n as f32),
                Kind::F64 => Self::F64(n as f64),
                Kind::I64 => Self::I64(n),
                Kind::U64 => Self::U64(u64::try_from(n).ok()?),
                Kind::Bool => return None,
            })
        };
        let converted = match self {
            same if same.kind() == to => Some(same),
            Self::AbstractInt(n) => from_int(n),
            Self::AbstractFloat(x) if to == Kind::F16 => Some(Self::F16(f16_from_f64(x))).filter(|s| s.finite()),
            Self::AbstractFloat(x) if to == Kind::F32 => Some(Self::F32(x as f32)).filter(|s| s.finite()),
            Self::AbstractFloat(x) if to == Kind::F64 => Some(Self::F64(x)),
            _ => None,
        };
        converted.ok_or_else(|| match self {
            Self::AbstractInt(n) if to == Kind::F16 => No::PastHalves(n),
            _ => No::Unknown,
        })
    }

    /// The conversion of `f32(x)` and the like.
    pub(super) fn cast(self, to: Kind) -> Result<Self> {
        if matches!(self, Self::AbstractInt(_) | Self::AbstractFloat(_)) && to != Kind::Bool {
            if to == Kind::F16 {
                // The front end makes infinity of whole numbers that are too large, and fails over it.
                return self.convert(to).map_err(|_| No::infinite());
            }
            if let Self::AbstractFloat(x) = self
                && matches!(to, Kind::I32 | Kind::U32)
            {
                // A cast of a number with a fraction drops it; one out of range is the front end's to judge.
                let whole = x.trunc();
                return if whole.abs() < 9e15 { Self::AbstractInt(whole as i64).convert(to) } else { Err(No::Unknown) };
            }
            return self.convert(to);
        }
        Ok(match (self, to) {
            (s, Kind::Bool) => Self::Bool(match s {
                Self::Bool(b) => b,
                Self::AbstractInt(n) => n != 0,
                Self::AbstractFloat(x) => x != 0.0,
                Self::I16(n) => n != 0,
                Self::I32(n) => n != 0,
                Self::U32(n) => n != 0,
                Self::F16(x) | Self::F32(x) => x != 0.0,
                Self::F64(x) => x != 0.0,
                Self::I64(n) => n != 0,
                Self::U64(n) => n != 0,
            }),
            (Self::Bool(b), Kind::I32) => Self::I32(b.into()),
            (Self::Bool(b), Kind::U32) => Self::U32(b.into()),
            (Self::Bool(b), Kind::F16) => Self::F16(if b { 1.0 } else { 0.0 }),
            (Self::Bool(b), Kind::F32) => Self::F32(if b { 1.0 } else { 0.0 }),
            (Self::I32(n), Kind::U32) => Self::U32(n.cast_unsigned()),
            (Self::I32(n), Kind::F32) => Self::F32(n as f32),
            (Self::U32(n), Kind::I32) => Self::I32(n.cast_signed()),
            (Self::U32(n), Kind::F32) => Self::F32(n as f32),
            (Self::I32(n), Kind::F16) => Self::F16(round_to_f16(n as f32)),
            (Self::U32(n), Kind::F16) => Self::F16(round_to_f16(n as f32)),
            (Self::I64(n), Kind::F16) => Self::F16(round_to_f16(n as f32)),
            (Self::U64(n), Kind::F16) => Self::F16(round_to_f16(n as f32)),
            (Self::F64(x), Kind::F16) => Self::F16(f16_from_f64(x)),
            (Self::F32(x), Kind::F16) => Self::F16(round_to_f16(x)),
            (Self::F16(x), Kind::F32) => Self::F32(x),
            // The closest integer that is also a half: 11 bits.
            (Self::F16(x), Kind::I16) => Self::I16(x.clamp(-32_768.0, 32_752.0) as i16),
            // All finite halves are in range.
            (Self::F16(x), Kind::I32) => Self::I32(x as i32),
            (Self::F16(x), Kind::U32) => Self::U32(x as u32),
            // The closest integer that is also a float.
            (Self::F32(x), Kind::I32) => Self::I32(x.clamp(-2_147_483_648.0, 2_147_483_520.0) as i32),
            (Self::F32(x), Kind::U32) => Self::U32(x.clamp(0.0, 4_294_967_040.0) as u32),
            (s, to) if s.kind() == to => s,
            _ => return Err(No::Unknown),
        })
    }

    /// The bits of a scalar of 32 bits.
    pub(super) fn bits(self) -> Result<u32> {
        match self {
            Self::I32(n) => Ok(n.cast_unsigned()),
            Self::U32(n) => Ok(n),
            Self::F32(x) => Ok(x.to_bits()),
            Self::AbstractInt(_) => self.convert(Kind::I32)?.bits(),
            Self::AbstractFloat(_) => self.convert(Kind::F32)?.bits(),
            Self::Bool(_) | Self::I16(_) | Self::F16(_) | Self::F64(_) | Self::I64(_) | Self::U64(_) => Err(No::Unknown),
        }
    }

    pub(super) fn from_bits(bits: u32, kind: Kind) -> Result<Self> {
        match kind {
            Kind::I32 => Ok(Self::I32(bits.cast_signed())),
            Kind::U32 => Ok(Self::U32(bits)),
            Kind::F32 => Ok(Self::F32(f32::from_bits(bits))),
            _ => Err(No::Unknown),
        }
    }

    fn finite(self) -> bool {
        match self {
            Self::F16(x) | Self::F32(x) => x.is_finite(),
            Self::AbstractFloat(x) | Self::F64(x) => x.is_finite(),
            _ => true,
        }
    }

    /// As source text that reads back as this very value. `None` for what no literal says.
    fn write(self, out: &mut String) -> Result<()> {
        if !self.finite() {
            return Err(No::infinite());
        }
        let _ = match self {
            Self::Bool(b) => write!(out, "{b}"),
            Self::AbstractInt(n) => write!(out, "({n})"),
            Self::AbstractFloat(x) => write!(out, "({x:?})"),
            // The literal of the least integer does not exist.
            Self::I16(n) => write!(out, "i16({n})"),
            Self::I32(n) => write!(out, "i32({n})"),
            Self::U32(n) => write!(out, "{n}u"),
            Self::F16(x) => write!(out, "({x:?}h)"),
            Self::F32(x) => write!(out, "({x:?}f)"),
            Self::F64(x) => write!(out, "({x:?}lf)"),
            Self::I64(n) => write!(out, "i64({}lu)", n.cast_unsigned()),
            Self::U64(n) => write!(out, "{n}lu"),
        };
        Ok(())
    }
}

/// The nearest half. What an f32 does not hold exactly is far past the largest one.
fn half(n: i64) -> Scalar {
    Scalar::F16(round_to_f16(n as f32))
}

/// The kind that operands of different kinds are converted to.
pub(super) fn common(kinds: impl Iterator<Item = Kind>) -> Result<Kind> {
    let rank = |k: Kind| match k {
        Kind::AbstractInt => 0,
        Kind::AbstractFloat => 1,
        _ => 2,
    };
    let mut found: Option<Kind> = None;
    for kind in kinds {
        found = Some(match found {
            None => kind,
            Some(other) if other == kind => kind,
            Some(other) if rank(other) < 2 || rank(kind) < 2 => {
                if rank(other) >= rank(kind) {
                    other
                } else {
                    kind
                }
            }
            Some(_) => return Err(No::Unknown),
        });
    }
    found.ok_or(No::Unknown)
}

impl Value {
    pub(super) fn scalar(&self) -> Result<Scalar> {
        match self {
            Self::Scalar(s) => Ok(*s),
            _ => Err(No::Unknown),
        }
    }

    /// The scalars of a scalar or vector.
    pub(super) fn lanes(&self) -> Result<&[Scalar]> {
        match self {
            Self::Scalar(s) => Ok(std::slice::from_ref(s)),
            Self::Vector(v) => Ok(v),
            _ => Err(No::Unknown),
        }
    }

    /// A scalar or vector of these.
    pub(super) fn of(lanes: Vec<Scalar>) -> Self {
        match lanes[..] {
            [one] => Self::Scalar(one),
            _ => Self::Vector(lanes),
        }
    }

    /// All scalars in it, in order; of arrays and structures none.
    pub(super) fn scalars(&self) -> Vec<Scalar> {
        match self {
            Self::Scalar(s) => vec![*s],
            Self::Vector(v) => v.clone(),
            Self::Matrix(columns) => columns.concat(),
            Self::Array(_) | Self::Struct(..) => Vec::new(),
        }
    }

    /// This value with every scalar converted.
    pub(super) fn to_kind(&self, kind: Kind) -> Result<Self> {
        let all = |lanes: &[Scalar]| lanes.iter().map(|s| s.convert(kind)).collect::<Result<Vec<_>>>();
        Ok(match self {
            Self::Scalar(s) => Self::Scalar(s.convert(kind)?),
            Self::Vector(v) => Self::Vector(all(v)?),
            Self::Matrix(m) => Self::Matrix(m.iter().map(|c| all(c)).collect::<Result<_>>()?),
            Self::Array(a) => Self::Array(a.iter().map(|v| v.to_kind(kind)).collect::<Result<_>>()?),
            Self::Struct(..) => return Err(No::Unknown),
        })
    }

    /// As the initial value of something declared with a type.
    pub(super) fn to_type(&self, ty: &Type) -> Result<Self> {
        match (self, ty) {
            (Self::Scalar(_), Type::Scalar(kind)) => self.to_kind(*kind),
            (Self::Vector(v), Type::Vector(n, kind)) if v.len() == *n => {
                kind.map_or_else(|| Ok(self.clone()), |k| self.to_kind(k))
            }
            (Self::Matrix(m), Type::Matrix(columns, rows, kind)) if m.len() == *columns && m.iter().all(|c| c.len() == *rows) => {
                kind.map_or_else(|| Ok(self.clone()), |k| self.to_kind(k))
            }
            (Self::Array(_), Type::Array(None)) => Ok(self.clone()),
            (Self::Array(a), Type::Array(Some(of))) if a.len() == of.1 => {
                Ok(Self::Array(a.iter().map(|v| v.to_type(&of.0)).collect::<Result<_>>()?))
            }
            (Self::Struct(name, _), Type::Struct(wanted, _)) if name == wanted => Ok(self.clone()),
            _ => Err(No::Unknown),
        }
    }

    pub(super) fn write(&self, out: &mut String) -> Result<()> {
        match self {
            Self::Scalar(s) => s.write(out),
            Self::Vector(v) => {
                let _ = write!(out, "vec{}{}", v.len(), template(v)?);
                list(out, v, |s, out| s.write(out))
            }
            Self::Matrix(m) => {
                let rows = m.first().map_or(0, Vec::len);
                let _ = write!(out, "mat{}x{rows}{}", m.len(), template(&m.concat())?);
                list(out, &m.concat(), |s, out| s.write(out))
            }
            Self::Array(a) => {
                out.push_str("array");
                list(out, a, Self::write)
            }
            Self::Struct(name, _) if name.is_empty() => Err(No::Unknown),
            Self::Struct(name, members) => {
                out.push_str(name);
                list(out, members, |m, out| m.1.write(out))
            }
        }
    }
}

/// The template list that names the type of concrete scalars; abstract ones have no name and need none.
fn template(scalars: &[Scalar]) -> Result<&'static str> {
    Ok(match scalars.first().map(|s| s.kind()).ok_or(No::Unknown)? {
        Kind::Bool => "<bool>",
        Kind::I16 => "<i16>",
        Kind::I32 => "<i32>",
        Kind::U32 => "<u32>",
        Kind::F16 => "<f16>",
        Kind::F32 => "<f32>",
        Kind::F64 => "<f64>",
        Kind::I64 => "<i64>",
        Kind::U64 => "<u64>",
        Kind::AbstractInt | Kind::AbstractFloat => "",
    })
}

fn list<T>(out: &mut String, items: &[T], mut one: impl FnMut(&T, &mut String) -> Result<()>) -> Result<()> {
    out.push('(');
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        one(item, out)?;
    }
    out.push(')');
    Ok(())
}
