//! Filling a view's memory piece by piece from R's vectors.

use dispatch_runtime::DType;

use super::{Filled, Region, View};
use crate::Arg;
use crate::data::Data;
use crate::fault::{Fault, Result};
use crate::upload;

/// Fills in the next elements: in R's order, column-major; or whole rows, which are a part of the array along its first
/// dimension, those of each call in R's order. `start` is the place of the first of them, or the first row, counted from 1,
/// which has to be the next one: data can be read once, and none is left out. How many elements are filled in now.
pub fn fill(view: Arg<'_>, values: Arg<'_>, start: Arg<'_>, rows: bool) -> Result<usize> {
    // First of all, since R may run code of others to make the elements.
    let data = Data::of(values)?;
    let view_name = view.name();
    let view = view.handle::<View>()?;
    let (Some(Filled { count, rows: by_rows }), Region::Memory(memory)) = (&view.filled, &view.region) else {
        return Err(Fault::argument("value", view_name, "a view that `host_fill()` made", "another one"));
    };
    if view.is_finished.get() {
        let got = "one that a device has, which nobody may write to any more";
        return Err(Fault::argument("value", view_name, "a view that is being filled in", got));
    }
    let (done, all) = (count.get(), memory.len() / view.dtype.size());
    if done > 0 && by_rows.get() != rows {
        let text = |rows| if rows { "rows" } else { "elements in R's order" };
        return Err(Fault::argument("value", "rows", format!("{} as before", text(!rows)), text(rows)));
    }
    if data.len() > all - done {
        let expected = format!("at most {} elements, which is what is left of {all}", all - done);
        return Err(Fault::argument("value", values.name(), expected, data.len()));
    }
    let row = match rows {
        true => view.shape.iter().skip(1).product::<i64>() as usize,
        false => 1,
    };
    if data.len() % row.max(1) != 0 {
        let expected = format!("whole rows, of {row} elements each");
        return Err(Fault::argument("value", values.name(), expected, format!("{} elements", data.len())));
    }
    if let Some(start) = start.optional() {
        let (given, next) = (start.integer()?, done / row.max(1) + 1);
        if given != next as i64 {
            let what = if rows { "row" } else { "element" };
            let expected = format!("{next}, the place of the next {what}");
            return Err(Fault::argument("value", start.name(), expected, given));
        }
    }
    check_type(&data, view.dtype, values)?;
    // Also later, if they are those of a vector in a compact form: nobody else fills the view meanwhile.
    view.is_finished.set(true);
    // SAFETY: the memory has room for all elements of the shape, and is written to on this thread only. Rows follow each
    // other in it.
    let placed = upload::check(&data, view.dtype, values.name()).and_then(|()| unsafe {
        if rows {
            let mut part = view.shape.clone();
            if let Some(first) = part.first_mut() {
                *first = (data.len() / row.max(1)) as i64;
            }
            upload::place(data, view.dtype, memory.data().add(done * view.dtype.size()), &part, 0)
        } else {
            upload::place(data, view.dtype, memory.data(), &view.shape, done)
        }
    });
    view.is_finished.set(false);
    placed?;
    by_rows.set(rows);
    count.set(done + data.len());
    Ok(count.get())
}

fn check_type(data: &Data<'_>, dtype: DType, values: Arg<'_>) -> Result<()> {
    if upload::allowed(data, dtype) {
        return Ok(());
    }
    let expected = format!("data that dtype {dtype} can hold");
    Err(Fault::argument("dtype", values.name(), expected, format!("{} data", data.name())))
}
