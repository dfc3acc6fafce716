//! Opening a vendor's library by its name, where nobody but who set the machine up can have put another one.

use libloading::{Error, Library};

/// As the system's loader does; it does not look in the working folder.
///
/// # Safety
/// The library's start-up code runs.
#[cfg(not(windows))]
pub(crate) unsafe fn open(name: &str) -> Result<Library, Error> {
    // SAFETY: the caller's promise.
    unsafe { Library::new(name) }
}

/// In the program's own folder, the system's, and those of PATH: compilers are part of a toolkit, which adds its own there. Windows's own rule has the working folder among
/// them, where a document that a program opens may lie beside a library of the same name.
///
/// # Safety
/// The library's start-up code runs.
#[cfg(windows)]
pub(crate) unsafe fn open(name: &str) -> Result<Library, Error> {
    use std::path::Path;

    use libloading::os::windows::{LOAD_LIBRARY_SEARCH_DEFAULT_DIRS, LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR, Library as Own};

    let beside = LOAD_LIBRARY_SEARCH_DEFAULT_DIRS | LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR;
    if Path::new(name).is_absolute() {
        // SAFETY: the caller's promise.
        return unsafe { Own::load_with_flags(name, beside) }.map(Library::from);
    }
    // SAFETY: the caller's promise.
    let first = unsafe { Own::load_with_flags(name, LOAD_LIBRARY_SEARCH_DEFAULT_DIRS) };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).filter(|folder| folder.is_absolute());
    let mut others = folders.map(|folder| folder.join(name)).filter(|file| file.is_file());
    // SAFETY: as above.
    first.or_else(|why| others.find_map(|file| unsafe { Own::load_with_flags(file, beside) }.ok()).ok_or(why)).map(Library::from)
}
