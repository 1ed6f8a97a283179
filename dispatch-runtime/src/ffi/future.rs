//! Answers that come later.

use std::any::Any;
use std::cell::RefCell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::abi::XLA_FFI_Future;
use super::api::{Api, Status};
use super::context::{Cx, text_of};
use super::entry::calls;
use super::{Answer, Call, Error, Result};

/// The answer of a handler that is not there yet when the handler returns; the program waits for it.
///
/// XLA keeps arguments, results and attributes until then. [`promise`] makes one.
#[must_use = "the program waits for a future only if the handler returns it"]
pub struct Future(Arc<Shared>);

/// What completes a [`Future`], once, from any thread.
///
/// A promise that is dropped without an answer completes its future with an INTERNAL error, so that no program waits for
/// ever.
pub struct Promise(Option<Arc<Shared>>);

/// A promise and its future.
///
/// ```
/// use dispatch_runtime::ffi;
///
/// fn later() -> ffi::Future {
///     let (promise, future) = ffi::promise();
///     std::thread::spawn(move || promise.complete(Ok(())));
///     future
/// }
/// # let _ = later();
/// ```
pub fn promise() -> (Promise, Future) {
    let shared = Arc::new(Shared { state: Mutex::new(State::Open) });
    (Promise(Some(shared.clone())), Future(shared))
}

struct Shared {
    state: Mutex<State>,
}

enum State {
    /// No answer yet, and nobody waits.
    Open,
    /// No answer yet; XLA waits.
    Waited(Waiting),
    /// The answer; nobody has asked for it yet.
    Answered(Result<()>),
    /// The answer has been given.
    Over,
}

/// The future that XLA waits for.
struct Waiting {
    api: Api,
    future: *mut XLA_FFI_Future,
    /// What the call used that is not XLA's.
    _kept: Option<Arc<dyn Any + Send + Sync>>,
}

// SAFETY: the functions of the plugin complete a future from any thread.
unsafe impl Send for Waiting {}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn complete(&self, answer: Result<()>) {
        let mut state = self.lock();
        match std::mem::replace(&mut *state, State::Over) {
            State::Open => *state = State::Answered(answer),
            State::Waited(waiting) => {
                drop(state);
                let answer =
                    answer.map_err(|e| Status { code: e.code() as i32, message: e.message().to_owned() });
                // SAFETY: the future was given to XLA and not completed: the state says both, and is over now.
                unsafe { waiting.api.complete(waiting.future, answer) };
            }
            // A promise answers once.
            State::Answered(_) | State::Over => {}
        }
    }
}

impl Promise {
    /// The answer of the handler.
    ///
    /// What the program does next may begin on this thread, before this returns: so no lock is to be held here that
    /// another handler takes.
    pub fn complete(mut self, answer: Result<()>) {
        if let Some(shared) = self.0.take() {
            shared.complete(answer);
        }
    }
}

impl Drop for Promise {
    fn drop(&mut self) {
        let Some(shared) = self.0.take() else { return };
        if !std::thread::panicking() {
            shared.complete(Err(Error::internal("the promise of an answer was dropped without one")));
        } else if let Some(shared) = left_by_panic(shared) {
            shared.complete(Err(Error::internal("the thread that had promised an answer panicked")));
        }
    }
}

impl fmt::Debug for Promise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Promise")
    }
}

impl fmt::Debug for Future {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Future")
    }
}

impl Answer for Future {
    fn answer(self, call: &Call<'_>) -> Result<()> {
        let cx = Cx::of(call)?;
        // Held until XLA has the future, so that nobody completes it before.
        let mut state = self.0.lock();
        match std::mem::replace(&mut *state, State::Over) {
            // An answer that is there already needs no future.
            State::Answered(answer) => answer,
            State::Open => {
                let future = cx.api.future()?;
                // SAFETY: the future is of this plugin; its promise completes it, dropped or not.
                unsafe { call.set_future(future) };
                *state = State::Waited(Waiting { api: cx.api, future, _kept: call.kept() });
                Ok(())
            }
            State::Waited(_) | State::Over => Err(Error::internal("a future has been returned twice")),
        }
    }
}

