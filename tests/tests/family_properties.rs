//! Random calls of declared signatures against a slow reading of them, written here from the declaration's text:
//! which calls are accepted, which calls have one key, and what `explain` says before each.

use std::collections::{BTreeMap, BTreeSet};

use dispatch_runtime::FamilyBuilder;
use dispatch_runtime::engine::fake::FakeEngine;
use dispatch_runtime::family::{Arg, DeclaredFamily, Either};
use dispatch_runtime::prelude::*;
use dispatch_tests::{short, zeros};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

// --- what a call passes

/// One array, or host value.
#[derive(Clone, Debug)]
struct Item {
    dtype: DType,
    shape: Vec<i64>,
    origin: Origin,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Origin {
    Device(usize),
    Host,
    /// A slice with one element more than its shape says.
    BadSlice,
}

/// What is passed for one argument.
#[derive(Debug, Default)]
struct Argument {
    items: Vec<Item>,
    arrays: Vec<Array>,
    host: Option<HostArray>,
}

impl Argument {
    fn new(items: Vec<Item>, devices: &[Device]) -> Argument {
        let upload = |item: &Item| match item.origin {
            Origin::Device(i) => {
                let data = HostArray::zeros(item.dtype, &item.shape);
                Some(devices[i].client().upload(data.view(), devices[i]).unwrap())
            }
            _ => None,
        };
        let host = items.first().filter(|item| item.origin == Origin::Host);
        Argument {
            arrays: items.iter().filter_map(upload).collect(),
            host: host.map(|item| HostArray::zeros(item.dtype, &item.shape)),
            items,
        }
    }
}

// SAFETY: an array or a host value as it is.
unsafe impl Dynamic for Argument {
    type Ready<'a> = Either<'a>;

    fn arg<'a>(&'a self, _: &'a mut [i64; 1]) -> Arg<'a> {
        let item = &self.items[0];
        match (item.origin, &self.host) {
            (Origin::Device(_), _) => Arg::Device(&self.arrays[0]),
            (Origin::Host, Some(host)) => Arg::Host(host.view()),
            _ => Arg::BadLength(item.dtype, item.shape.iter().product::<i64>() as usize + 1, &item.shape),
        }
    }
}

impl AsRef<[Array]> for Argument {
    fn as_ref(&self) -> &[Array] {
        &self.arrays
    }
}

/// The static arguments of a call.
#[derive(Clone, Debug)]
struct Fixtures {
    x: f64,
    list: Option<Vec<u8>>,
}

// --- the signatures

/// A declared signature: its arguments as text, and how to call it.
trait Signature: DeclaredFamily {
    /// Scope, name, type, rules.
    const TEXT: &'static [(&'static str, &'static str, &'static str, &'static str)];
    const STATICS: bool = false;
    const FIXED: bool = false;

