//! Why a translation stops. What must not live here: anything that knows Cranelift.

use compute_hal::DeviceError;
use compute_kernel::reflection::Location;
use naga::Span;

/// A translation that cannot go on.
#[derive(Debug)]
pub(super) struct Stop {
    /// What is wrong, for the author of the kernel.
    pub(super) log: String,
    /// Where, once known.
    pub(super) span: Option<Span>,
    /// Whether the kernel is to blame (or a limit of this device) rather than a bug of ours.
    pub(super) refusal: bool,
}

pub(super) type Result<T> = std::result::Result<T, Stop>;

impl Stop {
    /// Something of the language that this device does not do.
    pub(super) fn refuse(log: impl Into<String>) -> Self {
        Self { log: log.into(), span: None, refusal: true }
    }

    /// A kernel construct by name that this device does not do.
    pub(super) fn unsupported(construct: impl std::fmt::Display) -> Self {
        Self::refuse(format!("the cpu device does not translate {construct}"))
    }

    /// Something that validation should have ruled out.
    pub(super) fn bug(log: impl Into<String>) -> Self {
        Self { log: log.into(), span: None, refusal: false }
    }

    /// Adds the place, unless a more exact one is known already.
    pub(super) fn at(mut self, span: Span) -> Self {
        if self.span.is_none() && span.is_defined() {
            self.span = Some(span);
        }
        self
    }

    pub(super) fn into_error(self, locate: impl Fn(Span) -> Location) -> DeviceError {
        DeviceError::Compile { log: self.log, location: self.span.map(locate), refusal: self.refusal }
    }
}
