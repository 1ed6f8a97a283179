//! Plots by criterion, for reading: the limits are kept by `benches/limits`.

use std::hint::black_box;
use std::time::Duration;

use criterion::Criterion;
use dispatch_bench::families::{self, Add, LookUp};
use dispatch_bench::raw::{Compile, Execute};
use dispatch_runtime::engine::fake::NoopEngine;
use dispatch_runtime::program::Source;
use dispatch_runtime::{Array, Client};

fn main() {
    if !dispatch_bench::asked_to_measure() {
        return;
    }
    let pjrt = Client::cpu().unwrap_or_else(|error| panic!("{error}"));
    let mut criterion = Criterion::default()
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2))
        .configure_from_args();
    hit(&mut criterion, pjrt);
    look_up(&mut criterion, NoopEngine::client(1));
    miss(&mut criterion, pjrt);
    criterion.final_summary();
}

fn pair(client: Client) -> [Array; 2] {
    [families::array(client, 0.0), families::array(client, 1.0)]
}

fn hit(criterion: &mut Criterion, client: Client) {
    let [a, b] = pair(client);
    let executable = client.compile(Source::StableHlo(families::add_text(&a.aval(), true))).unwrap();
    let mut raw = Execute::new(client, executable.compiled(), &[a.raw(), b.raw()]);
    let add = Add::new(&client);
    let mut group = criterion.benchmark_group("hit");
    group.bench_function("raw", |bencher| bencher.iter(|| raw.call()));
    group.bench_function("stub", |bencher| {
        bencher.iter(|| families::call_add(&add, black_box(&a), black_box(&b), black_box(true)).unwrap());
    });
    group.finish();
}

fn look_up(criterion: &mut Criterion, client: Client) {
    let [a, b] = pair(client);
    let look_up = LookUp::new(&client);
    criterion.bench_function("look-up", |bencher| {
        bencher.iter(|| {
            families::call_look_up(&look_up, black_box(&a), black_box(&b), black_box(true)).unwrap()
        });
    });
}

fn miss(criterion: &mut Criterion, client: Client) {
    let [a, b] = pair(client);
    let add = Add::new(&client);
    let mut raw = Compile::new(client, families::add_text(&a.aval(), true), &[&a, &b]);
    let mut group = criterion.benchmark_group("miss");
    group.sample_size(10).measurement_time(Duration::from_secs(3));
    group.bench_function("raw", |bencher| bencher.iter(|| raw.call()));
    group.bench_function("stub", |bencher| {
        bencher.iter(|| {
            add.clear();
            families::call_add(&add, &a, &b, true).unwrap()
        });
    });
    group.finish();
}
