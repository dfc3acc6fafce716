//! What is known of values at one place of a kernel, and what follows from it: bounds that are numbers, and bounds below the length of a
//! binding's array.
//!
//! All arithmetic here is that of numbers, without wrapping: a rule holds only where the kernel's arithmetic is shown not to wrap. Where conditions exclude each other no
//! invocation comes, and bounds may be any number there: sums of them stop at the largest that there is.

use std::collections::HashMap;

use naga::{BinaryOperator, GlobalVariable, Handle};

use super::values::{Id, Kind, Made, Value, Values};

/// Values that one question looks at. Bounds the time of a hostile kernel.
const LOOKS: u32 = 96;
/// Operators and facts that a question follows in a row. Bounds the stack.
const DEPTH: u32 = 24;
/// Facts of one value that are looked at, the newest ones.
const FACTS: usize = 8;

/// A comparison that came out.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fact {
    /// At most another value, or zero without one, plus a number.
    AtMost(Option<Id>, i64),
    AtLeast(i64),
}

/// What a bound is measured against.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Goal {
    Zero,
    /// The length of the array that a binding is or ends with.
    Length(Handle<GlobalVariable>),
}

/// Facts in the order in which they were found, so that those of a branch go with it.
#[derive(Default)]
pub(super) struct Facts {
    by: HashMap<Id, Vec<Fact>>,
}

impl Facts {
    pub(super) fn add(&mut self, id: Id, fact: Fact) {
        self.by.entry(id).or_default().push(fact);
    }

    /// Takes back the newest of a value.
    pub(super) fn pop(&mut self, id: Id) {
        if let Some(facts) = self.by.get_mut(&id) {
            facts.pop();
        }
    }

    fn of(&self, id: Id) -> impl Iterator<Item = Fact> {
        self.by.get(&id).into_iter().flat_map(|facts| facts.iter().rev().take(FACTS).copied())
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Side {
    Least,
    Most(Goal),
}

/// One question: what a value is at least and at most.
pub(super) struct Question<'a> {
    values: &'a Values,
    facts: &'a Facts,
    /// Answers so far. An answer that is still open counts as "not known", which is true of it.
    answers: HashMap<(Id, Side), Option<i64>>,
    depth: u32,
    pub(super) looks: u32,
}

impl<'a> Question<'a> {
    pub(super) fn new(values: &'a Values, facts: &'a Facts) -> Self {
        Self { values, facts, answers: HashMap::new(), depth: 0, looks: 0 }
    }

    /// A number that a value is never below.
    pub(super) fn least(&mut self, id: Id) -> i64 {
        let value = self.values.get(id);
        self.answer(id, Side::Least, Some(value.low)).unwrap_or(value.low)
    }

    /// A number that a value is never above.
    pub(super) fn most(&mut self, id: Id) -> i64 {
        let value = self.values.get(id);
        self.answer(id, Side::Most(Goal::Zero), Some(value.high)).unwrap_or(value.high)
    }

    /// What has to be added to the goal so that a value is never above it, if anything does.
    pub(super) fn above(&mut self, id: Id, goal: Goal) -> Option<i64> {
        match goal {
            Goal::Zero => Some(self.most(id)),
            Goal::Length(_) => self.answer(id, Side::Most(goal), None),
        }
    }

    fn answer(&mut self, id: Id, side: Side, unknown: Option<i64>) -> Option<i64> {
        if let Some(known) = self.answers.get(&(id, side)) {
            return *known;
        }
        if self.depth >= DEPTH || self.looks >= LOOKS {
            return unknown;
        }
        self.answers.insert((id, side), unknown);
        self.depth += 1;
        self.looks += 1;
        let found = match side {
            Side::Least => Some(self.find_least(id)),
            Side::Most(goal) => self.find_most(id, goal),
        };
        self.depth -= 1;
        self.answers.insert((id, side), found);
        found
    }

    fn find_least(&mut self, id: Id) -> i64 {
        let value = self.values.get(id);
        let mut best = value.low;
        for fact in self.facts.of(id) {
            if let Fact::AtLeast(number) = fact {
                best = best.max(number);
            }
        }
        best.max(self.least_made(value.kind, value.made).unwrap_or(value.low))
    }

