//! What a failed call answers, and how the errors of devices become it.

use std::fmt;
use std::sync::Arc;

use compute_hal::{DeviceError, FaultCause, ImportRefusal, LateCause};
use compute_kernel::Diagnostics;
use compute_trust::{About, Answers, Diagnostic, DriverCode, Error, Failure, Location, Report};
use once_cell::sync::Lazy;

use super::code;

/// A failed call: the error itself, and where it comes from.
#[derive(Clone, Debug)]
pub struct Failed {
    /// What this call answers.
    pub error: Arc<Error>,
    /// For bytes that cannot be trusted (T8): the failure that claims them, back to its root.
    pub report: Option<Arc<Report>>,
    /// Id of the failure that now claims the call's outputs, or that claims the bytes asked for; 0: none.
    pub failure: u64,
    /// Whether nothing reached the device, so that [`super::reinstate`] can lift the claims.
    pub untouched: bool,
}

/// Result of a call of the runtime. Failures are shared, never copied.
pub type Result<T> = std::result::Result<T, Arc<Failed>>;

impl Failed {
    /// The four answers: a chain's root decides, a group's members together.
    pub fn answers(&self) -> Answers {
        self.report.as_ref().map_or(self.error.answers, |report| report.answers())
    }

    /// A device's answer to being opened.
    pub fn from_device(failed: DeviceError) -> Arc<Self> {
        Self::of(from_device(failed))
    }

    pub(crate) fn of(error: Error) -> Arc<Self> {
        Arc::new(Self { error: Arc::new(error), report: None, failure: 0, untouched: false })
    }

    /// The same error, now that a failure made of it claims the outputs.
    pub(crate) fn claiming(failure: &Failure) -> Arc<Self> {
        Arc::new(Self { error: failure.error(), report: None, failure: failure.id(), untouched: failure.is_untouched() })
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.error)
    }
}

impl std::error::Error for Failed {}

/// A plain error: a code and what to tell the reader.
pub(crate) fn error(code: i32, message: impl Into<String>) -> Error {
    let (refusal, reclaimable) =
        (matches!(code, code::LIMIT | code::UNSUPPORTED), matches!(code, code::OUT_OF_MEMORY | code::POOL_FULL));
    let answers = Answers { refusal, reclaimable, ..Answers::default() };
    Error { code, message: message.into(), answers, driver: None, about: None, location: None, diagnostics: Vec::new() }
}

/// A text that is kept. Most labels are empty, and the journal would make one for each range that a launch touches.
pub(crate) fn kept(text: &str) -> Arc<str> {
    static NONE: Lazy<Arc<str>> = Lazy::new(|| "".into());
    if text.is_empty() { Arc::clone(&NONE) } else { text.into() }
}

/// Result of a check of a request. Boxed, since the launch path passes it on at every step.
pub(crate) type Checked<T> = std::result::Result<T, Box<Error>>;

/// A check that failed.
#[cold]
pub(crate) fn refusal<T>(code: i32, message: impl FnOnce() -> String) -> Checked<T> {
    Err(Box::new(error(code, message())))
}

/// [`error`], ready to be answered.
pub(crate) fn fail<T>(code: i32, message: impl Into<String>) -> Result<T> {
    Err(Failed::of(error(code, message)))
}

fn location(at: &compute_kernel::reflection::Location) -> Option<Location> {
    (at.line != 0).then_some(Location { line: at.line, column: at.column })
}

/// An error of a front end: a refusal, unless a crash of ours is to blame.
pub(crate) fn from_diagnostics(found: Diagnostics) -> Error {
    let at = found.list.first().and_then(|first| first.location.as_ref()).and_then(location);
    Error {
        answers: Answers { refusal: found.refusal, ..Answers::default() },
        location: at,
        diagnostics: found
            .list
            .iter()
            .map(|d| Diagnostic { message: d.message.clone(), location: d.location.as_ref().and_then(location) })
            .collect(),
        ..error(if found.refusal { code::COMPILE } else { code::INTERNAL }, found.text)
    }
}

/// A device's answer to one of its calls.
pub(crate) fn from_device(failed: DeviceError) -> Error {
    let message = failed.to_string();
    match failed {
        DeviceError::OutOfMemory { .. } | DeviceError::NoMemoryFor { .. } => error(code::OUT_OF_MEMORY, message),
        DeviceError::TooLarge { .. } => error(code::TOO_LARGE, message),
        DeviceError::Compile { location: at, refusal, .. } => Error {
            answers: Answers { refusal, ..Answers::default() },
            location: at.as_ref().and_then(location),
            ..error(code::COMPILE, message)
        },
        DeviceError::Lost(cause) => poisoned(&cause),
        DeviceError::NotImportable { reason, .. } => error(
            match reason {
                ImportRefusal::AlreadyOwned => code::ALREADY_OWNED,
                ImportRefusal::Foreign => code::FOREIGN_HANDLE,
                ImportRefusal::OutOfRange => code::OUT_OF_RANGE,
                ImportRefusal::NotMemory => code::INVALID_ARGUMENT,
            },
            message,
        ),
        DeviceError::Unsupported(_) => error(code::UNSUPPORTED, message),
        DeviceError::Driver { code: number, name, .. } => {
            Error { driver: Some(DriverCode { code: number, name }), ..error(code::DRIVER, message) }
        }
        DeviceError::Internal(_) => error(code::INTERNAL, message),
        _ => error(code::INTERNAL, message),
    }
}

/// What every call on a poisoned device answers (T12).
pub(crate) fn poisoned(cause: &FaultCause) -> Error {
    let reopen = if cause.reopen { "a new device can be opened" } else { "no new device can be opened in this process" };
    Error {
        answers: Answers { poisoned: true, ..Answers::default() },
        driver: Some(DriverCode { code: cause.code, name: cause.name.to_string() }),
        ..error(code::DEVICE_POISONED, format!("the device is beyond use: {}; {reopen}", cause.message))
    }
}

/// Why accepted work failed later (T13).
pub(crate) fn from_late(cause: LateCause, about: About) -> Error {
    let kernel = Arc::clone(&about.kernel);
    let made = match cause {
        LateCause::OutOfBounds { location: at, index, length, invocation: [x, y, z], what } => {
            let what = if what.is_empty() { "a value".to_owned() } else { format!("`{what}`") };
            let message = format!(
                "kernel `{kernel}` went out of bounds: line {}, column {}: index {index} of {what}, whose length is {length}, in invocation ({x}, {y}, {z})",
                at.line, at.column
            );
            Error { location: location(&at), ..error(code::KERNEL_FAULT, message) }
        }
        LateCause::TimeLimit { limit } => {
            error(code::TIME_LIMIT, format!("kernel `{kernel}` was stopped after its time limit of {limit} ns"))
        }
        LateCause::GridLimit { asked: [x, y, z], allowed: [mx, my, mz] } => error(
            code::GRID_LIMIT,
            format!(
                "the indirect grid of kernel `{kernel}` is ({x}, {y}, {z}), at most ({mx}, {my}, {mz}) is allowed; nothing ran"
            ),
        ),
        LateCause::Driver { code: number, name, message } => {
            let text = format!("`{kernel}` failed after it was accepted: {name} ({number}): {message}");
            Error { driver: Some(DriverCode { code: number, name }), ..error(code::DRIVER, text) }
        }
        _ => error(
            code::INTERNAL,
            format!("`{kernel}` failed after it was accepted, for a reason that this version does not know"),
        ),
    };
    Error { about: Some(about), ..made }
}
