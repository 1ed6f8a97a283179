//! The executable cache.