    fn call(&self, args: &[Argument], statics: &Fixtures) -> Result<Array>;
    fn explain(&self, args: &[Argument], statics: &Fixtures) -> Result<Explanation>;
    fn stats(&self) -> Stats;
}

/// The abstract values of one argument.
trait Avals {
    fn avals(self) -> Vec<Aval>;
}

impl Avals for Aval {
    fn avals(self) -> Vec<Aval> {
        vec![self]
    }
}

impl Avals for Vec<Aval> {
    fn avals(self) -> Vec<Aval> {
        self
    }
}

fn zero_of(inputs: Vec<Aval>) -> Result<Program> {
    zeros(&inputs, &[Aval::new(DType::F32, [])])
}

macro_rules! signature {
    ($name:ident $type:ident [$($option:tt)*]: $($arg:ident: $ty:ty = ($($rule:tt)*)),* $(,)?) => {
        #[dispatch_family($($option)*)]
        #[allow(unused_variables)]
        fn $name($(#[dynamic($($rule)*)] $arg: $ty),*) -> Result<Program> {
            let mut inputs = Vec::new();
            $(inputs.extend($arg.avals());)*
            zero_of(inputs)
        }

        impl Signature for $type {
            const TEXT: &'static [(&'static str, &'static str, &'static str, &'static str)] =
                &[$(("", stringify!($arg), stringify!($ty), stringify!($($rule)*))),*];
            const FIXED: bool = !stringify!($($option)*).is_empty();

            fn call(&self, args: &[Argument], _: &Fixtures) -> Result<Array> {
                let mut args = args.iter();
                self.call($({ let $arg = args.next().unwrap(); $arg }),*)
            }

            fn explain(&self, args: &[Argument], _: &Fixtures) -> Result<Explanation> {
                let mut args = args.iter();
                self.explain($({ let $arg = args.next().unwrap(); $arg }),*)
            }

            fn stats(&self) -> Stats {
                self.stats()
            }
        }
    };
}

signature!(scalar Scalar []: a: Aval = (dtype = f32, shape = []));
signature!(product Product []:
    a: Aval = (dtype = [f32, f64], shape = [m, k]),
    b: Aval = (dtype = dtype(a), shape = [k, n]),
    s: Aval = (dtype = dtype(b), shape = []),
);
signature!(anything Anything []: a: Aval = (dtype = any, shape = [..]));
signature!(batched Batched []:
    a: Aval = (dtype = float, shape = [batch.., m, k]),
    b: Aval = (dtype = dtype(a), shape = [batch.., k, _]),
    c: Aval = (dtype = bool, shape = [batch..]),
);
signature!(square Square []: a: Aval = (dtype = int, shape = [n, n]), b: Aval = (like(a)));
signature!(backwards Backwards []:
    a: Aval = (dtype = dtype(b), shape = [.., n]),
    b: Aval = (dtype = [f64, i32, bool], shape = [_, n, 2]),
);
signature!(shapes Shapes []:
    a: Aval = (dtype = any, shape = [.., 2, _]),
    b: Aval = (dtype = f32, shape = shape(a)),
    c: Aval = (dtype = dtype(a), shape = [..]),
);
signature!(listed Listed []:
    xs: Vec<Aval> = (dtype = [f32, f64], shape = [n, _]),
    y: Aval = (dtype = dtype(xs), shape = [n]),
);
signature!(lists Lists []:
    xs: Vec<Aval> = (dtype = any, shape = [b.., 2]),
    ys: Vec<Aval> = (dtype = dtype(xs), shape = [b..]),
    zs: Vec<Aval> = (dtype = dtype(ys), shape = [_]),
);
signature!(fixed Fixed [device = fixed]:
    a: Aval = (dtype = f32, shape = [_]),
    b: Aval = (dtype = int, shape = [..]),
    cs: Vec<Aval> = (dtype = dtype(b), shape = [_]),
);
signature!(complex Complex []:
    a: Aval = (dtype = [c64, f32], shape = [k]),
    b: Aval = (dtype = dtype(a), shape = [k, k]),
);

#[dispatch_family]
fn with_statics(
    #[dynamic(dtype = [f32, f64], shape = [n])] a: Aval,
    #[static_arg] x: f64,
    #[static_arg] list: Option<Vec<u8>>,
) -> Result<Program> {
    let _ = (x, list);
    zero_of(vec![a])
}

impl Signature for WithStatics {
    const TEXT: &'static [(&'static str, &'static str, &'static str, &'static str)] =
        &[("", "a", "Aval", "dtype = [f32, f64], shape = [n]")];
    const STATICS: bool = true;

    fn call(&self, args: &[Argument], statics: &Fixtures) -> Result<Array> {
        self.call(&args[0], statics.x, statics.list.clone())
    }

    fn explain(&self, args: &[Argument], statics: &Fixtures) -> Result<Explanation> {
        self.explain(&args[0], statics.x, statics.list.clone())
    }

    fn stats(&self) -> Stats {
        self.stats()
    }
}

#[derive(InputTree)]
struct Inner<T> {
    #[dynamic(dtype = [f32, f64], shape = [i, o])]
    w: T,
    #[dynamic(dtype = dtype(w), shape = [o])]
    b: T,
}

#[derive(InputTree)]
struct Outer<T> {
    #[dynamic]
    inner: Inner<T>,
    #[dynamic(dtype = int, shape = [o, _])]
    xs: Vec<T>,
}

#[dispatch_family]
fn nested(#[dynamic] p: Outer<Aval>, #[dynamic(dtype = f32, shape = [o])] q: Aval) -> Result<Program> {
    let _ = o;
    zero_of([vec![p.inner.w, p.inner.b], p.xs, vec![q]].concat())
}

fn outer(args: &[Argument]) -> Outer<Array> {
    let array = |i: usize| args[i].arrays[0].clone();
    Outer { inner: Inner { w: array(0), b: array(1) }, xs: args[2].arrays.clone() }
}

impl Signature for Nested {
    const TEXT: &'static [(&'static str, &'static str, &'static str, &'static str)] = &[
        ("p$inner", "w", "Aval", "dtype = [f32, f64], shape = [i, o]"),
        ("p$inner", "b", "Aval", "dtype = dtype(w), shape = [o]"),
        ("p", "xs", "Vec<Aval>", "dtype = int, shape = [o, _]"),
        ("", "q", "Aval", "dtype = f32, shape = [o]"),
    ];

    fn call(&self, args: &[Argument], _: &Fixtures) -> Result<Array> {
        self.call(&outer(args), &args[3])
    }

    fn explain(&self, args: &[Argument], _: &Fixtures) -> Result<Explanation> {
        self.explain(&outer(args), &args[3])
    }

    fn stats(&self) -> Stats {
        self.stats()
    }
}

// --- the slow reading

/// One argument, or one field of a struct, read from its text.
#[derive(Debug)]
struct Field {
    scope: &'static str,
    list: bool,
    dtype: Rule<Vec<DType>>,
    /// Sizes as written: `m`, `2`, `_`, `..`, `batch..`.
    shape: Rule<Vec<String>>,
}

#[derive(Debug)]
enum Rule<T> {
    Own(T),
    /// That of the field with this index.
    Of(usize),
}

fn read(text: &'static [(&'static str, &'static str, &'static str, &'static str)]) -> Vec<Field> {
    let field = |&(scope, _, ty, rules): &(&'static str, &'static str, &'static str, &'static str)| {
        let rules: String = rules.split_whitespace().collect();
        let other = |rule: &str, word: &str| {
            let name = rule.strip_prefix(word)?.strip_prefix('(')?.strip_suffix(')')?;
            Some(text.iter().position(|t| (t.0, t.1) == (scope, name)).unwrap())
        };
        let (dtype, shape) = match rules.split_once(",shape=") {
            None => (rules.as_str(), rules.as_str()),
            Some((dtype, shape)) => (dtype.strip_prefix("dtype=").unwrap(), shape),
        };
        let parts = |rule: &str| -> Vec<String> {
            let inside = rule.strip_prefix('[').and_then(|rule| rule.strip_suffix(']')).unwrap_or(rule);
            inside.split(',').filter(|part| !part.is_empty()).map(str::to_owned).collect()
        };
        let classed = |rule: &str| match rule {
            "any" => DType::ALL.to_vec(),
            "float" => vec![DType::F32, DType::F16, DType::BF16, DType::F64],
            "int" => [DType::I32]
                .into_iter()
                .chain("i8 i16 i64 u8 u16 u32 u64".split(' ').map(|d| d.parse().unwrap()))
                .collect(),
            _ => parts(rule).iter().map(|d| d.parse().unwrap()).collect(),
        };
        let tied = |rule: &str, word: &str| other(rule, word).or_else(|| other(rule, "like"));
        Field {
            scope,
            list: ty.contains("Vec"),
            dtype: tied(dtype, "dtype").map_or_else(|| Rule::Own(classed(dtype)), Rule::Of),
            shape: tied(shape, "shape").map_or_else(|| Rule::Own(parts(shape)), Rule::Of),
        }
    };
    text.iter().map(field).collect()
}

fn dtype_root(fields: &[Field], i: usize) -> usize {
    match fields[i].dtype {
        Rule::Own(_) => i,
        Rule::Of(other) => dtype_root(fields, other),
    }
}

/// The names of a scope and what they stand for; leading sizes under the name with its dots.
type Names = BTreeMap<(&'static str, String), Vec<i64>>;

/// Whether a shape is as written; binds the names, appends the sizes that have none.
fn fits(
    scope: &'static str,
    rule: &[String],
    shape: &[i64],
    names: &mut Names,
    free: &mut Vec<Vec<i64>>,
) -> bool {
    let leads = rule.first().is_some_and(|first| first.ends_with(".."));
    let dims = rule.len() - usize::from(leads);
    if shape.len() < dims || (!leads && shape.len() > dims) {
        return false;
    }
    let (lead, rest) = shape.split_at(shape.len() - dims);
    let lead = leads.then(|| (rule[0].as_str(), lead.to_vec()));
    let rest = rule[usize::from(leads)..].iter().zip(rest).map(|(part, n)| (part.as_str(), vec![*n]));
    lead.into_iter().chain(rest).all(|(part, sizes)| match part {
        "_" | ".." => {
            free.push(sizes);
            true
        }
        part => match part.parse::<i64>() {
            Ok(n) => sizes == [n],
            Err(_) => *names.entry((scope, part.to_owned())).or_insert_with(|| sizes.clone()) == sizes,
        },
    })
}

/// The key of a call that the signature allows.
fn key(fields: &[Field], args: &[Argument], statics: Option<&Fixtures>, fixed: bool) -> Option<String> {
    // Devices.
    let items = || args.iter().flat_map(|arg| &arg.items);
    let mut devices = items().filter_map(|item| match item.origin {
        Origin::Device(i) => Some(i),
        _ => None,
    });
    let device = devices.next().unwrap_or(0);
    if (!fixed && devices.any(|other| other != device)) || items().any(|item| item.origin == Origin::BadSlice)
    {
        return None;
    }
    // Dtypes.
    let mut dtypes = BTreeMap::new();
    for (i, field) in fields.iter().enumerate() {
        let Rule::Own(allowed) = &field.dtype else { continue };
        let of_group = (0..fields.len()).filter(|j| dtype_root(fields, *j) == i);
        let (device, host): (Vec<&Item>, Vec<&Item>) =
            of_group.flat_map(|j| &args[j].items).partition(|item| item.origin != Origin::Host);
        let dtype = match (device.first(), host.first()) {
            (Some(item), _) => item.dtype,
            (None, Some(item)) if allowed.contains(&item.dtype) => item.dtype,
            (None, None) if allowed.contains(&DType::F32) => DType::F32,
            (None, _) => default(allowed),
        };
        let same = device.iter().all(|item| item.dtype == dtype);
        let real = host.iter().all(|item| dtype.is_complex() || !item.dtype.is_complex());
        if !allowed.contains(&dtype) || !same || !real {
            return None;
        }
        if allowed.len() > 1 {
            dtypes.insert(i, dtype);
        }
    }
    // Shapes.
    let (mut names, mut free) = (Names::new(), Vec::new());
    for (field, arg) in fields.iter().zip(args) {
        if field.list {
            free.push(vec![arg.items.len() as i64]);
        }
        for item in &arg.items {
            let ok = match &field.shape {
                Rule::Own(rule) => fits(field.scope, rule, &item.shape, &mut names, &mut free),
                Rule::Of(other) => {
                    let mut other = *other;
                    while let Rule::Of(next) = fields[other].shape {
                        other = next;
                    }
                    args[other].items[0].shape == item.shape
                }
            };
            if !ok {
                return None;
            }
        }
    }
    // Names that only lists give.
    for field in fields {
        let Rule::Own(rule) = &field.shape else { continue };
        for name in
            rule.iter().filter(|part| !["_", ".."].contains(&part.as_str()) && part.parse::<i64>().is_err())
        {
            let mut places = fields.iter().zip(args).filter(|(other, _)| {
                other.scope == field.scope && matches!(&other.shape, Rule::Own(rule) if rule.contains(name))
            });
            let (given, first) = (places.clone().any(|(other, _)| !other.list), places.next().unwrap());
            if !given && first.1.items.is_empty() {
                return None;
            }
        }
    }
    let statics = statics.map(|s| (if s.x.is_nan() { f64::NAN } else { s.x }.to_bits(), &s.list));
    Some(format!("{:?} {dtypes:?} {names:?} {free:?} {statics:?}", if fixed { 0 } else { device }))
}

/// The dtype of a group whose first host value has a type that is not allowed.
fn default(allowed: &[DType]) -> DType {
    // In the order of the text; the class `any` begins with f32.
    if allowed.len() == DType::ALL.len() { DType::F32 } else { allowed[0] }
}

// --- random calls

/// Choices from random bytes; all are the first one when the bytes are used up, so that failures shrink.
struct Choices<'a>(&'a [u8]);

impl Choices<'_> {
    fn below(&mut self, n: usize) -> usize {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first as usize % n
    }

