//! Shapes with layouts: `f32[2,3]{1,0}`.

use super::{joined, list};
use crate::engine::pjrt::proto::{Layout, Shape};

/// `xla.PrimitiveType.TUPLE`.
pub const TUPLE: i32 = 13;

/// A shape, with its layout where `layouts` says so.
pub fn text(shape: &Shape, layouts: bool) -> String {
    if shape.element_type == TUPLE {
        return format!("({})", list(shape.tuple_shapes.iter().map(|shape| text(shape, layouts))));
    }
    let sizes = shape.dimensions.iter().enumerate().map(|(i, n)| {
        match shape.is_dynamic_dimension.get(i).copied().unwrap_or_default() {
            true => format!("<={n}"),
            false => n.to_string(),
        }
    });
    let layout = shape.layout.as_ref().filter(|_| layouts).map(layout).unwrap_or_default();
    format!("{}[{}]{layout}", element_type(shape.element_type), joined(sizes, ","))
}

/// `{1,0}`, with tiles, the size of small elements in bits and the memory space where they are set.
fn layout(layout: &Layout) -> String {
    let tiles = layout.tiles.iter().map(|tile| format!("({})", joined(&tile.dimensions, ",")));
    let tiles: String = tiles.collect();
    let mut extra = String::new();
    if !tiles.is_empty() {
        extra.push_str(&format!("T{tiles}"));
    }
    if layout.element_size_in_bits != 0 {
        extra.push_str(&format!("E({})", layout.element_size_in_bits));
    }
    if layout.memory_space != 0 {
        extra.push_str(&format!("S({})", layout.memory_space));
    }
    let order = joined(&layout.minor_to_major, ",");
    match (order.is_empty(), extra.is_empty()) {
        (true, true) => String::new(),
        (false, true) => format!("{{{order}}}"),
        (_, false) => format!("{{{order}:{extra}}}"),
    }
}

/// The name of an `xla.PrimitiveType`.
fn element_type(primitive: i32) -> String {
    let name = match primitive {
        1 => "pred",
        2 => "s8",
        3 => "s16",
        4 => "s32",
        5 => "s64",
        6 => "u8",
        7 => "u16",
        8 => "u32",
        9 => "u64",
        10 => "f16",
        11 => "f32",
        12 => "f64",
        14 => "opaque",
        15 => "c64",
        16 => "bf16",
        17 => "token",
        18 => "c128",
        19 => "f8e5m2",
        20 => "f8e4m3fn",
        21 => "s4",
        22 => "u4",
        23 => "f8e4m3b11fnuz",
        24 => "f8e5m2fnuz",
        25 => "f8e4m3fnuz",
        26 => "s2",
        27 => "u2",
        28 => "f8e4m3",
        29 => "f8e3m4",
        30 => "s1",
        31 => "u1",
        32 => "f4e2m1fn",
        33 => "f8e8m0fnu",
        34 => "b",
        35 => "f6e3m2fn",
        36 => "f6e2m3fn",
        other => return format!("type{other}"),
    };
    name.to_owned()
}
