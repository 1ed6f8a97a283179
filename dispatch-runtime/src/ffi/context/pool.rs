//! The threads of the plugin.

use std::any::Any;
use std::collections::VecDeque;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::mem::transmute;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::{Cx, FromCall};
use crate::engine::host::panic_text;
use crate::ffi::entry::as_call;
use crate::ffi::future::{self, Caught, Future, promise};
use crate::ffi::{Call, Error, Result};
use crate::warning;

/// The threads on which the plugin computes, for the work of a handler.
///
/// A parameter `#[ctx] pool: ffi::ThreadPool`. Where the plugin has no pool, or not for this call, the work is done by the
/// thread that asks.
///
/// ```
/// use dispatch_runtime::ffi::{self, ThreadPool};
///
/// fn total(pool: &ThreadPool, data: &[f64]) -> ffi::Result<f64> {
///     let parts = data.chunks(1 + data.len() / pool.num_threads());
///     let mut sums = vec![0.0; parts.len()];
///     pool.scope(|scope| {
///         for (sum, part) in sums.iter_mut().zip(parts) {
///             scope.spawn(move || *sum = part.iter().sum());
///         }
///     })?;
///     Ok(sums.iter().sum())
/// }
/// ```
#[derive(Clone, Copy)]
pub struct ThreadPool<'a>(Cx<'a>);

impl<'a> FromCall<'a> for ThreadPool<'a> {
    fn from_call(call: &Call<'a>) -> Result<ThreadPool<'a>> {
        Cx::of(call).map(ThreadPool)
    }
}

type Task = Box<dyn FnOnce() + Send>;

impl<'a> ThreadPool<'a> {
    /// How many threads there are, at least 1.
    pub fn num_threads(&self) -> usize {
        // SAFETY: the call lasts.
        let threads = unsafe { self.0.api.num_threads(self.0.ctx) };
        // Without a pool this thread does the work.
        threads.map_or(1, |n| n.max(1) as usize)
    }

    /// Has a thread run a task, which may outlive the call. The handler does not wait for it: see [`ThreadPool::scope`]
    /// for tasks that it waits for, [`ThreadPool::spawn`] for one that the program waits for.
    ///
    /// A panic of the task is the error of the promises that it holds; if there are none, it is a warning.
    pub fn schedule(&self, task: impl FnOnce() + Send + 'static) {
        self.run(Box::new(move || match future::catch(task) {
            Err(caught) if !caught.told => {
                warning::warn(&format!("a task on the pool panicked: {}", caught.text));
            }
            _ => {}
        }));
    }

    /// Has a thread compute the answer of the handler, which returns the future. A panic is an INTERNAL error.
    pub fn spawn(&self, task: impl FnOnce() -> Result<()> + Send + 'static) -> Future {
        let (promise, future) = promise();
        self.run(Box::new(move || {
            let answer = future::catch(task).unwrap_or_else(|Caught { text, .. }| {
                Err(Error::internal(format!("a task on the pool panicked: {text}")))
            });
            promise.complete(answer);
        }));
        future
    }

    /// Runs tasks that may borrow what lives longer than the scope, and waits for all of them, as
    /// [`std::thread::scope`] does.
    ///
    /// The thread that waits does what the others have not begun, so that handlers on all threads of a pool may wait at the
    /// same time.
    ///
    /// # Errors
    ///
    /// A task has panicked: INTERNAL, with the text of the first one.
    ///
    /// # Panics
    ///
    /// As `f`, after all tasks have ended.
    pub fn scope<'env, R>(&self, f: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> R) -> Result<R> {
        let scope = Scope {
            pool: ThreadPool(Cx { api: self.0.api, ctx: self.0.ctx, call: PhantomData }),
            tasks: Arc::default(),
            scope: PhantomData,
            env: PhantomData,
        };
        let result = catch_unwind(AssertUnwindSafe(|| f(&scope)));
        // From here on no task is left, whatever has happened.
        let panic = scope.tasks.finish();
        match (result, panic) {
            (Err(panic), _) => resume_unwind(panic),
            (Ok(_), Some(text)) => Err(Error::internal(format!("a task on the pool panicked: {text}"))),
            (Ok(result), None) => Ok(result),
        }
    }

    /// Has the pool run a task that does not panic.
    fn run(&self, task: Task) {
        let data: *mut c_void = Box::into_raw(Box::new(task)).cast();
        // SAFETY: the call lasts; the task is a box, run once, by the pool or, if that does not take it, here.
        unsafe {
            if self.0.api.schedule(self.0.ctx, run_task, data).is_err() {
                run_task(data);
            }
        }
    }
}

