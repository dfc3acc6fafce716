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
        let scalar = a.scalar()?;
        if let Some(shim) = shims::unary(function, scalar) {
            return self.each(&a, |e, x| e.call_wide(scalar, shim, &[x]));
        }
        if let Some(shim) = shims::binary(function, scalar) {
            let mut out = Parts::new();
            for (x, y) in a.parts(0)?.iter().zip(a.parts(1)?) {
                out.push(self.call_wide(scalar, shim, &[*x, *y])?);
            }
            return Ok(Val::Parts(out));
        }
        match function {
            F::Abs | F::Min | F::Max | F::Clamp | F::Saturate | F::Sign => self.compare_function(function, &a),
            F::Radians | F::Degrees | F::Ceil | F::Floor | F::Round | F::Fract | F::Trunc | F::Sqrt | F::InverseSqrt => {
                self.each(&a, |e, x| e.float_function(function, scalar, x))
            }
            F::Modf | F::Frexp | F::Ldexp => self.decompose(function, &a),
            F::Fma | F::Mix | F::Step | F::SmoothStep => self.blend(function, &a),
            F::Dot | F::Cross | F::Distance | F::Length | F::Normalize | F::FaceForward | F::Reflect | F::Refract => {
                self.geometry(function, &a)
            }
            F::Outer | F::Transpose | F::Determinant | F::Inverse => self.matrix_function(function, &a),
            F::QuantizeToF16 => self.each(&a, |e, x| Ok(e.round_half(x))),
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
            _ => self.map(a.parts(0)?, |e, x| e.clamp_float(scalar, x, 0.0, 1.0)),
        }))
    }

    fn absolute(&mut self, scalar: Scalar, x: Value) -> Value {
        if scalar.is_float() {
            return self.b.ins().fabs(x);
        }
        if scalar.is_signed() { self.b.ins().iabs(x) } else { x }
    }

    fn sign(&mut self, scalar: Scalar, x: Value) -> Value {
        let zero = self.zero_scalar(scalar);
        let (above, below, one, minus) = if scalar.is_float() {
            let above = self.b.ins().fcmp(FloatCC::GreaterThan, x, zero);
            let below = self.b.ins().fcmp(FloatCC::LessThan, x, zero);
            (above, below, self.number(scalar, 1.0), self.number(scalar, -1.0))
        } else {
            let above = self.b.ins().icmp(IntCC::SignedGreaterThan, x, zero);
            let below = self.b.ins().icmp(IntCC::SignedLessThan, x, zero);
            (above, below, self.integer(scalar, 1), self.integer(scalar, -1))
        };
        let rest = self.b.ins().select(below, minus, zero);
        self.b.ins().select(above, one, rest)
    }

    pub(super) fn minimum(&mut self, scalar: Scalar, x: Value, y: Value) -> Value {
        if scalar.is_float() {
            // The second where it is less, else the first, as the language says: that decides for NaN and zeros of both signs too. One
            // instruction where the hardware's minimum is made of the same comparison.
            let less = self.b.ins().fcmp(FloatCC::LessThan, y, x);
            return self.b.ins().select(less, y, x);
        }
        if scalar.is_signed() { self.b.ins().smin(x, y) } else { self.b.ins().umin(x, y) }
    }

    pub(super) fn maximum(&mut self, scalar: Scalar, x: Value, y: Value) -> Value {
        if scalar.is_float() {
            let greater = self.b.ins().fcmp(FloatCC::GreaterThan, y, x);
            return self.b.ins().select(greater, y, x);
        }
        if scalar.is_signed() { self.b.ins().smax(x, y) } else { self.b.ins().umax(x, y) }
    }

    pub(super) fn clamp_float(&mut self, scalar: Scalar, x: Value, low: f64, high: f64) -> Value {
        let (low, high) = (self.number(scalar, low), self.number(scalar, high));
        let x = self.maximum(scalar, x, low);
        self.minimum(scalar, x, high)
    }

    fn float_function(&mut self, function: F, scalar: Scalar, x: Value) -> Result<Value> {
        Ok(match function {
            F::Radians => self.scaled(scalar, x, 1f64.to_radians()),
            F::Degrees => self.scaled(scalar, x, 1f64.to_degrees()),
            F::Ceil => self.b.ins().ceil(x),
            F::Floor => self.b.ins().floor(x),
            F::Round => self.b.ins().nearest(x),
            F::Trunc => self.b.ins().trunc(x),
            F::Fract => {
                let floor = self.b.ins().floor(x);
                self.subtract(scalar, x, floor)
            }
            F::Sqrt => self.square_root(scalar, x),
            F::InverseSqrt => {
                let (one, root) = (self.number(scalar, 1.0), self.b.ins().sqrt(x));
                self.divide(scalar, one, root)
            }
            _ => return Err(Stop::bug("not a function of one float")),
        })
    }

    /// Times a number that has the precision of the register.
    fn scaled(&mut self, scalar: Scalar, x: Value, factor: f64) -> Value {
        let factor = self.number(scalar, factor);
        self.multiply(scalar, x, factor)
    }

    fn decompose(&mut self, function: F, a: &Arguments) -> Result<Val> {
        let scalar = a.scalar()?;
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
                    let (fraction, exponent) = shims::frexp(scalar);
                    first.push(self.call_float(scalar, fraction, &[x])?);
                    let exponent = self.call(exponent, &[x], Some(types::I32)).ok_or_else(|| Stop::bug("a missing exponent"))?;
                    second.push(self.exponent(scalar, exponent));
                }
                _ => {
                    let exponent = a.parts(1)?.get(i).copied().ok_or_else(|| Stop::bug("a missing exponent"))?;
                    first.push(self.call_float(scalar, shims::ldexp(scalar), &[x, exponent])?);
                }
            }
        }
        first.extend(second);
        Ok(Val::Parts(first))
    }

    /// The front end gives the exponent of frexp the size of the float.
    fn exponent(&mut self, scalar: Scalar, exponent: Value) -> Value {
        match scalar {
            Scalar::F16 => self.b.ins().ireduce(types::I16, exponent),
            Scalar::F64 => self.b.ins().sextend(types::I64, exponent),
            _ => exponent,
        }
    }

    fn blend(&mut self, function: F, a: &Arguments) -> Result<Val> {
        let scalar = a.scalar()?;
        let (x, y) = (a.parts(0)?, a.parts(1)?);
        Ok(Val::Parts(match function {
            F::Fma => {
                let mut out = Parts::new();
                for ((x, y), z) in x.iter().zip(y).zip(a.parts(2)?) {
                    out.push(self.fma(scalar, *x, *y, *z)?);
                }
                out
            }
            F::Mix => {
                let t = a.parts(2)?;
                let one = self.number(scalar, 1.0);
                let rest = self.map(t, |e, t| e.subtract(scalar, one, t));
                let x = self.zip(x, &rest, |e, x, t| e.multiply(scalar, x, t))?;
                let y = self.zip(y, t, |e, y, t| e.multiply(scalar, y, t))?;
                self.zip(&x, &y, |e, x, y| e.add(scalar, x, y))?
            }
            F::Step => {
                let (one, zero) = (self.number(scalar, 1.0), self.number(scalar, 0.0));
                self.zip(x, y, |e, edge, x| {
                    let reached = e.b.ins().fcmp(FloatCC::LessThanOrEqual, edge, x);
                    e.b.ins().select(reached, one, zero)
                })?
            }
            _ => self.smooth_step(scalar, x, y, a.parts(2)?)?,
        }))
    }

    fn fma(&mut self, scalar: Scalar, x: Value, y: Value, z: Value) -> Result<Value> {
        if scalar != Scalar::F16 && shims::has_fma() {
            return Ok(self.b.ins().fma(x, y, z));
        }
        self.call_float(scalar, shims::fma(scalar), &[x, y, z])
    }

    fn smooth_step(&mut self, scalar: Scalar, low: &Parts, high: &Parts, x: &Parts) -> Result<Parts> {
        let above = self.zip(x, low, |e, x, low| e.subtract(scalar, x, low))?;
        let range = self.zip(high, low, |e, high, low| e.subtract(scalar, high, low))?;
        let t = self.zip(&above, &range, |e, a, r| e.divide(scalar, a, r))?;
        Ok(self.map(&t, |e, t| {
            let t = e.clamp_float(scalar, t, 0.0, 1.0);
            let (two, three) = (e.number(scalar, 2.0), e.number(scalar, 3.0));
            let twice = e.multiply(scalar, two, t);
            let rest = e.subtract(scalar, three, twice);
            let square = e.multiply(scalar, t, t);
            e.multiply(scalar, square, rest)
        }))
    }

    pub(super) fn dot(&mut self, scalar: Scalar, x: &Parts, y: &Parts) -> Result<Value> {
        let products = self.zip(x, y, |e, x, y| e.multiply(scalar, x, y))?.into_iter();
        let sum = products.fold(None, |sum: Option<Value>, x| Some(sum.map_or(x, |s| self.add(scalar, s, x))));
        sum.ok_or_else(|| Stop::bug("an empty vector"))
    }

    fn length(&mut self, scalar: Scalar, x: &Parts) -> Result<Value> {
        if let [x] = x[..] {
            return Ok(self.b.ins().fabs(x));
        }
        let square = self.dot(scalar, x, x)?;
        Ok(self.square_root(scalar, square))
    }

    fn geometry(&mut self, function: F, a: &Arguments) -> Result<Val> {
        let scalar = a.scalar()?;
        let x = a.parts(0)?;
        Ok(match function {
            F::Dot => Val::one(self.dot(scalar, x, a.parts(1)?)?),
            F::Cross => Val::Parts(self.cross(scalar, x, a.parts(1)?)?),
            F::Length => Val::one(self.length(scalar, x)?),
            F::Distance => {
                let between = self.zip(x, a.parts(1)?, |e, x, y| e.subtract(scalar, x, y))?;
                Val::one(self.length(scalar, &between)?)
            }
            F::Normalize => {
                let length = self.length(scalar, x)?;
                Val::Parts(self.map(x, |e, x| e.divide(scalar, x, length)))
            }
            F::FaceForward => {
                let side = self.dot(scalar, a.parts(1)?, a.parts(2)?)?;
                let zero = self.number(scalar, 0.0);
                let facing = self.b.ins().fcmp(FloatCC::LessThan, side, zero);
                Val::Parts(self.map(x, |e, x| {
                    let back = e.b.ins().fneg(x);
                    e.b.ins().select(facing, x, back)
                }))
            }
            F::Reflect => Val::Parts(self.reflect(scalar, x, a.parts(1)?)?),
            _ => Val::Parts(self.refract(scalar, x, a.parts(1)?, a.one(2)?)?),
        })
    }

    fn cross(&mut self, scalar: Scalar, x: &Parts, y: &Parts) -> Result<Parts> {
        let (&[x0, x1, x2], &[y0, y1, y2]) = (&x[..], &y[..]) else { return Err(Stop::bug("a cross product not in space")) };
        let mut part = |a, b, c, d| {
            let (left, right) = (self.multiply(scalar, a, b), self.multiply(scalar, c, d));
            self.subtract(scalar, left, right)
        };
        Ok(SmallVec::from_slice(&[part(x1, y2, y1, x2), part(x2, y0, y2, x0), part(x0, y1, y0, x1)]))
    }

    fn reflect(&mut self, scalar: Scalar, x: &Parts, normal: &Parts) -> Result<Parts> {
        let dot = self.dot(scalar, normal, x)?;
        let twice = self.scaled(scalar, dot, 2.0);
        self.zip(x, normal, |e, x, n| {
            let along = e.multiply(scalar, twice, n);
            e.subtract(scalar, x, along)
        })
    }

    fn refract(&mut self, scalar: Scalar, x: &Parts, normal: &Parts, eta: Value) -> Result<Parts> {
        let (one, zero) = (self.number(scalar, 1.0), self.number(scalar, 0.0));
        let dot = self.dot(scalar, normal, x)?;
        let square = self.multiply(scalar, dot, dot);
        let sine = self.subtract(scalar, one, square);
        let eta_square = self.multiply(scalar, eta, eta);
        let sine = self.multiply(scalar, eta_square, sine);
        let k = self.subtract(scalar, one, sine);
        let reflected = self.b.ins().fcmp(FloatCC::LessThan, k, zero);
        let root = self.square_root(scalar, k);
        let along = self.multiply(scalar, eta, dot);
        let along = self.add(scalar, along, root);
        self.zip(x, normal, |e, x, n| {
            let (x, n) = (e.multiply(scalar, eta, x), e.multiply(scalar, along, n));
            let through = e.subtract(scalar, x, n);
            e.b.ins().select(reflected, zero, through)
        })
    }
}
