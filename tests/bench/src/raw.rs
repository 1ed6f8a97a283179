//! The floor: the functions of the PJRT C API called directly, with arguments that were filled in before.

use std::ffi::c_void;
use std::ptr::{NonNull, null_mut};

use dispatch_runtime::engine::pjrt::abi::*;
use dispatch_runtime::engine::pjrt::{PjrtEngine, PjrtExecutable};
use dispatch_runtime::engine::{self, RawBuffer};
use dispatch_runtime::{Array, Client};

/// The functions of a plugin that raw calls need.
#[derive(Clone, Copy)]
pub struct Functions {
    execute: Function<PJRT_LoadedExecutable_Execute_Args>,
    destroy_buffer: Function<PJRT_Buffer_Destroy_Args>,
    upload: Function<PJRT_Client_BufferFromHostBuffer_Args>,
    destroy_event: Function<PJRT_Event_Destroy_Args>,
    compile: Function<PJRT_Client_Compile_Args>,
    destroy_executable: Function<PJRT_LoadedExecutable_Destroy_Args>,
}

/// The engine of a client of a plugin.
pub fn engine(client: Client) -> &'static PjrtEngine {
    client.engine().as_any().downcast_ref().expect("the client is one of a plugin")
}

impl Functions {
    /// Looks the functions up.
    pub fn of(client: Client) -> Functions {
        let table = engine(client).api();
        // SAFETY: a plugin's table states its size first.
        let size = unsafe { (*table.as_ptr()).struct_size };
        assert!(size >= size_of::<PJRT_Api>(), "the benchmarks need a plugin of C API 0.81 or newer");
        // SAFETY: the table is as large as the type and lives for the rest of the process.
        let table = unsafe { table.as_ref() };
        Functions {
            execute: table.PJRT_LoadedExecutable_Execute.unwrap(),
            destroy_buffer: table.PJRT_Buffer_Destroy.unwrap(),
            upload: table.PJRT_Client_BufferFromHostBuffer.unwrap(),
            destroy_event: table.PJRT_Event_Destroy.unwrap(),
            compile: table.PJRT_Client_Compile.unwrap(),
            destroy_executable: table.PJRT_LoadedExecutable_Destroy.unwrap(),
        }
    }
}

/// Zeros that state their size.
fn sized<A: Struct>() -> A {
    let mut args = A::zeroed();
    // SAFETY: the first field of every struct of the C API is its size.
    unsafe { (&raw mut args).cast::<usize>().write(size_of::<A>()) };
    args
}

#[inline(always)]
fn check(error: *mut PJRT_Error) {
    assert!(error.is_null(), "a raw call of PJRT failed");
}

/// `PJRT_LoadedExecutable_Execute` with everything prepared, and the end of its one result.
///
/// The options are those of the stub: the same struct, the execution's device given, no events asked for.
pub struct Execute {
    functions: Functions,
    args: PJRT_LoadedExecutable_Execute_Args,
    end: PJRT_Buffer_Destroy_Args,
    /// What `args` points to: the arguments, the list of their one list, the result and the list of its one list. Never
    /// freed; there are few.
    arguments: NonNull<*mut PJRT_Buffer>,
    result: NonNull<*mut PJRT_Buffer>,
}

// SAFETY: PJRT takes calls from any thread, and `&mut self` keeps two from using the struct at once.
unsafe impl Send for Execute {}

impl Execute {
    /// Prepares a call. The arrays must live as long as the call is used.
    pub fn new(client: Client, executable: &dyn engine::Executable, arguments: &[RawBuffer]) -> Execute {
        let executable: &PjrtExecutable = executable.as_any().downcast_ref().expect("a program of a plugin");
        let count = arguments.len();
        let pointers: Vec<*mut PJRT_Buffer> = arguments.iter().map(|b| b.as_ptr().cast()).collect();
        let arguments = NonNull::from(pointers.leak()).cast::<*mut PJRT_Buffer>();
        let result = NonNull::from(Box::leak(Box::new(null_mut::<PJRT_Buffer>())));
        let mut args: PJRT_LoadedExecutable_Execute_Args = sized();
        args.executable = executable.loaded().as_ptr();
        args.options = executable.execute_options().as_ptr();
        args.argument_lists = Box::leak(Box::new(arguments.as_ptr().cast_const()));
        args.num_devices = 1;
        args.num_args = count;
        args.output_lists = Box::leak(Box::new(result.as_ptr()));
        args.execute_device = engine(client).device(0).expect("the first device").as_ptr();
        Execute { functions: Functions::of(client), args, end: sized(), arguments, result }
    }

    /// Executes and ends the result.
    #[inline(always)]
    pub fn call(&mut self) {
        // SAFETY: all that `args` points to lives, by `new`; the result is ours and ended once.
        unsafe {
            check((self.functions.execute)(&raw mut self.args));
            self.end.buffer = self.result.read();
            check((self.functions.destroy_buffer)(&raw mut self.end));
        }
    }