    fn least_made(&mut self, kind: Kind, made: Made) -> Option<i64> {
        Some(match made {
            Made::Number(number) => number,
            Made::Length(_) => 1,
            Made::Reread(from) => match kind {
                Kind::Signed if self.most(from) > kind.highest() => return None,
                _ => Some(self.least(from)).filter(|least| *least >= 0)?,
            },
            Made::Select(_, a, b) | Made::Min(a, b) | Made::Clamp(_, a, b) => self.least(a).min(self.least(b)),
            Made::Max(a, b) => self.least(a).max(self.least(b)),
            Made::Binary(op, a, b) if kind.is_number() => self.least_binary(kind, op, a, b)?,
            _ => return None,
        })
    }

    fn least_binary(&mut self, kind: Kind, op: BinaryOperator, a: Id, b: Id) -> Option<i64> {
        Some(match op {
            BinaryOperator::Add if self.adds(kind, a, b) => self.least(a).saturating_add(self.least(b)),
            BinaryOperator::Subtract if self.subtracts(kind, a, b) => self.least(a).saturating_sub(self.most(b)),
            BinaryOperator::Multiply if self.multiplies(kind, a, b) => self.least(a).checked_mul(self.least(b))?,
            BinaryOperator::Divide if self.least(a) >= 0 && self.least(b) >= 1 => 0,
            BinaryOperator::Modulo if self.least(a) >= 0 && self.least(b) >= 1 => 0,
            BinaryOperator::ShiftRight if self.least(a) >= 0 => 0,
            BinaryOperator::And if self.least(a) >= 0 || self.least(b) >= 0 => 0,
            _ => return None,
        })
    }

    fn find_most(&mut self, id: Id, goal: Goal) -> Option<i64> {
        let value = self.values.get(id);
        let mut best = (goal == Goal::Zero).then_some(value.high);
        let facts: Vec<_> = self.facts.of(id).collect();
        for fact in facts {
            let found = match fact {
                Fact::AtMost(Some(other), number) => self.above(other, goal).map(|above| above.saturating_add(number)),
                Fact::AtMost(None, number) => self.number(number, goal),
                Fact::AtLeast(_) => None,
            };
            best = lower(best, found);
        }
        lower(best, self.most_made(value.kind, value.made, goal))
    }

    /// How far above the goal a number is at most.
    fn number(&mut self, number: i64, goal: Goal) -> Option<i64> {
        match goal {
            Goal::Zero => Some(number),
            Goal::Length(of) => {
                let length = self.values.find(Kind::Unsigned, Made::Length(of));
                Some(number.saturating_sub(length.map_or(1, |length| self.least(length))))
            }
        }
    }

    fn most_made(&mut self, kind: Kind, made: Made, goal: Goal) -> Option<i64> {
        match made {
            Made::Number(number) => self.number(number, goal),
            Made::Length(of) if goal == Goal::Length(of) => Some(0),
            // Read with a sign, a number stays what it is or gets smaller.
            Made::Reread(from) => (kind == Kind::Signed || self.least(from) >= 0).then(|| self.above(from, goal))?,
            Made::Select(_, a, b) | Made::Max(a, b) | Made::Clamp(_, a, b) => {
                Some(self.above(a, goal)?.max(self.above(b, goal)?))
            }
            Made::Min(a, b) => lower(self.above(a, goal), self.above(b, goal)),
            Made::Binary(op, a, b) if kind.is_number() => self.most_binary(kind, op, (a, b), goal),
            _ => None,
        }
    }

