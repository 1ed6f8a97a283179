//! The macros of dispatch families. Use them through `dispatch_runtime`, which their expansions name.

use proc_macro::TokenStream;

/// Declares a program family: one function whose program is compiled again for each combination of input dtypes,
/// shapes and static values, and reused whenever that combination returns.
///
/// The function is the family's *body*. It gets the abstract values of the arguments, or graph values to compute with,
/// runs only when a combination is new, and returns the program. The attribute makes a type with the function's name in UpperCamelCase:
///
/// | method | does |
/// |---|---|
/// | `new(&client)` | makes the family with an empty cache |
/// | `builder(&client)` | the same with another capacity, eviction policy or device |
/// | `call(…)` | runs the program for these arguments, compiling it if it has to |
/// | `warm(…)` | compiles for these abstract values now |
/// | `explain(…)` | whether a call would find its program, else which part of the key is new |
/// | `inspect(…)` | what the program for these abstract values is and costs, outside of the cache |
/// | `stats()`, `clear()` | counters; forgets every program |
///
/// ```
/// use dispatch_runtime::prelude::*;
///
/// #[dispatch_family(capacity = 16)]
/// fn axpy(
///     #[dynamic(dtype = [f32, f64], shape = [])] a: Aval,
///     #[dynamic(dtype = dtype(a), shape = [n])] x: Aval,
///     #[dynamic(like(x))] y: Aval,
///     #[static_arg(default = false)] negate: bool,
/// ) -> Result<Program> {
///     let sign = if negate { "subtract" } else { "add" };
///     Program::stablehlo(format!(
///         "func.func @main(%a: {a}, %x: {x}, %y: {y}) -> {y} {{
///            %as = stablehlo.broadcast_in_dim %a, dims = [] : ({a}) -> {x}
///            %ax = stablehlo.multiply %as, %x : {x}
///            %r = stablehlo.{sign} %y, %ax : {y}
///            return %r : {y}
///          }}"
///     ))
/// }
///
/// let client = Client::cpu()?;
/// let family = Axpy::new(&client);
/// let x = client.array(&[1f64, 2.0], [2])?;
/// let y = family.call(0.1, &x, &[10.0, 20.0], false)?;     // host values are uploaded as f64, the dtype of `x`
/// assert_eq!(y.to_vec::<f64>()?, [10.1, 20.2]);
/// let y = family.call(0.1, &y, &[0.0, 0.0], false)?;       // the same combination: a hit
/// assert_eq!(family.stats().compiles, 1);
/// assert_eq!(family.explain(0.1, &y, &y, true)?.to_string(), "miss: `negate` is true, the nearest entry has false");
/// # Ok::<(), Error>(())
/// ```
///
/// # Arguments
///
/// A first parameter `cx: &CompileCx` is optional, unless the body sees graph values. Each further one is dynamic or
/// static.
///
/// **`#[dynamic(dtype = …, shape = …, donate)] name: Aval`** is an array. A call takes an `Array` or a reference to
/// one, a host scalar, a slice, or `(&slice, shape)`.
///
/// | dtype | allows |
/// |---|---|
/// | `f32` | this one, of bool i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64 c64 c128 |
/// | `[f32, f64]` | one of these |
/// | `float`, `int`, `any` | f16 bf16 f32 f64; the integers; every dtype |
/// | `dtype(a)` | the dtype of the argument `a`, which may come later |
///
/// | shape | allows |
/// |---|---|
/// | `[m, 128, _]` | rank 3: any size, bound to the name `m`; 128; any size |
/// | `[]` | a scalar |
/// | `[..]`, `[.., m]` | any leading dimensions |
/// | `[batch.., m]` | the same leading dimensions wherever `batch..` stands |
/// | `shape(a)` | the shape of the argument `a` |
///
/// `like(a)` stands for `dtype = dtype(a), shape = shape(a)`. A name stands for one size throughout the declaration.
/// In the body `m` is an `i64` and `batch` a `Vec<i64>`.
///
/// With `donate` the array's buffer may be reused for a result; using the array afterwards is an error. Let no other
/// thread use it at the same time: a call that has passed its checks when the array is given away is past our help, and
/// plugins may then wait for ever.
///
/// **Host values.** Arguments tied by `dtype(…)` are a group. Its dtype is that of its first array, else the type of
/// its first host value if that is allowed, else the first one listed (`f32` for `float`, `i32` for `int`). Host
/// values are then converted: floats to floats by rounding to nearest, anything to an integer type exactly or with an
/// error, and a finite number that would become infinite is an error.
///
/// **`#[static_arg]` or `#[static_arg(default = …)] name: T`** is part of the key and constant in the program; `T` is
/// any `StaticKey` type. The default serves the generated R function; `call` takes every argument.
///
/// **Nested inputs** are `Vec<Aval>` and `[Aval; N]`, whose arrays all have the one description, and structs:
/// `#[dynamic] p: P<Aval>` for a struct that derives `InputTree`; a call takes `&P<Array>`.
///
/// # Graph values
///
/// With the runtime's feature `graph`, which is on unless said otherwise, an argument may be a `Value` instead of an
/// `Aval`: the body computes with it, and `cx.program(…)` makes the program of the results. `Vec<Value>`, `[Value; N]`
/// and `P<Value>` are nested inputs, and one body may take both kinds; what a call takes is the same for both.
///
/// ```
/// use dispatch_runtime::prelude::*;
///
/// #[derive(InputTree)]
/// struct Line<T> {
///     #[dynamic(dtype = f32, shape = [])]
///     slope: T,
///     #[dynamic(dtype = f32, shape = [])]
///     offset: T,
/// }
///
/// #[derive(OutputTree)]
/// struct Fit<T> {
///     fitted: T,
///     residuals: T,
/// }
///
/// #[dispatch_family]
/// fn fit_line(
///     cx: &CompileCx,
///     #[dynamic(dtype = f32, shape = [n])] x: Value,
///     #[dynamic(like(x))] y: Value,
///     #[dynamic] line: Line<Value>,
/// ) -> Result<Program<Fit<Array>>> {
///     let fitted = x * line.slope + line.offset;
///     cx.program(Fit { residuals: y - &fitted, fitted })
/// }
///
/// let client = Client::cpu()?;
/// let line = Line { slope: client.array(&[2f32], [])?, offset: client.array(&[1f32], [])? };
/// let fit = FitLine::new(&client).call(&[0.0, 1.0, 2.0], &[1.0, 3.5, 5.0], &line)?;
/// assert_eq!(fit.fitted.to_vec::<f32>()?, [1.0, 3.0, 5.0]);
/// assert_eq!(fit.residuals.to_vec::<f32>()?, [0.0, 0.5, 0.0]);
/// # Ok::<(), Error>(())
/// ```
///
/// # Result
///
/// `Result<Program>` is one array; `Result<Program<O>>` a structure: a tuple, an array of arrays, or a struct that
/// derives `OutputTree`, written `O<Array>`, to which `cx.program(…)` is given `O<Value>`. The error may be of any type that converts into
/// `Box<dyn std::error::Error + Send + Sync>`.
///
/// # Options
///
/// | option | meaning |
/// |---|---|
/// | `capacity = 64` | the number of compiled programs kept; 64 if not said |
/// | `eviction = Lru` | which one goes: any expression of an `EvictionPolicy`, such as `ByBytes(1 << 30)` |
/// | `device = first_input` | a call runs on the device of its first array, and an array elsewhere is an error |
/// | `device = fixed` | every call runs on the family's device, and arrays elsewhere are copied to it |
/// | `default_device = path` | a `fn(&Client) -> Device`, asked for the device of a call without arrays |
/// | `context = path` | a function without arguments, asked on every call for a `StaticKey` that the program depends on; part of the key, and `cx.context()` in the body |
/// | `r_export`, `r_name = "…"` | for the generator of R functions |
#[proc_macro_attribute]
pub fn dispatch_family(arguments: TokenStream, item: TokenStream) -> TokenStream {
    dispatch_codegen::dispatch_family(arguments.into(), item.into()).into()
}

