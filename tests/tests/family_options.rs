//! The options of a family, in its declaration and its builder.

use dispatch_runtime::cache::{EntryId, Occupancy};
use dispatch_runtime::prelude::*;
use dispatch_tests::{array, first};

fn sizes(client: Client, sizes: impl IntoIterator<Item = i64>) -> impl Iterator<Item = Array> {
    sizes.into_iter().map(move |n| array(client, DType::F32, &[n]))
}

// --- capacity and eviction

#[test]
fn the_capacity_is_any_constant() {
    const CAPACITY: usize = 1;

    #[dispatch_family(capacity = 2)]
    fn by_number(#[dynamic(dtype = f32, shape = [_])] a: Aval) -> Result<Program> {
        first(&[a])
    }
    #[dispatch_family(capacity = CAPACITY)]
    fn by_name(#[dynamic(dtype = f32, shape = [_])] a: Aval) -> Result<Program> {
        first(&[a])
    }
    #[dispatch_family(capacity = 2 * CAPACITY + 1)]
    fn by_expression(#[dynamic(dtype = f32, shape = [_])] a: Aval) -> Result<Program> {
        first(&[a])
    }
    let client = Client::host();
    let (number, name, expression) =
        (ByNumber::new(&client), ByName::new(&client), ByExpression::new(&client));
    for x in sizes(client, 0..9) {
        number.call(&x).unwrap();
        name.call(&x).unwrap();
        expression.call(&x).unwrap();
    }
    assert_eq!([number.stats(), name.stats(), expression.stats()].map(|s| s.entries), [2, 1, 3]);
}

#[test]
fn a_family_keeps_64_programs_unless_told_otherwise() {
    #[dispatch_family]
    fn plain(#[dynamic(dtype = f32, shape = [_])] a: Aval) -> Result<Program> {
        first(&[a])
    }
    let client = Client::host();
    let family = Plain::new(&client);
    for x in sizes(client, 0..70) {
        family.call(&x).unwrap();
    }
    assert_eq!((family.stats().entries, family.stats().evictions), (64, 6));
}

#[test]
fn lru_forgets_what_was_used_longest_ago() {
    #[dispatch_family(capacity = 2, eviction = Lru)]
    fn recent(#[dynamic(dtype = f32, shape = [_])] a: Aval) -> Result<Program> {
        first(&[a])
    }
    let client = Client::host();
    let family = Recent::new(&client);
    let x: Vec<Array> = sizes(client, 0..3).collect();
    for i in [0, 1, 0, 2] {
        family.call(&x[i]).unwrap();
    }
    let hit = |i: usize| family.explain(&x[i]).unwrap() == Explanation::Hit;
    assert_eq!([hit(0), hit(1), hit(2)], [true, false, true]);
}

#[test]
fn an_unbounded_family_keeps_all() {
    #[dispatch_family(capacity = 1, eviction = Unbounded)]
    fn keeps(#[dynamic(dtype = f32, shape = [_])] a: Aval) -> Result<Program> {
        first(&[a])
    }
    let client = Client::host();
    let family = Keeps::new(&client);
    for x in sizes(client, 0..100) {
        family.call(&x).unwrap();
    }
    assert_eq!((family.stats().entries, family.stats().evictions), (100, 0));
}

#[test]
fn a_budget_of_bytes_bounds_the_executables() {
    use dispatch_runtime::engine::fake::FakeEngine;

    #[dispatch_family(capacity = 10, eviction = ByBytes(10_000))]
    fn budget(#[dynamic(dtype = f32, shape = [_])] a: Aval) -> Result<Program> {
        first(&[a])
    }
    let (client, state) = FakeEngine::client(1);
    let family = Budget::new(&client);
    let x: Vec<Array> = sizes(client, 0..5).collect();
    for (x, (bytes, kept)) in x.iter().zip([(4000, 1), (4000, 2), (4000, 2), (9000, 1), (50_000, 1)]) {
        state.set_executable_bytes(bytes);
        family.call(x).unwrap();
        assert_eq!(family.stats().entries, kept, "after {bytes}");
        assert_eq!(state.live_executables() as u64, kept);
    }
    assert_eq!(family.stats().bytes, 50_000);
}

/// Evicts the entry that was used last.
struct Mru;

