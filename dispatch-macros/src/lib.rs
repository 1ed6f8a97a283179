//! The macros of dispatch families and FFI handlers. Use them through `dispatch_runtime`, which their expansions name.

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
/// one, a host scalar, a slice, `(&slice, shape)`, or a `HostView`, which may have strides.
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
/// With `write_back` the result, or with `write_back = 1` the second one, goes back into the object that was passed, by the
/// object's converter: see `dispatch_runtime::convert`. Arrays and host values there are only arguments.
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

/// Makes a function a handler: an XLA custom call, which compiled programs call by XLA's foreign function interface.
///
/// Beside the function there is a static [`Handler`](../dispatch_runtime/ffi/struct.Handler.html) of its name in upper
/// case, of its visibility and with its documentation. It is registered with a client under a name, and then called by
/// that name. The function stays an ordinary function.
///
/// ```
/// use dispatch_runtime::ffi::{self, Buffer, BufferMut};
/// use dispatch_runtime::prelude::*;
///
/// /// `b` again and again, times `scale`, plus `c`.
/// #[ffi_handler]
/// fn rotate_add(
///     #[arg(dtype = f32, shape = [m])] b: Buffer<f32>,
///     #[arg(dtype = f32, shape = [n])] c: Buffer<f32>,
///     #[ret(dtype = f32, shape = [n])] mut out: BufferMut<f32>,
///     #[attr(default = 1.0)] scale: f32,
/// ) -> ffi::Result<()> {
///     for (o, c) in out.chunks_mut(m).zip(c.chunks(m)) {
///         for ((o, b), c) in o.iter_mut().zip(&b[..]).zip(c) {
///             *o = b * scale + c;
///         }
///     }
///     Ok(())
/// }
///
/// #[dispatch_family]
/// fn rotated(
///     #[dynamic(dtype = f32, shape = [m])] b: Aval,
///     #[dynamic(dtype = f32, shape = [n])] c: Aval,
/// ) -> Result<Program> {
///     Program::stablehlo(format!(
///         r#"func.func @main(%b: {b}, %c: {c}) -> {c} {{
///              %y = "stablehlo.custom_call"(%b, %c) {{
///                call_target_name = "rotate_add", backend_config = {{scale = 10.0 : f32}}, api_version = 4 : i32
///              }} : ({b}, {c}) -> {c}
///              return %y : {c}
///            }}"#
///     ))
/// }
///
/// let client = Client::cpu()?;
/// client.register_ffi_handler("rotate_add", &ROTATE_ADD)?;
/// let y = Rotated::new(&client).call(&[1f32, 2.0], &[0.5, 0.5, 0.5])?;
/// assert_eq!(y.to_vec::<f32>()?, [10.5, 20.5, 10.5]);
/// # Ok::<(), Error>(())
/// ```
///
/// # Arguments and results
///
/// Each parameter says by an attribute what it is in the call. Dtypes and shapes are written as for
/// [`macro@dispatch_family`], with the same meaning, between arguments and results alike: a name is one size wherever it
/// stands. In the body `m` is a `usize`, and `batch` of `batch..` a `Vec<usize>`.
///
/// | parameter | types |
/// |---|---|
/// | `#[arg]`, `#[arg(dtype = …, shape = …)]`, `#[arg(like(a))]` | `Buffer<T>`, a shared slice with a shape; `AnyBuffer`; `Aliased`; `Token`; an `Option` of one of them; `RemainingArgs` |
/// | `#[ret]`, with the same options and `alias = a` | `BufferMut<T>`, a slice to write into; `AnyBufferMut`; `TokenMut`; an `Option` of one of them; `RemainingRets` |
///
/// The dtype of `Buffer<T>` is that of `T`. What is not said is free: `#[arg] x: AnyBuffer` is any buffer. An `AnyBuffer`
/// becomes a `Buffer` by `x.typed::<f32>()?`.
///
/// * An optional one is absent if the call has too few. Nothing plain stands after an optional one, nothing at all after
///   the remaining ones; arguments and results apart. A name has to stand in a buffer that is there in every call.
/// * Memory that an argument and a result share: with `alias = x` at the result and `x: Aliased` at the argument the result
///   holds the argument's contents when the body begins. Any other argument that a result would overwrite is copied before.
///
/// # Attributes
///
/// `#[attr] n: i64` is an attribute of the call that has the parameter's name, or that of `#[attr(name = "…")]`. It may
/// be `bool`, `i8` to `i64`, `u8` to `u64`, `f32`, `f64`, `Complex<f32>`, `Complex<f64>`, `&str`, `&[T]` of integers or
/// floats, `ffi::Dictionary`, `ffi::Pointer`, or a type that derives [`macro@AttrValue`]. A number has exactly this type:
/// `i32` is an error where `i64` is declared. An `Option<T>` may be absent, as may one with `#[attr(default = …)]`, which
/// is an expression that does not see the other parameters. An attribute that nobody declares is an error, unless
/// `#[attrs] all: ffi::Dictionary` takes them all.
///
/// # The context
///
/// `#[ctx]` takes a value of the execution: `ffi::ThreadPool`, `ffi::DeviceOrdinal`, `ffi::RunId`, `ffi::UserData<'_, T>`
/// (or an `Option` of it), `ffi::State<'_, T>`, and of platforms other than the CPU `ffi::Stream` and `ffi::Scratch`, which
/// are an UNIMPLEMENTED error there.
///
/// # What it returns
///
/// `ffi::Result<()>`, or `ffi::Future` and `ffi::Result<ffi::Future>` of one that answers later. A panic is an INTERNAL
/// error with its text. What a call has wrong is found before the body runs; the error names the handler and the parameter,
/// what was expected and what came.
///
/// # Options and stages
///
/// | option | meaning |
/// |---|---|
/// | `target = "…"` | the name that callers use if they name none; else that of the function |
/// | `command_buffer` | calls may be recorded into a command buffer, on platforms that have those |
/// | `instantiate = path`, `prepare = path`, `initialize = path` | the functions of the handlers for the stages before the execution |
/// | `stage = instantiate` (`prepare`, `initialize`) | this handler is for that stage, and named by another |
///
/// An `instantiate` handler runs once for each call in a program, when that is loaded. It sees attributes only, and returns
/// `ffi::Result<T>`: the state, which the execution gets as `#[ctx] s: ffi::State<'_, T>`. The stages of a call share its
/// attributes; each declares those that it reads.
///
/// ```
/// use dispatch_runtime::ffi::{self, BufferMut, State};
/// use dispatch_runtime::prelude::*;
///
/// struct Squares(Vec<i64>);
///
/// #[ffi_handler(stage = instantiate)]
/// fn make_squares(#[attr] up_to: i64) -> ffi::Result<Squares> {
///     Ok(Squares((0..up_to).map(|n| n * n).collect()))
/// }
///
/// #[ffi_handler(instantiate = make_squares)]
/// fn square(
///     #[attr] of: u64,
///     #[ctx] squares: State<'_, Squares>,
///     #[ret(shape = [])] mut out: BufferMut<i64>,
/// ) -> ffi::Result<()> {
///     let square = squares.0.get(of as usize);
///     out[0] = *square.ok_or_else(|| ffi::Error::out_of_range(format!("no square of {of} is known")))?;
///     Ok(())
/// }
///
/// #[dispatch_family]
/// fn squared(#[static_arg] of: u64) -> Result<Program> {
///     Program::stablehlo(format!(
///         r#"func.func @main() -> tensor<i64> {{
///              %y = "stablehlo.custom_call"() {{
///                call_target_name = "square", backend_config = {{of = {of} : ui64, up_to = 10 : i64}},
///                api_version = 4 : i32
///              }} : () -> tensor<i64>
///              return %y : tensor<i64>
///            }}"#
///     ))
/// }
///
/// let client = Client::cpu()?;
/// client.register_ffi_handler("square", &SQUARE)?;
/// assert_eq!(Squared::new(&client).call(7)?.to_vec::<i64>()?, [49]);
/// let error = Squared::new(&client).call(11).and_then(|y| y.to_vec::<i64>()).unwrap_err();
/// assert!(error.to_string().contains("no square of 11 is known"));
/// # Ok::<(), Error>(())
/// ```
#[proc_macro_attribute]
pub fn ffi_handler(arguments: TokenStream, item: TokenStream) -> TokenStream {
    dispatch_codegen::ffi_handler(arguments.into(), item.into()).into()
}

