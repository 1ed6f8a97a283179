//! Cache keys: how values become words, and the law that hash and equality obey.
//!
//! A key is a string of 64-bit words. A value is *encoded* by one traversal, [`StaticKey::encode`] or a closure of a
//! generated stub, which gives its words to a [`Sink`]. A look-up encodes its key once, on the stack; then words are
//! compared with words, hashed, and on a miss stored.
//!
//! # The law
//!
//! Two keys are equal exactly if their words are. Hash and equality come from one traversal, so they cannot disagree. The
//! hash only chooses where to look: with every hash forced equal all answers stay the same.
//!
//! # What an encoding must be
//!
//! * Injective: different values give different words. A finer key may waste a compile, a coarser one would return
//!   the wrong program.
//! * Prefix-free: no encoding of a type is the beginning of another one of that type; variable parts are preceded by
//!   their length. Then two keys of one family cannot run into each other: their parts stand in the same order with
//!   the same types.

mod values;

use std::cell::Cell;
use std::fmt;
use std::hash::{BuildHasher, Hasher};
use std::mem::ManuallyDrop;
use std::sync::OnceLock;

use arrayvec::ArrayVec;
use foldhash::fast::RandomState;
pub use values::expected;

use crate::border::{ItemKind, Mismatch, StaticValue};

/// Where the words of a key go; see the [module documentation](self).
pub struct Sink<'a>(&'a mut Words);

/// The words of one key.
pub(crate) struct Words {
    near: ArrayVec<u64, 64>,
    /// All words of a key that is too long for `near`, else empty. Kept by `drop`, so not dropped.
    far: ManuallyDrop<Vec<u64>>,
}

thread_local! {
    /// Room for a long key, used again so that look-ups do not allocate.
    static SPARE: Cell<Vec<u64>> = const { Cell::new(Vec::new()) };
}

impl Words {
    /// No words yet.
    #[inline(always)]
    pub fn new() -> Self {
        Words { near: ArrayVec::new_const(), far: ManuallyDrop::new(Vec::new()) }
    }

    /// The words of a traversal; to be asked for once.
    #[inline(always)]
    pub fn record(&mut self, encode: impl FnOnce(&mut Sink<'_>)) -> &[u64] {
        encode(&mut Sink(self));
        if self.far.is_empty() { &self.near } else { &self.far }
    }

    #[cold]
    #[inline(never)]
    fn push_far(&mut self, word: u64) {
        if self.far.is_empty() {
            *self.far = SPARE.try_with(Cell::take).unwrap_or_default();
            self.far.clear();
            self.far.extend_from_slice(&self.near);
        }
        self.far.push(word);
    }

    /// Leaves the room for the next long key. An empty `far` of a short key has no room to be lost.
    #[cold]
    #[inline(never)]
    fn keep_far(&mut self) {
        let far = std::mem::take(&mut *self.far);
        // Fails only while the thread ends.
        let _ = SPARE.try_with(|spare| spare.set(far));
    }
}

impl Drop for Words {
    #[inline(always)]
    fn drop(&mut self) {
        if !self.far.is_empty() {
            self.keep_far();
        }
    }
}

impl Sink<'_> {
    /// Takes one word.
    #[inline(always)]
    pub fn word(&mut self, word: u64) {
        if self.0.near.try_push(word).is_err() {
            self.0.push_far(word);
        }
    }

    /// Takes a length-prefixed list of words, such as the sizes of a shape.
    #[inline]
    pub fn sizes(&mut self, sizes: &[i64]) {
        self.word(sizes.len() as u64);
        for &n in sizes {
            self.word(n as u64);
        }
    }

    /// Takes length-prefixed bytes, packed eight to a word.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.word(bytes.len() as u64);
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.word(u64::from_le_bytes(word));
        }
    }
}

/// Whether two keys are equal. Written out, because keys are too short for a call of `memcmp` to pay.
#[inline(always)]
pub(crate) fn equal(a: &[u64], b: &[u64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a == b)
}

/// The hash of a key; seeded once per process.
pub(crate) fn hash(words: &[u64]) -> u64 {
    static SEED: OnceLock<RandomState> = OnceLock::new();
    let mut hasher = SEED.get_or_init(RandomState::default).build_hasher();
    words.iter().for_each(|&word| hasher.write_u64(word));
    hasher.finish()
}

/// A type whose values can be static arguments: part of the cache key, constant in the compiled program.
///
/// Implemented for the integers, `bool`, `char`, `f32` and `f64` (by bits, with all NaNs equal, so that `0.0` and
/// `-0.0` are two keys), `String`, `&'static str`, `()`, and for `Option`, `Vec`, `Box`, arrays and tuples of such
/// types. `#[derive(StaticArg)]` implements it for enums and structs.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a static argument",
    label = "no static argument",
    note = "for an enum or struct of your own, add `#[derive(StaticArg)]`"
)]
pub trait StaticKey: Clone + Send + Sync + 'static {
    /// The kind of a vector's elements that become values of this type; none if another language has no such value.
    #[doc(hidden)]
    const ITEM: Option<ItemKind> = None;

    /// Gives the value to the sink: injective and prefix-free, see the [module documentation](self).
    fn encode(&self, sink: &mut Sink<'_>);

    /// A copy for the body of a family. Provided, so that the errors of a type that is no static argument all say so.
    #[doc(hidden)]
    fn to_static(&self) -> Self {
        self.clone()
    }

    /// Writes the value as a person would, for `explain`: in Rust, or with `#` among the flags (`{:#}`) as the language
    /// writes it that gives values to [`StaticKey::from_value`].
    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result;

    /// The value that another language gives. A type that no other language has a value of refuses all.
    ///
    /// ```
    /// use dispatch_runtime::border::{StaticItem, StaticValue};
    /// use dispatch_runtime::key::StaticKey;
    ///
    /// let count = StaticValue::Vector(&[StaticItem::Double(3.0)]);
    /// assert_eq!(u8::from_value(count), Ok(3));
    /// let half = StaticValue::Vector(&[StaticItem::Double(0.5)]);
    /// assert_eq!(u8::from_value(half).unwrap_err().expected, "a whole number from 0 to 255");
    /// ```
    fn from_value(value: StaticValue<'_>) -> Result<Self, Mismatch> {
        Err(value.unsupported())
    }
}

