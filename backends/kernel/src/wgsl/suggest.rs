//! What somebody may have meant by a name that is not declared: a name that is spelled much like it, or the word for it in this language.

use crate::scan::{Kind, Scanned};
use crate::spelling;

/// Predeclared types and functions of compute kernels.
const PREDECLARED: &[&str] = &[
    "abs",
    "acos",
    "acosh",
    "all",
    "any",
    "array",
    "arrayLength",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "atomic",
    "atomicAdd",
    "atomicAnd",
    "atomicCompareExchangeWeak",
    "atomicExchange",
    "atomicLoad",
    "atomicMax",
    "atomicMin",
    "atomicOr",
    "atomicStore",
    "atomicSub",
    "atomicXor",
    "bitcast",
    "bool",
    "ceil",
    "clamp",
    "cos",
    "cosh",
    "countLeadingZeros",
    "countOneBits",
    "countTrailingZeros",
    "cross",
    "degrees",
    "determinant",
    "distance",
    "dot",
    "dot4I8Packed",
    "dot4U8Packed",
    "exp",
    "exp2",
    "extractBits",
    "f32",
    "faceForward",
    "firstLeadingBit",
    "firstTrailingBit",
    "floor",
    "fma",
    "fract",
    "frexp",
    "i32",
    "insertBits",
    "inverseSqrt",
    "ldexp",
    "length",
    "log",
    "log2",
    "mat2x2",
    "mat2x3",
    "mat2x4",
    "mat3x2",
    "mat3x3",
    "mat3x4",
    "mat4x2",
    "mat4x3",
    "mat4x4",
    "max",
    "min",
    "mix",
    "modf",
    "normalize",
    "pack2x16float",
    "pack2x16snorm",
    "pack2x16unorm",
    "pack4x8snorm",
    "pack4x8unorm",
    "pow",
    "ptr",
    "quantizeToF16",
    "radians",
    "reflect",
    "refract",
    "reverseBits",
    "round",
    "saturate",
    "select",
    "sign",
    "sin",
    "sinh",
    "smoothstep",
    "sqrt",
    "step",
    "storageBarrier",
    "tan",
    "tanh",
    "transpose",
    "trunc",
    "u32",
    "unpack2x16float",
    "unpack2x16snorm",
    "unpack2x16unorm",
    "unpack4x8snorm",
    "unpack4x8unorm",
    "vec2",
    "vec2f",
    "vec2i",
    "vec2u",
    "vec3",
    "vec3f",
    "vec3i",
    "vec3u",
    "vec4",
    "vec4f",
    "vec4i",
    "vec4u",
    "workgroupBarrier",
    "workgroupUniformLoad",
];