/// What the pool calls.
///
/// # Safety
///
/// `data` is a `Box<Task>`, which is ours, of a task that does not panic.
unsafe extern "C" fn run_task(data: *mut c_void) {
    // SAFETY: by the caller's promise.
    let task = unsafe { Box::from_raw(data.cast::<Task>()) };
    as_call(task);
}

/// Where tasks are spawned: see [`ThreadPool::scope`].
pub struct Scope<'scope, 'env: 'scope> {
    pool: ThreadPool<'scope>,
    tasks: Arc<Tasks>,
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

// SAFETY: what tasks share of a scope is its list, which is locked, and the functions of the plugin, which take calls from
// any thread as long as the call lasts, and that is longer than the scope.
unsafe impl Sync for Scope<'_, '_> {}

impl<'scope> Scope<'scope, '_> {
    /// Has a thread run a task, before the scope ends. Tasks may spawn others.
    pub fn spawn(&'scope self, task: impl FnOnce() + Send + 'scope) {
        let task: Box<dyn FnOnce() + Send + 'scope> = Box::new(task);
        // SAFETY: the task ends, run or not, before `finish` returns, and `scope` does not return before. So it is gone
        // while all that it borrows is there.
        let task: Task = unsafe { transmute::<Box<dyn FnOnce() + Send + 'scope>, Task>(task) };
        self.tasks.lock().waiting.push_back(task);
        // One look into the list for each task. It may come late and find nothing.
        let tasks = self.tasks.clone();
        self.pool.run(Box::new(move || tasks.run_one()));
    }
}

/// The tasks of a scope.
#[derive(Default)]
struct Tasks {
    list: Mutex<List>,
    changed: Condvar,
}

#[derive(Default)]
struct List {
    waiting: VecDeque<Task>,
    running: usize,
    /// The text of the first panic.
    panic: Option<String>,
}

impl Tasks {
    fn lock(&self) -> MutexGuard<'_, List> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a task, if there is one left.
    fn run_one(&self) {
        let mut list = self.lock();
        let Some(task) = list.waiting.pop_front() else { return };
        list.running += 1;
        drop(list);
        let panic = future::catch(task).err().map(|caught| caught.text);
        let mut list = self.lock();
        list.running -= 1;
        if list.panic.is_none() {
            list.panic = panic;
        }
        drop(list);
        self.changed.notify_all();
    }

    /// Runs what is left and waits for the rest; the text of the first panic.
    fn finish(&self) -> Option<String> {
        loop {
            self.run_one();
            let list = self.lock();
            if !list.waiting.is_empty() {
                continue;
            }
            if list.running == 0 {
                return list.panic.clone();
            }
            // A task that runs may spawn another.
            let waited = self.changed.wait_while(list, |list| list.running > 0 && list.waiting.is_empty());
            drop(waited.unwrap_or_else(PoisonError::into_inner));
        }
    }
}

/// What was thrown, as a text.
pub(crate) fn text_of(panic: Box<dyn Any + Send>) -> String {
    let text = panic_text(&*panic);
    // What was thrown may panic again when it is dropped.
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
        std::mem::forget(again);
    }
    text
}
