//! Built-in functions on matrices, which are lists of columns.

use cranelift_codegen::ir::{InstBuilder, Value};
use naga::MathFunction as F;

use super::emitter::Emitter;
use super::layout::{Scalar, Shape};
use super::math::Arguments;
use super::stop::{Result, Stop};
use super::value::{Parts, Val};

impl Emitter<'_> {
    pub(super) fn matrix_function(&mut self, function: F, a: &Arguments) -> Result<Val> {
        let scalar = a.scalar()?;
        let x = a.parts(0)?;
        if function == F::Outer {
            let mut out = Parts::new();
            for y in a.parts(1)? {
                out.extend(self.map(x, |e, x| e.multiply(scalar, x, *y)));
            }
            return Ok(Val::Parts(out));
        }
        let Shape::Matrix { columns, rows, .. } = a.shape(0)? else { return Err(Stop::bug("not a matrix")) };
        let (columns, rows) = (columns as usize, rows as usize);
        Ok(match function {
            F::Transpose => {
                let order = (0..rows).flat_map(|row| (0..columns).map(move |column| column * rows + row));
                Val::Parts(order.filter_map(|i| x.get(i).copied()).collect())
            }
            F::Determinant => Val::one(self.determinant(scalar, x, columns)?),
            _ => Val::Parts(self.inverse(scalar, x, columns)?),
        })
    }

    /// By minors along the first column.
    fn determinant(&mut self, scalar: Scalar, x: &[Value], size: usize) -> Result<Value> {
        match *x {
            [a] => return Ok(a),
            [a, b, c, d] => {
                let (left, right) = (self.multiply(scalar, a, d), self.multiply(scalar, c, b));
                return Ok(self.subtract(scalar, left, right));
            }
            _ => {}
        }
        let mut sum = None;
        for row in 0..size {
            let minor = self.determinant(scalar, &minor(x, size, 0, row), size - 1)?;
            let factor = x.get(row).copied().ok_or_else(|| Stop::bug("a determinant of something not square"))?;
            let term = self.multiply(scalar, factor, minor);
            sum = Some(match sum {
                None => term,
                Some(sum) if row % 2 == 1 => self.subtract(scalar, sum, term),
                Some(sum) => self.add(scalar, sum, term),
            });
        }
        sum.ok_or_else(|| Stop::bug("a determinant of nothing"))
    }

    /// The minors with their signs, transposed, each divided by the determinant.
    fn inverse(&mut self, scalar: Scalar, x: &[Value], size: usize) -> Result<Parts> {
        let whole = self.determinant(scalar, x, size)?;
        let mut out = Parts::new();
        for column in 0..size {
            for row in 0..size {
                let mut part = self.determinant(scalar, &minor(x, size, row, column), size - 1)?;
                if (column + row) % 2 == 1 {
                    part = self.b.ins().fneg(part);
                }
                out.push(self.divide(scalar, part, whole));
            }
        }
        Ok(out)
    }
}

/// A square matrix without one column and one row.
fn minor(x: &[Value], size: usize, column: usize, row: usize) -> Parts {
    let kept = |i: &usize| i / size != column && i % size != row;
    (0..size * size).filter(kept).filter_map(|i| x.get(i).copied()).collect()
}
