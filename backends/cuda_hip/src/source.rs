//! Native sources: whether one suits a device, from a look at it (L11). Nothing is compiled or loaded here, and nothing a source says of itself is believed
//! further than that: the driver has the last word when the code is loaded.

use compute_hal::{Fit, NativeInterface, NativeSource};

use crate::api::Api;
use crate::driver::Forms;
use crate::elf::{Elf, at};
use crate::fat::{self, Part};
use crate::tensor_map;

/// Bytes of PTX in which its version and target are looked for: they come first, behind comments.
const HEAD: usize = 64 << 10;

/// Files with code for several architectures, by how they begin: CUDA's, and clang's for HIP.
const CUDA_BUNDLE: [u8; 4] = 0xba55_ed50_u32.to_le_bytes();
const CLANG_BUNDLE: &[u8] = b"__CLANG_OFFLOAD_BUNDLE__";
/// What clang's begin with when they are compressed.
const COMPRESSED_BUNDLE: &[u8] = b"CCOB";
/// Machines, as ELF files number them.
const EM_CUDA: u16 = 190;
const EM_AMDGPU: u16 = 224;

/// `gfx90a` of `gfx90a:sramecc+:xnack-`.
fn plain(target: &str) -> &str {
    target.split(':').next().unwrap_or(target)
}

/// Options by which compilers are told what to make code for. It is for the device to say: of an architecture that it does not know, the compiler inside AMD's library ends the
/// process.
const ARCHITECTURE: [&str; 5] = ["--offload-arch", "--cuda-gpu-arch", "-mcpu", "--gpu-architecture", "-arch"];

/// Refuses a text whose options name an architecture, also as a word of a longer option: hiprtc takes options apart at blanks.
fn check_options(source: &NativeSource) -> Result<(), String> {
    let names = |word: &&str| {
        ARCHITECTURE.iter().any(|name| word.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('=')))
    };
    match source.options.iter().flat_map(|option| option.split_whitespace()).find(names) {
        Some(word) => Err(format!(
            "the option `{word}` names an architecture, and code is made for the device that is there: a source's `target` keeps it to one (`sm_90a` also has it compiled for that)"
        )),
        None => Ok(()),
    }
}

/// What a text is compiled for: the device, or what the source is kept to, if that is the device's generation alone.
pub(crate) fn compiled_for<'a>(target: &'a str, source: &'a NativeSource) -> &'a str {
    if source.target.is_empty() || plain(&source.target) == plain(target) { target } else { &source.target }
}

/// How well a source suits a device, or why not.
pub(crate) fn fit(api: &Api, target: &str, source: &NativeSource, interface: &NativeInterface) -> Result<Fit, String> {
    let forms = &api.vendor.forms;
    let what = source.language.name();
    meant(forms, target, source)?;
    if let Some(why) = interface.has_tensor_maps().then(|| tensor_map::refusal(api, target)).flatten() {
        return Err(format!("{what} with a tensor map: {why}"));
    }
    if source.language == forms.text {
        let named = !source.target.is_empty();
        check_options(source).map_err(|why| format!("{what}: {why}"))?;
        return match &api.compiler {
            Err(tried) => Err(format!("{what} needs a runtime compiler: {tried}")),
            // The compiler is not asked for an architecture that it is known not to make code for.
            Ok(_) => api
                .compile_options(compiled_for(target, source))
                .map(|_| Fit::Text { named })
                .map_err(|why| format!("{what} is not compiled for this device: {why}")),
        };
    }
    if Some(source.language) == forms.assembly {
        let mut driver = 0;
        // SAFETY: the place is ours.
        let _ = unsafe { api.calls.driver_version(&mut driver) };
        return assembly(forms, (driver, &(api.vendor.version)(driver)), target, source);
    }
    if source.language == forms.code {
        return code(forms, target, source).map_err(|why| format!("{what}: {why}"));
    }
    let name = api.vendor.name;
    Err(format!("{what} is not for the {name} device"))
}