    fn of<T: Clone>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())].clone()
    }

    fn rarely(&mut self, one_in: usize) -> bool {
        self.below(one_in) == one_in - 1
    }
}

/// A call that is mostly one that the signature allows.
fn arguments(choices: &mut Choices<'_>, fields: &[Field], devices: &[Device]) -> Vec<Argument> {
    let mut names: BTreeMap<(&str, &str), Vec<i64>> = BTreeMap::new();
    let mut dtypes: BTreeMap<usize, DType> = BTreeMap::new();
    let mut shapes: Vec<Vec<i64>> = vec![Vec::new(); fields.len()];
    let device = choices.below(2);
    let leads: [&[i64]; 4] = [&[], &[2], &[2, 1], &[1, 2]];
    let mut all: Vec<Vec<Item>> = fields.iter().map(|_| Vec::new()).collect();
    // Fields with a shape of their own first, so that others can have the same.
    let own = |i: &usize| matches!(fields[*i].shape, Rule::Own(_));
    let order = (0..fields.len()).filter(own).chain((0..fields.len()).filter(|i| !own(i)));
    for i in order {
        let field = &fields[i];
        let root = dtype_root(fields, i);
        let Rule::Own(allowed) = &fields[root].dtype else { unreachable!() };
        let dtype = *dtypes.entry(root).or_insert_with(|| choices.of(&allowed[..allowed.len().min(3)]));
        for _ in 0..if field.list { choices.of(&[1, 2, 0, 3]) } else { 1 } {
            let mut shape = Vec::new();
            match &field.shape {
                Rule::Own(rule) => {
                    for part in rule {
                        match part.as_str() {
                            "_" => shape.push(choices.of(&[1, 2, 3])),
                            ".." => shape.extend(choices.of(&leads)),
                            name if name.ends_with("..") => {
                                let sizes = names.entry((field.scope, name));
                                shape.extend(sizes.or_insert_with(|| choices.of(&leads).to_vec()).iter());
                            }
                            name => match name.parse::<i64>() {
                                Ok(n) => shape.push(n),
                                Err(_) => {
                                    let size = names.entry((field.scope, name));
                                    shape.extend(
                                        size.or_insert_with(|| vec![choices.of(&[1, 2, 3, 0])]).iter(),
                                    );
                                }
                            },
                        }
                    }
                }
                Rule::Of(other) => shape = shapes[*other].clone(),
            }
            let host = !field.list && field.scope.is_empty() && choices.rarely(3);
            let types = [DType::F64, DType::F32, DType::I32, DType::Bool, DType::U8, DType::C64];
            let mut item = match host {
                true => Item { dtype: choices.of(&types), shape, origin: Origin::Host },
                false => Item { dtype, shape, origin: Origin::Device(device) },
            };
            if choices.rarely(16) {
                match choices.below(6) {
                    0 => item.shape.push(1),
                    1 => drop(item.shape.pop()),
                    2 => item.shape.insert(0, 1),
                    3 if !item.shape.is_empty() => {
                        let i = choices.below(item.shape.len());
                        item.shape[i] += 1;
                    }
                    4 if host => item.origin = Origin::BadSlice,
                    4 => item.origin = Origin::Device(1 - device),
                    _ => item.dtype = choices.of(DType::ALL),
                }
            }
            shapes[i] = item.shape.clone();
            all[i].push(item);
        }
    }
    all.into_iter().map(|items| Argument::new(items, devices)).collect()
}

