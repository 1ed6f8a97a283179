//! Keys of random numbers.

use dispatch_runtime::graph::{Key, Value};
use dispatch_runtime::prelude::*;

/// Keys of random numbers
///
/// A simulation draws its random numbers with a key: the same key gives the same numbers, on every device. R's own generator
/// and `set.seed()` have no part in it.
///
/// # Examples
///
/// ```r
/// key <- rng_key(1L)
/// key
/// numbers <- function(key) as.vector(bootstrap(mtcars$mpg, key, replicates = 3L)$replicates)
/// numbers(key)
/// numbers(rng_key(1L))
/// numbers(rng_key(2L))
/// ```
#[dispatch_family(capacity = 4, r_export)]
pub fn rng_key(
    cx: &CompileCx,
    /// A whole number.
    #[dynamic(dtype = [i64, i32], shape = [])]
    seed: Value,
) -> Result<Program> {
    cx.program(Key::seed(&seed).data().clone())
}
