//! Native kernels: a source compiled as it is, loaded, and compared with what is declared of it, as far as the driver tells.
//!
//! What the code does with its arguments nobody can see; that its caller vouches for. Which source is taken has been decided before (`source`).

use std::borrow::Cow;
use std::ffi::CString;
use std::sync::Arc;

use compute_hal::kernel::cxx::{Field, Parameter, Parameters};
use compute_hal::kernel::lower::Reports;
use compute_hal::kernel::reflection::Location;
use compute_hal::{DeviceError, Fit, NativeHeader, NativeInterface, NativeParameter, NativeSource};

use crate::api::{Inside, Object};
use crate::artifact;
use crate::device::Shared;
use crate::driver::{Places, Status};
use crate::kernel::{Compiler, Input, Kernel, Loading, Refused, broken_compiler, compile_text, refused};
use crate::source;

/// Bytes of arguments that every driver takes.
const MOST_ARGUMENTS: u32 = 4096;
/// What a compiler's messages call a source.
const PROGRAM: &str = "kernel";
/// What both vendors' drivers answer about a parameter that a kernel does not have.
const INVALID_VALUE: Status = 1;

impl Compiler<'_> {
    /// Makes a kernel of a native source. What has to be done on the device is done inside `enter`.
    pub(crate) fn compile_native<'c>(
        &self,
        source: &NativeSource,
        interface: &NativeInterface,
        enter: impl FnOnce() -> Result<Inside<'c>, DeviceError>,
    ) -> Result<Kernel, DeviceError> {
        // A driver reads machine code without knowing where it ends, so it has to be whole, whoever chose it.
        source::fit(self.api, self.target, source, interface).map_err(|why| refused(why, true))?;
        let block = self.block(interface)?;
        let code = self.native_code(source)?;
        let made_here = self.artifacts && source.is_closed() && source.language == self.api.vendor.forms.text;
        let artifact = made_here.then(|| Ok(artifact::seal(&self.native_digest(source)?, &code))).transpose()?;
        Ok(self.load_native(source, interface, block, &code, enter)?.keeping(artifact))
    }

    /// As [`Self::compile_native`] of a text, from what [`Kernel::take_artifact`] gave for it.
    pub(crate) fn restore_native<'c>(
        &self,
        source: &NativeSource,
        interface: &NativeInterface,
        bytes: &[u8],
        enter: impl FnOnce() -> Result<Inside<'c>, DeviceError>,
    ) -> Result<Kernel, DeviceError> {
        let code = artifact::open(&self.native_digest(source)?, bytes)?;
        self.load_native(source, interface, self.block(interface)?, code, enter)
    }

    fn block(&self, interface: &NativeInterface) -> Result<Block, DeviceError> {
        block(interface, self.api.vendor.flags.block_alignment)
    }

    fn native_digest(&self, source: &NativeSource) -> Result<artifact::Digest, DeviceError> {
        Ok(artifact::digest(&source.code, &self.native_options(source)?, &source.headers))
    }

    fn native_options(&self, source: &NativeSource) -> Result<Vec<String>, DeviceError> {
        let mut options = self.options_for(source::compiled_for(self.target, source))?;
        options.extend(source.options.iter().cloned());
        Ok(options)
    }

    fn load_native<'c>(
        &self,
        source: &NativeSource,
        interface: &NativeInterface,
        block: Block,
        code: &[u8],
        enter: impl FnOnce() -> Result<Inside<'c>, DeviceError>,
    ) -> Result<Kernel, DeviceError> {
        let calls = enter()?;
        let Block { parameters, places } = block;
        let loading = Loading {
            entry: &source.entry,
            name: &source.entry,
            parameters,
            places,
            workgroup_size: interface.workgroup_size,
            shared: interface.workgroup_memory,
            cancellable: false,
            reports: Arc::new(Reports::default()),
        };
        let check = |function| {
            check(&calls, function, interface, self)?;
            check_parameters(self.device, &calls, function, code, (&source.entry, interface))
        };
        self.load(&calls, code, loading, check).map_err(|error| match error {
            DeviceError::Driver { call, code, name, message } if self.api.vendor.errors.is_image(code) => {
                let (what, target) = (source.language.name(), self.target);
                refused(
                    format!("the driver did not take the {what} for {target}: {call} answered {name} ({code}): {message}"),
                    true,
                )
            }
            other => other,
        })
    }

    /// What the driver loads.
    fn native_code<'s>(&self, source: &'s NativeSource) -> Result<Cow<'s, [u8]>, DeviceError> {
        let forms = &self.api.vendor.forms;
        if Some(source.language) == forms.assembly {
            // It is text for the driver, which looks for a zero at its end.
            return Ok(Cow::Owned([&source.code[..], &[0]].concat()));
        }
        if source.language != forms.text {
            let image = source::image(forms, source, self.target).map_err(|why| refused(why, true))?;
            // A part of a bundle begins anywhere; a driver may want numbers where they belong.
            let is_all = image.len() == source.code.len();
            return Ok(if is_all { Cow::Borrowed(image) } else { Cow::Owned(image.to_vec()) });
        }
        let options = self.native_options(source)?;
        let compiler = self.api.compiler.as_ref().map_err(|tried| refused(format!("no runtime compiler: {tried}"), false))?;
        // Never the label: what is compiled is found again by its content, of which the label is no part.
        let input = Input { source: &source.code, name: PROGRAM, headers: &source.headers, options: &options };
        compile_text(&compiler.calls, &input).map(Cow::Owned).map_err(|why| self.explain_native(why, source))
    }

    fn explain_native(&self, why: Refused, source: &NativeSource) -> DeviceError {
        let (what, target) = (source.language.name(), self.target);
        match why {
            Refused::Text(log) => DeviceError::Compile {
                location: location(&log, PROGRAM),
                log: format!("{what} for {target}:\n{log}{}", hint(&log, &source.headers)),
                refusal: true,
            },
            Refused::Call(failure, log) => broken_compiler(&failure, &log, &format!("for {target}")),
        }
    }
}

