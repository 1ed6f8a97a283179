//! Values that notice use after drop, and short forms.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::SeqCst};

use super::super::*;

/// How many values are alive, and how many were built.
#[derive(Default)]
pub struct Ledger {
    pub alive: AtomicI64,
    pub built: AtomicI64,
}

const ALIVE: u64 = 0x600D_600D_600D_600D;

/// A value that knows its key and poisons itself when dropped.
pub struct Value {
    key: AtomicU64,
    seal: AtomicU64,
    bytes: u64,
    ledger: Arc<Ledger>,
}

impl Value {
    pub fn new(key: u64, ledger: &Arc<Ledger>) -> Value {
        Value::sized(key, 1, ledger)
    }

    pub fn sized(key: u64, bytes: u64, ledger: &Arc<Ledger>) -> Value {
        ledger.alive.fetch_add(1, SeqCst);
        ledger.built.fetch_add(1, SeqCst);
        Value { key: key.into(), seal: ALIVE.into(), bytes, ledger: ledger.clone() }
    }

    /// The key; fails if the value has been dropped.
    pub fn read(&self) -> u64 {
        assert_eq!(self.seal.load(SeqCst), ALIVE, "use after drop");
        self.key.load(SeqCst)
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        assert_eq!(self.seal.swap(0, SeqCst), ALIVE, "dropped twice");
        self.key.store(u64::MAX, SeqCst);
        self.ledger.alive.fetch_sub(1, SeqCst);
    }
}

impl Weigh for Value {
    fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// The traversal of a key of one word.
pub fn key(k: u64) -> impl Fn(&mut Sink<'_>) {
    move |sink| sink.word(k)
}

/// Describes a key of one word.
pub fn described(k: u64) -> Vec<Part> {
    vec![Part { name: "k".into(), value: k.to_string() }]
}

/// A cache of values and their ledger.
pub struct Bench {
    pub cache: Cache<Value>,
    pub ledger: Arc<Ledger>,
}

impl Bench {
    pub fn new(capacity: usize) -> Bench {
        Bench::with(capacity, Box::new(Lru))
    }

    pub fn with(capacity: usize, policy: Box<dyn EvictionPolicy>) -> Bench {
        Bench { cache: Cache::new("family `bench`", capacity, policy).unwrap(), ledger: Arc::default() }
    }

    pub fn colliding(capacity: usize) -> Bench {
        let Bench { cache, ledger } = Bench::new(capacity);
        Bench { cache: cache.with_colliding_hashes(), ledger }
    }

    pub fn get(&self, k: u64) -> Result<Pin<'_, Value>> {
        self.get_sized(k, 1)
    }

    pub fn get_sized(&self, k: u64, bytes: u64) -> Result<Pin<'_, Value>> {
        if let Some(pin) = self.cache.find(key(k)) {
            return Ok(pin);
        }
        self.cache.get_or_build(key(k), || described(k), || Ok(Value::sized(k, bytes, &self.ledger)))
    }

    /// Dispatches `k`, and says whether it was built.
    pub fn touch(&self, k: u64) -> bool {
        let before = self.built();
        assert_eq!(self.get(k).unwrap().read(), k);
        self.built() != before
    }

    /// Dispatches `k`.
    pub fn call(&self, k: u64) {
        assert_eq!(self.get(k).unwrap().read(), k);
    }

    pub fn has(&self, k: u64) -> bool {
        self.cache.contains(key(k))
    }

    /// The keys in the cache, the last used last.
    pub fn by_recency(&self) -> Vec<u64> {
        self.cache.entries().iter().rev().map(|entry| entry.key[0].value.parse().unwrap()).collect()
    }

    pub fn built(&self) -> i64 {
        self.ledger.built.load(SeqCst)
    }

    pub fn alive(&self) -> i64 {
        self.ledger.alive.load(SeqCst)
    }

    pub fn retired(&self) -> usize {
        self.cache.lock().retired()
    }

    pub fn blocks(&self) -> usize {
        self.cache.lock().blocks().len()
    }
}

/// Xorshift.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}
