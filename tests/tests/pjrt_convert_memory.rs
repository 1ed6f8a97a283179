//! Memory over very many conversions. One test, since the memory is that of the process.
#![cfg(target_os = "linux")]

mod plugin;

use std::sync::Arc;

use dispatch_runtime::convert::{Converters, Described, Expected};
use dispatch_runtime::prelude::*;
use plugin::{client, resident};

#[repr(align(64))]
struct Aligned([f32; 16]);

type Kept = Arc<Aligned>;

/// All of it from its second element on, which is nowhere a device can use it, or all of it.
struct Part(Kept, usize);

fn shares<'a>(part: &'a Part, _: &Expected<'_>) -> Result<Described<'a>> {
    let values = &part.0.0[part.1..][..6];
    let view = HostView::new(values, &[2, 3])?;
    // SAFETY: the data is in the `Arc`, of which the owner is a clone; nobody writes to it.
    Ok(unsafe { Described::shared(view, Box::new(part.0.clone())).immutable() })
}

#[dispatch_family]
fn plus(
    cx: &CompileCx,
    #[dynamic(dtype = [f32, f64], shape = [m, n])] x: Value,
    #[dynamic(dtype = dtype(x), shape = [])] y: Value,
) -> Result<Program> {
    let y = y.broadcast_to(x.shape());
    cx.program(x + y)
}

#[test]
fn memory_is_flat_over_many_conversions() {
    let family = Plus::new(&client());
    let converters = Converters::new();
    let registered = converters.register_type("parts", shares).unwrap();
    let data = Arc::new(Aligned([1.0; 16]));
    let parts = [Part(data.clone(), 0), Part(data.clone(), 1)];
    let mut before = 0;
    let count = 100_000;
    for i in 0..count {
        if i == count / 10 {
            before = resident();
        }
        family.call(converters.object(&parts[i % 2]), 1f32).unwrap();
    }
    let grown = resident().saturating_sub(before);
    assert!(grown < 4 << 20, "{grown} bytes in {count} conversions");
    assert_eq!(registered.entry().calls(), count as u64);
    assert_eq!(registered.entry().bytes_copied(), count as u64 / 2 * 24);
}
