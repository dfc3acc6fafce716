//! An opened driver: its calls, the thread's current context around them, and what its errors mean for a device.

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use compute_hal::{DeviceError, FaultCause};

use crate::compiler::RuntimeCompiler;
use crate::context::Contexts;
use crate::driver::{Calls, DeviceNumber, Failure, Handle, Vendor};
use crate::fate::Fates;
use crate::kernel::Compiled;
use crate::peer::Peers;

/// A vendor's driver, opened. Its libraries stay loaded for ever: drivers do not survive being unloaded.
pub(crate) struct Api {
    pub(crate) vendor: &'static Vendor,
    pub(crate) calls: Calls,
    /// The runtime compiler, or what was tried to find it.
    pub(crate) compiler: Result<RuntimeCompiler, String>,
    /// Code of this process's newest texts: a device that is opened again finds it.
    pub(crate) compiled: Compiled,
    /// Those that its devices work in.
    pub(crate) contexts: Contexts,
    /// Its devices that are open.
    pub(crate) peers: Peers,
    /// How its devices end.
    pub(crate) fates: Fates,
    /// The process that started the driver: a child of it cannot use it.
    pub(crate) process: u32,
    /// The identities of devices that were told before the driver was started, whose order callers know; those of others come behind them.
    pub(crate) order: Vec<[u8; 16]>,
}

/// A driver's pointer that is passed between threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Object(pub(crate) Handle);

// SAFETY: it is a name for something of the driver's, whose functions may be called from any thread.
unsafe impl Send for Object {}
// SAFETY: as above.
unsafe impl Sync for Object {}

/// Where the calls of a device have to be made.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Home {
    /// With this context on top of the thread's stack.
    Context(Object),
    /// With this device as the thread's.
    Device(DeviceNumber),
}

/// A device's home is the thread's; what was current before is current again afterwards (FFI-03). Captures of graphs by others see calls that are made meanwhile, so
/// only a launch is: into a stream that nobody captures it may go at any time. Whoever's call fails has the driver forget it ([`Calls::forget_failures`]).
pub(crate) struct AtHome<'a> {
    api: &'a Api,
    back: Back,
}

/// The calls of a device while its home is the thread's, and no capture of others is any matter. Nothing that failed meanwhile is the driver's last error afterwards.
pub(crate) struct Inside<'a> {
    pub(crate) api: &'a Api,
    /// The thread's mode of captures before, where there are any.
    mode: Option<c_int>,
    /// Left last.
    _home: AtHome<'a>,
}

/// Of `capture_mode`: calls are made whatever another thread captures. In the mode that a thread has by itself, a call that asks how far something is ends the
/// capture of a graph that the host makes elsewhere. Ours have nothing to do with it: no stream of ours is ever captured.
const RELAXED: c_int = 2;

enum Back {
    Nothing,
    Pop,
    Device(DeviceNumber),
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        if let Some(mut mode) = self.mode {
            // SAFETY: the place is ours.
            let _ = unsafe { self.api.calls.capture_mode(&mut mode) };
        }
        self.api.calls.forget_failures();
    }
}

impl Drop for AtHome<'_> {
    #[inline]
    fn drop(&mut self) {
        if !matches!(self.back, Back::Nothing) {
            self.go_back();
        }
    }
}

impl AtHome<'_> {
    #[cold]
    fn go_back(&self) {
        let calls = &self.api.calls;
        // An error here is one that the next call tells, too.
        match self.back {
            Back::Nothing => {}
            Back::Pop => {
                let mut gone: Handle = std::ptr::null_mut();
                // SAFETY: what is on top of the stack is what `enter` put there.
                let _ = unsafe { calls.context_pop(&mut gone) };
            }
            // SAFETY: the device was the thread's before.
            Back::Device(device) => _ = unsafe { calls.set_device(device) },
        }
        calls.forget_failures();
    }
}

impl std::ops::Deref for Inside<'_> {
    type Target = Calls;
    fn deref(&self) -> &Calls {
        &self.api.calls
    }
}

impl Api {
    pub(crate) fn new(
        vendor: &'static Vendor,
        calls: Calls,
        compiler: Result<RuntimeCompiler, String>,
        order: Vec<[u8; 16]>,
    ) -> Self {
        let process = std::process::id();
        Self {
            vendor,
            calls,
            compiler,
            compiled: Compiled::default(),
            contexts: Contexts::default(),
            peers: Peers::default(),
            fates: Fates::default(),
            process,
            order,
        }
    }

