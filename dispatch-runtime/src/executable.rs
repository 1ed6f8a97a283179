//! A compiled program without a cache.

use std::fmt;

use crate::array::Array;
use crate::aval::{shape_text, short};
use crate::client::{Client, Device, other_client};
use crate::engine::{self, RawBuffer, RunOptions};
use crate::host::layout;
use crate::leaf::{Leaf, LeafKind};
use crate::{Aval, DType, Error, Inspection, Result, inspection};

/// A compiled program on one device, from [`Client::compile`]. Families hold theirs in a cache.
pub struct Executable {
    device: Device,
    compiled: Box<dyn engine::Executable>,
}

impl Executable {
    pub(crate) fn new(device: Device, compiled: Box<dyn engine::Executable>) -> Executable {
        Executable { device, compiled }
    }

    /// The client that compiled it.
    pub fn client(&self) -> Client {
        self.device.client()
    }

    /// The device that it runs on.
    pub fn device(&self) -> Device {
        self.device
    }

    /// Dtype and shape of each argument.
    pub fn inputs(&self) -> &[Aval] {
        self.compiled.inputs()
    }

    /// Dtype and shape of each result.
    pub fn outputs(&self) -> &[Aval] {
        self.compiled.outputs()
    }

    /// The executable as its engine knows it.
    pub fn compiled(&self) -> &dyn engine::Executable {
        &*self.compiled
    }

    /// What was compiled, and what a run of it costs: the optimised program, operations, bytes and memory.
    ///
    /// What the engine does not tell is absent; it is an error only if the engine breaks its own rules. Asking takes
    /// 0.2 ms for a small program, and more for a large one.
    pub fn inspect(&self) -> Result<Inspection> {
        inspection::inspect(&*self.compiled, self.device)
    }

    /// Runs the program.
    ///
    /// The results may still be computing when this returns. An argument whose buffer the program gives to a result
    /// (a donated one) is consumed: every later use of it or of its clones is an error.
    ///
    /// ```
    /// use dispatch_runtime::{Array, Aval, Client, DType, HostArray, Program};
    ///
    /// let aval = Aval::new(DType::I32, [3]);
    /// let total = Program::<Array>::host([aval], [Aval::new(DType::I32, [])], |args| {
    ///     let sum: i32 = args[0].as_slice::<i32>().unwrap().iter().sum();
    ///     Ok(vec![HostArray::new([sum], [])?])
    /// })?;
    ///
    /// let client = Client::host();
    /// let executable = client.compile(&total)?;
    /// let x = client.array(&[1, 2, 3], [3])?;
    /// assert_eq!(executable.execute(&[&x])?[0].to_vec::<i32>()?, [6]);
    ///
    /// let wrong = client.array(&[1f32, 2.0, 3.0], [3])?;
    /// let error = executable.execute(&[&wrong]).unwrap_err();
    /// assert_eq!(error.to_string(), "argument `1`: expected dtype i32, got f32");
    /// # Ok::<(), dispatch_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Every argument is checked before the engine is called. The error names the first wrong one by its position,
    /// counted from 1, since a compiled program does not keep names: too few or too many, an array of another client
    /// or on another device, one that was donated, or that is passed twice while the program consumes it, and one of
    /// another dtype or shape. An error of the program itself comes after that, and leaves donated arguments consumed.
    pub fn execute(&self, args: &[&Array]) -> Result<Vec<Array>> {
        self.execute_with(args, RunOptions::default())
    }

    /// [`Executable::execute`] with options. An argument that is kept is not consumed.
    ///
    /// An error as well if an index of those to be kept is none of an argument, or if the engine knows no options.
    pub fn execute_with(&self, args: &[&Array], options: RunOptions<'_>) -> Result<Vec<Array>> {
        self.check_count(args.len())?;
        for (i, (&arg, input)) in args.iter().zip(self.inputs()).enumerate() {
            self.check_argument(i, arg, input, options.reinterpret && self.compiled.takes_bytes())?;
        }
        if let Some(index) = options.keep.iter().find(|&&i| !(0..args.len() as i64).contains(&i)) {
            return Err(Error::Option {
                option: "keep",
                expected: format!("indices below {}, counted from 0", args.len()),
                got: index.to_string(),
            });
        }
        self.check_donated_once(args, options.keep)?;
        self.consume_donated(args, options.keep)?;

        let buffers: Vec<RawBuffer> = args.iter().map(|a| a.buffer()).collect();
        let mut outs = vec![None; self.outputs().len()];
        // SAFETY: `args` keeps the buffers alive; they are of this client, on this device, and of the dtypes and
        // shapes that the executable takes, or may be taken for it, as checked above. `outs` has the right length.
        unsafe {
            match options {
                RunOptions { keep: [], launch_id: 0, user_data: None, .. } => {
                    self.compiled.execute(&buffers, &mut outs)?
                }
                _ => self.compiled.execute_with(&buffers, &mut outs, options)?,
            }
        };

        let results = outs.into_iter().zip(self.outputs()).map(|(buffer, aval)| {
            let buffer = buffer.expect("an engine that reports success fills every output");
            // SAFETY: a new buffer that is ours, of the dtype and shape that the engine promises for it.
            unsafe { Array::from_raw(self.client(), buffer, self.device.index(), aval.dtype(), aval.shape()) }
        });
        Ok(results.collect())
    }