/// Whether a source that its caller keeps to one architecture is for this one: by its name, or by one of its generation alone (`sm_90a`).
fn meant(forms: &Forms, target: &str, source: &NativeSource) -> Result<(), String> {
    let own = &source.target;
    let alone = || (forms.generation)(own) == (forms.generation)(target) && (forms.runs)(own, target);
    if own.is_empty() || plain(own) == plain(target) || alone() {
        return Ok(());
    }
    Err(format!("{} for {}; the device is {target}", source.language.name(), source.target))
}

fn assembly(forms: &Forms, (driver, named): (i32, &str), target: &str, source: &NativeSource) -> Result<Fit, String> {
    let head = read_head(&source.code).ok_or("PTX: it does not begin with .version and .target")?;
    let [major, minor] = head.version;
    if let Some(newest) = (forms.newest)(driver).filter(|newest| head.version > *newest) {
        return Err(format!(
            "PTX of version {major}.{minor}; the driver is CUDA {named} and takes up to {}.{}: a later driver is needed, or PTX made for {}.{}",
            newest[0], newest[1], newest[0], newest[1]
        ));
    }
    let (made, there) = ((forms.generation)(&head.target), (forms.generation)(target));
    let suits = match head.target.as_bytes().last() {
        Some(b'a') => made == there,
        Some(b'f') => made / 10 == there / 10 && made <= there,
        _ => made <= there,
    };
    if !suits {
        return Err(format!("PTX for {}; the device is {target}", head.target));
    }
    Ok(Fit::Abstract(made))
}

fn code(forms: &Forms, target: &str, source: &NativeSource) -> Result<Fit, String> {
    let bytes = &source.code;
    if let Some(bundle) = Bundle::of(bytes).filter(|bundle| bundle.machine() == forms.machine) {
        return bundle.fit(forms, bytes, target);
    }
    if bytes.starts_with(COMPRESSED_BUNDLE) {
        return Err("a compressed bundle, which is not taken: have clang leave it as it is (--no-offload-compress)".into());
    }
    let elf = Elf::read(bytes)?;
    if elf.machine != forms.machine {
        return Err(format!("an ELF file for machine {}, which is not {}", elf.machine, forms.machine));
    }
    match (forms.architecture)(elf.flags, elf.version) {
        Some(made) if (forms.runs)(&made, target) => Ok(Fit::Machine((forms.generation)(&made))),
        Some(made) => Err(format!("made for {made}; the device is {target}")),
        // Later than this version of ours: the driver knows.
        None => Ok(Fit::Bundle),
    }
}

/// A file with code for several architectures.
enum Bundle {
    Cuda,
    Clang,
}

impl Bundle {
    fn of(bytes: &[u8]) -> Option<Self> {
        let clang = || bytes.starts_with(CLANG_BUNDLE).then_some(Self::Clang);
        if bytes.starts_with(&CUDA_BUNDLE) { Some(Self::Cuda) } else { clang() }
    }

    /// The machine of the ELF files in it.
    fn machine(&self) -> u16 {
        match self {
            Self::Cuda => EM_CUDA,
            Self::Clang => EM_AMDGPU,
        }
    }

    /// Whether all is there that it says that it has, as a driver is not told where it ends, and code for the device where its names tell.
    fn fit(&self, forms: &Forms, bytes: &[u8], target: &str) -> Result<Fit, String> {
        let cut = || "a fat binary that is cut short, or whose parts are not what it says".to_owned();
        match self {
            Self::Cuda => {
                let parts = fat::parts(bytes, forms).ok_or_else(cut)?;
                let suits = |part: &Part| match part.kind {
                    fat::Kind::Machine => (forms.runs)(&part.name, target),
                    fat::Kind::Assembly => (forms.generation)(&part.name) <= (forms.generation)(target),
                    fat::Kind::Other => true,
                };
                if parts.iter().any(suits) {
                    return Ok(Fit::Bundle);
                }
                let names: Vec<String> = parts.iter().map(Part::told).collect();
                let holds = if names.is_empty() { "nothing".to_owned() } else { names.join(", ") };
                Err(format!("a fat binary that holds {holds}; this device is {target}"))
            }
            Self::Clang => clang_image(forms, bytes, target).map(|_| Fit::Bundle),
        }
    }
}

