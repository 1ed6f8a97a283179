//! The fake engine.