/// The block of arguments, and where each of them lies if they are passed one by one.
struct Block {
    parameters: Parameters,
    places: Option<Box<[u32]>>,
}

/// Lays the block of arguments out. `aligned`: what the one that the code sees is a multiple of.
fn block(interface: &NativeInterface, aligned: u32) -> Result<Block, DeviceError> {
    let (offsets, size) = interface.layout(MOST_ARGUMENTS).ok_or_else(|| {
        refused(format!("the arguments take more than {MOST_ARGUMENTS} bytes, the most that a launch can pass"), true)
    })?;
    let field = |(binding, (parameter, offset)): (usize, (&NativeParameter, u32))| {
        let parameter = match *parameter {
            // The block is zeros before it is filled.
            NativeParameter::Null => return None,
            NativeParameter::Address => Parameter::Address { binding },
            NativeParameter::Value { size, .. } => Parameter::Value { binding, size },
            NativeParameter::TensorMap => Parameter::TensorMap { binding },
        };
        Some(Field { offset, parameter })
    };
    let one_by_one = interface.alignment() > aligned;
    let places = one_by_one.then(|| offsets.clone().into_boxed_slice());
    let fields = interface.parameters.iter().zip(offsets).enumerate().filter_map(field).collect();
    Ok(Block { parameters: Parameters { fields, size }, places })
}

/// Compares a loaded function with its declaration.
fn check(calls: &Inside<'_>, function: Object, interface: &NativeInterface, compiler: &Compiler<'_>) -> Result<(), DeviceError> {
    let ask = |attribute| {
        let mut value = 0;
        // SAFETY: the place is ours, the function is of a loaded module.
        unsafe { calls.function_attribute(&mut value, attribute, function.0) }.ok()?;
        u64::try_from(value).ok()
    };
    let attributes = &calls.api.vendor.attributes;
    let asked: u64 = interface.workgroup_size.iter().map(|&axis| u64::from(axis)).product();
    if let Some(most) = ask(attributes.function_invocations).filter(|&most| most > 0 && most < asked) {
        let why = format!(
            "its workgroup is declared as {asked} invocations; this code runs with at most {most} on {}",
            compiler.target
        );
        return Err(refused(why, true));
    }
    let fixed = ask(attributes.function_memory).unwrap_or(0);
    let (dynamic, most) = (u64::from(interface.workgroup_memory), compiler.workgroup_memory);
    if fixed.saturating_add(dynamic) > most {
        return Err(refused(
            format!(
                "it needs {fixed} bytes of workgroup memory and {dynamic} are declared for launches; {} allows {most}",
                compiler.target
            ),
            true,
        ));
    }
    Ok(())
}

