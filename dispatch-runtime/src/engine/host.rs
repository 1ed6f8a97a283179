//! The closure engine.
