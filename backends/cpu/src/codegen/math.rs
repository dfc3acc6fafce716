//! Built-in functions on numbers and vectors; those on bits live in `bits`.
//!
//! Formulas are WGSL's. Products and sums are never contracted.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, Value, types};
use naga::MathFunction as F;
use smallvec::SmallVec;

use super::emitter::Emitter;
use super::layout::{Scalar, Shape};
use super::program::ValueRef;
use super::shims;
use super::stop::{Result, Stop};
use super::value::{Parts, Val};

/// The arguments of a built-in function.
pub(super) struct Arguments {
    parts: SmallVec<[Parts; 4]>,
    shapes: SmallVec<[Shape; 4]>,
}

impl Arguments {
    pub(super) fn parts(&self, index: usize) -> Result<&Parts> {
        self.parts.get(index).ok_or_else(|| Stop::bug("a missing argument"))
    }

    pub(super) fn one(&self, index: usize) -> Result<Value> {
        self.parts(index)?.first().copied().ok_or_else(|| Stop::bug("an empty argument"))
    }

    pub(super) fn shape(&self, index: usize) -> Result<Shape> {
        self.shapes.get(index).copied().ok_or_else(|| Stop::bug("a missing argument"))
    }

    pub(super) fn scalar(&self) -> Result<Scalar> {
        self.shape(0)?.scalar()
    }
}

