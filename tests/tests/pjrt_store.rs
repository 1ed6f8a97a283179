//! Compiled programs in a store, on a real plugin: what is served, what is refused, how it fails.

mod plugin;
mod store_dir;

use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use dispatch_runtime::engine::pjrt::{ClientOptions, CompileOptions};
use dispatch_runtime::ffi::{self, Buffer, BufferMut};
use dispatch_runtime::graph::Graph;
use dispatch_runtime::prelude::*;
use dispatch_runtime::program::Source;
use dispatch_runtime::store::Store;
use plugin::{add, run, values};
use store_dir::Dir;

/// A client of its own with a store of its own.
fn with_store(dir: &Dir) -> (Client, Store) {
    let client = Client::for_platform("cpu", &ClientOptions::new()).unwrap();
    let store = Store::open(dir.path()).unwrap();
    client.set_store(Some(&store));
    assert_eq!(client.store().unwrap().path(), store.path());
    (client, store)
}

/// `%a + %b` over so many floats: a program for each number.
fn program(n: usize) -> Source {
    Source::StableHlo(add(&format!("tensor<{n}xf32>")))
}

/// Compiles the program of `n`, and sees that it is right.
#[track_caller]
fn compiled(client: Client, n: usize) -> Executable {
    let executable = client.compile(program(n)).unwrap();
    let a = client.array(&vec![1.5f32; n], [n as i64]).unwrap();
    assert_eq!(values::<f32>(&run(&executable, &[&a, &a])), vec![3.0; n]);
    executable
}

fn only_entry(dir: &Dir) -> PathBuf {
    let mut entries = dir.entries();
    assert_eq!(entries.len(), 1);
    entries.pop().unwrap()
}

#[test]
fn what_was_compiled_once_is_loaded() {
    let dir = Dir::new();
    let (client, store) = with_store(&dir);
    assert!(!compiled(client, 4).compiled().is_loaded());
    assert!(compiled(client, 4).compiled().is_loaded());
    let (another, same) = with_store(&dir);
    assert!(compiled(another, 4).compiled().is_loaded());
    let stats = store.stats();
    assert_eq!((stats.hits, stats.misses, stats.writes, stats.refused), (1, 1, 1, 0));
    assert_eq!((same.stats().hits, same.stats().misses), (1, 0));
    assert_eq!((stats.entries, stats.bytes), (1, only_entry(&dir).metadata().unwrap().len()));
    assert!(store.to_owned().stats().to_string().starts_with("1 hits, 1 misses, 1 writes, 0 refused"));

    client.set_store(None);
    assert!(client.store().is_none() && !compiled(client, 4).compiled().is_loaded());
    assert_eq!(store.clear().unwrap(), 1);
    assert_eq!(store.stats().entries, 0);
}

#[test]
fn another_program_device_option_or_form_is_another_entry() {
    let dir = Dir::new();
    let client = Client::for_platform("cpu", &ClientOptions::new().set("cpu_device_count", 2i64)).unwrap();
    let store = Store::open(dir.path()).unwrap();
    client.set_store(Some(&store));
    let devices: Vec<_> = client.devices().collect();
    // `xla.CompileOptionsProto` with a name that the runtime does not look at: profile_version (8) = 1.
    let options = CompileOptions::from_proto([0x40, 1]).unwrap();
    let text = add("tensor<4xf32>");
    let variants = || {
        [
            client.compile(Source::StableHlo(text.clone())),
            client.compile(Source::StableHlo(format!("{text} "))),
            client.compile(Source::Bytecode(text.clone().into_bytes())),
            client.compile_on(Source::StableHlo(text.clone()), devices[1]),
            client.compile_with(Source::StableHlo(text.clone()), devices[0], &options),
            client.compile_with(Source::StableHlo(text.clone()), devices[0], &CompileOptions::default()),
        ]
    };
    for (loaded, executables) in [(false, variants()), (true, variants())] {
        for executable in executables {
            let executable = executable.unwrap();
            assert_eq!(executable.compiled().is_loaded(), loaded);
            let a = client.array_on(&[1f32, 2.0, 3.0, 4.0], [4], executable.device()).unwrap();
            assert_eq!(values::<f32>(&run(&executable, &[&a, &a])), [2.0, 4.0, 6.0, 8.0]);
        }
    }
    assert_eq!((store.stats().entries, store.stats().hits), (6, 6));
}

