//! Finding the libraries. They are never closed: HIP keeps threads and handlers that outlive any handle of ours.

use std::ffi::OsStr;
use std::fmt;
use std::mem::ManuallyDrop;

use libloading::Library;

use crate::functions::{Compiler, Runtime};

/// What the runtime is called, best first: an installation's own link, then the versions that the table knows. On Windows its driver brings it, and its name has the version.
pub const RUNTIMES: &[&str] = if cfg!(windows) {
    &["amdhip64_7.dll", "amdhip64_6.dll", "amdhip64.dll"]
} else {
    &["libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"]
};
/// What the compiler is called where it is a library of its own. On Windows it is part of the SDK, and its name has both numbers of the version.
pub const COMPILERS: &[&str] = if cfg!(windows) {
    &[
        "hiprtc0715.dll",
        "hiprtc0714.dll",
        "hiprtc0713.dll",
        "hiprtc0712.dll",
        "hiprtc0711.dll",
        "hiprtc0702.dll",
        "hiprtc0701.dll",
        "hiprtc0700.dll",
        "hiprtc0604.dll",
        "hiprtc0603.dll",
        "hiprtc0602.dll",
        "hiprtc0601.dll",
        "hiprtc0600.dll",
        "hiprtc0507.dll",
        "hiprtc0506.dll",
        "hiprtc0505.dll",
    ]
} else {
    &["libhiprtc.so", "libhiprtc.so.7", "libhiprtc.so.6"]
};
/// Its version has to be the runtime's, so [`open`] looks for it by the version that was found.
const COMPILER: &str = "libhiprtc.so";

/// An installation of HIP.
#[derive(Clone, Debug)]
pub struct Opened {
    /// The runtime.
    pub runtime: Runtime,
    /// The runtime compiler, where there is one.
    pub compiler: Option<Compiler>,
    /// The name that the runtime was found under.
    pub runtime_name: String,
    /// The name that the compiler was found under.
    pub compiler_name: Option<String>,
    /// What was tried before, a line each.
    pub tried: Vec<String>,
}

/// There is no HIP here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unavailable {
    /// What was tried, a line each.
    pub tried: Vec<String>,
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HIP was not found: {}", self.tried.join("; "))
    }
}

impl std::error::Error for Unavailable {}

/// Opens the installation that the loader finds.
///
/// # Errors
/// No library of any known name can be loaded.
pub fn open() -> Result<Opened, Unavailable> {
    if !cfg!(target_os = "linux") {
        return Err(Unavailable { tried: vec!["HIP is looked for on Linux only".into()] });
    }
    open_from(RUNTIMES)
}

/// Opens the first runtime of these names, which may be paths, and the compiler that belongs to it.
///
/// # Errors
/// None of them can be loaded, or what was loaded is no HIP.
pub fn open_from<S: AsRef<str>>(names: &[S]) -> Result<Opened, Unavailable> {
    let mut tried = Vec::new();
    for name in names {
        let name = name.as_ref();
        let library = match load(name) {
            Ok(library) => library,
            Err(why) => {
                tried.push(why);
                continue;
            }
        };
        // SAFETY: a library of this name is AMD's, or stands in for it.
        let runtime = unsafe { Runtime::find(&library) };
        if !runtime.has("hipInit") {
            tried.push(format!("{name}: it has no hipInit"));
            continue;
        }
        let (compiler, compiler_name) = compiler_of(name, &library, &mut tried);
        return Ok(Opened { runtime, compiler, runtime_name: name.into(), compiler_name, tried });
    }
    Err(Unavailable { tried })
}

/// The compiler that belongs to a runtime: a library beside it with the same version in its name, the link without one, or the runtime itself.
fn compiler_of(name: &str, runtime: &Library, tried: &mut Vec<String>) -> (Option<Compiler>, Option<String>) {
    let (folder, version) = name.rsplit_once("libamdhip64.so").unwrap_or_default();
    let mut candidates = vec![format!("{folder}{COMPILER}{version}")];
    if version.is_empty() {
        candidates.extend(["7", "6"].map(|version| format!("{folder}{COMPILER}.{version}")));
    }
    for candidate in candidates {
        match load(&candidate) {
            Ok(library) => {
                // SAFETY: as for the runtime.
                let compiler = unsafe { Compiler::find(&library) };
                if compiler.has("hiprtcCompileProgram") {
                    return (Some(compiler), Some(candidate));
                }
                tried.push(format!("{candidate}: it has no hiprtcCompileProgram"));
            }
            Err(why) => tried.push(why),
        }
    }
    // SAFETY: as above.
    let compiler = unsafe { Compiler::find(runtime) };
    if compiler.has("hiprtcCompileProgram") {
        return (Some(compiler), Some(name.into()));
    }
    tried.push(format!("{name}: it has no hiprtcCompileProgram"));
    (None, None)
}

fn load(name: &str) -> Result<ManuallyDrop<Library>, String> {
    // SAFETY: constructors of AMD's library run here, as in every program that links it.
    match unsafe { Library::new(OsStr::new(name)) } {
        Ok(library) => Ok(ManuallyDrop::new(library)),
        Err(error) => {
            let why = std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
            Err(if why.contains(name) { why } else { format!("{name}: {why}") })
        }
    }
}
