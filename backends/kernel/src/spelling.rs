//! Which of some words is spelled most like another: what somebody may have meant. Knows no language.

/// Longer words are not compared.
const LONGEST: usize = 48;
/// Words that are compared at most for one that is not known; the first ones count.
const MOST_WORDS: usize = 4096;

/// The first of the words that are nearest to `word`, when one is near.
pub(crate) fn nearest<'a>(word: &str, words: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > LONGEST || word.len() < 2 {
        return None;
    }
    let most = (word.len() / 3).clamp(1, 3);
    let near = words.filter(|w| *w != word && w.len().abs_diff(word.len()) <= most).take(MOST_WORDS);
    near.map(|w| (distance(word, w), w)).filter(|(d, _)| *d <= most).min_by_key(|(d, _)| *d).map(|(_, w)| w)
}

/// Letters to add, leave out, change or swap; upper and lower case are half as far.
fn distance(a: &str, b: &str) -> usize {
    if a.eq_ignore_ascii_case(b) {
        return 0;
    }
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().abs_diff(b.len()) > 3 {
        return usize::MAX;
    }
    let mut rows = vec![vec![0usize; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            let at = |i: usize, j: usize| rows.get(i).and_then(|r| r.get(j)).copied().unwrap_or(0);
            let cost = match (i, j) {
                (0, j) => j,
                (i, 0) => i,
                (i, j) => {
                    let same = a.get(i - 1) == b.get(j - 1);
                    let swapped = i > 1 && j > 1 && a.get(i - 1) == b.get(j - 2) && a.get(i - 2) == b.get(j - 1);
                    let plain = (at(i - 1, j) + 1).min(at(i, j - 1) + 1).min(at(i - 1, j - 1) + usize::from(!same));
                    if swapped { plain.min(at(i - 2, j - 2) + 1) } else { plain }
                }
            };
            if let Some(cell) = rows.get_mut(i).and_then(|r| r.get_mut(j)) {
                *cell = cost;
            }
        }
    }
    rows.last().and_then(|r| r.last()).copied().unwrap_or(usize::MAX)
}
