//! From a parsed module and values for its override constants to one resolved entry point.

use std::collections::HashMap;
use std::panic::catch_unwind;
use std::sync::Arc;

use naga::back::pipeline_constants::{PipelineConstantError, process_overrides};
use naga::{Expression, Handle, Literal};

use crate::diagnostics::{self, Diagnostics, Finding};
use crate::edits::Edited;
use crate::math::f16_from_f64;
use crate::parse::{self, Origin, Parsed};
use crate::reflection::{Coverage, Number, OverrideInfo, OverrideType, Reflection};
use crate::{Constant, EntryPoint, access, coverage, limits, reflect, scan, uniformity, wgsl};

/// Makes one entry point. Call on a large stack.
pub(crate) fn resolve(parsed: &Parsed, name: Option<&str>, constants: &[Constant]) -> Result<EntryPoint, Diagnostics> {
    let refuse = |finding: Finding| parsed.refuse(vec![finding]);
    let refuse_all = |findings| parsed.refuse(findings);
    let origin = &parsed.origin;
    let name = choose(parsed, name).map_err(refuse)?;
    let values = values(parsed, constants).map_err(refuse_all)?;
    let at = scan::find_entry(parsed.text.as_str(), &name);

    let specialization = values.iter().filter_map(|(key, value)| Some((key.parse().ok()?, *value))).collect();
    let specialized = parse::specialize(parsed, &specialization)?;
    let parsed = specialized.as_ref().unwrap_or(parsed);
    let mut pipeline = naga::back::PipelineConstants::default();
    if !parsed.module.overrides.is_empty() {
        // Others are settled by then.
        let wide = |value: &Number| matches!(value, Number::Int(_) | Number::Uint(_));
        pipeline.extend(values.iter().filter(|(_, value)| !wide(value)).map(|(key, value)| (key.clone(), value.to_f64())));
    }
    let stage = naga::ShaderStage::Compute;
    let settled = wgsl::settled(parsed, &values).map_err(|key| refuse(missing_value(parsed, &key)))?;
    let open = settled.as_ref().unwrap_or(&parsed.module);
    let written = matches!(origin, Origin::Wgsl);
    let first = if written && wgsl::overrides::folds_otherwise(open) { again(parsed, &values, &name) } else { Ok(None) };
    let (text, module) = match first {
        Ok(Some(made)) => made,
        // What has no value may be hidden from this entry point by a local name. If it is this one's, the front end may fail over it.
        Err(no_value) => match catch_unwind(|| process_overrides(open, &parsed.info, Some((stage, &name)), &pipeline).ok()) {
            Ok(Some((module, _))) if is_finite(&module) => (Arc::clone(&parsed.text), module.into_owned()),
            _ => return Err(no_value),
        },
        Ok(None) => match process_overrides(open, &parsed.info, Some((stage, &name)), &pipeline) {
            Ok((module, _)) => (Arc::clone(&parsed.text), module.into_owned()),
            Err(error) => (if written { again(parsed, &values, &name).ok().flatten() } else { None })
                .ok_or_else(|| refuse(missing(parsed, &values).unwrap_or_else(|| override_error(parsed, &error, at.clone()))))?,
        },
    };
    let info = parse::validator().validate_resolved_overrides(&module).map_err(|e| refuse(parse::validation_error(&e)))?;
    let Some(index) = module.entry_points.iter().position(|e| e.name == name) else {
        return Err(diagnostics::internal(format!("entry point `{name}` was lost while its constants were resolved")));
    };
    let mut findings = limits::check(&module, &info);
    let entry = &module.entry_points[index];
    limits::workgroup_size(entry, at, &mut findings);
    if !findings.is_empty() {
        return Err(refuse_all(findings));
    }

    let findings = uniformity::check(&module, index, text.as_str().len());
    if !findings.is_empty() {
        return Err(refuse_all(findings));
    }
    let (reflection, coverage) = describe(parsed, &module, &info, index).map_err(refuse_all)?;
    let hash = digest(origin, text.written(), &name, &values);
    Ok(EntryPoint {
        module,
        info,
        index,
        reflection,
        coverage,
        hash,
        text,
        precise: parsed.precise,
        prints: Arc::clone(&parsed.prints),
        print_prefix: parsed.print_prefix.clone(),
    })
}

