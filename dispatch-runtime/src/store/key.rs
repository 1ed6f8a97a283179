//! What decides an executable: all of it, in a row.

use twox_hash::XxHash3_128;

use crate::client::Device;
use crate::program::Source;
use crate::{CompileOptions, engine::Engine};

/// The key of an entry. Equality decides; the hash only names the file.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Key(Vec<u8>);

impl Key {
    /// The key of a program for a device; none if the engine does not say what it compiles with, or the program is no text.
    pub fn of(device: Device, source: &Source, options: Option<&CompileOptions>) -> Option<Key> {
        let (kind, program): (&[u8], &[u8]) = match source {
            Source::StableHlo(text) => (b"StableHLO", text.as_bytes()),
            Source::Bytecode(bytes) => (b"bytecode", bytes),
            Source::Hlo(bytes) => (b"HLO", bytes),
            Source::Host { .. } => return None,
        };
        let engine: &dyn Engine = device.client().engine();
        let fingerprint = engine.fingerprint(device.index() as usize)?;
        let options = options.map(CompileOptions::encoded);
        let given: &[u8] = if options.is_some() { b"with options" } else { b"" };
        Some(Key::from_parts([fingerprint.as_bytes(), given, options.unwrap_or_default(), kind, program]))
    }

    /// Parts with their lengths, so that other parts never give the same key.
    fn from_parts(parts: [&[u8]; 5]) -> Key {
        let mut key = Vec::with_capacity(parts.iter().map(|part| part.len() + 8).sum());
        for part in parts {
            key.extend((part.len() as u64).to_le_bytes());
            key.extend(part);
        }
        Key(key)
    }

    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The name of the entry's file.
    pub fn file_name(&self) -> String {
        format!("{:032x}{}", XxHash3_128::oneshot(&self.0), super::folder::ENTRY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_counts_and_no_two_run_into_each_other() {
        let of = |parts: [&str; 5]| Key::from_parts(parts.map(str::as_bytes));
        let key = of(["a", "b", "c", "d", "e"]);
        assert_eq!(key, of(["a", "b", "c", "d", "e"]));
        assert_eq!(key.file_name(), of(["a", "b", "c", "d", "e"]).file_name());
        for other in [
            ["ab", "", "c", "d", "e"],
            ["a", "b", "", "cd", "e"],
            ["x", "b", "c", "d", "e"],
            ["a", "b", "c", "d", "x"],
            ["a", "b", "c", "d", ""],
        ] {
            assert_ne!(key, of(other));
            assert_ne!(key.file_name(), of(other).file_name());
        }
    }
}
