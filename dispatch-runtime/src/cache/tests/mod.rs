//! The cache under one thread and many.

mod basics;
mod support;
