//! Answers that say nothing about the work that was asked for: they are waited out, but not for ever.

use std::time::{Duration, Instant};

/// How long there have been no other answers.
#[derive(Default)]
pub(crate) struct Doubt(Option<Asked>);

/// When such an answer came first and last.
struct Asked {
    first: Instant,
    last: Instant,
}

impl Doubt {
    /// Another answer came.
    pub(crate) fn clear(&mut self) {
        self.0 = None;
    }

    /// One more such answer. Whether they have come for longer than `most`, so that none other is to be expected.
    pub(crate) fn lasts(&mut self, most: Duration) -> bool {
        self.lasts_at(Instant::now(), most)
    }

    fn lasts_at(&mut self, now: Instant, most: Duration) -> bool {
        let since = |then: Instant| now.saturating_duration_since(then);
        // While nobody asked there may have been others: two captures of somebody else's an hour apart are not one of an hour.
        let first = self.0.as_ref().filter(|asked| since(asked.last) < most / 4).map_or(now, |asked| asked.first);
        self.0 = Some(Asked { first, last: now });
        since(first) >= most
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::Doubt;

    #[test]
    fn only_answers_that_keep_coming_for_long_last() {
        let (start, most) = (Instant::now(), Duration::from_secs(10));
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut doubt = Doubt::default();
        assert!((0..10).all(|second| !doubt.lasts_at(at(second), most)) && doubt.lasts_at(at(10), most));
        doubt.clear();
        assert!(!doubt.lasts_at(at(11), most), "another answer came between");
        assert!(!doubt.lasts_at(at(100), most), "nobody asked for long");
        assert!((101..110).all(|second| !doubt.lasts_at(at(second), most)) && doubt.lasts_at(at(110), most));
    }
}
