//! Operators and built-in functions: most are calls of the library, which has them for every type.

use naga::proc::TypeResolution;
use naga::{BinaryOperator, Expression, Handle, MathFunction, RelationalFunction, Scalar, ScalarKind, TypeInner, UnaryOperator};

use super::dialect::Part;
use super::functions::Writer;
use super::{Refusal, Result, types};

impl Writer<'_> {
    fn scalar_of(&self, at: Handle<Expression>) -> Option<Scalar> {
        match *self.inner(at) {
            TypeInner::Scalar(scalar) => Some(scalar),
            _ => None,
        }
    }

    pub(super) fn unary(&mut self, op: UnaryOperator, operand: Handle<Expression>) -> Result<String> {
        let value = self.value(operand)?;
        let name = match op {
            UnaryOperator::Negate => "c_neg",
            UnaryOperator::LogicalNot | UnaryOperator::BitwiseNot => "c_not",
        };
        Ok(format!("{name}({value})"))
    }

    pub(super) fn binary(&mut self, op: BinaryOperator, left: Handle<Expression>, right: Handle<Expression>) -> Result<String> {
        let (a, b) = (self.value(left)?, self.value(right)?);
        let (name, infix) = operator(op);
        // An operator of C++ where it means the same.
        let same = match self.scalar_of(left) {
            Some(_) if is_comparison(op) => true,
            Some(Scalar { kind: ScalarKind::Bool, .. }) => matches!(op, BinaryOperator::LogicalAnd | BinaryOperator::LogicalOr),
            Some(Scalar { kind, width: 4 | 8 }) if self.scalar_of(right).is_some() => match op {
                BinaryOperator::Add | BinaryOperator::Subtract | BinaryOperator::Multiply => kind != ScalarKind::Sint,
                BinaryOperator::Divide => kind == ScalarKind::Float,
                BinaryOperator::And | BinaryOperator::InclusiveOr | BinaryOperator::ExclusiveOr => true,
                _ => false,
            },
            _ => false,
        };
        Ok(if same { format!("{a} {infix} {b}") } else { format!("{name}({a}, {b})") })
    }

    pub(super) fn relational(&mut self, fun: RelationalFunction, argument: Handle<Expression>) -> Result<String> {
        let name = match fun {
            RelationalFunction::All => "c_all",
            RelationalFunction::Any => "c_any",
            RelationalFunction::IsNan => "c_is_nan",
            RelationalFunction::IsInf => "c_is_inf",
        };
        Ok(format!("{name}({})", self.value(argument)?))
    }

    pub(super) fn convert(&mut self, operand: Handle<Expression>, kind: ScalarKind, convert: Option<u8>) -> Result<String> {
        let value = self.value(operand)?;
        let from = self.inner(operand).scalar().ok_or_else(|| Refusal::bug("a conversion of something without a number"))?;
        let to = Scalar { kind, width: convert.unwrap_or(from.width) };
        if to == from {
            return Ok(value);
        }
        let name = if convert.is_some() { "c_to" } else { "c_bitcast" };
        Ok(format!("{name}<{}>({value})", types::scalar(to)?))
    }

    pub(super) fn math(&mut self, at: Handle<Expression>, fun: MathFunction, operands: &[Handle<Expression>]) -> Result<String> {
        let arguments = operands.iter().map(|operand| self.value(*operand)).collect::<Result<Vec<_>>>()?.join(", ");
        if let Some(name) = transcendental(fun) {
            if self.context.options.strict {
                self.strict(fun, &name[2..], operands)?;
                return Ok(format!("{name}({arguments})"));
            }
            self.parts.insert(Part::Math);
            return Ok(format!("{name}({arguments})"));
        }
        match fun {
            MathFunction::Modf => return self.two_results(at, ["c_modf_fract", "c_modf_whole"], &arguments),
            MathFunction::Frexp => return self.two_results(at, ["c_frexp_fract", "c_frexp_exp"], &arguments),
            _ => {}
        }
        let (name, part) = function(fun).ok_or_else(|| Refusal::unsupported(format_args!("the function {fun:?}")))?;
        self.parts.extend(part);
        Ok(format!("{name}({arguments})"))
    }

    /// Notes a function whose bits are the same everywhere, if it is there.
    fn strict(&mut self, fun: MathFunction, name: &str, operands: &[Handle<Expression>]) -> Result<()> {
        use MathFunction as F;
        let scalar = operands.first().and_then(|operand| self.inner(*operand).scalar());
        let inverse = matches!(fun, F::Acos | F::Asin | F::Atan | F::Atan2 | F::Acosh | F::Asinh | F::Atanh);
        if inverse || scalar.is_none_or(|scalar| scalar.width == 8) {
            let of = if inverse { "" } else { " of `f64`" };
            return Err(Refusal::unsupported(format_args!("`{name}`{of} with the same bits on every device")));
        }
        self.parts.insert(Part::Strict);
        Ok(())
    }

    /// A structure of the results of two functions.
    fn two_results(&mut self, at: Handle<Expression>, names: [&str; 2], arguments: &str) -> Result<String> {
        let TypeResolution::Handle(ty) = self.info[at].ty else { return Err(Refusal::bug("a result that is no structure")) };
        let TypeInner::Struct { ref members, .. } = *self.context.types.inner(ty) else {
            return Err(Refusal::bug("a result that is no structure"));
        };
        let mut parts = Vec::new();
        for (name, member) in names.iter().zip(members) {
            let scalar =
                self.context.types.inner(member.ty).scalar().ok_or_else(|| Refusal::bug("a result that is no number"))?;
            parts.push(format!("c_to<{}>({name}({arguments}))", types::scalar(scalar)?));
        }
        self.context.types.braces(ty, &parts)
    }
}