/// Shows a static value by [`StaticKey::describe`].
pub struct Described<'a, T>(pub &'a T);

impl<T: StaticKey> fmt::Display for Described<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.describe(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words<T: StaticKey>(x: T) -> Box<[u64]> {
        Words::new().record(|s| x.encode(s)).into()
    }

    #[test]
    fn zero_and_minus_zero_are_two_keys_and_nan_is_one() {
        assert_ne!(words(0.0), words(-0.0));
        assert_ne!(words(0f32), words(-0f32));
        let odd_nan = f64::from_bits(f64::NAN.to_bits() ^ 1);
        assert!(odd_nan.is_nan());
        assert_eq!(words(f64::NAN), words(odd_nan));
        assert_eq!(words(f64::NAN), words(-f64::NAN));
        assert_eq!(words(f32::NAN), words(-f32::NAN));
    }

    #[test]
    fn lists_do_not_run_into_each_other() {
        let pairs: [(Vec<String>, Vec<String>); 4] = [
            (vec!["a".into(), "b".into()], vec!["ab".into()]),
            (vec!["".into()], vec![]),
            (vec!["a\0".into()], vec!["a".into()]),
            (vec!["12345678".into(), "".into()], vec!["12345678".into()]),
        ];
        for (a, b) in pairs {
            assert_ne!(words(a), words(b));
        }
        assert_ne!(words((vec![1u8], vec![2u8, 3])), words((vec![1u8, 2], vec![3u8])));
        assert_ne!(words(Some(0u64)), words(None::<u64>));
    }

    #[test]
    fn equal_values_made_afresh_match() {
        let stored = words((vec![1.5f64, f64::NAN], String::from("x"), Some(true)));
        let again = (vec![1.5f64, f64::NAN], String::from("x"), Some(true));
        assert!(equal(&stored, &words(again.clone())));
        assert_eq!(hash(&stored), hash(&words(again)));
    }

    #[test]
    fn a_longer_or_shorter_key_is_another() {
        assert!(equal(&[1, 2], &[1, 2]));
        assert!(!equal(&[1, 2], &[1, 2, 3]));
        assert!(!equal(&[1, 2], &[1]));
        assert!(!equal(&[1, 2], &[1, 3]));
        assert!(equal(&[], &[]));
    }

    #[test]
    fn a_long_key_keeps_all_its_words() {
        for n in [0, 1, 63, 64, 65, 300] {
            let list: Vec<u64> = (0..n).collect();
            for _ in 0..2 {
                let words = words(list.clone());
                assert_eq!((words[0], &words[1..]), (n, &list[..]));
            }
        }
    }

    #[test]
    fn a_long_key_inside_the_traversal_of_another_is_no_harm() {
        let long: Vec<u64> = (0..100).collect();
        let outer = Words::new()
            .record(|sink| {
                long.encode(sink);
                assert_eq!(words(long.clone())[1..], long);
                sink.word(7);
            })
            .to_vec();
        assert_eq!((outer.len(), outer[101]), (102, 7));
    }

    #[test]
    fn wide_integers_keep_all_bits() {
        assert_ne!(words(1i128), words(1i128 | 1 << 64));
        assert_ne!(words(-1i128), words(u64::MAX as i128));
    }

    #[test]
    fn values_are_described_as_a_person_would() {
        let value = (Some(vec![1.5f64]), String::from("x"), [true; 2]);
        assert_eq!(Described(&value).to_string(), r#"(Some([1.5]), "x", [true, true])"#);
    }

    #[test]
    fn another_language_has_its_own_spelling() {
        fn spelled<T: StaticKey>(value: T) -> String {
            format!("{:#}", Described(&value))
        }
        assert_eq!(spelled(true), "TRUE");
        assert_eq!(spelled(Some(2u8)), "2");
        assert_eq!(spelled(None::<u8>), "NULL");
        assert_eq!(spelled(25.0f64), "25");
        assert_eq!(spelled(0.1f32), "0.1");
        assert_eq!(spelled(1e-10f64), "1e-10");
        assert_eq!([f64::NAN, f64::INFINITY, -f64::INFINITY].map(spelled), ["NaN", "Inf", "-Inf"]);
        assert_eq!(spelled(i64::MAX), "bit64::as.integer64(\"9223372036854775807\")");
        assert_eq!(spelled(vec![1.0f64, 2.5]), "c(1, 2.5)");
        assert_eq!(spelled(Some([false, true])), "c(FALSE, TRUE)");
        assert_eq!(spelled(vec![7i32]), "7");
        assert_eq!(spelled(Vec::<f64>::new()), "numeric(0)");
        assert_eq!(spelled(Vec::<String>::new()), "character(0)");
        assert_eq!(spelled(Vec::<bool>::new()), "logical(0)");
        assert_eq!(spelled(String::from("a\"b")), r#""a\"b""#);
        assert_eq!(spelled('\''), "\"'\"");
        assert_eq!(spelled(crate::DType::BF16), "\"bf16\"");
    }
}
