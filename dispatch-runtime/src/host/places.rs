//! Where in memory the elements of a view lie: whether some have a place in common, with each other or with those of another view.

use smallvec::SmallVec;

use super::HostView;

/// The bytes that elements lie in: so many together, again and again at some distances.
///
/// ```
/// use dispatch_runtime::HostView;
///
/// let data = [0f64; 6];
/// let column = |i| HostView::strided(&data, &[2], &[3], i).unwrap().places();
/// assert!(!column(0).meet(&column(1)));
/// assert!(column(1).meet(&HostView::new(&data, &[6])?.places()));
///
/// let windows = HostView::strided(&data, &[4, 3], &[1, 1], 0)?;
/// assert!(windows.places().repeat() && !column(0).repeat());
/// # Ok::<(), dispatch_runtime::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Places {
    /// The first byte.
    at: i64,
    /// How many bytes lie together; none if there are no elements.
    size: i64,
    /// How many such pieces there are, and how far they are apart: the nearest first, each further apart than a piece is long.
    steps: SmallVec<[(i64, i64); 4]>,
    /// Whether an element is in another one's place, as far as that was found out.
    repeat: bool,
}

impl Places {
    /// Those of elements of `size` bytes, the one whose indices are all 0 at `at`, with these sizes and the distances of
    /// neighbours in bytes.
    pub fn new(at: usize, size: usize, sizes: &[i64], distances: &[i64]) -> Places {
        let mut places = Places { at: at as i64, size: size as i64, steps: SmallVec::new(), repeat: false };
        if sizes.contains(&0) {
            places.size = 0;
            return places;
        }
        for (&n, &step) in sizes.iter().zip(distances).filter(|&(&n, _)| n > 1) {
            // Backwards are the same places.
            places.at += (step * (n - 1)).min(0);
            match step {
                0 => places.repeat = true,
                step => places.steps.push((n, step.abs())),
            }
        }
        places.steps.sort_unstable_by_key(|&(_, step)| step);
        // What follows without a gap, or sooner, is one piece.
        while let Some(&(n, step)) = places.steps.first()
            && step <= places.size
        {
            places.repeat |= step < places.size;
            places.size += step * (n - 1);
            places.steps.remove(0);
        }
        places
    }

    /// Whether two elements have a place in common: what is written to one is then read from the other.
    pub fn repeat(&self) -> bool {
        if self.repeat || self.size == 0 {
            return self.repeat;
        }
        let mut reach = self.size;
        let nested = self.steps.iter().all(|&(n, step)| {
            let apart = step >= reach;
            reach += step * (n - 1);
            apart
        });
        if nested {
            return false;
        }
        // More bytes than there is room for share some; so what is looked at one by one is no more than the memory has.
        let all = self.steps.iter().try_fold(self.size, |all, &(n, _)| all.checked_mul(n));
        if all.is_none_or(|all| all > extent(self.size, &self.steps)) {
            return true;
        }
        // Between the pieces of one dimension lie those of another, perhaps beside each other.
        let mut pieces = vec![self.at];
        for &(n, step) in &self.steps {
            pieces = (0..n).flat_map(|i| pieces.iter().map(move |at| at + i * step)).collect();
        }
        pieces.sort_unstable();
        pieces.windows(2).any(|two| two[1] - two[0] < self.size)
    }

    /// Whether any of these are among those of another view.
    pub fn meet(&self, other: &Places) -> bool {
        if self.size == 0 || other.size == 0 {
            return false;
        }
        self.may_meet(other) && any_meets(self.at, self.size, &self.steps, other)
    }

    /// False where a look at the distances tells that they do not: columns of one table never meet.
    fn may_meet(&self, other: &Places) -> bool {
        let common = self.steps.iter().chain(&other.steps).fold(0, |all, &(_, step)| gcd(all, step));
        if common == 0 {
            return true;
        }
        let apart = (other.at - self.at).rem_euclid(common);
        apart < self.size || common - apart < other.size
    }

