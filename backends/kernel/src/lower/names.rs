//! Names that a target language accepts (KT-18): every name of a module becomes one that is no keyword, type, function, variable or macro there, and
//! no other name of the module. Names that are fine stay as they are. The same module gives the same names each time.
//!
//! What is reserved is data, in `names/`. Reflection keeps the user's names; nothing here is seen by a user.

use std::collections::HashSet;

use naga::{Function, Module, TypeInner};

/// A family of target languages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// CUDA C++ and HIP C++.
    Cuda,
    /// Metal's C++.
    Msl,
    /// HLSL.
    Hlsl,
}

const CPP: &str = include_str!("names/cpp.txt");
const CUDA_HIP: &str = include_str!("names/cuda_hip.txt");
const MSL: &str = include_str!("names/msl.txt");
const HLSL: &str = include_str!("names/hlsl.txt");

/// What the emitters and the passes before them call their own things.
const OWN: &str = "compute_";

/// Scalar types that have vectors and matrices named after them: `float4`, `half2x2`.
const SCALARS: [&str; 20] = [
    "bool",
    "char",
    "uchar",
    "short",
    "ushort",
    "int",
    "uint",
    "long",
    "ulong",
    "longlong",
    "ulonglong",
    "float",
    "double",
    "half",
    "bfloat",
    "min16float",
    "min16int",
    "min16uint",
    "dword",
    "packed_float",
];

/// The words of some tables.
fn words(tables: &[&'static str]) -> HashSet<&'static str> {
    tables.iter().flat_map(|table| table.split_whitespace()).collect()
}

/// What may not be a name.
pub struct Reserved {
    words: HashSet<&'static str>,
    prefixes: &'static [&'static str],
}

impl Reserved {
    /// Of a family.
    pub fn of(family: Family) -> Self {
        match family {
            Family::Cuda => Self {
                words: words(&[CPP, CUDA_HIP]),
                prefixes: &["cuda", "CUDA", "hip", "HIP", "nv_", "make_", "tex1D", "tex2D", "tex3D", "surf", "sm_"],
            },
            Family::Msl => Self { words: words(&[CPP, MSL]), prefixes: &["atomic_", "simd_", "quad_", "packed_", "air_"] },
            Family::Hlsl => Self { words: words(&[HLSL]), prefixes: &["SV_", "Interlocked", "Wave", "RW", "Texture"] },
        }
    }

    /// Whether a name is reserved: by the language, its library, or its rules about underscores.
    pub fn contains(&self, name: &str) -> bool {
        name.starts_with('_')
            || name.contains("__")
            || self.words.contains(name)
            || self.prefixes.iter().any(|prefix| name.starts_with(prefix))
            || is_vector(name)
    }
}

/// Whether a name is that of a vector or matrix type.
fn is_vector(name: &str) -> bool {
    let rest =
        SCALARS.iter().filter_map(|scalar| name.strip_prefix(scalar)).find(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    rest.is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit() || c == 'x'))
}

/// Gives names out.
struct Namer<'a> {
    reserved: &'a Reserved,
    /// Names of the scope around.
    outside: Option<&'a HashSet<String>>,
    taken: HashSet<String>,
}

impl<'a> Namer<'a> {
    fn new(reserved: &'a Reserved, outside: Option<&'a HashSet<String>>) -> Self {
        Self { reserved, outside, taken: HashSet::new() }
    }

    fn is_fine(&self, name: &str) -> bool {
        let mut chars = name.chars();
        let first = chars.next().is_some_and(|c| c.is_ascii_alphabetic());
        let rest = chars.all(|c| c.is_ascii_alphanumeric() || c == '_');
        first && rest && !name.ends_with('_') && !name.starts_with(OWN) && !self.reserved.contains(name)
    }

    /// Keeps a name if it is fine and free.
    fn keep(&mut self, name: &str) -> bool {
        let free = self.outside.is_none_or(|outside| !outside.contains(name));
        free && self.is_fine(name) && self.taken.insert(name.to_owned())
    }