/// Makes an enum or a struct the type of attributes of handlers.
///
/// An enum without fields is an integer of exactly the type in its `#[repr(…)]`, and one of its variants. A struct is a
/// dictionary with exactly its fields: they have the types of attributes, and `#[attr(name = "…", default = …)]` means what
/// it does for [`macro@ffi_handler`]. A struct may have a lifetime, for what it borrows from the call.
///
/// ```
/// use dispatch_runtime::ffi::{self, AttrValue, BufferMut};
/// use dispatch_runtime::prelude::*;
///
/// #[derive(AttrValue)]
/// #[repr(i32)]
/// enum Side {
///     Left = 0,
///     Right = 1,
/// }
///
/// #[derive(AttrValue)]
/// struct Shift<'a> {
///     side: Side,
///     #[attr(default = 1)]
///     by: i64,
///     unit: Option<&'a str>,
/// }
///
/// #[ffi_handler]
/// fn shifted(#[attr] shift: Shift, #[ret(shape = [])] mut out: BufferMut<i64>) -> ffi::Result<()> {
///     out[0] = match shift.side {
///         Side::Left => -shift.by,
///         Side::Right => shift.by,
///     };
///     if shift.unit == Some("pairs") {
///         out[0] *= 2;
///     }
///     Ok(())
/// }
///
/// #[dispatch_family]
/// fn by_three() -> Result<Program> {
///     Program::stablehlo(
///         r#"func.func @main() -> tensor<i64> {
///              %y = "stablehlo.custom_call"() {
///                call_target_name = "shifted", api_version = 4 : i32,
///                backend_config = {shift = {side = 0 : i32, by = 3 : i64, unit = "pairs"}}
///              } : () -> tensor<i64>
///              return %y : tensor<i64>
///            }"#,
///     )
/// }
///
/// let client = Client::cpu()?;
/// client.register_ffi_handler("shifted", &SHIFTED)?;
/// assert_eq!(ByThree::new(&client).call()?.to_vec::<i64>()?, [-6]);
/// # Ok::<(), Error>(())
/// ```
#[proc_macro_derive(AttrValue, attributes(attr))]
pub fn attr_value(input: TokenStream) -> TokenStream {
    dispatch_codegen::derive_attr_value(input.into()).into()
}

