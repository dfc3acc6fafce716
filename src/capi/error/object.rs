//! What an error object holds, and the one view of it that accessors and formats ask. No C types, no pointers.

use std::borrow::Cow;
use std::sync::Arc;

use compute_trust::{Answers, Error, Report};

use crate::capi::boundary::Complaint;
use crate::capi::status::*;
use crate::runtime::Failed;

/// An error object. Immutable; any thread may ask it anything.
#[derive(Debug)]
pub(crate) enum Object {
    /// A failed call of the runtime.
    Failed(Arc<Failed>),
    /// A call that the boundary refused.
    Plain {
        /// Its status.
        code: compute_status,
        /// Its text.
        message: String,
    },
    /// The root of another error.
    Root(Arc<Error>),
    /// One of several failures: the report of the whole and the member's place in it.
    Member(Arc<Failed>, usize),
    /// There was no memory for more.
    NoMemory,
}

const NO_MEMORY: &str = "There was not enough memory, not even to say for what. Release some and try again.";

impl Object {
    pub(super) fn of(complaint: Complaint) -> Self {
        match complaint {
            Complaint::Failed(failed) => Self::Failed(failed),
            Complaint::Plain { code, message } => Self::Plain { code, message },
            Complaint::NoMemory => Self::NoMemory,
        }
    }

    /// What led to it, where bytes were claimed (T8).
    pub(super) fn report(&self) -> Option<&Report> {
        match self {
            Self::Failed(failed) => failed.report.as_deref(),
            Self::Member(failed, index) => failed.report.as_ref()?.members.get(*index),
            _ => None,
        }
    }

    /// The error with driver code, place and subject, where there is one.
    pub(super) fn error(&self) -> Option<&Arc<Error>> {
        match self {
            Self::Failed(failed) => Some(&failed.error),
            Self::Root(error) => Some(error),
            Self::Member(..) => self.report().map(|report| &report.root),
            Self::Plain { .. } | Self::NoMemory => None,
        }
    }

    pub(super) fn status(&self) -> compute_status {
        match self {
            Self::Failed(failed) => failed.error.code,
            Self::Root(error) => error.code,
            Self::Plain { code, .. } => *code,
            Self::Member(..) => COMPUTE_ERROR_UNWRITTEN,
            Self::NoMemory => COMPUTE_ERROR_OUT_OF_MEMORY,
        }
    }

    pub(super) fn message(&self) -> Cow<'_, str> {
        match self {
            Self::Failed(failed) => Cow::Borrowed(&failed.error.message),
            Self::Root(error) => Cow::Borrowed(&error.message),
            Self::Plain { message, .. } => Cow::Borrowed(message),
            Self::Member(..) => Cow::Owned(format!(
                "failure {} left some of the bytes asked for unwritten: {}",
                self.failure(),
                self.error().map_or("", |error| &error.message)
            )),
            Self::NoMemory => Cow::Borrowed(NO_MEMORY),
        }
    }

    pub(super) fn answers(&self) -> Answers {
        match self {
            Self::Failed(failed) => failed.answers(),
            Self::Root(error) => error.answers,
            Self::Member(..) => self.report().map(Report::answers).unwrap_or_default(),
            Self::Plain { code, .. } => Answers { refusal: *code == COMPUTE_ERROR_LIMIT, ..Answers::default() },
            Self::NoMemory => Answers { reclaimable: true, ..Answers::default() },
        }
    }

    pub(super) fn failure(&self) -> u64 {
        match self {
            Self::Failed(failed) => failed.failure,
            Self::Member(..) => self.report().map_or(0, |report| report.failure),
            _ => 0,
        }
    }

    pub(super) fn untouched(&self) -> bool {
        match self {
            Self::Failed(failed) => failed.untouched,
            Self::Member(..) => self.report().is_some_and(|report| report.untouched),
            _ => false,
        }
    }

    /// The members, when several failures claim the bytes.
    pub(super) fn members(&self) -> &[Report] {
        self.report().map_or(&[], |report| &report.members)
    }

    /// The root error, when there is one besides this one.
    pub(super) fn root(&self) -> Option<&Arc<Error>> {
        self.report().filter(|report| report.members.is_empty()).map(|report| &report.root)
    }
}