/// The promises that panics have dropped in a task.
struct Left {
    /// How many handlers the thread was in when the task began. A handler that the task has called, by a program, does not
    /// leave its promises to it: the task may wait for their answers.
    calls: u32,
    promises: Vec<Arc<Shared>>,
}

thread_local! {
    /// What the panic leaves which [`catch`] is about to catch; none outside of it.
    static LEFT: RefCell<Option<Left>> = const { RefCell::new(None) };
}

/// Leaves a promise to who catches the panic, and knows its text; gives it back if nobody does.
fn left_by_panic(shared: Arc<Shared>) -> Option<Arc<Shared>> {
    let mut shared = Some(shared);
    let _ = LEFT.try_with(|left| {
        if let Ok(Some(left)) = left.try_borrow_mut().as_deref_mut().map(Option::as_mut) {
            if left.calls == calls() {
                left.promises.extend(shared.take());
            }
        }
    });
    shared
}

/// A panic that was caught.
pub(crate) struct Caught {
    pub text: String,
    /// Whether somebody hears of it by a promise.
    pub told: bool,
}

/// Runs a task; the text of a panic is also the error of the promises that the task held.
pub(crate) fn catch<T>(task: impl FnOnce() -> T) -> Result<T, Caught> {
    let outer = LEFT.with(|left| left.replace(Some(Left { calls: calls(), promises: Vec::new() })));
    let made = catch_unwind(AssertUnwindSafe(task));
    let left = LEFT.with(|left| left.replace(outer)).map_or_else(Vec::new, |left| left.promises);
    let told = !left.is_empty();
    let made = made.map_err(|panic| Caught { text: text_of(panic), told });
    for shared in left {
        shared.complete(Err(Error::internal(match &made {
            Err(Caught { text, .. }) => format!("the task that had promised an answer panicked: {text}"),
            // The task itself has caught the panic, and only it knows the text.
            Ok(_) => "the task that had promised an answer panicked, and went on without it".to_owned(),
        })));
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ffi::testing::Frame;
    use crate::ffi::tests::declare::declare;

    thread_local! {
        static FUTURES: RefCell<Vec<Future>> = const { RefCell::new(Vec::new()) };
    }

    /// A promise that a panic drops which is caught here; keeps its future.
    fn drop_in_a_panic() {
        let (promise, future) = promise();
        FUTURES.with_borrow_mut(|futures| futures.push(future));
        let caught = catch_unwind(AssertUnwindSafe(move || {
            let _promise = promise;
            panic!("caught");
        }));
        assert!(caught.is_err());
    }

    /// What the last future is answered with by now.
    fn answer() -> Option<String> {
        FUTURES.with_borrow(|futures| match &*futures.last()?.0.lock() {
            State::Answered(answer) => Some(answer.as_ref().err()?.message().to_owned()),
            _ => None,
        })
    }

    #[test]
    fn a_promise_is_completed_at_the_end_of_the_task_that_has_dropped_it() {
        let after = "the task that had promised an answer panicked, and went on without it";
        catch(drop_in_a_panic).unwrap_or_else(|_| unreachable!());
        assert_eq!(answer().as_deref(), Some(after));
        // A task within another ends before.
        catch(|| {
            catch(drop_in_a_panic).unwrap_or_else(|_| unreachable!());
            assert_eq!(answer().as_deref(), Some(after));
            drop_in_a_panic();
        })
        .unwrap_or_else(|_| unreachable!());
        assert_eq!(answer().as_deref(), Some(after));
    }

    #[test]
    fn a_handler_that_a_task_calls_does_not_leave_its_promises_to_the_task() {
        declare! {
            static DROPS = fn drops(;) {
                drop_in_a_panic();
                Ok(())
            }
        }
        // The task may wait for the answer.
        catch(|| {
            Frame::new().call(&DROPS).unwrap();
            assert_eq!(answer().as_deref(), Some("the thread that had promised an answer panicked"));
        })
        .unwrap_or_else(|_| unreachable!());
    }
}