/// Checks buffers in the body of a handler, and binds sizes: `ffi::check!(x: [f32, f64] [rows, 128]);`.
///
/// If the whole pattern holds, its names are variables of type `usize` from here on (`batch` of `batch..` a `Vec<usize>`);
/// else the function returns the error, which names the buffer, what was expected and what came. It returns an
/// `ffi::Result`, an `ffi::Future`, or a `Result` whose error is made from an `ffi::Error`.
///
/// A pattern has a dtype, a shape, or both, and then more of this, between commas:
///
/// | form | meaning |
/// |---|---|
/// | `f32`, `[f32, f64]`, `float`, `dtype(y)` | the dtype, as for [`macro@dispatch_family`]; `y` is another buffer |
/// | `[m, 128, _]`, `[..]`, `[batch.., m]`, `shape(y)` | the shape. A name twice means equal sizes |
/// | `[{n}, {2 * n}]` | a size in braces or parentheses is the value of an expression |
/// | `like(y)` | dtype and shape of another buffer |
/// | `rank = 2`, `rank = [1, 2]` | the rank, or one of several |
/// | `dim(0) = 128`, `dim(i) = c` | one dimension, counted from 0 |
///
/// Several buffers stand between semicolons, and share their names. It works on all four types of buffers, and on the
/// left of a colon stands the name of a variable.
///
/// ```
/// use dispatch_runtime::ffi::{self, AnyBuffer, AnyBufferMut};
/// use dispatch_runtime::prelude::*;
///
/// #[ffi_handler]
/// fn row_sums(#[arg] x: AnyBuffer, #[ret] mut out: AnyBufferMut, #[attr] width: u64) -> ffi::Result<()> {
///     ffi::check!(x: [f32, f64] [rows, {width}]; out: dtype(x), shape = [rows]);
///     match x.dtype() {
///         Some(DType::F32) => sums(&x.typed::<f32>()?, &mut out.typed_mut::<f32>()?, rows),
///         _ => sums(&x.typed::<f64>()?, &mut out.typed_mut::<f64>()?, rows),
///     }
///     Ok(())
/// }
///
/// fn sums<T: Copy + std::iter::Sum>(x: &[T], out: &mut [T], rows: usize) {
///     for (i, out) in out.iter_mut().enumerate() {
///         let width = x.len() / rows;
///         *out = x[i * width..][..width].iter().copied().sum();
///     }
/// }
/// # let _ = &ROW_SUMS;
/// ```
#[proc_macro]
pub fn ffi_check(tokens: TokenStream) -> TokenStream {
    dispatch_codegen::ffi_check(tokens.into()).into()
}