/// What a driver is given of a file with machine code, which suits the device: of a bundle of clang's the one part, so that the driver need not look for it; CUDA's own
/// driver alone knows what is compressed in a fat binary.
pub(crate) fn image<'a>(forms: &Forms, source: &'a NativeSource, target: &str) -> Result<&'a [u8], String> {
    match Bundle::of(&source.code) {
        Some(bundle @ Bundle::Clang) if bundle.machine() == forms.machine => clang_image(forms, &source.code, target),
        _ => Ok(&source.code),
    }
}

/// A part of a bundle of clang's.
struct Entry<'a> {
    name: String,
    code: &'a [u8],
}

impl Entry<'_> {
    /// What it is for: `gfx90a:xnack-` of `hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-`. The host's part, which is empty, is for none.
    fn target(&self) -> Option<&str> {
        self.name.get(self.name.rfind("-gfx")? + 1..)
    }
}

/// How exactly code is for a device: for it alone rather than for it and its kin, and how many of its features it insists on; `None`: it is for another architecture, or for a
/// feature as it is not here.
fn exactness(forms: &Forms, code: &str, device: &str) -> Option<(u32, usize)> {
    let features = |target: &'_ str| target.split(':').skip(1).map(str::to_owned).collect::<Vec<_>>();
    let name = |feature: &str| feature.trim_end_matches(['+', '-']).to_owned();
    let (asked, there) = (features(code), features(device));
    let refused = asked.iter().any(|asked| there.iter().any(|own| own != asked && name(own) == name(asked)));
    let processor = plain(code);
    ((forms.runs)(processor, device) && !refused).then_some(((forms.generation)(processor), asked.len()))
}

/// The code for a device in a bundle of clang's: the part that is most exactly for it, which has to be what its name says.
fn clang_image<'a>(forms: &Forms, bytes: &'a [u8], target: &str) -> Result<&'a [u8], String> {
    let entries = clang_entries(bytes).ok_or("a bundle that is cut short")?;
    let suiting = entries.iter().filter_map(|entry| Some((exactness(forms, entry.target()?, target)?, entry)));
    let Some((_, Entry { name, code })) = suiting.max_by_key(|(exactness, _)| *exactness) else {
        let names: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
        return Err(format!("a bundle for {}; the device is {target}", names.join(", ")));
    };
    let elf = Elf::read(code).map_err(|why| format!("a bundle whose part `{name}` is no machine code: {why}"))?;
    if elf.machine != forms.machine {
        return Err(format!("a bundle whose part `{name}` is for machine {}, which is not {}", elf.machine, forms.machine));
    }
    match (forms.architecture)(elf.flags, elf.version) {
        Some(made) if !(forms.runs)(&made, target) => {
            Err(format!("a bundle whose part `{name}` is made for {made}; the device is {target}"))
        }
        _ => Ok(code),
    }
}

/// What is in a bundle of clang's, if all of it is there.
fn clang_entries(bytes: &[u8]) -> Option<Vec<Entry<'_>>> {
    let u64_at = |start| at(bytes, start).map(u64::from_le_bytes);
    let start = CLANG_BUNDLE.len() as u64;
    let (mut place, count) = (start + 8, u64_at(start)?);
    if count > fat::MOST_PARTS as u64 {
        return None;
    }
    let (mut entries, mut taken) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let (from, size, length) = (u64_at(place)?, u64_at(place + 8)?, u64_at(place + 16)?);
        let name = place + 24;
        place = name.checked_add(length)?;
        let code = bytes.get(usize::try_from(from).ok()?..usize::try_from(from.checked_add(size)?).ok()?)?;
        let text = bytes.get(usize::try_from(name).ok()?..usize::try_from(place).ok()?)?;
        if size > 0 {
            taken.push((from, from + size));
        }
        entries.push(Entry { name: String::from_utf8_lossy(text).into_owned(), code });
    }
    taken.sort_unstable();
    let apart = taken.windows(2).all(|pair| matches!(pair, [(_, end), (next, _)] if end <= next));
    apart.then_some(entries)
}

