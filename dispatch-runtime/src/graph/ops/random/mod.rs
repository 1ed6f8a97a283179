//! Random numbers: keys, and what is drawn with them.

mod bits;
mod draw;
#[cfg(test)]
mod tests;

use std::fmt;

use super::super::control::Carry;
use super::super::make::{Extra, aval, op, op_many};
use super::super::operand::{Arg, Operand, Scalar};
use super::super::poison::{Reason, attempt, build};
use super::super::value::{Types, Value};
use crate::{Aval, DType};

/// What random numbers are drawn with: the same key gives the same numbers, always and everywhere.
///
/// A key is two `u64` of the program; nothing is remembered between draws. So a key is used once: for more numbers,
/// [`split`](Key::split) it or [`fold_in`](Key::fold_in) a count, which give keys whose numbers have nothing to do with
/// each other, nor with those of the key itself.
///
/// The bits are those of Threefry-2x32 with 20 rounds, on every device. A draw does not depend on how its shape divides
/// the elements, and a longer one begins with the numbers of a shorter one. Floats that are computed from the bits may
/// differ in their last digit between compilers; [`uniform`](Key::uniform) from 0 to 1 does not.
///
/// Each draw, split and count that is folded in adds the rounds of Threefry to the program, which XLA compiles for some
/// 50 ms. So draw many numbers at once, and keys for many draws by [`split_n`](Key::split_n) or in a loop.
///
/// ```
/// use dispatch_runtime::graph::{Graph, Key, fori};
/// use dispatch_runtime::prelude::*;
///
/// // π from points in a square, with a seed that is an argument of the program.
/// let graph = Graph::new();
/// let key = Key::seed(graph.input("seed", &Aval::new(DType::I64, [])));
/// let (for_x, for_y) = key.split();
/// let x = for_x.uniform(DType::F64, [100_000], 0.0, 1.0);
/// let y = for_y.uniform(DType::F64, [100_000], 0.0, 1.0);
/// let inside = (x.square() + y.square()).lt(1.0);
///
/// let client = Client::cpu()?;
/// let executable = client.compile(graph.program(inside)?)?;
/// let inside = executable.execute(&[&client.array(&[1i64], [])?])?[0].to_vec::<bool>()?;
/// let pi = 4.0 * inside.iter().filter(|inside| **inside).count() as f64 / 1e5;
/// assert!((pi - std::f64::consts::PI).abs() < 0.02);
///
/// // In a loop: a key for each round.
/// let key = Key::seed(1);
/// let walk = fori(0, 10, Value::zeros(DType::F32, [3]), |i, x| x + key.fold_in(i).normal(DType::F32, [3]));
/// # Graph::new().program(walk)?;
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone)]
#[must_use = "a key that nothing is drawn with has no effect"]
pub struct Key(Value);

/// What is mixed into a key before keys are made from it, so that they come from another stream than its numbers.
const SPLIT: u64 = 0x0073_706C_6974;
const FOLD: u64 = 0x666F_6C64;

/// The steps of the SplitMix64 generator, which spreads seeds.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
const MIX: [(u64, u64); 2] = [(30, 0xBF58_476D_1CE4_E5B9), (27, 0x94D0_49BB_1331_11EB)];
const LAST_SHIFT: u64 = 31;

impl Key {
    /// The key of a seed: an integer, or an integer scalar of the program. Each seed has a key of its own; equal numbers
    /// have the same key, whatever their integer type (negative ones as `i64`).
    ///
    /// # Errors
    ///
    /// The seed is no integer, or no scalar.
    #[track_caller]
    pub fn seed(seed: impl Operand) -> Key {
        let seed = seed.operand();
        Key(build("seed", &[seed], || match seed {
            Arg::Scalar(Scalar::Int(seed)) => {
                // A negative number as the 64 bits of an `i64`.
                let seed = seed as u64;
                Ok(Value::constant(&[1, 2].map(|i| spread(seed.wrapping_add(GOLDEN.wrapping_mul(i)))), [2]))
            }
            Arg::Scalar(other) => Err(format!("a seed is an integer, not {other}")),
            Arg::Value(seed) => {
                if !seed.dtype().is_int() || seed.rank() > 0 {
                    return Err(format!("a seed is an integer scalar, not {seed:?}"));
                }
                let steps = Value::constant(&[GOLDEN, GOLDEN.wrapping_mul(2)], [2]);
                let mixed = MIX.into_iter().fold(seed.convert(DType::U64) + steps, |x, (shift, factor)| {
                    (&x ^ x.shr_logical(shift)) * factor
                });
                Ok(&mixed ^ mixed.shr_logical(LAST_SHIFT))
            }
        }))
    }

