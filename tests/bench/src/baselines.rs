//! What the cache is compared with.

use std::sync::{Arc, Mutex, PoisonError};

use dispatch_runtime::program::Source;
use dispatch_runtime::{Array, Aval, Client, DType, Executable, Result};
use foldhash::fast::RandomState;
use hashbrown::HashMap;

/// The look-up of [`crate::families::look_up`] as it is usually written: validation by hand, a mutex around a hash map
/// with a specialised key, and a counted reference that keeps the entry alive.
pub struct Usual {
    client: Client,
    map: Mutex<Map>,
}

type Key = (DType, i64, bool);
type Map = HashMap<Key, Arc<Executable>, RandomState>;

impl Usual {
    /// With nothing compiled.
    pub fn new(client: Client) -> Usual {
        Usual { client, map: Mutex::new(HashMap::default()) }
    }

    /// Looks the program up, compiling it if it is new, and runs it.
    #[inline(never)]
    pub fn call(&self, a: &Array, b: &Array, negate: bool) -> Result<()> {
        assert!(a.client() == self.client && b.client() == self.client && !a.is_donated() && !b.is_donated());
        assert!(matches!(a.dtype(), DType::F32 | DType::F64) && a.dtype() == b.dtype());
        assert!(a.rank() == 1 && a.shape() == b.shape());
        let key = (a.dtype(), a.shape()[0], negate);
        let entry = self.find(key).map_or_else(|| self.compile(key), Ok)?;
        // SAFETY: the arrays are of this client and of what the program takes, as checked above; it has no results.
        unsafe { entry.compiled().execute(&[a.raw(), b.raw()], &mut []) }
    }

    fn find(&self, key: Key) -> Option<Arc<Executable>> {
        self.map.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned()
    }

    #[cold]
    fn compile(&self, key: Key) -> Result<Arc<Executable>> {
        let a = Aval::new(key.0, [key.1]);
        let text = format!("func.func @main(%a: {a}, %b: {a}) {{ return }}");
        let entry = Arc::new(self.client.compile(Source::StableHlo(text))?);
        self.map.lock().unwrap_or_else(PoisonError::into_inner).insert(key, entry.clone());
        Ok(entry)
    }
}
