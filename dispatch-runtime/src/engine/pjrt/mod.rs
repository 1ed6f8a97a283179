//! PJRT.
