//! Objects as arguments, against what their converters give.

use std::hint::black_box;

use dispatch_bench::families::{self, Add};
use dispatch_bench::harness::{case, pin_to_processor, rounds};
use dispatch_bench::results::Results;
use dispatch_runtime::convert::{Converters, Described, Expected};
use dispatch_runtime::{Array, Client, HostView, Result};

use crate::MICRO;

/// An object that has an array.
struct OnDevice(Array);

/// An object that has data of the host.
struct OnHost([f32; 4]);

fn array<'a>(object: &'a OnDevice, _: &Expected<'_>) -> Result<Described<'a>> {
    Ok(Described::array(object.0.clone()))
}

fn data<'a>(object: &'a OnHost, _: &Expected<'_>) -> Result<Described<'a>> {
    Ok(Described::borrowed(HostView::new(&object.0, &[4])?))
}

/// Two arguments f32\[4\] and a static one; the second is an object.
pub fn measure(client: Client, results: &mut Results) {
    pin_to_processor(0);
    let converters = Converters::new();
    let _arrays = converters.register_type("arrays", array).unwrap();
    let _data = converters.register_type("data", data).unwrap();
    let (a, b) = (families::array(client, 0.0), families::array(client, 1.0));
    let (on_device, on_host) = (OnDevice(b.clone()), OnHost([1.0; 4]));
    let add = Add::new(&client);
    let (a, b) = (&a, &b);
    let mut cases = [
        case("an array", |n| {
            (0..n).for_each(|_| _ = black_box(add.call(black_box(a), black_box(b), true).unwrap()));
        }),
        case("an object that has an array", |n| {
            (0..n).for_each(|_| {
                let object = converters.object(black_box(&on_device));
                black_box(add.call(black_box(a), object, true).unwrap());
            })
        }),
        case("data of the host", |n| {
            (0..n).for_each(|_| {
                black_box(add.call(black_box(a), black_box(&on_host.0[..]), true).unwrap());
            })
        }),
        case("an object that has data of the host", |n| {
            (0..n).for_each(|_| {
                let object = converters.object(black_box(&on_host));
                black_box(add.call(black_box(a), object, true).unwrap());
            })
        }),
    ];
    let rounds = rounds(&mut cases, 4000, 26);
    rounds.print("Converters: two arguments f32[4] and a static");
    let array = rounds.difference(1, 0).median * MICRO;
    results.at_most("converter on a hit: an object that has an array, minus the array", array, "µs", 0.2);
    let data = rounds.difference(3, 2).median * MICRO;
    results.at_most("converter on a hit: an object that has host data, minus the data", data, "µs", 0.2);
}