/// Another way to resolve, where the front end does not evaluate what the overrides are made of, or not to the bits of run time.
fn again(parsed: &Parsed, values: &Values, name: &str) -> Result<Option<(Arc<Edited>, naga::Module)>, Diagnostics> {
    let module = parsed.wide.as_deref().unwrap_or(&parsed.module);
    let Some((text, module, info)) = wgsl::overrides::with_values(&parsed.text, module, values, name)? else { return Ok(None) };
    let stage = naga::ShaderStage::Compute;
    let made = process_overrides(&module, &info, Some((stage, name)), &naga::back::PipelineConstants::default());
    Ok(made.ok().map(|(module, _)| (Arc::new(text), module.into_owned())))
}

/// Whether all numbers in a module are.
fn is_finite(module: &naga::Module) -> bool {
    let functions = module.functions.iter().map(|(_, f)| f).chain(module.entry_points.iter().map(|e| &e.function));
    let mut expressions = functions.map(|f| &f.expressions).chain([&module.global_expressions]).flat_map(naga::Arena::iter);
    expressions.all(|(_, expression)| match expression {
        Expression::Literal(Literal::F16(x)) => x.is_finite(),
        Expression::Literal(Literal::F32(x)) => x.is_finite(),
        Expression::Literal(Literal::F64(x)) => x.is_finite(),
        _ => true,
    })
}

fn choose(parsed: &Parsed, name: Option<&str>) -> Result<String, Finding> {
    let names: Vec<&str> = parsed.module.entry_points.iter().map(|e| e.name.as_str()).collect();
    let list = || names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
    match (name, names.as_slice()) {
        (_, []) => Err(Finding::new("the source has no entry point; mark a function with `@compute @workgroup_size(...)`", None)),
        (None, [only]) => Ok((*only).to_owned()),
        (None, _) => Err(Finding::new(format!("the source has several entry points, say which: {}", list()), None)),
        (Some(name), names) if names.contains(&name) => Ok(name.to_owned()),
        (Some(name), _) => Err(Finding::new(format!("there is no entry point `{name}`; there is {}", list()), None)),
    }
}

/// Values by the key that the front end uses: the id where there is one, else the name. Sorted by key. Each is a value of its constant's type; only those
/// of 64-bit integers are other than floats.
pub(crate) type Values = Vec<(String, Number)>;

fn values(parsed: &Parsed, constants: &[Constant]) -> Result<Values, Vec<Finding>> {
    let mut findings = Vec::new();
    let mut values: HashMap<String, Number> = HashMap::new();
    for constant in constants {
        match value(parsed, constant) {
            Ok((key, value)) => {
                if values.insert(key, value).is_some() {
                    findings.push(Finding::new(format!("the override constant `{}` is given twice", constant.key), None));
                }
            }
            Err(finding) => findings.push(finding),
        }
    }
    if !findings.is_empty() {
        return Err(findings);
    }
    let mut values: Values = values.into_iter().collect();
    values.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(values)
}

fn value(parsed: &Parsed, constant: &Constant) -> Result<(String, Number), Finding> {
    let key = constant.key.as_str();
    let id = key.parse::<u16>().ok();
    let Some(found) = parsed.overrides.iter().find(|o| o.name == key || (o.id.is_some() && o.id == id)) else {
        let names: Vec<String> = parsed.overrides.iter().map(|o| format!("`{}`", shown(o))).collect();
        let there = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        return Err(Finding::new(format!("there is no override constant `{key}`; there is {there}"), None));
    };
    let overrides = &parsed.module.overrides;
    let declared = overrides.iter().find(|(_, o)| o.id == found.id && o.name.as_deref().unwrap_or_default() == found.name);
    let at = declared.map_or(naga::Span::UNDEFINED, |(handle, _)| overrides.get_span(handle));
    let ty = found.ty;
    let value = constant.value;
    let wanted = match ty {
        OverrideType::Bool => "bool (0 or 1)",
        OverrideType::I16 => "i16",
        OverrideType::U16 => "u16",
        OverrideType::I32 => "i32",
        OverrideType::U32 => "u32",
        OverrideType::I64 => "i64",
        OverrideType::U64 => "u64",
        OverrideType::F16 => "f16",
        OverrideType::F32 => "f32",
        OverrideType::F64 => "f64",
    };
    let exact = match ty {
        // The front end rounds once more, which must find nothing to do: by way of an f32 on most machines.
        OverrideType::F16 => value.literal(ty).map(|_| Number::Float(f16_from_f64(value.to_f64()).into())),
        // One that is rounded here would be rounded again.
        OverrideType::F32 | OverrideType::F64 => value.literal(ty).map(|_| Number::Float(value.to_f64())),
        _ => value.literal(ty).and_then(Number::of),
    };
    let Some(exact) = exact else {
        return Err(Finding::span(format!("{value} is not a value of the override constant `{key}`, which is {wanted}"), at));
    };
    let canonical = found.id.map_or_else(|| found.name.clone(), |id| id.to_string());
    Ok((canonical, exact))
}