impl EvictionPolicy for Mru {
    fn victim(&mut self, occupancy: &Occupancy<'_>) -> Option<EntryId> {
        let full = occupancy.entries.len() >= occupancy.capacity;
        full.then(|| occupancy.entries.iter().max_by_key(|entry| entry.last_use).unwrap().id)
    }
}

#[test]
fn a_policy_of_ones_own_decides() {
    #[dispatch_family(capacity = 2, eviction = Mru)]
    fn stack(#[dynamic(dtype = f32, shape = [_])] a: Aval) -> Result<Program> {
        first(&[a])
    }
    let client = Client::host();
    let x: Vec<Array> = sizes(client, 0..3).collect();
    for family in [Stack::new(&client), Stack::builder(&client).eviction(Mru).build().unwrap()] {
        x.iter().for_each(|x| drop(family.call(x).unwrap()));
        let hit = |i: usize| family.explain(&x[i]).unwrap() == Explanation::Hit;
        assert_eq!([hit(0), hit(1), hit(2)], [true, false, true]);
    }
}

#[test]
fn the_builder_overrides_capacity_and_eviction() {
    #[dispatch_family(capacity = 2)]
    fn declared(#[dynamic(dtype = f32, shape = [_])] a: Aval) -> Result<Program> {
        first(&[a])
    }
    let client = Client::host();
    let three = Declared::builder(&client).capacity(3).build().unwrap();
    let all = Declared::builder(&client).eviction(Unbounded).build().unwrap();
    let declared = Declared::builder(&client).build().unwrap();
    for x in sizes(client, 0..9) {
        three.call(&x).unwrap();
        all.call(&x).unwrap();
        declared.call(&x).unwrap();
    }
    assert_eq!([three.stats(), all.stats(), declared.stats()].map(|s| s.entries), [3, 9, 2]);
}

#[test]
fn the_builder_refuses_capacity_zero() {
    #[dispatch_family]
    fn no_room(#[dynamic(dtype = f32, shape = [_])] a: Aval) -> Result<Program> {
        first(&[a])
    }
    NoRoom::new(&Client::host()).call([1f32]).unwrap();
    let error = NoRoom::builder(&Client::host()).capacity(0).build().err().unwrap();
    assert_eq!(error.to_string(), "option `capacity`: expected at least 1, got 0");
}

// --- warm, clear, stats

#[test]
fn warming_compiles_ahead() {
    #[dispatch_family]
    fn ahead(
        #[dynamic(dtype = [f32, f64], shape = [n])] a: Aval,
        #[dynamic(like(a))] b: Aval,
        #[static_arg] k: i64,
    ) -> Result<Program> {
        let _ = k;
        first(&[a, b])
    }
    let client = Client::host();
    let family = Ahead::new(&client);
    let x = array(client, DType::F64, &[3]);
    family.warm(x.aval(), x.aval(), 7).unwrap();
    assert_eq!((family.stats().compiles, family.stats().entries), (1, 1));
    family.warm(x.aval(), x.aval(), 7).unwrap();
    family.call(&x, &x, 7).unwrap();
    assert_eq!(family.stats().compiles, 1);
    // What a call refuses, warm refuses in the same words.
    let y = array(client, DType::I32, &[3]);
    let warm = family.warm(x.aval(), y.aval(), 7).unwrap_err();
    let call = family.call(&x, &y, 7).unwrap_err();
    assert_eq!(warm.to_string(), call.to_string());
}

#[test]
fn clearing_forgets_the_programs_but_not_the_counts() {
    use dispatch_runtime::engine::fake::FakeEngine;

    #[dispatch_family]
    fn cleared(#[dynamic(dtype = f32, shape = [_])] a: Aval) -> Result<Program> {
        first(&[a])
    }
    let (client, state) = FakeEngine::client(1);
    let family = Cleared::new(&client);
    for x in sizes(client, [1, 2, 1]) {
        family.call(&x).unwrap();
    }
    assert_eq!(state.live_executables(), 2);
    family.clear();
    assert_eq!(state.live_executables(), 0);
    let stats = family.stats();
    assert_eq!((stats.entries, stats.bytes, stats.hits, stats.misses, stats.compiles), (0, 0, 1, 2, 2));
    family.call(sizes(client, [1]).next().unwrap()).unwrap();
    assert_eq!(family.stats().compiles, 3);
    drop(family);
    state.assert_clean();
}