    fn most_binary(&mut self, kind: Kind, op: BinaryOperator, (a, b): (Id, Id), goal: Goal) -> Option<i64> {
        match op {
            BinaryOperator::Add if self.adds(kind, a, b) => {
                let (first, second) = (self.above(a, goal), self.above(b, goal));
                lower(first.map(|n| n.saturating_add(self.most(b))), second.map(|n| n.saturating_add(self.most(a))))
            }
            BinaryOperator::Subtract if self.subtracts(kind, a, b) => Some(self.above(a, goal)?.saturating_sub(self.least(b))),
            BinaryOperator::Multiply if goal == Goal::Zero && self.multiplies(kind, a, b) => {
                self.most(a).checked_mul(self.most(b))
            }
            BinaryOperator::Divide if self.least(a) >= 0 && self.least(b) >= 1 => match goal {
                Goal::Zero => Some(self.most(a) / self.least(b)),
                Goal::Length(_) => {
                    let halves = self.least(b) >= 2;
                    self.above(a, goal)?.checked_sub(self.shrinks(a, halves))
                }
            },
            BinaryOperator::ShiftRight if self.least(a) >= 0 => match (goal, self.values.get(b).made) {
                (Goal::Zero, Made::Number(count @ 0..32)) => Some(self.most(a) >> count),
                (_, made) => {
                    let halves = matches!(made, Made::Number(1..32));
                    self.above(a, goal)?.checked_sub(self.shrinks(a, halves))
                }
            },
            BinaryOperator::ShiftLeft if goal == Goal::Zero && self.least(a) >= 0 => match self.values.get(b).made {
                Made::Number(count @ 0..32) => Some(self.most(a) << count).filter(|most| *most <= kind.highest()),
                _ => None,
            },
            // What is masked with a number that is not negative is not larger than it.
            BinaryOperator::And => {
                let mut masked = |by: Id| if self.least(by) >= 0 { self.above(by, goal) } else { None };
                let (first, second) = (masked(a), masked(b));
                lower(first, second)
            }
            BinaryOperator::Modulo if self.least(b) >= 1 => {
                let whole = if self.least(a) >= 0 { self.above(a, goal) } else { None };
                lower(whole, self.above(b, goal).map(|n| n.saturating_sub(1)))
            }
            _ => None,
        }
    }

    /// By how much halving makes a number smaller at least: the half of something is less than it.
    fn shrinks(&mut self, whole: Id, halves: bool) -> i64 {
        i64::from(halves && self.least(whole) >= 1)
    }

    /// Whether a sum does not wrap.
    fn adds(&mut self, kind: Kind, a: Id, b: Id) -> bool {
        self.most(a).saturating_add(self.most(b)) <= kind.highest()
            && self.least(a).saturating_add(self.least(b)) >= kind.lowest()
    }

    /// Whether a difference does not wrap.
    fn subtracts(&mut self, kind: Kind, a: Id, b: Id) -> bool {
        if self.most(a).saturating_sub(self.least(b)) > kind.highest() {
            return false;
        }
        self.least(a).saturating_sub(self.most(b)) >= kind.lowest() || kind == Kind::Unsigned && self.is_below(b, a)
    }

    /// Whether a comparison said that the first is at most the second, or less than what the second is computed from by subtraction.
    fn is_below(&mut self, low: Id, high: Id) -> bool {
        let (mut from, mut less) = (high, 0);
        if let Value { made: Made::Binary(BinaryOperator::Subtract, whole, part), kind, .. } = self.values.get(high)
            && let Made::Number(number) = self.values.get(part).made
            // By numbers alone: asked of the facts it would come back here, for as long as a chain of subtractions is.
            && self.least(whole).saturating_sub(self.most(part)) >= kind.lowest()
            && self.most(whole).saturating_sub(self.least(part)) <= kind.highest()
        {
            (from, less) = (whole, number);
        }
        self.facts.of(low).any(|fact| {
            matches!(fact, Fact::AtMost(Some(other), more) if other == high && more <= 0 || other == from && more.saturating_add(less) <= 0)
        })
    }

    /// Whether a product of numbers that are not negative does not wrap.
    fn multiplies(&mut self, kind: Kind, a: Id, b: Id) -> bool {
        let positive = self.least(a) >= 0 && self.least(b) >= 0;
        positive && self.most(a).checked_mul(self.most(b)).is_some_and(|most| most <= kind.highest())
    }

    /// The value that another one is, plus a number, where neither wraps.
    pub(super) fn sum(&mut self, id: Id) -> Option<(Id, i64)> {
        let value = self.values.get(id);
        match value.made {
            Made::Binary(BinaryOperator::Add, whole, part) if value.kind.is_number() && self.adds(value.kind, whole, part) => {
                let Made::Number(number) = self.values.get(part).made else { return None };
                Some((whole, number))
            }
            Made::Reread(from) if self.least(from) >= 0 && self.most(from) <= value.kind.highest() => Some((from, 0)),
            _ => None,
        }
    }
}

fn lower(a: Option<i64>, b: Option<i64>) -> Option<i64> {
    [a, b].into_iter().flatten().min()
}
