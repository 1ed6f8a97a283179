//! The directory where compiled programs are kept.

use dispatch_r::{cache, entry, make, Root, SEXP};
use savvy::savvy;

/// Directory and bound, what is there, and what was done by this process.
#[savvy]
fn rs_cache() -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let cache = cache::look()?;
        let number = |n: u64| make::double(n as f64);
        let values = [
            ("path", make::string(&cache.path.to_string_lossy())?),
            ("entries", number(cache.entries)?),
            ("bytes", number(cache.bytes)?),
            ("max_bytes", number(cache.max_bytes)?),
            ("hits", number(cache.counts.hits)?),
            ("misses", number(cache.counts.misses)?),
            ("writes", number(cache.counts.writes)?),
            ("refused", number(cache.counts.refused)?),
            ("evicted", number(cache.counts.evicted)?),
            ("failed", number(cache.counts.failed)?),
        ];
        let values: Vec<(&str, SEXP)> =
            values.iter().map(|(name, value): &(&str, Root)| (*name, value.get())).collect();
        Ok(make::named_list(&values)?.release())
    })
}

/// Removes all entries; how many.
#[savvy]
fn rs_cache_clear() -> savvy::Result<savvy::Sexp> {
    entry(|| Ok(make::double(cache::clear()? as f64)?.release()))
}