/// Makes a struct with one type parameter an argument of families: a nested input.
///
/// Each field says what it is by `#[dynamic(…)]`, in the language of [`macro@dispatch_family`]: `T`, `Vec<T>`,
/// `[T; N]`, or another such struct `Q<T>` under a bare `#[dynamic]`. The names of sizes stay in the struct. The body of a
/// family sees `P<Aval>` or `P<Value>`.
///
/// ```
/// use dispatch_runtime::prelude::*;
///
/// #[derive(InputTree)]
/// struct Layer<T> {
///     #[dynamic(dtype = f32, shape = [inputs, outputs])]
///     weights: T,
///     #[dynamic(dtype = f32, shape = [outputs])]
///     bias: T,
/// }
///
/// #[dispatch_family]
/// fn dense(
///     #[dynamic] layer: Layer<Aval>,
///     #[dynamic(dtype = f32, shape = [n])] x: Aval,
/// ) -> Result<Program> {
///     let (w, b) = (layer.weights, layer.bias);
///     Program::stablehlo(format!(
///         "func.func @main(%w: {w}, %b: {b}, %x: {x}) -> {b} {{
///            %wx = stablehlo.dot_general %w, %x, contracting_dims = [0] x [0] : ({w}, {x}) -> {b}
///            %y = stablehlo.add %wx, %b : {b}
///            return %y : {b}
///          }}"
///     ))
/// }
///
/// let client = Client::cpu()?;
/// let layer = Layer {
///     weights: client.array(&[1f32, 2.0, 3.0, 4.0], [2, 2])?,
///     bias: client.array(&[0.5f32, 0.5], [2])?,
/// };
/// let y = Dense::new(&client).call(&layer, &[1f32, 1.0])?;
/// assert_eq!(y.to_vec::<f32>()?, [4.5, 6.5]);
///
/// let wrong = Layer { bias: client.array(&[0.5f32], [1])?, ..layer };
/// let error = Dense::new(&client).call(&wrong, &[1f32, 1.0]).unwrap_err();
/// assert_eq!(error.argument(), Some("layer$bias"));
/// # Ok::<(), Error>(())
/// ```
#[proc_macro_derive(InputTree, attributes(dynamic, static_arg))]
pub fn input_tree(input: TokenStream) -> TokenStream {
    dispatch_codegen::derive_input_tree(input.into()).into()
}