impl Emitter<'_> {
    pub(super) fn math(&mut self, function: F, operands: &[ValueRef]) -> Result<Val> {
        let mut a = Arguments { parts: SmallVec::new(), shapes: SmallVec::new() };
        for operand in operands {
            a.parts.push(self.value(*operand)?.parts()?);
            a.shapes.push(self.shape_of(*operand)?);
        }
        if let Some(shim) = shims::unary(function) {
            return self.each(&a, |e, x| e.call_float(shim as usize, &[x]));
        }
        if let Some(shim) = shims::binary(function) {
            let mut out = Parts::new();
            for (x, y) in a.parts(0)?.iter().zip(a.parts(1)?) {
                out.push(self.call_float(shim as usize, &[*x, *y])?);
            }
            return Ok(Val::Parts(out));
        }
        match function {
            F::Abs | F::Min | F::Max | F::Clamp | F::Saturate | F::Sign => self.compare_function(function, &a),
            F::Radians | F::Degrees | F::Ceil | F::Floor | F::Round | F::Fract | F::Trunc | F::Sqrt | F::InverseSqrt => {
                self.each(&a, |e, x| e.float_function(function, x))
            }
            F::Modf | F::Frexp | F::Ldexp => self.decompose(function, &a),
            F::Fma | F::Mix | F::Step | F::SmoothStep => self.blend(function, &a),
            F::Dot | F::Cross | F::Distance | F::Length | F::Normalize | F::FaceForward | F::Reflect | F::Refract => {
                self.geometry(function, &a)
            }
            F::Outer | F::Transpose | F::Determinant => self.matrix_function(function, &a),
            F::Inverse => Err(Stop::unsupported("the inverse of a matrix")),
            _ => self.bit_function(function, &a),
        }
    }

    /// Applies `f` to each scalar of the first argument.
    pub(super) fn each(&mut self, a: &Arguments, f: impl Fn(&mut Self, Value) -> Result<Value>) -> Result<Val> {
        let mut out = Parts::new();
        for x in a.parts(0)? {
            out.push(f(self, *x)?);
        }
        Ok(Val::Parts(out))
    }

    fn compare_function(&mut self, function: F, a: &Arguments) -> Result<Val> {
        let scalar = a.scalar()?;
        Ok(Val::Parts(match function {
            F::Abs => self.map(a.parts(0)?, |e, x| e.absolute(scalar, x)),
            F::Sign => self.map(a.parts(0)?, |e, x| e.sign(scalar, x)),
            F::Min => self.zip(a.parts(0)?, a.parts(1)?, |e, x, y| e.minimum(scalar, x, y))?,
            F::Max => self.zip(a.parts(0)?, a.parts(1)?, |e, x, y| e.maximum(scalar, x, y))?,
            F::Clamp => {
                let low = self.zip(a.parts(0)?, a.parts(1)?, |e, x, y| e.maximum(scalar, x, y))?;
                self.zip(&low, a.parts(2)?, |e, x, y| e.minimum(scalar, x, y))?
            }
            _ => self.map(a.parts(0)?, |e, x| e.clamp_float(x, 0.0, 1.0)),
        }))
    }

    fn absolute(&mut self, scalar: Scalar, x: Value) -> Value {
        match scalar {
            Scalar::F32 => self.b.ins().fabs(x),
            Scalar::I32 => self.b.ins().iabs(x),
            Scalar::U32 | Scalar::Bool => x,
        }
    }

    fn sign(&mut self, scalar: Scalar, x: Value) -> Value {
        let zero = self.zero_scalar(scalar);
        let (above, below, one, minus) = if scalar == Scalar::F32 {
            let above = self.b.ins().fcmp(FloatCC::GreaterThan, x, zero);
            let below = self.b.ins().fcmp(FloatCC::LessThan, x, zero);
            (above, below, self.float(1.0), self.float(-1.0))
        } else {
            let above = self.b.ins().icmp(IntCC::SignedGreaterThan, x, zero);
            let below = self.b.ins().icmp(IntCC::SignedLessThan, x, zero);
            (above, below, self.int(1), self.int(-1))
        };
        let rest = self.b.ins().select(below, minus, zero);
        self.b.ins().select(above, one, rest)
    }

    pub(super) fn minimum(&mut self, scalar: Scalar, x: Value, y: Value) -> Value {
        match scalar {
            // One instruction where the hardware's minimum is made of the same comparison.
            Scalar::F32 => {
                let less = self.b.ins().fcmp(FloatCC::LessThan, x, y);
                self.b.ins().select(less, x, y)
            }
            Scalar::I32 => self.b.ins().smin(x, y),
            Scalar::U32 | Scalar::Bool => self.b.ins().umin(x, y),
        }
    }

    pub(super) fn maximum(&mut self, scalar: Scalar, x: Value, y: Value) -> Value {
        match scalar {
            Scalar::F32 => {
                let greater = self.b.ins().fcmp(FloatCC::GreaterThan, x, y);
                self.b.ins().select(greater, x, y)
            }
            Scalar::I32 => self.b.ins().smax(x, y),
            Scalar::U32 | Scalar::Bool => self.b.ins().umax(x, y),
        }
    }

    pub(super) fn clamp_float(&mut self, x: Value, low: f32, high: f32) -> Value {
        let (low, high) = (self.float(low), self.float(high));
        let x = self.maximum(Scalar::F32, x, low);
        self.minimum(Scalar::F32, x, high)
    }

    fn float_function(&mut self, function: F, x: Value) -> Result<Value> {
        Ok(match function {
            F::Radians => self.scaled(x, std::f32::consts::PI / 180.0),
            // The quotient rounded once; dividing floats rounds the divisor first.
            F::Degrees => self.scaled(x, (180.0 / std::f64::consts::PI) as f32),
            F::Ceil => self.b.ins().ceil(x),
            F::Floor => self.b.ins().floor(x),
            F::Round => self.b.ins().nearest(x),
            F::Trunc => self.b.ins().trunc(x),
            F::Fract => {
                let floor = self.b.ins().floor(x);
                self.b.ins().fsub(x, floor)
            }
            F::Sqrt => self.b.ins().sqrt(x),
            F::InverseSqrt => {
                let (one, root) = (self.float(1.0), self.b.ins().sqrt(x));
                self.b.ins().fdiv(one, root)
            }
            _ => return Err(Stop::bug("not a function of one float")),
        })
    }

    fn scaled(&mut self, x: Value, factor: f32) -> Value {
        let factor = self.float(factor);
        self.b.ins().fmul(x, factor)
    }

    fn decompose(&mut self, function: F, a: &Arguments) -> Result<Val> {
        let mut first = Parts::new();
        let mut second = Parts::new();
        for (i, x) in a.parts(0)?.clone().into_iter().enumerate() {
            match function {
                F::Modf => {
                    let whole = self.b.ins().trunc(x);
                    first.push(self.b.ins().fsub(x, whole));
                    second.push(whole);
                }
                F::Frexp => {
                    first.push(self.call_float(shims::frexp_fraction as *const () as usize, &[x])?);
                    second.extend(self.call(shims::frexp_exponent as *const () as usize, &[x], Some(types::I32)));
                }
                _ => {
                    let exponent = a.parts(1)?.get(i).copied().ok_or_else(|| Stop::bug("a missing exponent"))?;
                    first.push(self.call_float(shims::ldexp as *const () as usize, &[x, exponent])?);
                }
            }
        }
        first.extend(second);
        Ok(Val::Parts(first))
    }

    fn blend(&mut self, function: F, a: &Arguments) -> Result<Val> {
        let (x, y) = (a.parts(0)?, a.parts(1)?);
        Ok(Val::Parts(match function {
            F::Fma => {
                let mut out = Parts::new();
                for ((x, y), z) in x.iter().zip(y).zip(a.parts(2)?) {
                    out.push(self.call_float(shims::fma as *const () as usize, &[*x, *y, *z])?);
                }
                out
            }
            F::Mix => {
                let t = a.parts(2)?;
                let one = self.float(1.0);
                let rest = self.map(t, |e, t| e.b.ins().fsub(one, t));
                let x = self.zip(x, &rest, |e, x, t| e.b.ins().fmul(x, t))?;
                let y = self.zip(y, t, |e, y, t| e.b.ins().fmul(y, t))?;
                self.zip(&x, &y, |e, x, y| e.b.ins().fadd(x, y))?
            }
            F::Step => {
                let (one, zero) = (self.float(1.0), self.float(0.0));
                self.zip(x, y, |e, edge, x| {
                    let reached = e.b.ins().fcmp(FloatCC::LessThanOrEqual, edge, x);
                    e.b.ins().select(reached, one, zero)
                })?
            }
            _ => self.smooth_step(x, y, a.parts(2)?)?,
        }))
    }

    fn smooth_step(&mut self, low: &Parts, high: &Parts, x: &Parts) -> Result<Parts> {
        let above = self.zip(x, low, |e, x, low| e.b.ins().fsub(x, low))?;
        let range = self.zip(high, low, |e, high, low| e.b.ins().fsub(high, low))?;
        let t = self.zip(&above, &range, |e, a, r| e.b.ins().fdiv(a, r))?;
        Ok(self.map(&t, |e, t| {
            let t = e.clamp_float(t, 0.0, 1.0);
            let (two, three) = (e.float(2.0), e.float(3.0));
            let twice = e.b.ins().fmul(two, t);
            let rest = e.b.ins().fsub(three, twice);
            let square = e.b.ins().fmul(t, t);
            e.b.ins().fmul(square, rest)
        }))
    }

    pub(super) fn dot(&mut self, scalar: Scalar, x: &Parts, y: &Parts) -> Result<Value> {
        let float = scalar == Scalar::F32;
        let products = self.zip(x, y, |e, x, y| if float { e.b.ins().fmul(x, y) } else { e.b.ins().imul(x, y) })?.into_iter();
        let add = |e: &mut Self, x, y| if float { e.b.ins().fadd(x, y) } else { e.b.ins().iadd(x, y) };
        let sum = products.fold(None, |sum: Option<Value>, x| Some(sum.map_or(x, |s| add(self, s, x))));
        sum.ok_or_else(|| Stop::bug("an empty vector"))
    }

    fn length(&mut self, x: &Parts) -> Result<Value> {
        if let [x] = x[..] {
            return Ok(self.b.ins().fabs(x));
        }
        let square = self.dot(Scalar::F32, x, x)?;
        Ok(self.b.ins().sqrt(square))
    }

    fn geometry(&mut self, function: F, a: &Arguments) -> Result<Val> {
        let x = a.parts(0)?;
        Ok(match function {
            F::Dot => Val::one(self.dot(a.scalar()?, x, a.parts(1)?)?),
            F::Cross => Val::Parts(self.cross(x, a.parts(1)?)?),
            F::Length => Val::one(self.length(x)?),
            F::Distance => {
                let between = self.zip(x, a.parts(1)?, |e, x, y| e.b.ins().fsub(x, y))?;
                Val::one(self.length(&between)?)
            }
            F::Normalize => {
                let length = self.length(x)?;
                Val::Parts(self.map(x, |e, x| e.b.ins().fdiv(x, length)))
            }
            F::FaceForward => {
                let side = self.dot(Scalar::F32, a.parts(1)?, a.parts(2)?)?;
                let zero = self.float(0.0);
                let facing = self.b.ins().fcmp(FloatCC::LessThan, side, zero);
                Val::Parts(self.map(x, |e, x| {
                    let back = e.b.ins().fneg(x);
                    e.b.ins().select(facing, x, back)
                }))
            }
            F::Reflect => Val::Parts(self.reflect(x, a.parts(1)?)?),
            _ => Val::Parts(self.refract(x, a.parts(1)?, a.one(2)?)?),
        })
    }

    fn cross(&mut self, x: &Parts, y: &Parts) -> Result<Parts> {
        let (&[x0, x1, x2], &[y0, y1, y2]) = (&x[..], &y[..]) else { return Err(Stop::bug("a cross product not in space")) };
        let mut part = |a, b, c, d| {
            let (left, right) = (self.b.ins().fmul(a, b), self.b.ins().fmul(c, d));
            self.b.ins().fsub(left, right)
        };
        Ok(SmallVec::from_slice(&[part(x1, y2, y1, x2), part(x2, y0, y2, x0), part(x0, y1, y0, x1)]))
    }

    fn reflect(&mut self, x: &Parts, normal: &Parts) -> Result<Parts> {
        let dot = self.dot(Scalar::F32, normal, x)?;
        let twice = self.scaled(dot, 2.0);
        self.zip(x, normal, |e, x, n| {
            let along = e.b.ins().fmul(twice, n);
            e.b.ins().fsub(x, along)
        })
    }

    fn refract(&mut self, x: &Parts, normal: &Parts, eta: Value) -> Result<Parts> {
        let (one, zero) = (self.float(1.0), self.float(0.0));
        let dot = self.dot(Scalar::F32, normal, x)?;
        let square = self.b.ins().fmul(dot, dot);
        let sine = self.b.ins().fsub(one, square);
        let eta_square = self.b.ins().fmul(eta, eta);
        let sine = self.b.ins().fmul(eta_square, sine);
        let k = self.b.ins().fsub(one, sine);
        let reflected = self.b.ins().fcmp(FloatCC::LessThan, k, zero);
        let root = self.b.ins().sqrt(k);
        let along = self.b.ins().fmul(eta, dot);
        let along = self.b.ins().fadd(along, root);
        self.zip(x, normal, |e, x, n| {
            let (x, n) = (e.b.ins().fmul(eta, x), e.b.ins().fmul(along, n));
            let through = e.b.ins().fsub(x, n);
            e.b.ins().select(reflected, zero, through)
        })
    }

    fn matrix_function(&mut self, function: F, a: &Arguments) -> Result<Val> {
        let x = a.parts(0)?;
        if function == F::Outer {
            let mut out = Parts::new();
            for y in a.parts(1)? {
                out.extend(self.map(x, |e, x| e.b.ins().fmul(x, *y)));
            }
            return Ok(Val::Parts(out));
        }
        let Shape::Matrix { columns, rows } = a.shape(0)? else { return Err(Stop::bug("not a matrix")) };
        let (columns, rows) = (columns as usize, rows as usize);
        if function == F::Transpose {
            let order = (0..rows).flat_map(|row| (0..columns).map(move |column| column * rows + row));
            return Ok(Val::Parts(order.filter_map(|i| x.get(i).copied()).collect()));
        }
        Ok(Val::one(self.determinant(x, columns)?))
    }

    /// By minors along the first column.
    fn determinant(&mut self, x: &[Value], size: usize) -> Result<Value> {
        if let &[a, b, c, d] = x {
            let (left, right) = (self.b.ins().fmul(a, d), self.b.ins().fmul(c, b));
            return Ok(self.b.ins().fsub(left, right));
        }
        let mut sum = None;
        for row in 0..size {
            let minor: Parts = (size..size * size).filter(|i| i % size != row).filter_map(|i| x.get(i).copied()).collect();
            let minor = self.determinant(&minor, size - 1)?;
            let factor = x.get(row).copied().ok_or_else(|| Stop::bug("a determinant of something not square"))?;
            let term = self.b.ins().fmul(factor, minor);
            sum = Some(match sum {
                None => term,
                Some(sum) if row % 2 == 1 => self.b.ins().fsub(sum, term),
                Some(sum) => self.b.ins().fadd(sum, term),
            });
        }
        sum.ok_or_else(|| Stop::bug("a determinant of nothing"))
    }
}