fn is_comparison(op: BinaryOperator) -> bool {
    use BinaryOperator as B;
    matches!(op, B::Equal | B::NotEqual | B::Less | B::LessEqual | B::Greater | B::GreaterEqual)
}

/// The library's function for an operator, and the operator of C++.
fn operator(op: BinaryOperator) -> (&'static str, &'static str) {
    use BinaryOperator as B;
    match op {
        B::Add => ("c_add", "+"),
        B::Subtract => ("c_sub", "-"),
        B::Multiply => ("c_mul", "*"),
        B::Divide => ("c_div", "/"),
        B::Modulo => ("c_rem", "%"),
        B::Equal => ("c_eq", "=="),
        B::NotEqual => ("c_ne", "!="),
        B::Less => ("c_lt", "<"),
        B::LessEqual => ("c_le", "<="),
        B::Greater => ("c_gt", ">"),
        B::GreaterEqual => ("c_ge", ">="),
        B::And => ("c_and", "&"),
        B::ExclusiveOr => ("c_xor", "^"),
        B::InclusiveOr => ("c_or", "|"),
        B::LogicalAnd => ("c_and", "&&"),
        B::LogicalOr => ("c_or", "||"),
        B::ShiftLeft => ("c_shl", "<<"),
        B::ShiftRight => ("c_shr", ">>"),
    }
}

/// The functions that no processor has as an instruction.
fn transcendental(fun: MathFunction) -> Option<&'static str> {
    use MathFunction as F;
    Some(match fun {
        F::Cos => "c_cos",
        F::Cosh => "c_cosh",
        F::Sin => "c_sin",
        F::Sinh => "c_sinh",
        F::Tan => "c_tan",
        F::Tanh => "c_tanh",
        F::Acos => "c_acos",
        F::Asin => "c_asin",
        F::Atan => "c_atan",
        F::Atan2 => "c_atan2",
        F::Asinh => "c_asinh",
        F::Acosh => "c_acosh",
        F::Atanh => "c_atanh",
        F::Exp => "c_exp",
        F::Exp2 => "c_exp2",
        F::Log => "c_log",
        F::Log2 => "c_log2",
        F::Pow => "c_pow",
        _ => return None,
    })
}

