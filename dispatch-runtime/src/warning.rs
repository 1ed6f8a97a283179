//! Where warnings go: what is worth saying once and is no error.

use std::sync::RwLock;

/// Takes a warning, one paragraph without a final stop.
pub type WarningHandler = fn(&str);

static HANDLER: RwLock<WarningHandler> = RwLock::new(|text| eprintln!("warning: {text}"));

/// Replaces what happens with warnings (such as a donation that XLA could not use); by default they are printed to
/// the standard error. Returns the handler before.
pub fn set_warning_handler(handler: WarningHandler) -> WarningHandler {
    std::mem::replace(&mut HANDLER.write().unwrap_or_else(|e| e.into_inner()), handler)
}

pub(crate) fn warn(text: &str) {
    let handler = *HANDLER.read().unwrap_or_else(|e| e.into_inner());
    handler(text);
}