/// What a reader knows a constant by.
fn shown(constant: &OverrideInfo) -> String {
    match constant.id {
        Some(id) if constant.name.is_empty() => id.to_string(),
        _ => constant.name.clone(),
    }
}

fn override_error(parsed: &Parsed, error: &PipelineConstantError, at: Option<std::ops::Range<usize>>) -> Finding {
    match error {
        PipelineConstantError::MissingValue(key) => missing_value(parsed, key),
        PipelineConstantError::ValidationError(error) => parse::validation_error(error),
        PipelineConstantError::NegativeWorkgroupSize => Finding::new("the workgroup size must be at least 1 on every axis", at),
        other => Finding::new(format!("the override constants cannot be resolved: {other}"), at),
    }
}

fn missing_value(parsed: &Parsed, key: &str) -> Finding {
    let id = key.parse::<u16>().ok();
    let missing =
        parsed.module.overrides.iter().find(|(_, o)| if o.id.is_some() { o.id == id } else { o.name.as_deref() == Some(key) });
    let name = missing.and_then(|(_, o)| o.name.clone()).unwrap_or_else(|| key.to_owned());
    let span = missing.and_then(|(handle, _): (Handle<_>, _)| parsed.module.overrides.get_span(handle).to_range());
    Finding::new(format!("the override constant `{name}` has no default: give it a value"), span)
}

/// The first override constant that has neither a default nor a value.
fn missing(parsed: &Parsed, values: &Values) -> Option<Finding> {
    let key = |o: &naga::Override| o.id.map(|id| id.to_string()).or_else(|| o.name.clone()).unwrap_or_default();
    let open = |o: &&naga::Override| o.init.is_none() && !values.iter().any(|(k, _)| *k == key(o));
    let found = parsed.module.overrides.iter().map(|(_, o)| o).find(open)?;
    Some(missing_value(parsed, &key(found)))
}

fn describe(
    parsed: &Parsed,
    module: &naga::Module,
    info: &naga::valid::ModuleInfo,
    index: usize,
) -> Result<(Reflection, Coverage), Vec<Finding>> {
    let layout = reflect::Layout::of(module).map_err(|f| vec![f])?;
    let entry = &module.entry_points[index];
    let uses = access::analyse(module, info, index);
    let mut found: Vec<_> = reflect::bindings(&layout, &uses)?.into_iter().map(|(info, handle)| (info, Some(handle))).collect();
    // Resolving drops what the entry point does not mention. The layout of a launch is the module's, so it comes back as unused.
    let whole = reflect::Layout::of(&parsed.module).map_err(|f| vec![f])?;
    for info in reflect::declared(&whole) {
        if !found.iter().any(|(b, _)| (b.group, b.slot) == (info.group, info.slot)) {
            found.push((info, None));
        }
    }
    found.sort_by_key(|(b, _)| (b.group, b.slot));
    let (bindings, handles): (Vec<_>, Vec<_>) = found.into_iter().unzip();
    let coverage = coverage::analyse(module, &layout, index, &handles);
    let reflection = Reflection {
        entry: entry.name.clone(),
        workgroup_size: entry.workgroup_size,
        bindings,
        immediate_size: layout.immediate_size(&uses),
        workgroup_memory: layout.workgroup_memory(&uses),
        overrides: parsed.overrides.clone(),
    };
    Ok((reflection, coverage))
}

/// Everything that determines the meaning, each part with its length before it.
fn digest(origin: &Origin, source: &str, entry: &str, values: &Values) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    let mut part = |bytes: &[u8]| {
        hasher.update(&(bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    part(concat!("compute-kernel ", env!("CARGO_PKG_VERSION")).as_bytes());
    match origin {
        Origin::Wgsl => part(b"wgsl"),
        Origin::Glsl(read) => {
            part(b"glsl");
            read.parts(&mut part);
        }
        Origin::Spirv(words) => {
            part(b"spirv");
            part(words.bytes());
        }
    }
    part(source.as_bytes());
    part(entry.as_bytes());
    for (key, value) in values {
        part(key.as_bytes());
        part(
            &match value {
                Number::Float(value) => value.to_bits(),
                Number::Int(value) => value.cast_unsigned(),
                Number::Uint(value) => *value,
            }
            .to_le_bytes(),
        );
    }
    *hasher.finalize().as_bytes()
}