/// Makes a struct with one type parameter the structure of a family's results.
///
/// Its fields are `T`, `[T; N]`, or another such struct `Q<T>`; the results of the program fill them in order. A body with
/// graph values fills the struct itself, and hands it to `cx.program(…)`.
///
/// ```
/// use dispatch_runtime::prelude::*;
///
/// #[derive(OutputTree)]
/// struct Range<T> {
///     least: T,
///     most: T,
/// }
///
/// #[dispatch_family]
/// fn sorted(#[dynamic(dtype = f32, shape = [])] a: Aval, #[dynamic(like(a))] b: Aval) -> Result<Program<Range<Array>>> {
///     Program::stablehlo(format!(
///         "func.func @main(%a: {a}, %b: {b}) -> ({a}, {a}) {{
///            %l = stablehlo.minimum %a, %b : {a}
///            %m = stablehlo.maximum %a, %b : {a}
///            return %l, %m : {a}, {a}
///          }}"
///     ))
/// }
///
/// let range = Sorted::new(&Client::cpu()?).call(3f32, 2f32)?;
/// assert_eq!((range.least.to_vec::<f32>()?, range.most.to_vec::<f32>()?), (vec![2.0], vec![3.0]));
/// # Ok::<(), Error>(())
/// ```
#[proc_macro_derive(OutputTree)]
pub fn output_tree(input: TokenStream) -> TokenStream {
    dispatch_codegen::derive_output_tree(input.into()).into()
}

/// Makes an enum or a struct the type of static arguments, by implementing `StaticKey`. The type must be `Clone`.
///
/// ```
/// use dispatch_runtime::prelude::*;
///
/// #[derive(Clone, StaticArg)]
/// enum Side {
///     Left,
///     Right { by: u32 },
/// }
///
/// #[dispatch_family]
/// fn shift(#[dynamic(dtype = i32, shape = [])] x: Aval, #[static_arg] side: Side) -> Result<Program> {
///     let (op, by) = match side {
///         Side::Left => ("shift_left", 1),
///         Side::Right { by } => ("shift_right_logical", by),
///     };
///     Program::stablehlo(format!(
///         "func.func @main(%x: {x}) -> {x} {{
///            %by = stablehlo.constant dense<{by}> : {x}
///            %y = stablehlo.{op} %x, %by : {x}
///            return %y : {x}
///          }}"
///     ))
/// }
///
/// let family = Shift::new(&Client::cpu()?);
/// assert_eq!(family.call(5i32, Side::Left)?.to_vec::<i32>()?, [10]);
/// assert_eq!(family.call(5i32, Side::Right { by: 2 })?.to_vec::<i32>()?, [1]);
/// # Ok::<(), Error>(())
/// ```
#[proc_macro_derive(StaticArg)]
pub fn static_arg(input: TokenStream) -> TokenStream {
    dispatch_codegen::derive_static_arg(input.into()).into()
}

/// Makes a function a handler.
#[proc_macro_attribute]
pub fn ffi_handler(arguments: TokenStream, item: TokenStream) -> TokenStream {
    dispatch_codegen::ffi_handler(arguments.into(), item.into()).into()
}

/// Makes an enum or a struct the type of attributes of handlers.
#[proc_macro_derive(AttrValue, attributes(attr))]
pub fn attr_value(input: TokenStream) -> TokenStream {
    dispatch_codegen::derive_attr_value(input.into()).into()
}

/// Checks buffers in the body of a handler.
#[proc_macro]
pub fn ffi_check(tokens: TokenStream) -> TokenStream {
    dispatch_codegen::ffi_check(tokens.into()).into()
}
