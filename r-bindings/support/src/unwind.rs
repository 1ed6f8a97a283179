//! Calling R without being jumped over.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::c_void;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crate::fault::{Fault, Result};
use crate::ffi::*;
use crate::main_thread::MainThread;

/// Continuation tokens that are not in use: a call takes one, and gives it back when the call has returned or R has
/// gone on with its jump. So nested calls have different ones, and nothing is allocated for a call.
static TOKENS: MainThread<RefCell<Vec<SEXP>>> = MainThread::new(RefCell::new(Vec::new()));

/// How many tokens are made at a time.
const BATCH: usize = 32;

/// Where R is going; see [`Fault::Jump`].
#[derive(Debug)]
pub struct Token(SEXP);

impl Token {
    /// The token in the form that tells savvy's C wrapper to continue the jump. The wrapper does so at once, so the
    /// token can be used for the next call from then on.
    pub(crate) fn tagged(self) -> SEXP {
        self.0.map_addr(|address| address | 1)
    }
}

impl Token {
    /// A token in the form of [`Token::tagged`] from another package, which does not use it again.
    pub(crate) fn adopt(tagged: SEXP) -> Token {
        Token(tagged.map_addr(|address| address & !1))
    }
}

impl Drop for Token {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: a token has a pointer, so it stays on the thread that took it, which is R's.
        unsafe { TOKENS.get_here() }.borrow_mut().push(self.0);
    }
}

fn give(token: SEXP) {
    TOKENS.get().borrow_mut().push(token);
}

#[inline]
fn take() -> Result<SEXP> {
    let mut tokens = TOKENS.get().borrow_mut();
    match tokens.len() {
        0 | 1 => {
            drop(tokens);
            more()
        }
        _ => Ok(tokens.pop().expect("a token")),
    }
}

/// The last token serves to make more of them.
#[cold]
fn more() -> Result<SEXP> {
    let last = TOKENS.get().borrow_mut().pop();
    let Some(last) = last else {
        // Only if R's collector, while it makes room for tokens, runs code that comes back here. Should memory be at
        // its end just then, R jumps from here.
        return Ok(make());
    };
    let mut made = [std::ptr::null_mut(); BATCH];
    let at = &raw mut made;
    let done = with_token(last, || {
        for i in 0..BATCH {
            // SAFETY: the array is ours and lives during the call.
            unsafe { (*at)[i] = make() };
        }
    });
    made.into_iter().filter(|token| !token.is_null()).for_each(give);
    done?;
    Ok(TOKENS.get().borrow_mut().pop().expect("a token"))
}

/// A new token, which R keeps.
fn make() -> SEXP {
    // SAFETY: the new object is protected until it is preserved.
    unsafe {
        let token = Rf_protect(R_MakeUnwindCont());
        R_PreserveObject(token);
        Rf_unprotect(1);
        token
    }
}

/// Makes the first tokens. Nothing on this path needs to be dropped, because R may jump over it.
pub(crate) fn prepare() {
    if TOKENS.get().borrow().is_empty() {
        for _ in 0..BATCH {
            let token = make();
            give(token);
        }
    }
}

/// Calls R: whatever allocates, can fail or runs R code.
///
/// If R jumps, the closure ends where it is, nothing in it is dropped, and the result is [`Fault::Jump`]. So a closure
/// has only plain values: what it captures and returns is `Copy`, and what it makes inside must not need dropping
/// either, unless nothing of R is called while that lives. What it protects by `Rf_protect` it has to give back; on a
/// jump R does that.
#[inline]
pub fn protect<T: Copy>(body: impl FnOnce() -> T + Copy) -> Result<T> {
    let token = take()?;
    with_token(token, body)
}

/// [`protect`] with this token, which is given back.
#[inline]
fn with_token<T: Copy, F: FnOnce() -> T + Copy>(token: SEXP, body: F) -> Result<T> {
    struct Call<F, T> {
        body: F,
        result: MaybeUninit<std::thread::Result<T>>,
    }

    // A panic must not unwind through R's frames, so it is carried over them. Rust says nothing of a jump over the
    // frame of `catch_unwind`; on the systems that R runs on that frame holds nothing but an entry in a table.
    unsafe extern "C" fn run<T: Copy, F: FnOnce() -> T + Copy>(data: *mut c_void) -> SEXP {
        // SAFETY: `data` is the call below, which lives until R returns.
        let call = unsafe { &mut *data.cast::<Call<F, T>>() };
        call.result.write(catch_unwind(AssertUnwindSafe(call.body)));
        nil()
    }

    // No drop here: after a jump the result was not written.
    let mut call = ManuallyDrop::new(Call { body, result: MaybeUninit::<std::thread::Result<T>>::uninit() });
    // SAFETY: `run` gets the call that it expects, on R's thread (the tokens are only given out there), and the jump
    // ends in the C function.
    let jumped = unsafe { dispatch_r_unwind(run::<T, F>, (&raw mut call).cast(), token) };
    let token = Token(token);
    if jumped != 0 {
        return Err(Fault::Jump(token));
    }
    drop(token);
    // SAFETY: the function returned, so the result was written; it is read once.
    match unsafe { call.result.assume_init_read() } {
        Ok(value) => Ok(value),
        Err(panic) => panicked(panic),
    }
}

#[cold]
fn panicked(panic: Box<dyn Any + Send>) -> ! {
    resume_unwind(panic)
}

/// Lets the user interrupt what is going on.
pub fn check_interrupt() -> Result<()> {
    // SAFETY: the function takes nothing.
    protect(|| unsafe { R_CheckUserInterrupt() })
}

/// How many levels of a recursion go between two looks at the stack, and how much each takes at most.
const LEVELS: u32 = 32;
const LEVEL: usize = 4 << 10;

/// An R error if the stack, which R code may have used up nearly, has no room for the next levels of a recursion.
///
/// Called at each level. R keeps a reserve that is enough for the first ones.
#[inline(always)]
pub(crate) fn check_stack(depth: u32) -> Result<()> {
    if depth % LEVELS != LEVELS - 1 { Ok(()) } else { room_on_stack() }
}

#[cold]
fn room_on_stack() -> Result<()> {
    // SAFETY: the function compares addresses.
    protect(|| unsafe { R_CheckStack2(LEVELS as usize * LEVEL) })
}