    /// The key with this [data](Key::data): two `u64`.
    ///
    /// # Errors
    ///
    /// The value is no `u64[2]`.
    #[track_caller]
    pub fn from_data(data: &Value) -> Key {
        Key(build("from_data", &[Arg::Value(data)], || {
            if *data.aval() != Aval::new(DType::U64, [2]) {
                return Err("a key is ui64[2]".into());
            }
            Ok(data.clone())
        }))
    }

    /// What the key is made of, `u64[2]`: so that a program can give a key and another one take it.
    pub fn data(&self) -> &Value {
        &self.0
    }

    /// Two new keys.
    #[track_caller]
    pub fn split(&self) -> (Key, Key) {
        let mut keys = self.keys("split", 2).into_iter();
        let mut next = || keys.next().expect("there are two");
        (next(), next())
    }

    /// `n` new keys; the first ones are the same for every `n`.
    #[track_caller]
    pub fn split_n(&self, n: usize) -> Vec<Key> {
        self.keys("split_n", n)
    }

    #[track_caller]
    fn keys(&self, name: &'static str, n: usize) -> Vec<Key> {
        let made = attempt(name, &[Arg::Value(&self.0)], || {
            let count = i64::try_from(n).ok().filter(|n| *n <= MOST_KEYS).map(|n| 2 * n);
            let count = count.ok_or_else(|| format!("a program has {MOST_KEYS} keys at most, not {n}"))?;
            let bits = self.stream(SPLIT).random(DType::U64, count)?;
            Ok((0..n as i64).map(|i| Key(bits.slice_axis(0, 2 * i, 2 * i + 2))).collect())
        });
        // As many wrong keys as somebody may look at, but not more than fit into memory.
        made.unwrap_or_else(|poisoned| vec![Key(poisoned); n.min(MOST_WRONG)])
    }

    /// The new key that belongs to this number: an integer, or an integer scalar such as the count of a loop.
    ///
    /// # Errors
    ///
    /// The number is no integer, or no scalar.
    #[track_caller]
    pub fn fold_in(&self, number: impl Operand) -> Key {
        let number = number.operand();
        Key(build("fold_in", &[Arg::Value(&self.0), number], || {
            let number = match number {
                Arg::Scalar(Scalar::Int(number)) => Value::scalar(number as u64),
                Arg::Value(number) if number.dtype().is_int() && number.rank() == 0 => {
                    number.convert(DType::U64)
                }
                other => return Err(format!("what is folded in is an integer scalar, not {other}")),
            };
            // The two numbers at twice this place of the stream.
            let place = number * Value::constant(&[0u64, 2], [2]);
            Key(self.stream(FOLD).0 + place).random(DType::U64, 2)
        }))
    }

    /// The same place in another stream.
    #[track_caller]
    fn stream(&self, which: u64) -> Key {
        Key(&self.0 ^ Value::constant(&[which, 0], [2]))
    }

    /// This many random bits of an unsigned dtype, in a row.
    ///
    /// Of the first word of a key Threefry makes its own key; the second one is the count from which it starts.
    #[track_caller]
    fn random(&self, dtype: DType, n: i64) -> Result<Value, Reason> {
        // XLA gives unsigned numbers even where another type is asked for.
        debug_assert!(matches!(dtype, DType::U8 | DType::U16 | DType::U32 | DType::U64));
        let results = [self.0.aval().clone(), aval(dtype, &[n])?];
        let text = "stablehlo.rng_bit_generator $0, algorithm = THREE_FRY";
        let mut results = op_many(text, std::slice::from_ref(&self.0), results, Extra::default())?;
        let random = results.pop().expect("the second result");
        let kind = random.aval().clone();
        // Without it a plugin (0.115) puts draws in a loop into one kernel, which takes minutes to compile.
        Ok(op("stablehlo.optimization_barrier $0", Types::Same, [&random], kind))
    }
}

/// Each key of a split is a value of its own.
const MOST_KEYS: i64 = 1 << 20;
const MOST_WRONG: usize = 1 << 10;

/// The last step of SplitMix64: each number to another one.
fn spread(x: u64) -> u64 {
    let mixed = MIX.into_iter().fold(x, |x, (shift, factor)| (x ^ (x >> shift)).wrapping_mul(factor));
    mixed ^ (mixed >> LAST_SHIFT)
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({:?})", self.0)
    }
}

impl Carry for Key {
    fn same_structure(&self, _: &Key) -> bool {
        true
    }

    fn list(&self) -> Vec<Value> {
        self.0.list()
    }

    fn rebuild(&self, values: &mut dyn Iterator<Item = Value>) -> Key {
        Key(self.0.rebuild(values))
    }
}
