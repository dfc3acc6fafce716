//! The extensions of GLSL that change nothing here or are part of what is translated, and the macros that are always defined.

const SUPPORTED: &[&str] = &[
    "all",
    "GL_ARB_arrays_of_arrays",
    "GL_ARB_compute_shader",
    "GL_AMD_gpu_shader_half_float",
    "GL_AMD_gpu_shader_int16",
    "GL_ARB_gpu_shader5",
    "GL_ARB_gpu_shader_fp64",
    "GL_ARB_gpu_shader_int64",
    "GL_ARB_separate_shader_objects",
    "GL_ARB_shader_storage_buffer_object",
    "GL_ARB_shading_language_420pack",
    "GL_ARB_shading_language_include",
    "GL_ARB_shading_language_packing",
    "GL_EXT_control_flow_attributes",
    "GL_EXT_debug_printf",
    "GL_EXT_null_initializer",
    "GL_EXT_scalar_block_layout",
    "GL_EXT_shader_16bit_storage",
    "GL_EXT_shader_atomic_float",
    "GL_EXT_shader_atomic_int64",
    "GL_EXT_shader_explicit_arithmetic_types",
    "GL_EXT_shader_explicit_arithmetic_types_float16",
    "GL_EXT_shader_explicit_arithmetic_types_float32",
    "GL_EXT_shader_explicit_arithmetic_types_float64",
    "GL_EXT_shader_explicit_arithmetic_types_int16",
    "GL_EXT_shader_explicit_arithmetic_types_int32",
    "GL_EXT_shader_explicit_arithmetic_types_int64",
    "GL_EXT_shader_subgroup_extended_types_float16",
    "GL_EXT_shader_subgroup_extended_types_int16",
    "GL_EXT_shader_subgroup_extended_types_int64",
    "GL_GOOGLE_cpp_style_line_directive",
    "GL_GOOGLE_include_directive",
    "GL_KHR_shader_subgroup_arithmetic",
    "GL_KHR_shader_subgroup_ballot",
    "GL_KHR_shader_subgroup_basic",
    "GL_KHR_shader_subgroup_quad",
    "GL_KHR_shader_subgroup_shuffle",
    "GL_KHR_shader_subgroup_shuffle_relative",
    "GL_KHR_shader_subgroup_vote",
];

/// Defined before the first line.
pub(super) const MACROS: &[(&str, &str)] = &[("VULKAN", "100"), ("GL_core_profile", "1"), ("__VERSION__", "450")];

/// Whether a source may require it.
pub(super) fn is_supported(name: &str) -> bool {
    SUPPORTED.contains(&name)
}