    /// Whether any of these are from one byte to before another.
    fn are_in(&self, (from, to): (i64, i64)) -> bool {
        fn look(at: i64, size: i64, steps: &[(i64, i64)], (from, to): (i64, i64)) -> bool {
            let Some((&(n, step), inner)) = steps.split_last() else { return at < to && at + size > from };
            let reach = extent(size, inner);
            // The first that ends behind `from`, and the last that begins before `to`.
            let first = if at + reach > from { 0 } else { (from - at - reach) / step + 1 };
            let last = if at < to { ((to - at - 1) / step).min(n - 1) } else { -1 };
            (first..=last).any(|i| look(at + i * step, size, inner, (from, to)))
        }
        look(self.at, self.size, &self.steps, (from, to))
    }
}

/// How many bytes there are from the first to the last.
fn extent(size: i64, steps: &[(i64, i64)]) -> i64 {
    size + steps.iter().map(|&(n, step)| step * (n - 1)).sum::<i64>()
}

/// Whether any of the pieces is in places of the other view: parts that are not near them are not looked at one by one.
fn any_meets(at: i64, size: i64, steps: &[(i64, i64)], other: &Places) -> bool {
    let all = (at, at + extent(size, steps));
    match steps.split_last() {
        _ if !other.are_in(all) => false,
        None => true,
        Some((&(n, step), inner)) => (0..n).any(|i| any_meets(at + i * step, size, inner, other)),
    }
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl HostView<'_> {
    /// Where its elements lie.
    pub fn places(&self) -> Places {
        let size = self.dtype().size() as i64;
        let distances: SmallVec<[i64; 6]> = match self.layout() {
            Some((strides, _)) => strides.iter().map(|stride| stride * size).collect(),
            None => super::layout::row_major(self.shape()).iter().map(|stride| stride * size).collect(),
        };
        Places::new(self.as_ptr() as usize, size as usize, self.shape(), &distances)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::Places;

    /// Each byte of each element.
    fn bytes(at: i64, size: i64, sizes: &[i64], distances: &[i64]) -> Vec<i64> {
        let mut all = vec![at];
        for (&n, &step) in sizes.iter().zip(distances) {
            all = (0..n).flat_map(|i| all.iter().map(move |at| at + i * step)).collect();
        }
        all.iter().flat_map(|at| *at..at + size).collect()
    }

    #[test]
    fn what_is_said_of_places_is_what_counting_bytes_gives() {
        let mut random = 0x9e37_79b9_7f4a_7c15u64;
        let mut below = |n: u64| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            (random % n) as i64
        };
        let (mut met, mut repeated, mut apart) = (0, 0, 0);
        for _ in 0..20_000 {
            let mut one = || {
                let rank = below(4) as usize;
                let sizes: Vec<i64> = (0..rank).map(|_| below(12).min(4)).collect();
                let distances: Vec<i64> = (0..rank).map(|_| below(31) - 10).collect();
                (1000 + below(40), 1 << below(4), sizes, distances)
            };
            let (a, b) = (one(), one());
            let of = |(at, size, sizes, distances): &(i64, i64, Vec<i64>, Vec<i64>)| {
                let all = bytes(*at, *size, sizes, distances);
                (Places::new(*at as usize, *size as usize, sizes, distances), all)
            };
            let ((first, ours), (second, theirs)) = (of(&a), of(&b));
            let set: HashSet<i64> = ours.iter().copied().collect();
            let meet = theirs.iter().any(|byte| set.contains(byte));
            assert_eq!((first.meet(&second), second.meet(&first)), (meet, meet), "{a:?} {b:?}");
            assert_eq!(first.repeat(), set.len() < ours.len(), "{a:?}");
            met += usize::from(meet);
            repeated += usize::from(first.repeat());
            apart += usize::from(!meet && !first.may_meet(&second));
        }
        assert!(met > 1000 && repeated > 1000 && apart > 100, "{met} {repeated} {apart}");
    }

    #[test]
    fn a_large_table_is_not_looked_at_element_by_element() {
        let rows = 1 << 40;
        // The left and the right half of 1024 columns.
        let half = |at| Places::new(at, 4, &[rows, 512], &[4096, 4]);
        assert!(!half(0).meet(&half(2048)) && half(0).meet(&half(2044)));
        assert!(!half(0).repeat());
        assert!(Places::new(0, 4, &[rows, 2], &[4, 4]).repeat());
        assert!(Places::new(0, 4, &[rows, rows], &[8, 12]).repeat());
    }
}
