//! A host scalar: a stub that uploads it against the raw upload.

use std::hint::black_box;

use dispatch_bench::families::{self, AddScalar};
use dispatch_bench::harness::{case, pin_to_processor, rounds};
use dispatch_bench::raw::{Execute, Upload};
use dispatch_bench::results::Results;
use dispatch_runtime::Client;
use dispatch_runtime::program::Source;

use crate::MICRO;

/// Two arrays, a scalar of the host and a static argument.
pub fn measure(client: Client, results: &mut Results) {
    pin_to_processor(0);
    let (a, b) = (families::array(client, 0.0), families::array(client, 1.0));
    let c = client.array(&[0.5f32], []).unwrap();
    let family = AddScalar::new(&client);
    let text = families::add_scalar_text(&a.aval(), &c.aval(), true);
    let executable = client.compile(Source::StableHlo(text)).unwrap();
    let raw = || Execute::new(client, executable.compiled(), &[a.raw(), b.raw(), c.raw()]);
    let (mut raw, mut raw_uploading, mut upload) = (raw(), raw(), Upload::scalar(client, 0.5));
    let (a, b, c) = (&a, &b, &c);
    let mut cases = [
        case("raw execute of three", |n| raw.calls(n)),
        case("raw execute with raw upload", |n| (0..n).for_each(|_| raw_uploading.call_with(2, &mut upload))),
        case("stub with a host scalar", |n| {
            (0..n).for_each(|_| {
                let c = black_box(0.5f32);
                black_box(
                    families::call_add_scalar(&family, black_box(a), black_box(b), c, black_box(true))
                        .unwrap(),
                );
            })
        }),
        case("stub with three arrays", |n| {
            (0..n).for_each(|_| {
                black_box(
                    families::call_add_three(
                        &family,
                        black_box(a),
                        black_box(b),
                        black_box(c),
                        black_box(true),
                    )
                    .unwrap(),
                );
            })
        }),
    ];
    let rounds = rounds(&mut cases, 2500, 25);
    rounds.print("Host scalar: two arrays f32[4], a scalar and a static");
    let excess = rounds.difference(2, 1);
    results.at_most("host scalar: stub minus raw execute with upload", excess.median * MICRO, "µs", 0.10);
    let own = rounds.excess((2, 1), (3, 0));
    results.report("host scalar: of this, for the scalar", own.median * MICRO, "µs");
}
