//! The counters of a cache.

use std::fmt;

/// What a cache has done and holds; see [`Cache::stats`](super::Cache::stats).
///
/// Each look-up is either a hit or a miss. Hits of other threads that run at the same moment may be missing still.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct Stats {
    /// Look-ups that found their entry.
    pub hits: u64,
    /// Look-ups that did not: those that built it, those that waited for another thread that was building it, and
    /// those that ended in an error.
    pub misses: u64,
    /// Builds that gave an entry. Failed ones are misses only.
    pub compiles: u64,
    /// Those of the builds that compiled nothing, because the program was in the client's
    #[cfg_attr(feature = "store", doc = "[store](crate::store).")]
    #[cfg_attr(not(feature = "store"), doc = "store.")]
    pub loads: u64,
    /// Entries that went to make room for others; not those that were removed or cleared.
    pub evictions: u64,
    /// Entries in the cache now.
    pub entries: u64,
    /// The sum of their sizes.
    pub bytes: u64,
}

impl fmt::Display for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Stats { hits, misses, compiles, loads, evictions, entries, bytes } = self;
        let loaded = if *loads > 0 { format!(" ({loads} loaded)") } else { String::new() };
        write!(
            f,
            "{hits} hits, {misses} misses, {compiles} compiles{loaded}, {evictions} evictions; \
             {entries} entries of {bytes} bytes"
        )
    }
}