/// DL-08: count, places and sizes of the parameters, as the driver tells them (CUDA 12.4 and later), else as the code does. Where neither does, there is nothing to
/// compare.
fn check_parameters(
    device: &Shared,
    calls: &Inside<'_>,
    function: Object,
    code: &[u8],
    (entry, interface): (&str, &NativeInterface),
) -> Result<(), DeviceError> {
    let told = match ask_parameters(device, calls, function, interface.parameters.len())? {
        Some(told) => Some(told),
        None => (calls.api.vendor.forms.parameters)(code, entry),
    };
    told.map_or(Ok(()), |told| compare(&told, interface).map_err(|why| refused(why, true)))
}

/// The parameters, or one more than there are declared; `None`: the driver does not tell.
fn ask_parameters(device: &Shared, calls: &Inside<'_>, function: Object, declared: usize) -> Result<Option<Places>, DeviceError> {
    let mut found = Vec::new();
    for index in 0..=declared {
        let (mut offset, mut size) = (0_usize, 0_usize);
        // SAFETY: the places are ours, the function is of a loaded module.
        match unsafe { calls.function_parameter(function.0, index, &mut offset, &mut size) } {
            Ok(()) => found.push([offset, size].map(|number| u32::try_from(number).unwrap_or(u32::MAX))),
            Err(failure) if failure.is_absent() => return Ok(None),
            Err(failure) if failure.code == INVALID_VALUE => break,
            Err(failure) => return Err(device.fail(failure)),
        }
    }
    Ok(Some(found))
}

fn compare(code: &[[u32; 2]], interface: &NativeInterface) -> Result<(), String> {
    let count = interface.parameters.len();
    // The code counts from where its block begins, which need not be a multiple of every alignment.
    let right = |places: &Vec<u32>| code.iter().zip(places).all(|([offset, _], place)| offset == place);
    let layout = |base| interface.layout_from(base, MOST_ARGUMENTS).map(|(places, _)| places);
    let Some(places) = (0..16).filter_map(|n| layout(16 * n)).find(right).or_else(|| layout(0)) else { return Ok(()) };
    for (index, (parameter, place)) in interface.parameters.iter().zip(places).enumerate() {
        let (declared, _) = parameter.layout();
        match code.get(index) {
            None => return Err(format!("parameter {index} is declared, but the code has {index} parameters, not {count}")),
            Some([_, size]) if *size != declared => {
                return Err(format!("parameter {index} is declared with {declared} bytes; in the code it has {size}"));
            }
            Some([offset, _]) if *offset != place => {
                return Err(format!(
                    "parameter {index} lies at byte {offset} of the code's arguments; as declared it would be at {place}: an alignment is not right"
                ));
            }
            Some(_) => {}
        }
    }
    match code.get(count) {
        Some([_, size]) => Err(format!("{count} parameters are declared; the code has more: parameter {count} of {size} bytes")),
        None => Ok(()),
    }
}

/// What to do about a header that was not found.
fn hint(log: &str, headers: &[NativeHeader]) -> String {
    if !["could not open source file", "cannot open source file", "file not found"].iter().any(|words| log.contains(words)) {
        return String::new();
    }
    let given = match headers {
        [] => "none is given".to_owned(),
        some => format!(
            "given are {}",
            some.iter().take(16).map(|header| format!("`{}`", header.name)).collect::<Vec<_>>().join(", ")
        ),
    };
    format!(
        "\nThe compiler sees no files but those among the source's headers ({given}) and in folders that an option names: give the file's text, or an option \
         like --include-path=/usr/local/cuda/include (CUDA) or -I/opt/rocm/include (HIP)."
    )
}

/// The line of the first error: `name(3): error` as NVRTC writes it, `name:3:5: error` as clang does.
fn location(log: &str, name: &str) -> Option<Location> {
    let line = log.lines().find(|line| line.contains("error"))?;
    let place = line.strip_prefix(name)?;
    let number = |text: &str| text.parse::<u32>().ok();
    if let Some(rest) = place.strip_prefix('(') {
        return Some(Location { line: number(rest.split_once(')')?.0)?, column: 0 });
    }
    let mut parts = place.strip_prefix(':')?.split(':');
    let line = number(parts.next()?)?;
    Some(Location { line, column: parts.next().and_then(number).unwrap_or(0) })
}