/// Sums into its first argument.
#[dispatch_family]
fn accumulate(
    cx: &CompileCx,
    #[dynamic(dtype = f32, shape = [n], donate)] total: Value,
    #[dynamic(dtype = f32, shape = [n])] x: Value,
) -> Result<Program> {
    cx.program(total + x)
}

#[test]
fn a_loaded_family_donates_as_a_compiled_one_does() {
    // Little memory is copied on some plugins, much is handed over on all.
    for n in [4usize, 1 << 16] {
        let dir = Dir::new();
        let mut totals = Vec::new();
        for loads in [0, 1] {
            let (client, _) = with_store(&dir);
            let family = Accumulate::new(&client);
            let ones = client.array(&vec![1f32; n], [n as i64]).unwrap();
            let mut total = client.array(&vec![0.5f32; n], [n as i64]).unwrap();
            for _ in 0..20 {
                let given = total.clone();
                total = family.call(&total, &ones).unwrap();
                assert_eq!(given.to_vec::<f32>().unwrap_err().code(), "donated");
            }
            assert_eq!((family.stats().compiles, family.stats().loads, family.stats().hits), (1, loads, 19));
            let inspection = family.inspect(total.aval(), ones.aval()).unwrap();
            assert_eq!(inspection.memory.unwrap().alias, 4 * n as u64);
            totals.push(values::<f32>(&total));
        }
        assert_eq!(totals[0], totals[1]);
        assert_eq!(totals[0], vec![20.5; n]);
    }
}

#[test]
fn a_loaded_program_has_its_layouts_and_is_inspected_as_a_compiled_one() {
    let dir = Dir::new();
    let text = "func.func @main(%a: tensor<2x3xf32>) -> (tensor<2x3xf32> {mhlo.layout_mode = \"{0,1}\"}, tensor<f32>) {
                  %0 = stablehlo.exponential %a : tensor<2x3xf32>
                  %1 = stablehlo.constant dense<2.0> : tensor<f32>
                  return %0, %1 : tensor<2x3xf32>, tensor<f32>
                }";
    let both = [(); 2].map(|()| {
        let (client, _) = with_store(&dir);
        let executable = client.compile(Source::StableHlo(text.into())).unwrap();
        let a = client.array(&[0f32, 1.0, 2.0, 3.0, 4.0, 5.0], [2, 3]).unwrap();
        let results = executable.execute(&[&a]).unwrap();
        (executable, values::<f32>(&results[0]), values::<f32>(&results[1]))
    });
    let [(compiled, first, _), (loaded, second, two)] = &both;
    assert!(!compiled.compiled().is_loaded() && loaded.compiled().is_loaded());
    assert_eq!(first, second);
    assert_eq!((first[1], two[0]), (1f32.exp(), 2.0));
    let (was, is) = (compiled.inspect().unwrap(), loaded.inspect().unwrap());
    assert_eq!((was.inputs, was.outputs, was.memory), (is.inputs, is.outputs, is.memory));
    assert_eq!((was.flops, was.bytes_accessed), (is.flops, is.bytes_accessed));
    // The number of the module may differ.
    let body = |text: Option<String>| text.map(|text| text.split_once('\n').unwrap().1.to_owned());
    assert_eq!(body(was.optimized_hlo), body(is.optimized_hlo));
}

struct Scale(f32);

static INSTANTIATED: Mutex<Vec<f32>> = Mutex::new(Vec::new());

#[ffi_handler(stage = instantiate)]
fn scale_of(#[attr] by: f32) -> ffi::Result<Scale> {
    INSTANTIATED.lock()?.push(by);
    Ok(Scale(by))
}

#[ffi_handler(instantiate = scale_of)]
fn scaled(
    #[arg] x: Buffer<f32>,
    #[ret] mut out: BufferMut<f32>,
    #[attr] by: f32,
    #[ctx] scale: ffi::State<Scale>,
) -> ffi::Result<()> {
    assert_eq!(scale.0, by);
    out.iter_mut().zip(&x[..]).for_each(|(out, x)| *out = by * x);
    Ok(())
}