    /// Makes `home` current until the answer is dropped.
    pub(crate) fn enter(&self, home: Home) -> Result<Inside<'_>, Failure> {
        let home = self.at_home(home).inspect_err(|_| self.calls.forget_failures())?;
        let mut mode = RELAXED;
        // SAFETY: the place is ours.
        let mode = unsafe { self.calls.capture_mode(&mut mode) }.is_ok().then_some(mode);
        Ok(Inside { api: self, mode, _home: home })
    }

    /// As [`Self::enter`], for launches alone: see [`AtHome`].
    #[inline]
    pub(crate) fn at_home(&self, home: Home) -> Result<AtHome<'_>, Failure> {
        let calls = &self.calls;
        let back = match home {
            Home::Context(context) => {
                let mut current: Handle = std::ptr::null_mut();
                // SAFETY: the place is ours.
                unsafe { calls.context_current(&mut current) }?;
                if current == context.0 {
                    Back::Nothing
                } else {
                    // SAFETY: the context is retained for as long as its device lives.
                    unsafe { calls.context_push(context.0) }?;
                    Back::Pop
                }
            }
            Home::Device(device) => {
                let mut current = 0;
                // SAFETY: the place is ours.
                unsafe { calls.current_device(&mut current) }?;
                if current == device {
                    Back::Nothing
                } else {
                    // SAFETY: plain numbers.
                    unsafe { calls.set_device(device) }?;
                    Back::Device(current)
                }
            }
        };
        Ok(AtHome { api: self, back })
    }

    /// What the runtime compiler is told for a target; an error says why there is no code for it.
    pub(crate) fn compile_options(&self, target: &str) -> Result<Vec<String>, String> {
        let options = (self.vendor.compile_options)(target)?;
        let compiler = self.compiler.as_ref().ok();
        compiler.map_or(Ok(()), |compiler| compiler.check(self.vendor, target)).map(|()| options)
    }

    /// An attribute of a device.
    pub(crate) fn attribute(&self, attribute: c_int, device: DeviceNumber) -> Result<c_int, Failure> {
        let mut value = 0;
        // SAFETY: the place is ours.
        unsafe { self.calls.device_attribute(&mut value, attribute, device) }?;
        Ok(value)
    }

    /// What a failure is to a device. The caller sees to the end of the device when [`Api::cause`] says that this is one: [`crate::device::Shared::fail`], or [`Self::fail`].
    pub(crate) fn error(&self, failure: Failure, asked: u64) -> DeviceError {
        if failure.is_absent() {
            return DeviceError::Unsupported(failure.call);
        }
        if failure.code == self.vendor.errors.out_of_memory {
            let (mut free, mut total) = (0, 0);
            // SAFETY: the places are ours.
            let _ = unsafe { self.calls.memory_info(&mut free, &mut total) };
            return DeviceError::OutOfMemory { asked, free: free as u64 };
        }
        if let Some(cause) = self.cause(failure) {
            return DeviceError::Lost(cause);
        }
        DeviceError::Driver {
            call: failure.call,
            code: failure.code.into(),
            name: self.vendor.error_name(Some(&self.calls), failure.code),
            message: self.vendor.error_text(&self.calls, failure.code),
        }
    }

    /// As [`Self::error`], of a call for no device that is open. What ends all devices ends those that are, by one of them, which looks for what may have been it.
    pub(crate) fn fail(&self, failure: Failure) -> DeviceError {
        let errors = &self.vendor.errors;
        let ends_all = errors.end_all && failure.code != errors.context_gone && self.vendor.is_end(failure);
        if ends_all {
            let open = self.peers.open();
            // One that has ended already has another cause, and keeps it.
            if let Some(device) = open.iter().find(|device| device.well().is_ok()).or(open.first()) {
                device.fail(failure);
            }
            for device in open {
                Arc::clone(&device.attendant).let_go([device]);
            }
        }
        self.error(failure, 0)
    }

    /// The end of the device, if that is what a failure means (T12): by what has ended all of them, if another one was the first to find out.
    pub(crate) fn cause(&self, failure: Failure) -> Option<FaultCause> {
        self.vendor.is_end(failure).then(|| {
            if let Some(first) = self.fates.ended() {
                return first;
            }
            let (name, text) =
                (self.vendor.error_name(Some(&self.calls), failure.code), self.vendor.error_text(&self.calls, failure.code));
            let (call, vendor) = (failure.call, self.vendor.name);
            let (message, reopen) = if failure.code == self.vendor.errors.context_gone {
                let message = format!(
                    "{call} answered {name} ({text}): somebody in this process has reset the device or destroyed its primary context, which the library works in, \
                     and all that the device had is gone with it. Other devices go on"
                );
                (message, true)
            } else if !self.vendor.errors.end_all {
                let message = format!(
                    "{call} answered {name} ({text}), so work that was enqueued before failed. Nothing is known to be wrong with other devices; one that is opened \
                     anew is tried first"
                );
                (message, true)
            } else {
                let message = format!(
                    "{call} answered {name} ({text}), so work that was enqueued before failed. Every context of this process on a {vendor} device is dead with it: \
                     nothing can run there any more, and only a new process can open one"
                );
                (message, false)
            };
            FaultCause { code: failure.code.into(), name: name.into(), message: message.into(), reopen }
        })
    }
}

/// A stream, as people are told of it.
pub(crate) const STREAM: &str = "a stream on the device";

/// What a failure is, of a call that makes something of the driver's own: of how many bytes nobody knows.
pub(crate) fn made_for(what: &'static str, failure: Failure, error: DeviceError) -> DeviceError {
    match error {
        DeviceError::OutOfMemory { .. } => DeviceError::NoMemoryFor { what, call: failure.call },
        error => error,
    }
}

/// Something of the driver's that is ended on a thread of its own, because ending it may wait for the device.
pub(crate) enum Garbage {
    Memory(u64),
    Host(usize),
    Module(Object),
    Stream(Object),
    Event(Object),
    /// A graph, and what was made ready of it.
    Graph(Object),
    Executable(Object),
}

impl Garbage {
    pub(crate) fn end(self, calls: &Calls) {
        // What cannot be ended is lost with the process.
        // SAFETY: each came from the call that makes such things, and whoever threw it away was its last user.
        let _ = unsafe {
            match self {
                Self::Memory(address) => calls.free(address),
                Self::Host(pointer) => calls.host_free(std::ptr::with_exposed_provenance_mut::<c_void>(pointer)),
                Self::Module(module) => calls.module_unload(module.0),
                Self::Stream(stream) => calls.stream_destroy(stream.0),
                Self::Event(event) => calls.event_destroy(event.0),
                Self::Graph(graph) => calls.graph_destroy(graph.0),
                Self::Executable(executable) => calls.graph_executable_destroy(executable.0),
            }
        };
    }
}
