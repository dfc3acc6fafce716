//! Budgets (M6): a ceiling on bytes that any number of streams share.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// A ceiling. What is charged stays charged until it is refunded, whatever becomes of the handle that it was charged for.
#[derive(Debug)]
pub struct Budget {
    limit: u64,
    charged: AtomicU64,
    peak: AtomicU64,
}

/// A charge that did not fit; nothing was charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverBudget {
    /// Bytes that were to be charged.
    pub asked: u64,
    /// Bytes charged already.
    pub charged: u64,
    /// The ceiling.
    pub limit: u64,
}

impl OverBudget {
    /// Whether this could never fit, whatever is refunded.
    pub fn is_for_ever(&self) -> bool {
        self.asked > self.limit
    }
}

impl fmt::Display for OverBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { asked, charged, limit } = self;
        let free = limit.saturating_sub(*charged);
        write!(f, "{asked} bytes asked for, {free} of the budget's {limit} are free")
    }
}

impl std::error::Error for OverBudget {}

impl Budget {
    /// A budget of `limit` bytes.
    pub fn new(limit: u64) -> Self {
        Self { limit, charged: AtomicU64::new(0), peak: AtomicU64::new(0) }
    }

    /// Charges, or tells why not.
    pub fn charge(&self, bytes: u64) -> Result<(), OverBudget> {
        let add = |charged: u64| charged.checked_add(bytes).filter(|sum| *sum <= self.limit);
        match self.charged.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add) {
            Ok(before) => {
                self.peak.fetch_max(before + bytes, Ordering::Relaxed);
                Ok(())
            }
            Err(charged) => Err(OverBudget { asked: bytes, charged, limit: self.limit }),
        }
    }

    /// Takes a charge back. Never below zero.
    pub fn refund(&self, bytes: u64) {
        let _ = self.charged.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |charged| Some(charged.saturating_sub(bytes)));
    }

    /// The ceiling in bytes.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Bytes charged now.
    pub fn charged(&self) -> u64 {
        self.charged.load(Ordering::Relaxed)
    }

    /// The most bytes that were charged at once.
    pub fn peak(&self) -> u64 {
        self.peak.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m6_a_charge_that_does_not_fit_is_refused_with_the_numbers_and_charges_nothing() {
        let budget = Budget::new(64);
        budget.charge(60).unwrap();
        let over = budget.charge(5).unwrap_err();
        assert_eq!(over, OverBudget { asked: 5, charged: 60, limit: 64 });
        assert!(!over.is_for_ever() && over.to_string().contains("4 of the budget's 64"), "{over}");
        budget.charge(4).unwrap();
        budget.refund(60);
        budget.charge(50).unwrap();
        assert_eq!((budget.charged(), budget.peak(), budget.limit()), (54, 64, 64));
    }

    #[test]
    fn m9_charges_near_the_end_of_the_numbers_do_not_wrap() {
        let budget = Budget::new(u64::MAX);
        budget.charge(u64::MAX - 1).unwrap();
        assert!(budget.charge(2).is_err());
        assert!(!budget.charge(u64::MAX).unwrap_err().is_for_ever());
        assert!(Budget::new(64).charge(65).unwrap_err().is_for_ever());
        budget.refund(u64::MAX);
        assert_eq!(budget.charged(), 0);
    }

    #[test]
    fn m6_threads_that_share_a_budget_never_exceed_it_together() {
        let budget = Budget::new(1000);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for round in 0..10_000 {
                        let bytes = 200 + round % 300;
                        if budget.charge(bytes).is_ok() {
                            assert!(budget.charged() <= 1000);
                            budget.refund(bytes);
                        }
                    }
                });
            }
        });
        assert!(budget.charged() == 0 && budget.peak() <= 1000);
    }
}