/// What is written here for a word of GLSL, HLSL, CUDA or C.
pub(super) fn foreign(word: &str) -> Option<&'static str> {
    Some(match word {
        "float" => "the type of 32-bit floats is `f32`",
        "int" => "the type of signed integers is `i32`",
        "uint" | "unsigned" | "uint32_t" | "size_t" => "the type of unsigned integers is `u32`",
        "double" => "there is no 64-bit float type; `f32` is the float type",
        "float2" | "float3" | "float4" => "vectors of floats are `vec2<f32>`, `vec3<f32>` and `vec4<f32>`",
        "int2" | "int3" | "int4" | "ivec2" | "ivec3" | "ivec4" => {
            "vectors of integers are `vec2<i32>`, `vec3<i32>` and `vec4<i32>`"
        }
        "uint2" | "uint3" | "uint4" | "uvec2" | "uvec3" | "uvec4" => {
            "vectors of unsigned integers are `vec2<u32>`, `vec3<u32>` and `vec4<u32>`"
        }
        "bvec2" | "bvec3" | "bvec4" => "vectors of truth values are `vec2<bool>`, `vec3<bool>` and `vec4<bool>`",
        "mat2" | "mat3" | "mat4" => "matrices name both sizes: `mat2x2<f32>`, `mat3x3<f32>`, `mat4x4<f32>`",
        "gl_GlobalInvocationID" | "SV_DispatchThreadID" => "take a parameter `@builtin(global_invocation_id) id: vec3<u32>`",
        "gl_LocalInvocationID" | "SV_GroupThreadID" | "threadIdx" => {
            "take a parameter `@builtin(local_invocation_id) id: vec3<u32>`"
        }
        "gl_LocalInvocationIndex" | "SV_GroupIndex" => "take a parameter `@builtin(local_invocation_index) index: u32`",
        "gl_WorkGroupID" | "SV_GroupID" | "blockIdx" => "take a parameter `@builtin(workgroup_id) id: vec3<u32>`",
        "gl_NumWorkGroups" | "gridDim" => "take a parameter `@builtin(num_workgroups) count: vec3<u32>`",
        "gl_WorkGroupSize" | "blockDim" => {
            "the workgroup size is a constant of the kernel: declare a `const` or `override` for it"
        }
        "global_invocation_id" | "local_invocation_id" | "local_invocation_index" | "workgroup_id" | "num_workgroups" => {
            "builtin inputs are parameters of the entry point: `@builtin(global_invocation_id) id: vec3<u32>`"
        }
        "barrier" | "groupMemoryBarrierWithGroupSync" | "GroupMemoryBarrierWithGroupSync" | "__syncthreads" => {
            "the barrier of a workgroup is `workgroupBarrier()`"
        }
        "memoryBarrierShared" | "groupMemoryBarrier" => "use `workgroupBarrier()`",
        "memoryBarrier" | "memoryBarrierBuffer" => "use `storageBarrier()`",
        "mod" | "fmod" => "the remainder is the operator `%`",
        "lerp" => "use `mix`",
        "frac" => "use `fract`",
        "rsqrt" | "inversesqrt" => "use `inverseSqrt`",
        "atan2f" => "use `atan2`",
        "fabs" | "fabsf" => "use `abs`",
        "mad" => "use `fma`",
        "fmin" | "fminf" => "use `min`",
        "fmax" | "fmaxf" => "use `max`",
        "sqrtf" => "use `sqrt`",
        "floatBitsToInt" | "asint" => "use `bitcast<i32>(x)`",
        "floatBitsToUint" | "asuint" => "use `bitcast<u32>(x)`",
        "intBitsToFloat" | "uintBitsToFloat" | "asfloat" => "use `bitcast<f32>(x)`",
        "bitCount" | "popcount" | "countbits" | "__popc" => "use `countOneBits`",
        "findLSB" | "firstbitlow" => "use `firstTrailingBit`",
        "findMSB" | "firstbithigh" => "use `firstLeadingBit`",
        "atomicCompSwap" | "InterlockedCompareExchange" | "atomicCAS" => "use `atomicCompareExchangeWeak`",
        "InterlockedAdd" => "use `atomicAdd`",
        "faceforward" => "use `faceForward`",
        "lessThan" | "greaterThan" | "equal" | "notEqual" => "comparison operators work on vectors",
        "printf" | "debugPrintfEXT" => "kernels cannot print",
        _ => return None,
    })
}

/// The declared or predeclared name that is spelled most like `word`.
pub(super) fn nearest<'a>(scanned: &Scanned<'a>, word: &str) -> Option<&'a str> {
    spelling::nearest(word, declared(scanned).chain(PREDECLARED.iter().copied()))
}

/// Every name that is declared anywhere, members left out.
fn declared<'a>(scanned: &Scanned<'a>) -> impl Iterator<Item = &'a str> {
    let name = |at: usize| {
        let introduces = matches!(scanned.text(at), "let" | "var" | "const" | "fn" | "struct" | "alias" | "override");
        if introduces && scanned.kind(at + 1) == Some(Kind::Word) {
            return Some(scanned.text(at + 1));
        }
        // Parameters, and variables after a template list.
        let typed = scanned.kind(at) == Some(Kind::Word) && scanned.text(at + 1) == ":";
        if typed && at.checked_sub(1).is_some_and(|i| matches!(scanned.text(i), "(" | "," | ")" | ">")) {
            return Some(scanned.text(at));
        }
        None
    };
    (0..scanned.len()).filter_map(name).collect::<Vec<_>>().into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelled_name_finds_what_was_meant() {
        let scanned = Scanned::new("var<private> velocity: f32; fn length2(point: vec3f) -> f32 { let total = 1; return 1.0; }");
        assert_eq!(nearest(&scanned, "velocty"), Some("velocity"));
        assert_eq!(nearest(&scanned, "ponit"), Some("point"));
        assert_eq!(nearest(&scanned, "Total"), Some("total"));
        assert_eq!(nearest(&scanned, "legnth"), Some("length"));
        assert_eq!(nearest(&scanned, "inversesqrt"), Some("inverseSqrt"));
        assert_eq!(nearest(&scanned, "completely"), None);
        assert_eq!(nearest(&scanned, "x"), None);
    }
}
