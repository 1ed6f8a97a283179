//! Work that the user can interrupt: it runs on another thread, and R's thread waits for it.
//!
//! R says that the user wants out only to who asks, and only on its own thread. So what takes long inside a plugin runs
//! elsewhere, while R's thread asks. Whoever leaves leaves the work behind: its result is dropped where it is made.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use crate::entry;
use crate::fault::{Fault, Result};
use crate::main_thread::MainThread;
use crate::unwind::check_interrupt;

/// How long R's thread waits before it asks again: long enough to cost nothing, short enough for who presses the key.
pub(crate) const STEP: Duration = Duration::from_millis(50);

type Job = Box<dyn FnOnce() + Send>;

/// A thread that waits for work. It ends when this is dropped.
struct Worker(Sender<Job>);

/// The worker that has nothing to do, if there is one. More than one is needed only while R code that runs in between
/// has work of its own, or for what was left behind.
static IDLE: MainThread<RefCell<Option<Worker>>> = MainThread::new(RefCell::new(None));

/// What a thread gives back: a value, or a panic with its place.
type Done<T> = std::result::Result<T, (Box<dyn Any + Send>, String)>;

/// Does work on another thread, and waits for it; the user can interrupt. `waiting` is called now and then with the time
/// that has passed.
pub(crate) fn run<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
    mut waiting: impl FnMut(Duration) -> Result<()>,
) -> Result<T> {
    let (give, get) = channel::<Done<T>>();
    let job = Box::new(move || {
        let done = catch_unwind(AssertUnwindSafe(work)).map_err(|panic| (panic, entry::take_place()));
        // Whoever left has dropped the other end, and so drops the result here.
        _ = give.send(done);
    });
    let idle = IDLE.get().borrow_mut().take();
    let worker = match idle {
        Some(worker) => worker,
        None => Worker::start()?,
    };
    worker.0.send(job).map_err(|_| Fault::new("thread", "the thread that compiles has ended"))?;
    let start = Instant::now();
    let done = loop {
        match get.recv_timeout(STEP) {
            Ok(done) => break done,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Fault::new("thread", "the thread that compiles has ended"));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        check_interrupt()?;
        waiting(start.elapsed())?;
    };
    *IDLE.get().borrow_mut() = Some(worker);
    done.or_else(|(panic, place)| {
        entry::set_place(place);
        resume_unwind(panic)
    })
}

impl Worker {
    #[cold]
    fn start() -> Result<Worker> {
        let (give, get) = channel::<Job>();
        // The compiler goes deep into nested programs: as much as R's own thread has, where it would run otherwise.
        let thread = std::thread::Builder::new().name("pjrtdispatch".into()).stack_size(64 << 20);
        let undo = Signals::blocked();
        let started = thread.spawn(move || {
            entry::note_places();
            get.into_iter().for_each(|job| job());
        });
        drop(undo);
        match started {
            Ok(_) => Ok(Worker(give)),
            Err(error) => Err(Fault::new("thread", format!("no thread to compile on: {error}"))),
        }
    }
}

/// Signals that are kept from new threads, as long as this lives: R's handlers are made for its own thread.
struct Signals {
    #[cfg(unix)]
    before: libc::sigset_t,
}

impl Signals {
    #[cfg(unix)]
    fn blocked() -> Signals {
        // SAFETY: the sets are initialised by the functions that get them. What a thread causes itself stays open.
        unsafe {
            let (mut all, mut before) = (std::mem::zeroed(), std::mem::zeroed());
            libc::sigfillset(&raw mut all);
            for own in [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGABRT]
            {
                libc::sigdelset(&raw mut all, own);
            }
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, &raw mut before);
            Signals { before }
        }
    }

    #[cfg(not(unix))]
    fn blocked() -> Signals {
        Signals {}
    }
}

#[cfg(unix)]
impl Drop for Signals {
    fn drop(&mut self) {
        // SAFETY: the set is what it was.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, std::ptr::null_mut()) };
    }
}
