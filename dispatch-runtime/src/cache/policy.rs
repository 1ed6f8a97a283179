//! Which entry goes when a new one comes.

/// The identity of an entry within its cache. Later entries have greater ones.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct EntryId(pub(super) u64);

/// What the cache knows of one entry.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Usage {
    /// Which entry.
    pub id: EntryId,
    /// When it was last hit, or inserted: greater is later. Exact within a thread; across threads up to the calls
    /// that run at the same moment.
    pub last_use: u64,
    /// How often it was hit.
    pub hits: u64,
    /// Its size.
    pub bytes: u64,
}

/// The cache at the moment of an insertion, before the new entry is in.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Occupancy<'a> {
    /// The entries, in no particular order; never empty.
    pub entries: &'a [Usage],
    /// The sum of their sizes.
    pub bytes: u64,
    /// How many entries the cache is made for.
    pub capacity: usize,
    /// The size of the entry that comes.
    pub incoming: u64,
}

impl Occupancy<'_> {
    /// The entry whose last use is longest ago.
    pub fn least_recent(&self) -> Option<EntryId> {
        self.entries.iter().min_by_key(|e| (e.last_use, e.id)).map(|e| e.id)
    }
}

/// Decides which entries make room for a new one.
///
/// The cache calls a policy only on a miss and when entries are taken out, never on a hit, and always under its lock:
/// a policy must not call the cache. The order of the calls:
///
/// 1. When an entry is to be inserted and there are others: [`victim`](Self::victim), again and again, until it
///    answers `None` or no entry is left. Each victim leaves at once, followed by its [`removed`](Self::removed).
/// 2. Then [`inserted`](Self::inserted) for the new entry.
/// 3. [`removed`](Self::removed) for each entry that the user removes or clears.
///
/// An answer of `None` while the cache is full lets it grow. A policy that panics, or names an entry that is not there,
/// is not asked again for this insertion: the least recently used entries go until the new one fits the capacity.
/// Panics in the two hooks are ignored.
pub trait EvictionPolicy: Send + 'static {
    /// The entry to evict next, or `None` if the incoming one may enter.
    fn victim(&mut self, occupancy: &Occupancy<'_>) -> Option<EntryId>;

    /// An entry has come in.
    fn inserted(&mut self, _entry: &Usage) {}

    /// An entry has gone: evicted, removed or cleared.
    fn removed(&mut self, _entry: &Usage) {}
}

/// Evicts the least recently used entry when the cache is full. The default.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Lru;

impl EvictionPolicy for Lru {
    fn victim(&mut self, occupancy: &Occupancy<'_>) -> Option<EntryId> {
        (occupancy.entries.len() >= occupancy.capacity).then(|| occupancy.least_recent())?
    }
}

/// Never evicts: the capacity does not count.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Unbounded;

impl EvictionPolicy for Unbounded {
    fn victim(&mut self, _: &Occupancy<'_>) -> Option<EntryId> {
        None
    }
}

/// [`Lru`] with a budget of so many bytes besides the capacity. An entry that is larger than the budget stays alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ByBytes(pub u64);

impl EvictionPolicy for ByBytes {
    fn victim(&mut self, occupancy: &Occupancy<'_>) -> Option<EntryId> {
        let fits = occupancy.bytes.saturating_add(occupancy.incoming) <= self.0;
        if fits { Lru.victim(occupancy) } else { occupancy.least_recent() }
    }
}
