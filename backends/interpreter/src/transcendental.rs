//! Functions that no rounding rule fixes: the meaning's one definition, `compute_kernel::math`. Nothing else of the kernel crate is used to compute.

use compute_kernel::math::{self, double};
use naga::MathFunction;

use crate::scalar::Scalar;

/// One function for f32 and one for f64. Halves are evaluated as f32 and rounded.
struct Pair {
    single: fn(f32) -> f32,
    double: fn(f64) -> f64,
}

fn of_one(fun: MathFunction) -> Option<Pair> {
    use MathFunction as M;
    macro_rules! pairs {
        ($($function:ident $name:ident)*) => {
            match fun {
                $(M::$function => Pair { single: math::$name, double: double::$name },)*
                _ => return None,
            }
        };
    }
    Some(pairs! {
        Sin sin Cos cos Tan tan Asin asin Acos acos Atan atan Sinh sinh Cosh cosh Tanh tanh
        Asinh asinh Acosh acosh Atanh atanh Exp exp Exp2 exp2 Log log Log2 log2
    })
}

/// The function of these arguments, when it is one of those.
pub(crate) fn transcendental(fun: MathFunction, a: &[Scalar]) -> Option<Scalar> {
    let (x, y) = (a[0].float(), a.get(1).map_or(0.0, |y| y.float()));
    let wide = a[0].width == 8;
    let value = match (fun, wide) {
        (MathFunction::Atan2, true) => double::atan2(x, y),
        (MathFunction::Atan2, false) => math::atan2(x as f32, y as f32).into(),
        (MathFunction::Pow, true) => double::pow(x, y),
        (MathFunction::Pow, false) => math::pow(x as f32, y as f32).into(),
        (_, true) => (of_one(fun)?.double)(x),
        (_, false) => (of_one(fun)?.single)(x as f32).into(),
    };
    Some(a[0].round(value))
}
