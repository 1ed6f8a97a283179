//! The families that are measured, and what they are called with.
//!
//! All compute on f32\[4\], far below the size from which XLA uses its thread pool.

// Declarations with attributes on each of 100 arguments, and bodies that are described by their families.
#![allow(clippy::too_many_arguments)]

use std::fmt::Write as _;

use dispatch_runtime::prelude::*;

/// The type of every array, as StableHLO writes it.
const TYPE: &str = "tensor<4xf32>";

/// An array of the type that all families are called with.
pub fn array(client: Client, first: f32) -> Array {
    let data: [f32; 4] = std::array::from_fn(|i| first + i as f32);
    client.array(&data, [4]).expect("four elements for a shape of four")
}

/// The sum of two arrays, or its negative: the family of the hit path's limits.
#[dispatch_family]
pub fn add(
    #[dynamic(dtype = [f32, f64], shape = [n])] a: Aval,
    #[dynamic(like(a))] b: Aval,
    #[static_arg] negate: bool,
) -> Result<Program> {
    let _ = b;
    Program::stablehlo(add_text(&a, negate))
}

/// The StableHLO text of [`add`].
pub fn add_text(a: &Aval, negate: bool) -> String {
    let last = if negate { "negate" } else { "abs" };
    format!(
        "func.func @main(%a: {a}, %b: {a}) -> {a} {{
           %sum = stablehlo.add %a, %b : {a}
           %out = stablehlo.{last} %sum : {a}
           return %out : {a}
         }}"
    )
}

/// [`add`] without a specialised key: dtype and shape of each argument are free, so all of them are in the key.
#[dispatch_family]
pub fn add_any(
    #[dynamic(dtype = any, shape = [..])] a: Aval,
    #[dynamic(dtype = any, shape = [..])] b: Aval,
    #[static_arg] negate: bool,
) -> Result<Program> {
    let _ = b;
    Program::stablehlo(add_text(&a, negate))
}

/// Arguments and key of [`add`], and no result: a hit on an engine that does nothing is only the look-up.
#[dispatch_family]
pub fn look_up(
    #[dynamic(dtype = [f32, f64], shape = [n])] a: Aval,
    #[dynamic(like(a))] b: Aval,
    #[static_arg] negate: bool,
) -> Result<Program<()>> {
    let _ = negate;
    Program::stablehlo(format!("func.func @main(%a: {a}, %b: {b}) {{ return }}"))
}

/// [`look_up`] without a specialised key.
#[dispatch_family]
pub fn look_up_any(
    #[dynamic(dtype = any, shape = [..])] a: Aval,
    #[dynamic(dtype = any, shape = [..])] b: Aval,
    #[static_arg] negate: bool,
) -> Result<Program<()>> {
    let _ = negate;
    Program::stablehlo(format!("func.func @main(%a: {a}, %b: {b}) {{ return }}"))
}

/// The sum of two arrays and of a scalar, which comes from the host.
#[dispatch_family]
pub fn add_scalar(
    #[dynamic(dtype = [f32, f64], shape = [n])] a: Aval,
    #[dynamic(like(a))] b: Aval,
    #[dynamic(dtype = dtype(a), shape = [])] c: Aval,
    #[static_arg] negate: bool,
) -> Result<Program> {
    let _ = b;
    Program::stablehlo(add_scalar_text(&a, &c, negate))
}

/// The StableHLO text of [`add_scalar`].
pub fn add_scalar_text(a: &Aval, c: &Aval, negate: bool) -> String {
    let last = if negate { "negate" } else { "abs" };
    format!(
        "func.func @main(%a: {a}, %b: {a}, %c: {c}) -> {a} {{
           %sum = stablehlo.add %a, %b : {a}
           %each = stablehlo.broadcast_in_dim %c, dims = [] : ({c}) -> {a}
           %all = stablehlo.add %sum, %each : {a}
           %out = stablehlo.{last} %all : {a}
           return %out : {a}
         }}"
    )
}

/// The sum of a list of arrays.
#[dispatch_family]
pub fn sum_list(#[dynamic(dtype = [f32, f64], shape = [n])] list: Vec<Aval>) -> Result<Program> {
    Program::stablehlo(sum_text(list.len()))
}

/// The StableHLO text of a sum of so many arrays.
pub fn sum_text(count: usize) -> String {
    let parameters: Vec<String> = (0..count).map(|i| format!("%x{i}: {TYPE}")).collect();
    let mut text = format!("func.func @main({}) -> {TYPE} {{\n", parameters.join(", "));
    let mut sum = "%x0".to_owned();
    for i in 1..count {
        let _ = writeln!(text, "%s{i} = stablehlo.add {sum}, %x{i} : {TYPE}");
        sum = format!("%s{i}");
    }
    text + &format!("return {sum} : {TYPE}\n}}")
}