    fn check_count(&self, got: usize) -> Result<()> {
        if got == self.inputs().len() {
            return Ok(());
        }
        Err(wrong_count("the executable", self.inputs(), |i| (i + 1).to_string(), got))
    }

    fn check_argument(&self, i: usize, arg: &Array, input: &Aval, reinterpret: bool) -> Result<()> {
        let argument = || (i + 1).to_string();
        check_place(argument, arg, self.device)?;
        if reinterpret && (arg.dtype() == DType::Bool) == (input.dtype() == DType::Bool) {
            let bytes = |n: usize, dtype: DType| n as u128 * dtype.size() as u128;
            let (has, takes) = (bytes(arg.len(), arg.dtype()), bytes(input.len(), input.dtype()));
            if has == takes {
                return Ok(());
            }
            return Err(Error::Shape {
                argument: argument(),
                expected: format!("of {takes} bytes, as {}", short(input.dtype(), input.shape())),
                got: format!("{} of {has}", short(arg.dtype(), arg.shape())),
            });
        }
        check_layout(argument, arg, input)
    }

    /// The indices of the arguments that the program consumes, but for those to be kept.
    fn donated<'a>(&'a self, keep: &'a [i64]) -> impl Iterator<Item = usize> + 'a {
        let aliased = self.compiled.aliased().iter().enumerate();
        aliased.filter_map(move |(i, &aliased)| (aliased && !keep.contains(&(i as i64))).then_some(i))
    }

    /// A consumed array must not stand elsewhere among the arguments: the program would overwrite what it reads.
    fn check_donated_once(&self, args: &[&Array], keep: &[i64]) -> Result<()> {
        for i in self.donated(keep) {
            if let Some(j) = (0..args.len()).find(|&j| j != i && args[j].same(args[i])) {
                return Err(Error::Donated {
                    argument: (i.max(j) + 1).to_string(),
                    reason: format!(
                        "the array is also argument {}, and the program consumes argument {}",
                        i.min(j) + 1,
                        i + 1
                    ),
                });
            }
        }
        Ok(())
    }

    /// Marks the arguments that the program consumes; all or none, so that a lost race loses nothing else.
    fn consume_donated(&self, args: &[&Array], keep: &[i64]) -> Result<()> {
        for i in self.donated(keep) {
            if args[i].donate() {
                continue;
            }
            // SAFETY: this call marked those before `i`, and has consumed nothing.
            self.donated(keep).take_while(|&j| j < i).for_each(|j| unsafe { args[j].take_back() });
            return Err(Error::Donated {
                argument: (i + 1).to_string(),
                reason: args[i].donation_refused().into(),
            });
        }
        Ok(())
    }
}

/// The error of too few or too many arguments; `path` names the argument at an index.
pub(crate) fn wrong_count(
    callee: &str,
    inputs: &[Aval],
    path: impl Fn(usize) -> String,
    got: usize,
) -> Error {
    let detail = match inputs.get(got) {
        Some(missing) => {
            format!("; argument {} is missing, {}", path(got), short(missing.dtype(), missing.shape()))
        }
        None => format!("; argument {} is one too many", inputs.len() + 1),
    };
    Error::ArgumentCount { callee: callee.into(), expected: inputs.len(), got, detail }
}

/// An error unless an array is one of the device's client, alive, and on the device.
pub(crate) fn check_place(argument: impl Fn() -> String, array: &Array, device: Device) -> Result<()> {
    if array.client() != device.client() {
        return Err(other_client(argument(), "an array", device.client(), array.client()));
    }
    if array.is_donated() {
        return Err(Error::Donated {
            argument: argument(),
            reason: "the array was donated to an earlier call and is gone".into(),
        });
    }
    if array.device_index() != device.index() {
        return Err(Error::Device {
            argument: argument(),
            expected: device.to_string(),
            got: array.device().to_string(),
        });
    }
    Ok(())
}

/// An error unless an array, or what stands for one, has this dtype and shape, and these strides and offset.
pub(crate) fn check_layout(argument: impl Fn() -> String, array: &impl Leaf, input: &Aval) -> Result<()> {
    if array.dtype() != input.dtype() {
        return Err(Error::DType {
            argument: argument(),
            expected: input.dtype().to_string(),
            got: array.dtype().to_string(),
        });
    }
    if array.shape() != input.shape() {
        return Err(Error::Shape {
            argument: argument(),
            expected: shape_text(input.shape()),
            got: shape_text(array.shape()),
        });
    }
    let layout = array.layout();
    let layout = layout.as_ref().map(|(strides, offset)| (&**strides, *offset));
    if layout != input.layout() {
        let expected = layout::text(input.layout());
        let got = match array.kind() {
            LeafKind::Host => layout::text(layout),
            _ => "an array, which is row-major".into(),
        };
        return Err(Error::Layout { argument: argument(), expected, got });
    }
    Ok(())
}

impl fmt::Debug for Executable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Executable({:?} -> {:?} on {})", self.inputs(), self.outputs(), self.device)
    }
}