/// The library's function, and the part of it that has it.
fn function(fun: MathFunction) -> Option<(&'static str, Option<Part>)> {
    if let Some(name) = on_numbers(fun) {
        return Some((name, None));
    }
    if let Some(name) = on_matrices(fun) {
        return Some((name, Some(Part::Matrix)));
    }
    on_bits(fun).map(|name| (name, Some(Part::Bits)))
}

fn on_numbers(fun: MathFunction) -> Option<&'static str> {
    use MathFunction as F;
    Some(match fun {
        F::Abs => "c_abs",
        F::Min => "c_min",
        F::Max => "c_max",
        F::Clamp => "c_clamp",
        F::Saturate => "c_saturate",
        F::Radians => "c_radians",
        F::Degrees => "c_degrees",
        F::Ceil => "c_ceil",
        F::Floor => "c_floor",
        F::Round => "c_round",
        F::Fract => "c_fract",
        F::Trunc => "c_trunc",
        F::Ldexp => "c_ldexp",
        F::Dot => "c_dot",
        F::Cross => "c_cross",
        F::Distance => "c_distance",
        F::Length => "c_length",
        F::Normalize => "c_normalize",
        F::FaceForward => "c_faceforward",
        F::Reflect => "c_reflect",
        F::Refract => "c_refract",
        F::Sign => "c_sign",
        F::Fma => "c_fma",
        F::Mix => "c_mix",
        F::Step => "c_step",
        F::SmoothStep => "c_smoothstep",
        F::Sqrt => "c_sqrt",
        F::InverseSqrt => "c_inverse_sqrt",
        F::QuantizeToF16 => "c_quantize",
        _ => return None,
    })
}

fn on_matrices(fun: MathFunction) -> Option<&'static str> {
    use MathFunction as F;
    Some(match fun {
        F::Outer => "c_outer",
        F::Inverse => "c_inverse",
        F::Transpose => "c_transpose",
        F::Determinant => "c_determinant",
        _ => return None,
    })
}

fn on_bits(fun: MathFunction) -> Option<&'static str> {
    use MathFunction as F;
    Some(match fun {
        F::CountTrailingZeros => "c_trailing_zeros",
        F::CountLeadingZeros => "c_leading_zeros",
        F::CountOneBits => "c_count_ones",
        F::ReverseBits => "c_reverse_bits",
        F::ExtractBits => "c_extract_bits",
        F::InsertBits => "c_insert_bits",
        F::FirstTrailingBit => "c_first_trailing_bit",
        F::FirstLeadingBit => "c_first_leading_bit",
        F::Dot4I8Packed => "c_dot4_i8",
        F::Dot4U8Packed => "c_dot4_u8",
        F::Pack4x8snorm => "c_pack4x8snorm",
        F::Pack4x8unorm => "c_pack4x8unorm",
        F::Pack2x16snorm => "c_pack2x16snorm",
        F::Pack2x16unorm => "c_pack2x16unorm",
        F::Pack2x16float => "c_pack2x16float",
        F::Pack4xI8 => "c_pack4x_i8",
        F::Pack4xU8 => "c_pack4x_u8",
        F::Pack4xI8Clamp => "c_pack4x_i8_clamp",
        F::Pack4xU8Clamp => "c_pack4x_u8_clamp",
        F::Unpack4x8snorm => "c_unpack4x8snorm",
        F::Unpack4x8unorm => "c_unpack4x8unorm",
        F::Unpack2x16snorm => "c_unpack2x16snorm",
        F::Unpack2x16unorm => "c_unpack2x16unorm",
        F::Unpack2x16float => "c_unpack2x16float",
        F::Unpack4xI8 => "c_unpack4x_i8",
        F::Unpack4xU8 => "c_unpack4x_u8",
        _ => return None,
    })
}