fn fixtures(choices: &mut Choices<'_>) -> Fixtures {
    let odd = f64::from_bits(f64::NAN.to_bits() ^ 1);
    let lists = [None, Some(vec![]), Some(vec![0]), Some(vec![0, 0]), Some(vec![1])];
    Fixtures { x: choices.of(&[0.0, -0.0, 1.0, f64::NAN, odd]), list: choices.of(&lists) }
}

/// Makes random calls of one family and compares every answer with the slow reading.
fn agree<S: Signature>() {
    let (client, state) = FakeEngine::client(2);
    let devices: Vec<Device> = client.devices().collect();
    let fields = read(S::TEXT);
    let config =
        Config { cases: if short() { 20 } else { 150 }, failure_persistence: None, ..Config::default() };
    let (mut accepted, mut refused, mut hits) = (0u64, 0u64, 0u64);
    let mut check = |bytes: Vec<u8>| {
        let mut choices = Choices(&bytes);
        for colliding in [false, true] {
            let builder = FamilyBuilder::<S>::new(&client).eviction(Unbounded);
            let family = if colliding { builder.colliding_hashes() } else { builder }.build().unwrap();
            let mut known = BTreeSet::new();
            for _ in 0..25 {
                let args = arguments(&mut choices, &fields, &devices);
                let fixtures = fixtures(&mut choices);
                let expected = key(&fields, &args, S::STATICS.then_some(&fixtures), S::FIXED);
                let before = (family.stats().compiles, family.stats().hits, family.stats().misses);
                let explained = family.explain(&args, &fixtures);
                let called = family.call(&args, &fixtures);
                let after = (family.stats().compiles, family.stats().hits, family.stats().misses);
                let about = format!("{args:?} {fixtures:?}, expected {expected:?}, explained {explained:?}");
                let Some(expected) = expected else {
                    refused += 1;
                    let error = called.expect_err(&about);
                    let codes = ["dtype", "shape", "device", "value"];
                    prop_assert!(codes.contains(&error.code()), "{error}: {about}");
                    prop_assert_eq!(explained.expect_err(&about).to_string(), error.to_string());
                    prop_assert_eq!(before, after, "{}", about);
                    continue;
                };
                accepted += 1;
                prop_assert!(called.is_ok(), "{:?}: {about}", called);
                let hit = known.contains(&expected);
                let now = if hit { (0, 1, 0) } else { (1, 0, 1) };
                hits += now.1;
                prop_assert_eq!(after, (before.0 + now.0, before.1 + now.1, before.2 + now.2), "{}", &about);
                match explained.expect(&about) {
                    Explanation::Hit => prop_assert!(hit, "{about}"),
                    Explanation::Empty => prop_assert!(known.is_empty(), "{about}"),
                    Explanation::Miss { differences } => {
                        prop_assert!(!hit && !known.is_empty() && !differences.is_empty(), "{about}");
                        prop_assert!(differences.iter().all(|d| d.now != d.cached), "{about}");
                    }
                    other => panic!("{other:?}"),
                }
                known.insert(expected);
            }
            prop_assert_eq!(family.stats().entries as usize, known.len());
        }
        Ok(())
    };
    // The runner wants a function that changes nothing.
    let check = std::cell::RefCell::new(&mut check);
    TestRunner::new(config)
        .run(&proptest::collection::vec(any::<u8>(), 0..1500), |bytes| (check.borrow_mut())(bytes))
        .unwrap_or_else(|error| panic!("{error}"));
    assert!(
        accepted > 50 && (refused > 0 || short()) && hits > 20,
        "{accepted} accepted ({hits} hits), {refused} refused"
    );
    state.assert_clean();
}

macro_rules! agree {
    ($($test:ident $type:ident)*) => {
        $(#[test]
        fn $test() {
            agree::<$type>();
        })*
    };
}

agree! {
    a_scalar_agrees_with_the_slow_reading Scalar
    names_across_arguments_agree_with_the_slow_reading Product
    any_array_agrees_with_the_slow_reading Anything
    leading_sizes_agree_with_the_slow_reading Batched
    likeness_agrees_with_the_slow_reading Square
    references_backwards_agree_with_the_slow_reading Backwards
    references_to_shapes_agree_with_the_slow_reading Shapes
    a_list_agrees_with_the_slow_reading Listed
    several_lists_agree_with_the_slow_reading Lists
    a_fixed_device_agrees_with_the_slow_reading Fixed
    complex_numbers_agree_with_the_slow_reading Complex
    statics_agree_with_the_slow_reading WithStatics
    structs_agree_with_the_slow_reading Nested
}