#[test]
fn programs_that_call_functions_are_loaded_with_their_states_and_find_the_function_of_today() {
    let dir = Dir::new();
    let text = "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
        %0 = \"stablehlo.custom_call\"(%x) {call_target_name = \"store.scaled\", api_version = 4 : i32,
          backend_config = {by = 3.0 : f32}} : (tensor<2xf32>) -> tensor<2xf32>
        return %0 : tensor<2xf32>
      }";
    let source = Source::StableHlo(text.into());
    let (client, store) = with_store(&dir);
    client.register_ffi_handler("store.scaled", &SCALED).unwrap();
    let x = client.array(&[1f32, 2.0], [2]).unwrap();
    for loaded in [false, true] {
        let executable = client.compile(&source).unwrap();
        assert_eq!(executable.compiled().is_loaded(), loaded);
        assert_eq!(values::<f32>(&run(&executable, &[&x])), [3.0, 6.0]);
    }
    assert!(
        INSTANTIATED.lock().unwrap().len() >= 2 && INSTANTIATED.lock().unwrap().iter().all(|&by| by == 3.0)
    );

    // Another function under the name: the program that is loaded calls it.
    assert!(client.remove_ffi_handler("store.scaled"));
    client
        .register_ffi_closure("store.scaled", |_, mut rets, _| {
            rets.get::<f32>(0)?.fill(7.0);
            Ok(())
        })
        .unwrap();
    let executable = client.compile(&source).unwrap();
    assert_eq!(values::<f32>(&run(&executable, &[&x])), [7.0, 7.0]);
    drop(executable);

    // Nobody under the name: what there is without a store, and the entry stays.
    assert!(client.remove_ffi_handler("store.scaled"));
    let (entries, hits) = (store.stats().entries, store.stats().hits);
    let outcome = |client: Client| {
        client
            .compile(&source)
            .and_then(|executable| executable.execute(&[&x]))
            .and_then(|out| out[0].to_vec::<f32>())
    };
    let with = outcome(client).unwrap_err();
    client.set_store(None);
    let without = outcome(client).unwrap_err();
    assert_eq!(with.to_string(), without.to_string());
    assert_eq!((store.stats().entries, store.stats().refused), (entries, 0), "{hits} {}", store.stats());
}

#[test]
fn a_changed_file_is_refused_counted_and_written_anew() {
    let dir = Dir::new();
    let (client, store) = with_store(&dir);
    compiled(client, 4);
    let entry = only_entry(&dir);
    let good = fs::read(&entry).unwrap();
    // The whole header and the beginning of the key, then here and there.
    let step = if dispatch_tests::short() { good.len() / 8 } else { good.len() / 64 };
    let flips =
        (0..120).step_by(if dispatch_tests::short() { 10 } else { 1 }).chain((120..good.len()).step_by(step));
    let mut refused = 0;
    for byte in flips {
        let mut changed = good.clone();
        changed[byte] ^= 0x10;
        fs::write(&entry, &changed).unwrap();
        assert!(!compiled(client, 4).compiled().is_loaded(), "byte {byte}");
        refused += 1;
        assert_eq!(store.stats().refused, refused, "byte {byte}");
        // It is whole again.
        assert!(compiled(client, 4).compiled().is_loaded());
    }
    for len in [0, 7, 15, 16, 40, 95, 96, 97, good.len() / 2, good.len() - 1] {
        fs::write(&entry, &good[..len]).unwrap();
        assert!(!compiled(client, 4).compiled().is_loaded(), "{len} bytes");
        refused += 1;
    }
    fs::write(&entry, [&good[..], b"more"].concat()).unwrap();
    assert!(!compiled(client, 4).compiled().is_loaded());
    assert_eq!(store.stats().refused, refused + 1);
    assert_eq!(store.stats().failed, 0);
}

#[test]
fn the_entry_of_another_program_is_refused_though_its_name_says_it_is_this_one() {
    let dir = Dir::new();
    let (client, store) = with_store(&dir);
    compiled(client, 4);
    let four = only_entry(&dir);
    compiled(client, 5);
    let five = dir.entries().into_iter().find(|entry| *entry != four).unwrap();
    // As if the hashes of both keys were equal.
    fs::copy(&four, &five).unwrap();
    assert!(!compiled(client, 5).compiled().is_loaded());
    assert_eq!(store.stats().refused, 1);
    assert!(compiled(client, 5).compiled().is_loaded() && compiled(client, 4).compiled().is_loaded());
}