    /// Executes `n` times.
    pub fn calls(&mut self, n: usize) {
        (0..n).for_each(|_| self.call());
    }

    /// Executes with the value of `upload` as argument `i`.
    #[inline(always)]
    pub fn call_with(&mut self, i: usize, upload: &mut Upload) {
        let buffer = upload.start();
        // SAFETY: the list has as many elements as the program has arguments, and `i` is one of them.
        unsafe { self.arguments.add(i).write(buffer) };
        self.call();
        upload.end(buffer);
    }
}

/// `PJRT_Client_BufferFromHostBuffer` of one f32 with everything prepared, and the end of what it makes.
pub struct Upload {
    functions: Functions,
    args: PJRT_Client_BufferFromHostBuffer_Args,
    end: PJRT_Buffer_Destroy_Args,
    event: PJRT_Event_Destroy_Args,
}

impl Upload {
    /// Prepares the upload of a scalar.
    pub fn scalar(client: Client, value: f32) -> Upload {
        let engine = engine(client);
        let mut args: PJRT_Client_BufferFromHostBuffer_Args = sized();
        args.client = engine.client().as_ptr();
        let value: &'static f32 = Box::leak(Box::new(value));
        args.data = (&raw const *value).cast::<c_void>();
        args.r#type = 11; // PJRT_Buffer_Type_F32
        args.host_buffer_semantics = IMMUTABLE_ONLY_DURING_CALL;
        args.device = engine.device(0).expect("the first device").as_ptr();
        Upload { functions: Functions::of(client), args, end: sized(), event: sized() }
    }

    #[inline(always)]
    fn start(&mut self) -> *mut PJRT_Buffer {
        // SAFETY: the arguments live, by `scalar`; the event is ours and ended once.
        unsafe {
            check((self.functions.upload)(&raw mut self.args));
            self.event.event = self.args.done_with_host_buffer;
            check((self.functions.destroy_event)(&raw mut self.event));
        }
        self.args.buffer
    }

    #[inline(always)]
    fn end(&mut self, buffer: *mut PJRT_Buffer) {
        self.end.buffer = buffer;
        // SAFETY: `start` made the buffer, and it is ended once.
        unsafe { check((self.functions.destroy_buffer)(&raw mut self.end)) }
    }

    /// Uploads and ends the buffer.
    #[inline(always)]
    pub fn call(&mut self) {
        let buffer = self.start();
        self.end(buffer);
    }
}

/// `PJRT_Client_Compile` and a first execution.
pub struct Compile {
    client: Client,
    functions: Functions,
    text: String,
    arguments: Vec<RawBuffer>,
}

impl Compile {
    /// Prepares compiling a StableHLO text. The arrays must live as long as this is used.
    pub fn new(client: Client, text: String, arguments: &[&Array]) -> Compile {
        let arguments = arguments.iter().map(|array| array.raw()).collect();
        Compile { client, functions: Functions::of(client), text, arguments }
    }

    /// Compiles with the options of the stub, executes once, ends the result and the executable.
    pub fn call(&mut self) {
        let engine = engine(self.client);
        let options = engine.compile_options(0).expect("the first device");
        let mut program: PJRT_Program = sized();
        program.code = self.text.as_ptr().cast_mut().cast();
        program.code_size = self.text.len();
        program.format = c"mlir".as_ptr();
        program.format_size = 4;
        let mut args: PJRT_Client_Compile_Args = sized();
        args.client = engine.client().as_ptr();
        args.program = &raw const program;
        args.compile_options = options.as_ptr().cast();
        args.compile_options_size = options.len();
        let mut result = null_mut::<PJRT_Buffer>();
        let results: *mut *mut PJRT_Buffer = &raw mut result;
        let arguments: *const *mut PJRT_Buffer = self.arguments.as_ptr().cast();
        let mut options: PJRT_ExecuteOptions = sized();
        let mut execute: PJRT_LoadedExecutable_Execute_Args = sized();
        let mut end: PJRT_Buffer_Destroy_Args = sized();
        let mut end_executable: PJRT_LoadedExecutable_Destroy_Args = sized();
        // SAFETY: all pointers are to locals and to arrays that live, by `new`; what is made is ended once.
        unsafe {
            check((self.functions.compile)(&raw mut args));
            execute.executable = args.executable;
            execute.options = &raw mut options;
            execute.argument_lists = &raw const arguments;
            execute.num_devices = 1;
            execute.num_args = self.arguments.len();
            execute.output_lists = &raw const results;
            execute.execute_device = engine.device(0).expect("the first device").as_ptr();
            check((self.functions.execute)(&raw mut execute));
            end.buffer = result;
            check((self.functions.destroy_buffer)(&raw mut end));
            end_executable.executable = args.executable;
            check((self.functions.destroy_executable)(&raw mut end_executable));
        }
    }
}
