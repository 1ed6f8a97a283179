//! Missing values of R's integers: in the memory of a device they would be numbers.

use dispatch_runtime::DType;

use super::{Region, View};
use crate::fault::{Fault, Result};

/// Refuses a view of an R vector of integers one of whose elements is `NA`, and says which.
pub(super) fn refuse(view: &View, path: &str) -> Result<()> {
    let Region::Object { data, bytes, has_missing: true, .. } = view.region else { return Ok(()) };
    if bytes == 0 {
        return Ok(());
    }
    // SAFETY: the handle keeps the vector, which has as many bytes of these elements; R runs no code meanwhile.
    let found = unsafe {
        match view.dtype {
            DType::I64 => first(view, std::slice::from_raw_parts(data.cast::<i64>(), bytes / 8), i64::MIN),
            _ => first(view, std::slice::from_raw_parts(data.cast::<i32>(), bytes / 4), i32::MIN),
        }
    };
    let Some(index) = found else { return Ok(()) };
    let index: Vec<String> = index.iter().map(|i| (i + 1).to_string()).collect();
    let place = match index.as_slice() {
        [one] => one.clone(),
        several => format!("[{}]", several.join(", ")),
    };
    let expected = format!("no missing values, which {} does not hold", view.dtype);
    Err(Fault::argument("value", path, expected, format!("NA as element {place}")))
}

/// The indices of the first element in R's order that is `missing`, if there is one.
fn first<T: PartialEq + Copy>(view: &View, data: &[T], missing: T) -> Option<Vec<i64>> {
    // Mostly there is none, also among what the view leaves out.
    if !data.contains(&missing) || view.shape.contains(&0) {
        return None;
    }
    let size = size_of::<T>() as i64;
    let strides: Vec<i64> = view.steps().iter().map(|&step| step as i64 / size).collect();
    let mut index = vec![0; view.shape.len()];
    loop {
        let at = view.offset as i64 + index.iter().zip(&strides).map(|(i, stride)| i * stride).sum::<i64>();
        if data[at as usize] == missing {
            return Some(index);
        }
        let moves = (0..index.len()).find(|&axis| index[axis] + 1 < view.shape[axis])?;
        index[moves] += 1;
        index[..moves].fill(0);
    }
}
