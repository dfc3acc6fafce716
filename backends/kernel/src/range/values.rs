//! Numbers of values: expressions that surely compute the same thing share one. What is known of a value where is not kept here.

use std::collections::HashMap;

use naga::{BinaryOperator, GlobalVariable, Handle, Scalar};

/// A value, as it is while the expressions that compute it stand in scope.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Id(u32);

/// How a value is read as a number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Kind {
    Unsigned,
    Signed,
    Truth,
    /// Not at all.
    Other,
}

impl Kind {
    pub(super) fn of(scalar: Option<Scalar>) -> Self {
        match scalar {
            Some(Scalar::U32) => Self::Unsigned,
            Some(Scalar::I32) => Self::Signed,
            Some(Scalar::BOOL) => Self::Truth,
            _ => Self::Other,
        }
    }

    pub(super) fn is_number(self) -> bool {
        matches!(self, Self::Unsigned | Self::Signed)
    }

    pub(super) fn lowest(self) -> i64 {
        if self == Self::Signed { i64::from(i32::MIN) } else { 0 }
    }

    pub(super) fn highest(self) -> i64 {
        if self == Self::Signed { i64::from(i32::MAX) } else { i64::from(u32::MAX) }
    }
}

/// How a value is computed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Made {
    /// By something that is not followed.
    Somehow,
    Number(i64),
    Truth(bool),
    /// The length of the runtime-sized array of a binding: at least 1, and the same as long as the kernel runs.
    Length(Handle<GlobalVariable>),
    /// What lies in memory that nobody writes while the kernel runs.
    Fixed(Handle<GlobalVariable>),
    Argument(u32),
    Part(Id, u32),
    Binary(BinaryOperator, Id, Id),
    Not(Id),
    /// The same 32 bits, read with or without a sign.
    Reread(Id),
    /// The second if the first is true, else the third.
    Select(Id, Id, Id),
    Min(Id, Id),
    Max(Id, Id),
    Clamp(Id, Id, Id),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Value {
    pub(super) kind: Kind,
    pub(super) made: Made,
    /// What it never is below, and never above, wherever it is computed.
    pub(super) low: i64,
    pub(super) high: i64,
}

#[derive(Default)]
pub(super) struct Values {
    all: Vec<Value>,
    shared: HashMap<(Kind, Made), Id>,
}

impl Values {
    pub(super) fn get(&self, id: Id) -> Value {
        self.all[id.0 as usize]
    }

    /// The value that is made like this, if there is one.
    pub(super) fn find(&self, kind: Kind, made: Made) -> Option<Id> {
        self.shared.get(&(kind, made)).copied()
    }

    pub(super) fn share(&mut self, kind: Kind, made: Made) -> Id {
        self.share_within(kind, made, kind.lowest(), kind.highest())
    }

    pub(super) fn share_within(&mut self, kind: Kind, made: Made, low: i64, high: i64) -> Id {
        if let Some(id) = self.find(kind, made) {
            return id;
        }
        let id = self.add(Value { kind, made, low, high });
        self.shared.insert((kind, made), id);
        id
    }

    /// A value that is like no other.
    pub(super) fn fresh(&mut self, kind: Kind) -> Id {
        self.fresh_within(kind, kind.lowest(), kind.highest())
    }

    pub(super) fn fresh_within(&mut self, kind: Kind, low: i64, high: i64) -> Id {
        self.add(Value { kind, made: Made::Somehow, low, high })
    }

    fn add(&mut self, value: Value) -> Id {
        self.all.push(value);
        Id(u32::try_from(self.all.len() - 1).unwrap_or(u32::MAX))
    }
}
