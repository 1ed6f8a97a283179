//! The cache under one thread and many.

mod basics;
mod builds;
mod lifetimes;
mod policies;
mod properties;
mod support;
mod threads;