/// How well a source suits the device.
pub(crate) fn fit(compiler: &Compiler<'_>, source: &NativeSource, interface: &NativeInterface) -> Result<Fit, String> {
    if [&source.entry].into_iter().chain(&source.options).any(|text| CString::new(text.as_str()).is_err()) {
        return Err("a zero byte in a name or an option".into());
    }
    source::fit(compiler.api, compiler.target, source, interface)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pkg_03_a_missing_header_says_how_to_give_it() {
        let log = "k(1): catastrophic error: could not open source file \"cuda_fp16.h\" (no directories in search list)";
        assert!(hint(log, &[]).contains("none is given") && hint(log, &[]).contains("--include-path="));
        let header = NativeHeader { name: "mine.h".into(), text: String::new() };
        assert!(hint("k.hip:1:10: fatal error: 'hip.h' file not found", &[header]).contains("`mine.h`"));
        assert_eq!(hint("k(1): error: expected a \";\"", &[]), "");
    }

    #[test]
    fn places_of_errors_are_found_in_both_compilers_words() {
        assert_eq!(location("k(3): error: identifier \"x\" is undefined", "k"), Some(Location { line: 3, column: 0 }));
        assert_eq!(location("In file:\nk:12:7: error: no", "k"), Some(Location { line: 12, column: 7 }));
        assert_eq!((location("other.h(3): error: x", "k"), location("all is well", "k"), location("", "k")), (None, None, None));
    }

    #[test]
    fn dl_08_parameters_are_compared_by_count_size_and_place() {
        let value = |size| NativeParameter::Value { size, alignment: size };
        let parameters = vec![NativeParameter::Address, value(4), value(1)];
        let interface = NativeInterface { parameters, workgroup_size: [1; 3], workgroup_memory: 0 };
        assert_eq!(compare(&[[0, 8], [8, 4], [12, 1]], &interface), Ok(()));
        let wrong: [(&[[u32; 2]], &str); 4] = [
            (&[[0, 8], [8, 4]], "parameter 2 is declared, but the code has 2"),
            (&[[0, 8], [8, 8], [16, 1]], "parameter 1 is declared with 4 bytes; in the code it has 8"),
            (&[[0, 8], [8, 4], [16, 1]], "parameter 2 lies at byte 16"),
            (&[[0, 8], [8, 4], [12, 1], [16, 8]], "the code has more: parameter 3 of 8 bytes"),
        ];
        for (code, words) in wrong {
            let why = compare(code, &interface).unwrap_err();
            assert!(why.contains(words), "{why}");
        }
    }

    #[test]
    fn l13_what_is_aligned_to_more_than_the_block_is_passed_one_by_one_and_found_wherever_the_block_begins() {
        let wide = NativeParameter::Value { size: 64, alignment: 32 };
        for (parameter, size, alignment) in [(NativeParameter::TensorMap, 128, 64), (wide, 64, 32)] {
            let parameters = vec![parameter, NativeParameter::Address];
            let interface = NativeInterface { parameters, workgroup_size: [1; 3], workgroup_memory: 0 };
            let made = block(&interface, 16).map(|made| made.places);
            assert_eq!(made.ok(), Some(Some([0, size].into())));
            assert_eq!(block(&interface, 64).map(|made| made.places).ok(), Some(None));
            // As they begin at 0x160, 0x210 and 0x380.
            for begins in [0x160_u32, 0x210, 0x380] {
                let first = begins.next_multiple_of(alignment) - begins;
                assert_eq!(compare(&[[first, size], [first + size, 8]], &interface), Ok(()), "{begins:x}");
            }
            assert!(compare(&[[8, size], [8 + size, 8]], &interface).unwrap_err().contains("an alignment is not right"));
            assert!(compare(&[[48, size], [56 + size, 8]], &interface).unwrap_err().contains("an alignment is not right"));
        }
    }

    #[test]
    fn l4_a_block_of_arguments_is_laid_out_and_bounded() {
        let value = |size, alignment| NativeParameter::Value { size, alignment };
        let interface = |parameters: &[NativeParameter]| NativeInterface {
            parameters: parameters.to_vec(),
            workgroup_size: [1; 3],
            workgroup_memory: 0,
        };
        let made = block(&interface(&[value(1, 1), NativeParameter::Null, NativeParameter::Address]), 16)
            .map(|made| (made.parameters.fields.len(), made.parameters.size, made.places));
        assert_eq!(made.ok(), Some((2, 24, None)));
        let why = block(&interface(&[value(4096, 1), value(1, 1)]), 16).err().map(|error| error.to_string());
        assert!(why.is_some_and(|why| why.contains("4096")));
    }
}
