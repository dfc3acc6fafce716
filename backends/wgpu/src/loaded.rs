//! What stays loaded of drivers for Vulkan once they were found. glibc keeps little static thread-local storage for libraries that come late. That of NVIDIA's driver is in a
//! small library of its own, and where libraries that are loaded in its absence take what it had, as CUDA's do, the driver cannot be loaded for the next list of devices.
//!
//! All else goes with the instance: a list alone leaves nothing of a driver that a fork would divide (F6).

/// To be called while an instance of Vulkan's has its drivers loaded.
#[cfg(not(target_os = "linux"))]
pub(crate) fn keep_storage() {}

/// To be called while an instance of Vulkan's has its drivers loaded.
#[cfg(target_os = "linux")]
pub(crate) fn keep_storage() {
    let mut names = Vec::<std::ffi::CString>::new();
    // SAFETY: `note` gets what it expects, and is done with it when the call returns.
    unsafe { libc::dl_iterate_phdr(Some(note), (&raw mut names).cast()) };
    for name in names.iter().filter(|name| is_storage(name)) {
        // SAFETY: what is loaded already is only named once more, and given back; no code of it runs.
        unsafe {
            let kept = libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD | libc::RTLD_NODELETE);
            if !kept.is_null() {
                libc::dlclose(kept);
            }
        }
    }
}

/// `libnvidia-tls.so` with a version behind it, in any folder.
#[cfg(target_os = "linux")]
fn is_storage(library: &std::ffi::CStr) -> bool {
    let path = library.to_bytes();
    let file = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    file.starts_with(b"libnvidia-tls.so")
}

/// Notes the name of a library that is loaded. Nothing may be loaded or unloaded meanwhile.
#[cfg(target_os = "linux")]
unsafe extern "C" fn note(library: *mut libc::dl_phdr_info, _: usize, names: *mut std::ffi::c_void) -> std::ffi::c_int {
    // SAFETY: the caller gave the list of names, and the system a library, whose name is its own until this returns.
    unsafe {
        let name = (*library).dlpi_name;
        if !name.is_null() && *name != 0 {
            (*names.cast::<Vec<std::ffi::CString>>()).push(std::ffi::CStr::from_ptr(name).to_owned());
        }
    }
    0
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn what_has_the_storage_of_nvidias_driver_is_known_by_its_name() {
        let known = [c"/usr/lib/x86_64-linux-gnu/libnvidia-tls.so.580.159.04", c"libnvidia-tls.so.1"];
        assert!(known.iter().all(|name| is_storage(name)));
        let others = [c"/usr/lib/libGLX_nvidia.so.0", c"/libnvidia-tls.so/libc.so.6", c""];
        assert!(!others.iter().any(|name| is_storage(name)));
    }
}