/// A family that sums so many separate arguments, and a function that calls it with an array of them.
macro_rules! sum_of_many {
    ($(#[$doc:meta])* $family:ident, $Family:ident, $(#[$doc_call:meta])* $call:ident,
     $count:literal, $constraint:tt, $first:ident $($name:ident)*) => {
        $(#[$doc])*
        #[dispatch_family]
        pub fn $family(
            #[dynamic(dtype = [f32, f64], shape = [n])] $first: Aval,
            $(#[dynamic $constraint] $name: Aval,)*
        ) -> Result<Program> {
            let _ = ($first, $($name.rank() +)* 0);
            Program::stablehlo(sum_text($count))
        }

        $(#[$doc_call])*
        #[inline(never)]
        pub fn $call(family: &$Family, arrays: &[Array; $count]) -> Result<Array> {
            let [$first, $($name),*] = arrays;
            family.call($first, $($name),*)
        }
    };
}

macro_rules! with_100 {
    ($($start:tt)*) => {
        sum_of_many! { $($start)*
            x00 x01 x02 x03 x04 x05 x06 x07 x08 x09 x10 x11 x12 x13 x14 x15 x16 x17 x18 x19
            x20 x21 x22 x23 x24 x25 x26 x27 x28 x29 x30 x31 x32 x33 x34 x35 x36 x37 x38 x39
            x40 x41 x42 x43 x44 x45 x46 x47 x48 x49 x50 x51 x52 x53 x54 x55 x56 x57 x58 x59
            x60 x61 x62 x63 x64 x65 x66 x67 x68 x69 x70 x71 x72 x73 x74 x75 x76 x77 x78 x79
            x80 x81 x82 x83 x84 x85 x86 x87 x88 x89 x90 x91 x92 x93 x94 x95 x96 x97 x98 x99
        }
    };
}

sum_of_many! {
    /// The sum of 2 arrays.
    sum2, Sum2,
    /// Calls [`Sum2`].
    call_sum2, 2, (dtype = dtype(x0), shape = [n]), x0 x1
}
sum_of_many! {
    /// The sum of 10 arrays.
    sum10, Sum10,
    /// Calls [`Sum10`].
    call_sum10, 10, (dtype = dtype(x0), shape = [n]), x0 x1 x2 x3 x4 x5 x6 x7 x8 x9
}
with_100! {
    /// The sum of 100 arrays.
    sum100, Sum100,
    /// Calls [`Sum100`].
    call_sum100, 100, (dtype = dtype(x00), shape = [n]),
}
with_100! {
    /// The sum of 100 arrays without a specialised key.
    sum100_any, Sum100Any,
    /// Calls [`Sum100Any`].
    call_sum100_any, 100, (dtype = any, shape = [..]),
}

/// One call as a program makes it: not inlined into the loop around it.
#[inline(never)]
pub fn call_add(family: &Add, a: &Array, b: &Array, negate: bool) -> Result<Array> {
    family.call(a, b, negate)
}

/// Calls [`AddAny`].
#[inline(never)]
pub fn call_add_any(family: &AddAny, a: &Array, b: &Array, negate: bool) -> Result<Array> {
    family.call(a, b, negate)
}

/// Calls [`LookUp`].
#[inline(never)]
pub fn call_look_up(family: &LookUp, a: &Array, b: &Array, negate: bool) -> Result<()> {
    family.call(a, b, negate)
}

/// Calls [`LookUpAny`].
#[inline(never)]
pub fn call_look_up_any(family: &LookUpAny, a: &Array, b: &Array, negate: bool) -> Result<()> {
    family.call(a, b, negate)
}

/// Calls [`AddScalar`] with a scalar of the host.
#[inline(never)]
pub fn call_add_scalar(family: &AddScalar, a: &Array, b: &Array, c: f32, negate: bool) -> Result<Array> {
    family.call(a, b, c, negate)
}

/// Calls [`AddScalar`] with a scalar on the device.
#[inline(never)]
pub fn call_add_three(family: &AddScalar, a: &Array, b: &Array, c: &Array, negate: bool) -> Result<Array> {
    family.call(a, b, c, negate)
}

/// Calls [`SumList`].
#[inline(never)]
pub fn call_sum_list(family: &SumList, list: &[Array]) -> Result<Array> {
    family.call(list)
}
