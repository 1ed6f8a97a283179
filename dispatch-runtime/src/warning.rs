//! Where warnings go: what is worth saying once and is no error.

use std::panic::catch_unwind;
use std::sync::RwLock;

/// Takes a warning, one paragraph without a final stop.
pub type WarningHandler = fn(&str);

static HANDLER: RwLock<WarningHandler> = RwLock::new(|text| eprintln!("warning: {text}"));

/// Replaces what happens with warnings (such as a donation that XLA could not use); by default they are printed to
/// the standard error, and so are those of which the handler panics. Returns the handler before.
pub fn set_warning_handler(handler: WarningHandler) -> WarningHandler {
    std::mem::replace(&mut HANDLER.write().unwrap_or_else(|e| e.into_inner()), handler)
}

pub(crate) fn warn(text: &str) {
    let handler = *HANDLER.read().unwrap_or_else(|e| e.into_inner());
    // Warnings come from places that must not unwind, such as what the plugin calls.
    if let Err(panic) = catch_unwind(|| handler(text)) {
        eprintln!("warning: {text} (the handler of warnings panicked)");
        // It may panic again when it is dropped.
        std::mem::forget(panic);
    }
}
