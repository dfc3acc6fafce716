//! Dialects, which are data, and how a text is put together. Nothing of a kernel's code is made here.

use super::functions::Body;
use super::globals::Globals;
use super::types::Types;
use super::{Options, Refusal, Result};
use crate::math;

/// A language that kernels are written in: what differs from the others.
#[derive(Debug)]
pub struct Dialect {
    /// What it is called.
    pub name: &'static str,
    /// Definitions of the words that the library and the kernels use.
    pub words: &'static str,
    /// Further ones, which need the library's types.
    pub more_words: &'static str,
    /// The size of a subgroup where neither the options nor the words say it.
    pub subgroup_size: &'static str,
    /// The offset of member `M` of structure `S` as a constant expression.
    pub offset: &'static str,
    /// What the compiler has to be told always, where products and sums must not be fused, and where they may.
    pub flags: &'static [&'static str],
    /// See `flags`.
    pub strict_flags: &'static [&'static str],
    /// See `flags`.
    pub relaxed_flags: &'static [&'static str],
    /// Bytes of workgroup memory that a kernel may declare.
    pub declared_memory: u32,
    /// Invocations of a workgroup at most.
    pub invocations: u32,
    /// Bytes of a kernel's parameters at most.
    pub parameter_size: u32,
}

/// CUDA C++, as NVRTC takes it.
pub const CUDA: Dialect = Dialect {
    name: "CUDA C++",
    words: include_str!("library/cuda.h"),
    more_words: include_str!("library/cuda_loads.h"),
    subgroup_size: "#define C_WAVE 32u\n",
    offset: "__INTADDR__(&((S*)0)->M)",
    flags: &["--std=c++17", "--ftz=false", "--prec-div=true", "--prec-sqrt=true"],
    strict_flags: &["--fmad=false"],
    relaxed_flags: &["--fmad=true"],
    declared_memory: 48 << 10,
    invocations: 1024,
    parameter_size: 4096,
};

/// HIP C++, as hiprtc and clang take it.
pub const HIP: Dialect = Dialect {
    name: "HIP C++",
    words: include_str!("library/hip.h"),
    more_words: "",
    subgroup_size: "#define C_WAVE ((u32)__AMDGCN_WAVEFRONT_SIZE)\n#define C_WAVE_IS_64 (__AMDGCN_WAVEFRONT_SIZE == 64)\n",
    offset: "__builtin_offsetof(S, M)",
    flags: &["-std=c++17", "-fno-strict-aliasing", "-fno-fast-math", "-fhip-fp32-correctly-rounded-divide-sqrt"],
    strict_flags: &["-ffp-contract=off"],
    relaxed_flags: &["-ffp-contract=fast"],
    declared_memory: 64 << 10,
    invocations: 1024,
    parameter_size: 4096,
};

const SCALARS: &str = include_str!("library/scalars.h");
const CORE: &str = include_str!("library/core.h");
const NUMBERS: &str = include_str!("library/numbers.h");

/// Parts of the library that a kernel may need or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    Matrix,
    Math,
    Strict,
    Bits,
    Atomic,
    Subgroup,
    Limit,
    Indirect,
}

impl Part {
    fn text(self) -> &'static str {
        match self {
            Self::Matrix => include_str!("library/matrix.h"),
            Self::Math => include_str!("library/math.h"),
            Self::Strict => include_str!("library/strict.h"),
            Self::Bits => include_str!("library/bits.h"),
            Self::Atomic => include_str!("library/atomic.h"),
            Self::Subgroup => include_str!("library/subgroup.h"),
            Self::Limit => include_str!("library/limit.h"),
            Self::Indirect => include_str!("library/indirect.h"),
        }
    }
}

