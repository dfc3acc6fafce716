//! Functions of matrices that the IR has none for.

use naga::{BinaryOperator as Op, Expression};

use super::{Lower, Lowered, Value, Wrong};
use crate::front::glsl::ast::Unary;
use crate::front::glsl::lexer::At;
use crate::front::glsl::types::Ty;

impl Lower<'_> {
    /// `matrixCompMult` and `outerProduct`.
    pub(super) fn of_matrices(&mut self, name: &str, values: &[Value], at: At) -> Lowered<Option<Value>> {
        let [a, b] = values else { return Ok(None) };
        let (ty, columns) = match (name, &a.ty, &b.ty) {
            ("matrixCompMult", Ty::Matrix(scalar, c, r), other) if *other == a.ty => {
                let column = Ty::Vector(*scalar, *r);
                let pair = |i| {
                    let (x, y) = (self.extract(a, i, column.clone(), at), self.extract(b, i, column.clone(), at));
                    self.op(Op::Multiply, &x, &y, column.clone(), at).handle
                };
                (a.ty.clone(), (0..u32::from(*c)).map(pair).collect::<Vec<_>>())
            }
            ("outerProduct", Ty::Vector(scalar, r), Ty::Vector(other, c)) if scalar == other && scalar.is_float() => {
                let scaled = |i| {
                    let factor = self.extract(b, i, Ty::Scalar(*scalar), at);
                    self.op(Op::Multiply, a, &factor, a.ty.clone(), at).handle
                };
                (Ty::Matrix(*scalar, *c, *r), (0..u32::from(*c)).map(scaled).collect())
            }
            _ => return Ok(None),
        };
        let handle = self.value_type(&ty);
        Ok(Some(self.value(Expression::Compose { ty: handle, components: columns }, ty, at)))
    }

    /// From cofactors: the transposed cofactor matrix over the determinant.
    pub(super) fn inverse(&mut self, matrix: &Value, at: At) -> Lowered<Value> {
        let Ty::Matrix(scalar, n, _) = matrix.ty else { return Err(Wrong::new("no matrix".to_owned(), at)) };
        let column = Ty::Vector(scalar, n);
        let mut cells = Vec::new();
        for c in 0..u32::from(n) {
            let vector = self.extract(matrix, c, column.clone(), at);
            cells.push((0..u32::from(n)).map(|r| self.extract(&vector, r, Ty::Scalar(scalar), at)).collect::<Vec<_>>());
        }
        let all: Vec<usize> = (0..usize::from(n)).collect();
        let mut cofactors = Vec::new();
        for c in &all {
            let mut list = Vec::new();
            for r in &all {
                let keep = |skip: usize| all.iter().copied().filter(|&i| i != skip).collect::<Vec<_>>();
                let minor = self.minor(&cells, &keep(*c), &keep(*r), at)?;
                list.push(if (c + r) % 2 == 0 { minor } else { self.unary(Unary::Minus, minor, at)? });
            }
            cofactors.push(list);
        }
        let mut determinant: Option<Value> = None;
        for (cell, cofactor) in cells.iter().filter_map(|c| c.first()).zip(cofactors.iter().filter_map(|c| c.first())) {
            let term = self.op(Op::Multiply, cell, cofactor, Ty::Scalar(scalar), at);
            determinant = Some(match determinant {
                Some(sum) => self.op(Op::Add, &sum, &term, Ty::Scalar(scalar), at),
                None => term,
            });
        }
        let Some(determinant) = determinant else { return Err(Wrong::new("no matrix".to_owned(), at)) };
        let mut columns = Vec::new();
        for r in &all {
            let mut components = Vec::new();
            for list in &cofactors {
                let Some(cofactor) = list.get(*r) else { return Err(Wrong::new("no matrix".to_owned(), at)) };
                components.push(self.op(Op::Divide, cofactor, &determinant, Ty::Scalar(scalar), at).handle);
            }
            let ty = self.value_type(&column);
            columns.push(self.add(Expression::Compose { ty, components }, at));
        }
        let ty = self.value_type(&matrix.ty);
        Ok(self.value(Expression::Compose { ty, components: columns }, matrix.ty.clone(), at))
    }

    /// The determinant of some rows and columns; one by one, three at most.
    fn minor(&mut self, cells: &[Vec<Value>], columns: &[usize], rows: &[usize], at: At) -> Lowered<Value> {
        let cell = |c: usize, r: usize| cells.get(c).and_then(|column| column.get(r)).cloned();
        let (Some((&first, others)), Some(_)) = (columns.split_first(), rows.first()) else { return Ok(self.float(1.0, at)) };
        let mut sum: Option<Value> = None;
        for (index, &row) in rows.iter().enumerate() {
            let rest: Vec<usize> = rows.iter().copied().filter(|&r| r != row).collect();
            let Some(value) = cell(first, row) else { return Err(Wrong::new("no matrix".to_owned(), at)) };
            let inner = self.minor(cells, others, &rest, at)?;
            let term = if others.is_empty() { value } else { self.op(Op::Multiply, &value, &inner, value.ty.clone(), at) };
            sum = Some(match sum {
                None => term,
                Some(before) => {
                    let op = if index % 2 == 0 { Op::Add } else { Op::Subtract };
                    self.op(op, &before, &term, term.ty.clone(), at)
                }
            });
        }
        sum.ok_or_else(|| Wrong::new("no matrix".to_owned(), at))
    }
}