#[test]
fn the_bound_holds_and_what_was_used_last_stays() {
    let dir = Dir::new();
    let (client, _) = with_store(&dir);
    (1..=4).for_each(|n| drop(compiled(client, n)));
    let size = dir.bytes() / 4;
    let store = Store::builder(dir.path()).max_bytes(5 * size).open().unwrap();
    client.set_store(Some(&store));
    // 1 is in use again, so 2 and then 3 go.
    assert!(compiled(client, 1).compiled().is_loaded());
    for n in [5, 6, 7] {
        assert!(!compiled(client, n).compiled().is_loaded());
        assert!(dir.bytes() <= 5 * size, "{} of {}", dir.bytes(), 5 * size);
    }
    let stats = store.stats();
    assert_eq!(stats.entries + stats.evicted, 7);
    assert!((2..=3).contains(&stats.evicted), "{stats}");
    for n in [1, 7, 6, 5] {
        assert!(compiled(client, n).compiled().is_loaded(), "{n}");
    }
    assert!(!compiled(client, 2).compiled().is_loaded());

    // A lower bound holds from when the store is opened, also if nothing is written.
    let before = dir.entries().len() as u64;
    let lower = Store::builder(dir.path()).max_bytes(2 * size).open().unwrap();
    let stats = lower.stats();
    assert!(stats.bytes <= 2 * size && stats.evicted + stats.entries == before, "{stats}");

    // One that is larger than all of it is not kept.
    let tiny = Store::builder(dir.path()).max_bytes(100).open().unwrap();
    client.set_store(Some(&tiny));
    compiled(client, 9);
    assert_eq!((tiny.stats().writes, tiny.stats().failed), (0, 0));
}

#[test]
fn a_read_only_store_is_not_written() {
    let dir = Dir::new();
    let (client, _) = with_store(&dir);
    compiled(client, 4);
    let before = only_entry(&dir).metadata().unwrap().modified().unwrap();
    let store = Store::builder(dir.path()).read_only(true).open().unwrap();
    client.set_store(Some(&store));
    assert!(compiled(client, 4).compiled().is_loaded() && !compiled(client, 5).compiled().is_loaded());
    assert_eq!((store.stats().hits, store.stats().misses, store.stats().writes), (1, 1, 0));
    assert_eq!(only_entry(&dir).metadata().unwrap().modified().unwrap(), before);
    assert!(store.clear().unwrap_err().to_string().ends_with("the store is only read"));

    let nowhere = dir.path().join("nowhere");
    let error = Store::builder(&nowhere).read_only(true).open().unwrap_err();
    assert_eq!(error.code(), "file");
    assert!(!nowhere.exists());
}

#[test]
fn loading_is_much_faster_than_compiling() {
    let graph = Graph::new();
    let x = graph.input("x", &Aval::new(DType::F32, [8]));
    let steps = (0..100).fold(x, |x, i| (x * (1.0 + i as f32 / 100.0)).tanh());
    let source = graph.program::<Value>(steps).unwrap().source().clone();
    let dir = Dir::new();
    let (client, store) = with_store(&dir);
    client.compile(&source).unwrap();
    let mut ratios = Vec::new();
    let time = |store: Option<&Store>| {
        client.set_store(store);
        let start = Instant::now();
        client.compile(&source).unwrap();
        start.elapsed()
    };
    let mut total = (Duration::ZERO, Duration::ZERO);
    for _ in 0..9 {
        let (compile, load) = (time(None), time(Some(&store)));
        total = (total.0 + compile, total.1 + load);
        ratios.push(load.as_secs_f64() / compile.as_secs_f64());
    }
    assert_eq!(store.stats().hits, 9);
    ratios.sort_by(f64::total_cmp);
    println!(
        "200 operations: compiled in {:?}, loaded in {:?}, ratio {:.3}",
        total.0 / 9,
        total.1 / 9,
        ratios[4]
    );
    assert!(ratios[4] < 0.5, "{ratios:?}");
}