/// The whole text. What belongs to this kernel comes last, behind [`KERNEL`].
pub(super) fn assemble(
    options: &Options<'_>,
    size: [u32; 3],
    types: &Types<'_>,
    globals: &Globals<'_>,
    body: &Body,
    name: &str,
) -> Result<String> {
    let dialect = options.dialect;
    let invocations: u64 = size.iter().map(|n| u64::from(*n)).product();
    if invocations > u64::from(dialect.invocations) {
        let most = dialect.invocations;
        return Err(Refusal::limit(format!("a workgroup of {invocations} invocations is more than this device's {most}")));
    }
    let [x, y, z] = size;
    let mut out = format!("// {}\n", dialect.name);
    out.push_str(&format!(
        "#define C_SIZE_X {x}u\n#define C_SIZE_Y {y}u\n#define C_SIZE_Z {z}u\n#define C_INVOCATIONS {invocations}u\n"
    ));
    out.push_str(&format!("#define C_STRICT {}\n", u8::from(options.strict)));
    match options.subgroup_size {
        Some(size @ (32 | 64)) => {
            out.push_str(&format!("#define C_WAVE {size}u\n#define C_WAVE_IS_64 {}\n", u8::from(size == 64)));
        }
        Some(size) => return Err(Refusal::limit(format!("subgroups of {size} invocations are not known"))),
        None => out.push_str(dialect.subgroup_size),
    }
    out.push_str(&format!("#define C_OFFSET(S, M) {}\n", dialect.offset));
    out.push_str("namespace compute {\n");
    for text in [SCALARS, dialect.words, CORE, dialect.more_words, NUMBERS] {
        out.push_str(text);
    }
    out.push_str("C_FN u32 c_local_index() { return C_THREAD_X + C_SIZE_X * (C_THREAD_Y + C_SIZE_Y * C_THREAD_Z); }\n");
    for part in &body.parts {
        if *part == Part::Strict {
            out.push_str(&tables());
        }
        out.push_str(part.text());
    }
    out.push_str(KERNEL);
    out.push_str(&types.definitions);
    out.push_str(&globals.definitions);
    out.push_str(&body.constants);
    out.push_str(&body.functions);
    let head = format!("C_KERNEL({invocations}) {name}(C_PARAMETER Parameters c) {{\n");
    let whole = if options.indirect { in_turn(&head, globals, body) } else { format!("{head}{}}}\n", body.entry) };
    out.push_str(&whole);
    out.push_str("}\n");
    Ok(out)
}

/// A kernel that reads its number of workgroups. Their code is a function, so that an early return ends a workgroup's turn and not the kernel. Before the next
/// turn clears the workgroup's memory, everybody is done with it, and no subgroup is in two turns.
fn in_turn(head: &str, globals: &Globals<'_>, body: &Body) -> String {
    let entry = &body.entry;
    let barrier = if globals.workgroup_blocks > 0 || body.parts.contains(&Part::Subgroup) { "    c_barrier();\n" } else { "" };
    format!(
        "C_FN void c_turn(const Parameters& c, const Counts& group, const Counts& groups) {{\n{entry}}}\n\
         {head}  const Counts groups = c_counts(c.grid);\n  \
         const u64 all = (u64)groups.x * groups.y * groups.z;\n  \
         for (u64 at = C_GROUP_X; at < all; at += C_GROUPS_X) {{\n    \
         c_turn(c, c_group_at(at, groups), groups);\n{barrier}  }}\n}}\n"
    )
}

/// The line behind which a text is about the kernel and nothing else.
pub(super) const KERNEL: &str = "// The kernel.\n";

/// The tables of [`Part::Strict`], as the bits of their numbers.
fn tables() -> String {
    let list = |numbers: &mut dyn Iterator<Item = f64>| {
        numbers.map(|x| format!("{:#018x}ull", x.to_bits())).collect::<Vec<_>>().join(", ")
    };
    let powers = list(&mut math::POWERS.iter().copied());
    let logarithms = list(&mut math::LOGARITHMS.iter().flat_map(|(c, log)| [*c, *log]));
    format!("C_TABLE u64 c_powers[] = {{{powers}}};\nC_TABLE u64 c_logarithms[] = {{{logarithms}}};\n")
}
