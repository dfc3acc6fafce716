//! Drivers for Vulkan stay loaded once they were found. glibc keeps little static thread-local storage for libraries that come late; NVIDIA's driver needs some, and libraries
//! that are loaded in its absence, as CUDA's are, take it: the driver could not be loaded for the next list of devices. Instances go all the same, and with them what a
//! driver has open: a list alone starts nothing that a fork would divide (F6).

/// To be called while an instance of Vulkan's has its drivers loaded.
#[cfg(not(target_os = "linux"))]
pub(crate) fn keep_drivers() {}

/// To be called while an instance of Vulkan's has its drivers loaded.
#[cfg(target_os = "linux")]
pub(crate) fn keep_drivers() {
    let mut names = Vec::<std::ffi::CString>::new();
    // SAFETY: `note` gets what it expects, and is done with it when the call returns.
    unsafe { libc::dl_iterate_phdr(Some(note), (&raw mut names).cast()) };
    for name in names {
        // SAFETY: what is loaded already is only named once more, and given back; no code of it runs.
        unsafe {
            let library = libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
            if library.is_null() {
                continue;
            }
            // What the loader knows a driver by.
            if !libc::dlsym(library, c"vk_icdGetInstanceProcAddr".as_ptr()).is_null() {
                let kept = libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD | libc::RTLD_NODELETE);
                if !kept.is_null() {
                    libc::dlclose(kept);
                }
            }
            libc::dlclose(library);
        }
    }
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