    /// A free name like this one.
    fn make(&mut self, name: &str, kind: &str) -> String {
        let mut base = String::with_capacity(name.len());
        for c in name.chars() {
            match c {
                '_' if base.is_empty() || base.ends_with('_') => {}
                c if c.is_ascii_alphanumeric() || c == '_' => base.push(c),
                c if c.is_alphanumeric() => base.push_str(&format!("u{:x}", u32::from(c))),
                _ if base.is_empty() || base.ends_with('_') => {}
                _ => base.push('_'),
            }
        }
        let base = base.trim_end_matches('_');
        let base = match base.chars().next() {
            None => kind.to_owned(),
            Some(c) if c.is_ascii_digit() => format!("{kind}_{base}"),
            Some(_) => base.to_owned(),
        };
        // A prefix that is reserved stays reserved whatever follows it.
        let base = if self.is_fine(&format!("{base}_0")) { base } else { format!("{kind}_{base}") };
        let names = std::iter::once(base.clone()).chain((1_u64..).map(|n| format!("{base}_{n}")));
        for name in names {
            if self.keep(&name) {
                return name;
            }
        }
        base
    }
}

/// A name on its way: what it was, and what kind of thing it names.
type Slot<'a> = (&'a mut Option<String>, &'static str);

/// Renames within one scope: first those that can stay, so that none of them is taken by another.
fn rename(namer: &mut Namer<'_>, slots: Vec<Slot<'_>>) {
    let mut rest = Vec::new();
    for (slot, kind) in slots {
        match slot.as_deref() {
            Some(name) if namer.keep(name) => {}
            _ => rest.push((slot, kind)),
        }
    }
    for (slot, kind) in rest {
        *slot = Some(namer.make(slot.as_deref().unwrap_or_default(), kind));
    }
}

/// Renames everything in a module. Entry points are renamed too: whoever wants one knows it by its index.
pub fn make_safe(module: &mut Module, family: Family) {
    let reserved = Reserved::of(family);
    let mut namer = Namer::new(&reserved, None);
    let mut entries: Vec<_> = module.entry_points.iter().map(|entry| Some(entry.name.clone())).collect();
    let handles: Vec<_> = module.types.iter().map(|(handle, _)| handle).collect();
    let mut types: Vec<_> = handles.iter().map(|handle| module.types[*handle].name.clone()).collect();
    // Only structures need names; whatever else has one is an alias.
    let is_struct = |n: usize| handles.get(n).is_some_and(|h| matches!(module.types[*h].inner, TypeInner::Struct { .. }));
    let structs: Vec<bool> = (0..handles.len()).map(is_struct).collect();
    let mut slots: Vec<Slot<'_>> = entries.iter_mut().map(|name| (name, "entry")).collect();
    slots.extend(types.iter_mut().zip(&structs).filter(|(_, is_struct)| **is_struct).map(|(name, _)| (name, "type")));
    slots.extend(module.functions.iter_mut().map(|(_, function)| (&mut function.name, "function")));
    slots.extend(module.global_variables.iter_mut().map(|(_, variable)| (&mut variable.name, "variable")));
    slots.extend(module.constants.iter_mut().map(|(_, constant)| (&mut constant.name, "constant")));
    rename(&mut namer, slots);
    for (entry, name) in module.entry_points.iter_mut().zip(entries) {
        entry.name = name.unwrap_or_default();
        entry.function.name = None;
    }
    for ((handle, name), is_struct) in handles.into_iter().zip(types).zip(structs) {
        let mut ty = module.types[handle].clone();
        ty.name = if is_struct { name } else { None };
        if let TypeInner::Struct { members, .. } = &mut ty.inner {
            let mut namer = Namer::new(&reserved, None);
            rename(&mut namer, members.iter_mut().map(|member| (&mut member.name, "member")).collect());
        }
        // Two aliases of one type would become the same: the second keeps its name, which nothing mentions.
        if module.types.get(&ty).is_none() {
            module.types.replace(handle, ty);
        }
    }
    let functions = module.functions.iter_mut().map(|(_, function)| function);
    for function in functions.chain(module.entry_points.iter_mut().map(|entry| &mut entry.function)) {
        inside(&namer, function);
    }
}

