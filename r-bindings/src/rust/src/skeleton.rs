//! Skeletons.

use dispatch_r::client::{device_object, read_device};
use dispatch_r::runtime::skeleton::{Origin, SkeletonSlot};
use dispatch_r::runtime::Aval;
use dispatch_r::skeleton::{self, Dynamic, Skeleton};
use dispatch_r::{arg, describe, entry, make, wrap, Arg, Fault, Result, Root, SEXP};
use savvy::savvy;

use crate::program::Program;

/// Compiles a program. The slots are three lists, of the same length, or `NULL` for those that the program takes: names,
/// empty where there is none, dtypes and shapes.
#[savvy]
fn rs_skeleton(
    program: savvy::Sexp,
    names: savvy::Sexp,
    dtypes: savvy::Sexp,
    shapes: savvy::Sexp,
    device: savvy::Sexp,
) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let program: &Program = arg(&program, "program").handle()?;
        let device = read_device(arg(&device, "device"))?;
        let slots = match arg(&names, "slots").optional() {
            Some(names) => Some(read_slots(names, arg(&dtypes, "slots"), arg(&shapes, "slots"))?),
            None => None,
        };
        // R code that runs while it compiles may drop the program.
        wrap(skeleton::create(&program.0.clone(), slots.as_deref(), device)?)
    })
}

fn read_slots(names: Arg<'_>, dtypes: Arg<'_>, shapes: Arg<'_>) -> Result<Vec<SkeletonSlot>> {
    let (names, dtypes, shapes) = (names.strings()?, dtypes.elements()?, shapes.elements()?);
    let mut slots = Vec::new();
    for ((name, &dtype), &shape) in names.iter().zip(&dtypes).zip(&shapes) {
        let path = match name.as_str() {
            "" => format!("slots[[{}]]", slots.len() + 1),
            name => format!("slots${name}"),
        };
        let (dtype, shape) = (savvy::Sexp(dtype), savvy::Sexp(shape));
        let (dtype, shape) = (arg(&dtype, &path).dtype()?, arg(&shape, &path).shape()?);
        if Aval::try_new(dtype, &shape).is_none() {
            return Err(Fault::argument("shape", path, "a shape with fewer elements", format!("{shape:?}")));
        }
        let slot = SkeletonSlot::new(dtype, &shape);
        slots.push(if name.is_empty() { slot } else { slot.named(name) });
    }
    Ok(slots)
}

/// Runs a skeleton.
#[savvy]
fn rs_skeleton_run(skeleton: savvy::Sexp, inputs: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| skeleton::run(arg(&skeleton, ".skeleton").handle()?, arg(&inputs, "...")))
}

/// What there is to print: names of the slots, empty where there is none, their layouts and whether they are donated, the
/// results, the device, and the file that it comes from.
#[savvy]
fn rs_skeleton_about(x: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let skeleton: &Skeleton = arg(&x, "x").handle()?;
        let names: Vec<&str> = skeleton.names().map(Option::unwrap_or_default).collect();
        let origin = match skeleton.origin() {
            Origin::Baked => String::new(),
            Origin::Loaded => "loaded from a file".to_owned(),
            Origin::Recompiled { reason } => format!("from a file, and compiled anew: {reason}"),
        };
        let list = |avals: &[Aval]| make::strings(&avals.iter().map(describe::aval).collect::<Vec<_>>());
        list_of(&[
            ("names", make::strings(&names)?),
            ("inputs", list(skeleton.inputs())?),
            ("outputs", list(skeleton.outputs())?),
            ("donated", make::flags(&skeleton.donated().collect::<Vec<_>>())?),
            ("device", make::string(&skeleton.device().to_string())?),
            ("origin", make::string(&origin)?),
        ])
    })
}

fn list_of(values: &[(&str, Root)]) -> Result<SEXP> {
    let values: Vec<(&str, SEXP)> = values.iter().map(|(name, value)| (*name, value.get())).collect();
    Ok(make::named_list(&values)?.release())
}

#[savvy]
fn rs_skeleton_memory(skeleton: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let report = arg(&skeleton, "skeleton").handle::<Skeleton>()?.memory_report();
        let number = |n: u64| make::double(n as f64);
        list_of(&[
            ("peak_bytes", number(report.peak_bytes)?),
            ("output_bytes", number(report.output_bytes)?),
            ("argument_bytes", number(report.argument_bytes)?),
            ("allocations", number(report.allocations)?),
        ])
    })
}

#[savvy]
fn rs_skeleton_save(skeleton: savvy::Sexp, path: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let path = arg(&path, "path").string()?;
        arg(&skeleton, "skeleton").handle::<Skeleton>()?.save(path)?;
        Ok(skeleton.0)
    })
}

#[savvy]
fn rs_skeleton_load(path: savvy::Sexp, device: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let path = arg(&path, "path").string()?;
        wrap(skeleton::load(&path, read_device(arg(&device, "device"))?)?)
    })
}

#[savvy]
fn rs_skeleton_device(x: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| device_object(arg(&x, "x").handle::<Skeleton>()?.device()))
}

#[savvy]
fn rs_dynamic_skeleton(build: savvy::Sexp, capacity: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| Dynamic::create(arg(&build, "build"), arg(&capacity, "capacity")))
}

/// Runs the skeleton for the layouts of the inputs.
#[savvy]
fn rs_dynamic_run(skeleton: savvy::Sexp, inputs: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| arg(&skeleton, ".skeleton").handle::<Dynamic>()?.run(arg(&inputs, "...")))
}

#[savvy]
fn rs_dynamic_stats(x: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| Ok(make::stats([arg(&x, "x").handle::<Dynamic>()?.stats()])?.release()))
}

/// The capacity, and the layouts that there are skeletons for, the last used first.
#[savvy]
fn rs_dynamic_about(x: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let dynamic: &Dynamic = arg(&x, "x").handle()?;
        list_of(&[
            ("capacity", make::double(dynamic.capacity() as f64)?),
            ("layouts", make::strings(&dynamic.layouts())?),
        ])
    })
}

#[savvy]
fn rs_dynamic_clear(x: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        arg(&x, "x").handle::<Dynamic>()?.clear();
        Ok(x.0)
    })
}