/// What PTX begins with.
#[derive(Debug, PartialEq)]
struct Head {
    version: [u32; 2],
    target: String,
}

fn read_head(code: &[u8]) -> Option<Head> {
    let text = String::from_utf8_lossy(code.get(..code.len().min(HEAD))?);
    let mut words = Words(&text);
    let (mut version, mut target) = (None, None);
    while let Some(word) = words.next() {
        match word {
            ".version" => {
                let (major, minor) = words.next()?.split_once('.')?;
                version = Some([major.parse().ok()?, minor.parse().ok()?]);
            }
            // A list: the architecture, then what else it needs.
            ".target" => target = Some(words.next()?.split(',').next()?.to_owned()),
            _ => {}
        }
        if let (Some(version), Some(target)) = (version, &target) {
            return Some(Head { version, target: target.clone() });
        }
    }
    None
}

/// Words between blanks and comments.
struct Words<'a>(&'a str);

impl<'a> Iterator for Words<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        loop {
            self.0 = self.0.trim_start();
            let rest = if self.0.starts_with("//") {
                self.0.split_once('\n').map(|(_, rest)| rest)
            } else if self.0.starts_with("/*") {
                self.0.split_once("*/").map(|(_, rest)| rest)
            } else {
                break;
            };
            self.0 = rest.unwrap_or_default();
        }
        let comment = ["//", "/*"].iter().filter_map(|mark| self.0.find(mark)).min();
        let end = self.0.find(char::is_whitespace).into_iter().chain(comment).min().unwrap_or(self.0.len());
        let (word, rest) = self.0.split_at(end);
        self.0 = rest;
        (!word.is_empty()).then_some(word)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use compute_hal::NativeLanguage;

    use super::*;
    use crate::elf::tests::file;
    use crate::fat::tests::fat;

    fn generation(target: &str) -> u32 {
        target.trim_start_matches("sm_").trim_end_matches(['a', 'f']).parse().unwrap_or(0)
    }

    pub(crate) const FORMS: Forms = Forms {
        text: NativeLanguage::CudaCpp,
        assembly: Some(NativeLanguage::Ptx),
        code: NativeLanguage::Cubin,
        machine: 190,
        architecture: |flags, _| {
            (flags != 0).then(|| format!("sm_{}{}", flags & 0xff, if flags & 0x800 == 0 { "" } else { "a" }))
        },
        runs: |code, device| code == device,
        generation,
        newest: |driver| (driver != 0).then_some([9, 0]),
        parameters: |_, _| None,
    };

    const AMD: Forms = Forms {
        machine: 224,
        code: NativeLanguage::CodeObject,
        architecture: |flags, _| Some(if flags == 0x3f { "gfx90a" } else { "gfx908" }.into()),
        runs: |code, device| plain(code) == plain(device) || plain(code) == "gfx90-kin",
        generation: |code| u32::from(plain(code) != "gfx90-kin"),
        ..FORMS
    };

    /// A bundle of clang's.
    fn clang(parts: &[(&str, &[u8])]) -> Vec<u8> {
        let mut head = [CLANG_BUNDLE, &(parts.len() as u64).to_le_bytes()].concat();
        let mut from = head.len() + parts.iter().map(|(name, _)| 24 + name.len()).sum::<usize>();
        for (name, code) in parts {
            head.extend([from, code.len(), name.len()].iter().flat_map(|number| (*number as u64).to_le_bytes()));
            head.extend(name.as_bytes());
            from += code.len();
        }
        head.extend(parts.iter().flat_map(|(_, code)| code.iter()));
        head
    }

    fn source(code: &[u8]) -> NativeSource {
        NativeSource {
            language: NativeLanguage::Ptx,
            code: code.to_vec(),
            entry: "k".into(),
            options: Vec::new(),
            headers: Vec::new(),
            target: String::new(),
        }
    }

    fn ptx(text: &str, driver: i32) -> Result<Fit, String> {
        assembly(&FORMS, (driver, "13.0"), "sm_90", &source(text.as_bytes()))
    }

    #[test]
    fn pkg_03_ptx_is_known_by_its_head() {
        let text = "//\n// Made by hand\n/* .version 1.0 */\n\n.version 8.8\n.target sm_90a, debug\n.address_size 64\n";
        assert_eq!(read_head(text.as_bytes()), Some(Head { version: [8, 8], target: "sm_90a".into() }));
        assert_eq!(read_head(b".version 8.0/**/.target sm_52//x").map(|head| head.target), Some("sm_52".into()));
        for wrong in
            ["", ".version", ".version 8\n.target sm_90", ".version 8.8\n", "/* .version 8.8\n.target sm_90", "\0\0\u{fffd}"]
        {
            assert_eq!(read_head(wrong.as_bytes()), None, "{wrong}");
        }
    }

    #[test]
    fn pkg_03_ptx_newer_than_the_driver_says_which_version_was_found_and_which_is_taken() {
        let why = ptx(".version 99.0\n.target sm_90\n", 13_000).unwrap_err();
        assert!(why.contains("99.0") && why.contains("13.0") && why.contains("9.0"), "{why}");
        assert_eq!(ptx(".version 99.0\n.target sm_90\n", 0), Ok(Fit::Abstract(90)), "a driver of the future is asked itself");
    }

    #[test]
    fn l11_ptx_suits_its_generation_and_later_ones_unless_it_is_for_one_alone() {
        let fits = |target: &str| ptx(&format!(".version 8.0\n.target {target}\n"), 13_000);
        assert_eq!(
            (fits("sm_52"), fits("sm_90"), fits("sm_90a")),
            (Ok(Fit::Abstract(52)), Ok(Fit::Abstract(90)), Ok(Fit::Abstract(90)))
        );
        for wrong in ["sm_100", "sm_80a", "sm_100f"] {
            let why = fits(wrong).unwrap_err();
            assert!(why.contains(wrong) && why.contains("sm_90"), "{why}");
        }
    }

    #[test]
    fn pkg_03_machine_code_for_another_architecture_names_both() {
        let fits = |flags, machine| code(&FORMS, "sm_90", &source(&file(machine, flags, 7)));
        assert_eq!((fits(90, 190), fits(0, 190)), (Ok(Fit::Machine(90)), Ok(Fit::Bundle)));
        let why = fits(70, 190).unwrap_err();
        assert!(why.contains("sm_70") && why.contains("sm_90"), "{why}");
        assert!(fits(90, 62).unwrap_err().contains("machine 62"));
    }

    #[test]
    fn pkg_03_a_fat_binary_without_a_part_for_the_device_names_what_it_holds() {
        let fits = |parts: &[(u16, u32, &[u8])]| code(&FORMS, "sm_90", &source(&fat(parts)));
        for parts in [[(2, 80), (2, 90)], [(1, 75), (2, 80)], [(2, 80), (9, 0)]] {
            assert_eq!(fits(&parts.map(|(kind, arch)| (kind, arch, &b"code"[..]))), Ok(Fit::Bundle), "{parts:?}");
        }
        let why = fits(&[(2, 80, b"code"), (2, 100, b"code"), (1, 120, b"text")]).unwrap_err();
        assert!(why.contains("holds sm_80, sm_100, PTX for sm_120") && why.contains("this device is sm_90"), "{why}");
        assert!(fits(&[]).unwrap_err().contains("holds nothing"));
    }

    #[test]
    fn l11_a_source_that_is_kept_to_another_architecture_is_passed_over_whatever_it_is() {
        let kept = |target: &str| NativeSource { target: target.into(), ..source(b"") };
        let meant = |target: &str, source: &NativeSource| meant(&FORMS, target, source);
        assert_eq!((meant("sm_90", &kept("")), meant("sm_90", &kept("sm_90"))), (Ok(()), Ok(())));
        assert_eq!(meant("gfx90a:sramecc+:xnack-", &kept("gfx90a")), Ok(()));
        let why = meant("sm_90", &kept("sm_80")).unwrap_err();
        assert!(why.contains("sm_80") && why.contains("sm_90"), "{why}");
    }

    #[test]
    fn l11_a_source_that_is_kept_to_a_generation_alone_is_compiled_for_that() {
        let forms = Forms { runs: |code, device| code.trim_end_matches('a') == device, ..FORMS };
        let kept = |target: &str| NativeSource { target: target.into(), ..source(b"") };
        let made =
            |target: &str, own: &str| meant(&forms, target, &kept(own)).map(|()| compiled_for(target, &kept(own)).to_owned());
        assert_eq!(made("sm_90", "sm_90a"), Ok("sm_90a".into()));
        assert_eq!(made("sm_90", ""), Ok("sm_90".into()));
        assert_eq!(made("gfx90a:sramecc+:xnack-", "gfx90a"), Ok("gfx90a:sramecc+:xnack-".into()));
        assert!(made("sm_100", "sm_90a").is_err());
    }

    #[test]
    fn f1_an_option_that_names_an_architecture_is_refused_and_the_way_to_name_one_is_told() {
        let with = |options: &[&str]| {
            let options = options.iter().map(|option| (*option).to_owned()).collect();
            check_options(&NativeSource { options, ..source(b"") })
        };
        let wrong: [&[&str]; 6] = [
            &["--offload-arch=gfx9999"],
            &["-O2", "--offload-arch", "gfx9999"],
            &["--gpu-architecture=sm_80"],
            &["-arch", "sm_80"],
            &["-w --offload-arch=gfx9999"],
            &["\t-mcpu=gfx9999"],
        ];
        for options in wrong {
            let why = with(options).unwrap_err();
            assert!(why.contains("`target`") && why.contains("arch"), "{why}");
        }
        assert_eq!(with(&["-DARCH=-arch", "--include-path=/opt/-arch", "-archaic", "-O3"]), Ok(()));
    }

    #[test]
    fn f1_bundles_that_are_cut_short_are_refused() {
        let mut cuda = fat(&[(2, 90, b"compressed")]);
        let fits = |bytes: &[u8]| code(&FORMS, "sm_90", &source(bytes));
        assert_eq!(fits(&cuda), Ok(Fit::Bundle));
        for length in 4..cuda.len() {
            assert!(fits(&cuda[..length]).is_err(), "{length}");
        }
        cuda[8..16].fill(0xff);
        assert!(fits(&cuda).is_err());
        assert!(code(&AMD, "sm_90", &source(&cuda)).is_err(), "the other vendor's");
        let whole = clang(&[("hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-", &file(224, 0x3f, 4))]);
        let fits = |bytes: &[u8], target: &str| code(&AMD, target, &source(bytes));
        assert_eq!(fits(&whole, "gfx90a:sramecc+:xnack-"), Ok(Fit::Bundle));
        let why = fits(&whole, "gfx942").unwrap_err();
        assert!(why.contains("gfx90a:xnack-") && why.contains("gfx942"), "{why}");
        // The count, the first part's place, its size.
        for place in [24, 32, 40] {
            let mut wrong = whole.clone();
            wrong[place..place + 8].fill(0xff);
            assert!(fits(&wrong, "gfx90a").is_err(), "at {place}");
        }
        for length in CLANG_BUNDLE.len()..whole.len() {
            assert!(fits(&whole[..length], "gfx90a").is_err(), "{length}");
        }
        assert!(fits(b"CCOB\x03\0\x01\0 and so on", "gfx90a").unwrap_err().contains("compressed"));
    }

    #[test]
    fn pkg_03_of_a_bundle_the_part_is_taken_that_is_most_exactly_for_the_device() {
        let [any, off, on, other] = [1, 2, 3, 4].map(|mark| [&file(224, 0x3f, 4)[..], &[mark; 8]].concat());
        let bundle = clang(&[
            ("host-x86_64-unknown-linux--", b""),
            ("hipv4-amdgcn-amd-amdhsa--gfx90a", &any),
            ("hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-", &off),
            ("hip-amdgcn-amd-amdhsa-unknown-gfx90a:sramecc+:xnack+", &on),
            ("hip-amdgcn-amd-amdhsa--gfx942", &other),
        ]);
        let taken = source(&bundle);
        let image = |target: &str| image(&AMD, &taken, target).map(|code| code[code.len() - 1]);
        let cases = [("gfx90a:sramecc+:xnack-", 2), ("gfx90a:sramecc+:xnack+", 3), ("gfx90a:sramecc-:xnack+", 1), ("gfx90a", 3)];
        for (target, part) in cases {
            assert_eq!(image(target), Ok(part), "{target}");
        }
        // Code for it and its kin, whatever features that insists on, only where there is none for it alone.
        let kin = clang(&[("hip-amdgcn-amd-amdhsa--gfx90-kin:xnack-", &on), ("hip-amdgcn-amd-amdhsa--gfx90a", &any)]);
        let kin = source(&kin);
        let image = |target: &str| self::image(&AMD, &kin, target).map(|code| code[code.len() - 1]);
        assert_eq!((image("gfx90a:xnack-"), image("gfx90a:xnack+")), (Ok(1), Ok(1)));
        let only_kin = clang(&[("hip-amdgcn-amd-amdhsa--gfx90-kin:xnack-", &on)]);
        assert_eq!(code(&AMD, "gfx90a:xnack-", &source(&only_kin)), Ok(Fit::Bundle));
        assert!(code(&AMD, "gfx90a:xnack+", &source(&only_kin)).is_err());
        let only_on = clang(&[("hip-amdgcn-amd-amdhsa--gfx90a:xnack+", &on)]);
        let why = code(&AMD, "gfx90a:xnack-", &source(&only_on)).unwrap_err();
        assert!(why.contains("xnack+") && why.contains("xnack-"), "{why}");
    }

    #[test]
    fn f1_a_part_of_a_bundle_that_is_not_what_its_name_says_is_refused() {
        let fits = |code: &[u8]| self::code(&AMD, "gfx90a", &source(&clang(&[("hip-amdgcn-amd-amdhsa--gfx90a", code)])));
        assert_eq!(fits(&file(224, 0x3f, 4)), Ok(Fit::Bundle));
        let whole = file(224, 0x3f, 4);
        let wrong: [(&[u8], &str); 5] = [
            (b"", "no machine code"),
            (b"BC\xc0\xde", "no machine code"),
            (&whole[..whole.len() - 1], "cut short"),
            (&file(62, 0x3f, 4), "machine 62"),
            (&file(224, 0x30, 4), "made for gfx908"),
        ];
        for (code, words) in wrong {
            let why = fits(code).unwrap_err();
            assert!(why.contains(words), "{why}");
        }
    }

    #[test]
    fn f1_bundles_of_very_many_entries_or_with_entries_over_each_other_are_refused() {
        let name = b"hip-amdgcn-amd-amdhsa--gfx90a";
        let bundle = |entries: &[(u64, u64)]| {
            let mut all = [CLANG_BUNDLE, &(entries.len() as u64).to_le_bytes()].concat();
            for (from, size) in entries {
                let numbers = [*from, *size, name.len() as u64];
                all.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
                all.extend(name);
            }
            all
        };
        let count = |entries: &[(u64, u64)]| clang_entries(&bundle(entries)).map(|entries| entries.len());
        assert_eq!(count(&vec![(0, 0); 4096]), Some(4096), "empty ones may be anywhere");
        assert_eq!(count(&vec![(0, 0); 4097]), None);
        assert_eq!(count(&[(8, 8), (0, 8), (4, 0)]), Some(3), "in any order");
        for over in [[(0, 8), (7, 8)], [(0, 8), (0, 8)], [(4, 2), (0, 8)]] {
            assert_eq!(count(&over), None, "{over:?}");
        }
    }
}