/// Arguments, variables and values of a function, apart from each other and from everything outside.
fn inside(outside: &Namer<'_>, function: &mut Function) {
    let mut namer = Namer::new(outside.reserved, Some(&outside.taken));
    // A parameter is a named value too, by the same name.
    let parameter = |at: &naga::Handle<naga::Expression>| match function.expressions[*at] {
        naga::Expression::FunctionArgument(index) => Some(index as usize),
        _ => None,
    };
    let parameters: Vec<_> = function.named_expressions.keys().map(parameter).collect();
    let mut values: Vec<_> = function.named_expressions.values().cloned().map(Some).collect();
    let mut slots: Vec<Slot<'_>> = function.arguments.iter_mut().map(|argument| (&mut argument.name, "argument")).collect();
    slots.extend(function.local_variables.iter_mut().map(|(_, variable)| (&mut variable.name, "local")));
    slots.extend(values.iter_mut().zip(&parameters).filter(|(_, p)| p.is_none()).map(|(name, _)| (name, "value")));
    rename(&mut namer, slots);
    for ((to, name), parameter) in function.named_expressions.values_mut().zip(values).zip(parameters) {
        let argument = parameter.and_then(|index| function.arguments.get(index)).map(|argument| argument.name.clone());
        *to = argument.unwrap_or(name).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FAMILIES: [Family; 3] = [Family::Cuda, Family::Msl, Family::Hlsl];

    /// Every name of a module, those of each scope with the ones outside of it.
    fn scopes(module: &Module) -> Vec<Vec<String>> {
        let name = |name: &Option<String>| name.clone().unwrap_or_default();
        let mut global: Vec<String> = module.entry_points.iter().map(|entry| entry.name.clone()).collect();
        global.extend(module.functions.iter().map(|(_, f)| name(&f.name)));
        global.extend(module.global_variables.iter().map(|(_, v)| name(&v.name)));
        global.extend(module.constants.iter().map(|(_, c)| name(&c.name)));
        let mut scopes = Vec::new();
        for (_, ty) in module.types.iter() {
            if let TypeInner::Struct { members, .. } = &ty.inner {
                global.push(name(&ty.name));
                scopes.push(members.iter().map(|m| name(&m.name)).collect());
            }
        }
        let functions = module.functions.iter().map(|(_, f)| f).chain(module.entry_points.iter().map(|e| &e.function));
        for function in functions {
            let mut scope = global.clone();
            scope.extend(function.arguments.iter().map(|a| name(&a.name)));
            scope.extend(function.local_variables.iter().map(|(_, v)| name(&v.name)));
            let value = |at: &naga::Handle<_>| !matches!(function.expressions[*at], naga::Expression::FunctionArgument(_));
            scope.extend(function.named_expressions.iter().filter(|(at, _)| value(at)).map(|(_, name)| name.clone()));
            scopes.push(scope);
        }
        scopes.push(global);
        scopes
    }

    fn check(source: &str) -> Module {
        let parsed = crate::Module::parse(&crate::Source::wgsl(source)).unwrap_or_else(|e| panic!("{e}"));
        let before = &parsed.parsed.module;
        let mut first = before.clone();
        for family in FAMILIES {
            let reserved = Reserved::of(family);
            let mut module = before.clone();
            make_safe(&mut module, family);
            crate::parse::validator().validate(&module).unwrap_or_else(|e| panic!("{source}: {e:?}"));
            for scope in scopes(&module) {
                let distinct: HashSet<_> = scope.iter().collect();
                assert_eq!(distinct.len(), scope.len(), "{family:?}: {scope:?}");
                for name in &scope {
                    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !name.is_empty();
                    assert!(plain && !reserved.contains(name), "{family:?}: `{name}` in {source}");
                }
            }
            let mut again = before.clone();
            make_safe(&mut again, family);
            assert_eq!(format!("{:?}", again.functions), format!("{:?}", module.functions), "not the same each time");
            if family == Family::Cuda {
                first = module;
            }
        }
        first
    }

    #[test]
    fn kt18_names_of_the_target_are_renamed() {
        let module = check(include_str!("names/kt18.wgsl"));
        let names: Vec<_> = module.functions.iter().filter_map(|(_, f)| f.name.as_deref()).collect();
        assert_eq!(names, ["blockIdx_1", "printf_1"]);
    }

    #[test]
    fn kt18_entry_points_are_renamed_too() {
        for name in ["main", "kernel", "threadIdx", "device", "float4", "new_", "cudaMalloc", "printf"] {
            let module = check(&format!("@compute @workgroup_size(1) fn {name}() {{}}"));
            assert_ne!(module.entry_points[0].name, name);
        }
    }

    #[test]
    fn names_that_are_fine_stay() {
        let source = "
            struct Particle { mass: f32, at: vec3<f32> }
            @group(0) @binding(0) var<storage, read_write> particles: array<Particle>;
            const scale = 2.0;
            fn weigh(p: Particle) -> f32 { var sum = p.mass; let twice = sum * scale; return twice; }
            @compute @workgroup_size(1) fn step_all() { particles[0].mass = weigh(particles[0]); }";
        let parsed = crate::Module::parse(&crate::Source::wgsl(source)).expect("parses");
        let mut module = parsed.parsed.module.clone();
        make_safe(&mut module, Family::Cuda);
        assert_eq!(format!("{:?}", scopes(&module)), format!("{:?}", scopes(&parsed.parsed.module)));
    }

    #[test]
    fn a_renamed_name_takes_none_that_is_in_use() {
        let module = check(
            "var<private> int: u32; var<private> int_1: u32; var<private> int_2: u32; @compute @workgroup_size(1) fn f() { int = int_1 + int_2; }",
        );
        let names: Vec<_> = module.global_variables.iter().filter_map(|(_, v)| v.name.as_deref()).collect();
        assert_eq!(names, ["int_3", "int_1", "int_2"]);
    }

    fn any_name() -> impl Strategy<Value = String> {
        let words: Vec<String> = [CPP, CUDA_HIP, MSL, HLSL].iter().flat_map(|t| t.split_whitespace()).map(String::from).collect();
        prop_oneof![proptest::sample::select(words), "[a-c_]{0,4}", "[a-z][a-z0-9_]{0,6}", ".{0,4}", Just("int_1".to_owned())]
    }

    /// A module that has all these names, in turn for a structure with two members, a variable, and a function with a parameter, a variable and a
    /// value.
    fn with_names(names: &[String]) -> Module {
        let mut module = Module::default();
        let mut names = names.iter().cloned().map(Some).cycle();
        let mut name = || names.next().flatten();
        let word = naga::Type { name: None, inner: TypeInner::Scalar(naga::Scalar::U32) };
        let word = module.types.insert(word, naga::Span::UNDEFINED);
        for _ in 0..6 {
            let member = |name, offset| naga::StructMember { name, ty: word, binding: None, offset };
            let inner = TypeInner::Struct { members: vec![member(name(), 0), member(name(), 4)], span: 8 };
            module.types.insert(naga::Type { name: name(), inner }, naga::Span::UNDEFINED);
            let variable = naga::GlobalVariable {
                name: name(),
                space: naga::AddressSpace::Private,
                binding: None,
                ty: word,
                init: None,
                memory_decorations: naga::MemoryDecorations::empty(),
            };
            module.global_variables.append(variable, naga::Span::UNDEFINED);
            let mut function = Function { name: name(), ..Function::default() };
            function.arguments.push(naga::FunctionArgument { name: name(), ty: word, binding: None });
            function.local_variables.append(naga::LocalVariable { name: name(), ty: word, init: None }, naga::Span::UNDEFINED);
            let value = function.expressions.append(naga::Expression::ZeroValue(word), naga::Span::UNDEFINED);
            function.named_expressions.insert(value, name().unwrap_or_default());
            module.functions.append(function, naga::Span::UNDEFINED);
        }
        module
    }

    proptest! {
        #[test]
        fn kt18_no_name_that_comes_out_is_reserved_and_all_are_apart(names in proptest::collection::vec(any_name(), 1..40)) {
            for family in FAMILIES {
                let reserved = Reserved::of(family);
                let mut module = with_names(&names);
                make_safe(&mut module, family);
                for scope in scopes(&module) {
                    let distinct: HashSet<_> = scope.iter().collect();
                    prop_assert_eq!(distinct.len(), scope.len(), "{:?}", scope);
                    for name in &scope {
                        let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !name.is_empty();
                        prop_assert!(plain && !reserved.contains(name), "{:?}: `{}`", family, name);
                    }
                }
            }
        }
    }

    #[test]
    fn every_reserved_word_can_be_a_name() {
        for family in FAMILIES {
            let tables = match family {
                Family::Cuda => vec![CPP, CUDA_HIP],
                Family::Msl => vec![CPP, MSL],
                Family::Hlsl => vec![HLSL],
            };
            let reserved = Reserved::of(family);
            let mut namer = Namer::new(&reserved, None);
            let own = ["_x", "a__b", "__", "_", "9", "é", "ünï", "", "compute_x", "cudaFoo", "float4x4", "half9", "x_"];
            for word in tables.into_iter().flat_map(str::split_whitespace).chain(own) {
                let name = namer.make(word, "value");
                assert!(namer.is_fine(&name), "{word} became {name}");
            }
        }
    }
}
