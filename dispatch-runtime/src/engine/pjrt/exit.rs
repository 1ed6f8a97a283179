//! The end of the process, which waits for the threads of plugins.
//!
//! A program may still run when the process exits: nobody waited for its results. Exiting ends the static objects of the
//! plugin under it, and the process with a signal instead of its exit code (3 of 40 programs on 0.81 and 1 of 40 on
//! 0.115, with a result that was dropped at once; on 0.106 also some that had read their result, whose executable a
//! thread of the plugin ended a little later). PJRT has no call that waits for all work of a client but the one that
//! ends it, which would pull it away from whatever else still runs. So the threads that came with a client are waited
//! for until none of them runs, and compiles, which have threads of their own, until they end. If they do not stop, the
//! process ends with its exit code, but without destructors and further handlers. This costs nothing before the exit.

use std::sync::atomic::{AtomicUsize, Ordering};

#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(super) use linux::Threads;

/// No way is known to see what other threads do.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(super) struct Threads;

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
impl Threads {
    pub fn before() -> Threads {
        Threads
    }

    pub fn wait_for_new_ones(self) {}
}

/// How many calls are made that have the plugin work in threads which come and go with them.
static CALLS: AtomicUsize = AtomicUsize::new(0);

/// As long as it lives, the exit of the process takes the plugin for working.
pub(super) struct Working(());

impl Working {
    /// Before the call.
    pub fn begin() -> Working {
        CALLS.fetch_add(1, Ordering::AcqRel);
        Working(())
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        CALLS.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod linux {
    use std::ffi::{c_int, c_void};
    use std::ptr::null_mut;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::sync::{Mutex, Once, PoisonError};
    use std::time::{Duration, Instant};

    use super::CALLS;

    unsafe extern "C" {
        fn on_exit(function: unsafe extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
    }

    /// The threads that the exit waits for.
    static WORKERS: Mutex<Vec<u32>> = Mutex::new(Vec::new());

    /// How long the exit waits for work that does not end.
    const PATIENCE: Duration = Duration::from_secs(1);

    /// The threads that there are.
    pub struct Threads(Vec<u32>);

    impl Threads {
        /// Those before a client is made.
        pub fn before() -> Threads {
            Threads(threads())
        }

        /// Has the exit of the process wait for the threads that have come since.
        pub fn wait_for_new_ones(self) {
            let new = threads().into_iter().filter(|thread| !self.0.contains(thread));
            WORKERS.lock().unwrap_or_else(PoisonError::into_inner).extend(new);
            static EXIT: Once = Once::new();
            // Comes before the ends of what loading the plugin made.
            EXIT.call_once(|| {
                PROCESS.store(std::process::id(), Ordering::Relaxed);
                register();
            });
            watch();
        }
    }

    /// The process that the threads are of.
    static PROCESS: AtomicU32 = AtomicU32::new(0);

    /// Has `ending` called at the exit, before what was registered until now.
    fn register() {
        // SAFETY: registers a function of this library, which must not be unloaded.
        unsafe { on_exit(ending, null_mut()) };
    }

    thread_local! {
        /// Of the thread that exits, it is dropped before all handlers, also those that plugins register as they run.
        static MAIN: Main = const { Main };
    }

    struct Main;

    impl Drop for Main {
        fn drop(&mut self) {
            // SAFETY: these only ask.
            if unsafe { libc::gettid() == libc::getpid() } {
                register();
            }
        }
    }

    /// Makes [`MAIN`] for this thread, if it lives still.
    extern "C" fn watch() {
        let _ = MAIN.try_with(|_| {});
    }

    /// Clients may be made by other threads than the main one, which is the one that starts the program, and mostly
    /// the one that loads a library.
    #[used]
    // SAFETY: the section has functions that are called once, when everything is loaded that they need. This one needs
    // nothing but the thread-local storage of the C library.
    #[unsafe(link_section = ".init_array")]
    static START: extern "C" fn() = watch;

    /// Waits until no thread of a plugin runs; if they do not stop, ends the process without destructors.
    unsafe extern "C" fn ending(status: c_int, _: *mut c_void) {
        // A child of a fork has none of the threads, and what they were doing is never done.
        if PROCESS.load(Ordering::Relaxed) != std::process::id() {
            return;
        }
        let workers = WORKERS.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let start = Instant::now();
        let mut idle = None;
        while start.elapsed() < PATIENCE {
            let now: Option<Vec<String>> = match CALLS.load(Ordering::Acquire) {
                0 => workers.iter().map(|&worker| idleness(worker)).collect(),
                _ => None,
            };
            // Work may go from one to another between two looks, so nobody may have run since the last time.
            if now.is_some() && now == idle {
                return;
            }
            idle = now;
            std::thread::sleep(Duration::from_micros(100));
        }
        // SAFETY: what is buffered for files is written, as the exit would, and the process ends with the same status.
        unsafe {
            libc::fflush(null_mut());
            libc::_exit(status);
        }
    }

    /// For a thread that waits how often it has run; nothing for one that runs or wants to. Of a thread that is gone
    /// nothing is known, and it does not run.
    fn idleness(thread: u32) -> Option<String> {
        let read =
            |file| std::fs::read_to_string(format!("/proc/self/task/{thread}/{file}")).unwrap_or_default();
        let stat = read("stat");
        // The name of the thread stands in parentheses, and may have some itself.
        let state = stat.rsplit(") ").next().and_then(|rest| rest.chars().next());
        match state {
            Some('R' | 'D') => None,
            _ => Some(read("schedstat")),
        }
    }

    fn threads() -> Vec<u32> {
        let Ok(tasks) = std::fs::read_dir("/proc/self/task") else { return Vec::new() };
        tasks.filter_map(|task| task.ok()?.file_name().to_str()?.parse().ok()).collect()
    }

    #[cfg(test)]
    mod tests {
        use std::sync::atomic::{AtomicBool, Ordering};

        use super::*;

        #[test]
        fn a_thread_that_runs_is_not_idle() {
            let stop = AtomicBool::new(false);
            let before = Threads::before();
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        std::hint::spin_loop();
                    }
                });
                let new: Vec<u32> =
                    threads().into_iter().filter(|thread| !before.0.contains(thread)).collect();
                // Threads of other tests may come and go.
                let busy = || new.iter().any(|&thread| idleness(thread).is_none());
                assert!((0..100).any(|_| {
                    std::thread::sleep(Duration::from_millis(1));
                    busy()
                }));
                stop.store(true, Ordering::Relaxed);
            });
            assert_eq!(idleness(u32::MAX), Some(String::new()));
        }

        #[test]
        fn a_thread_that_waits_is_idle_and_counts_its_runs() {
            let (send, receive) = std::sync::mpsc::channel::<()>();
            let (say, said) = std::sync::mpsc::channel();
            std::thread::spawn(move || {
                // SAFETY: only asks.
                say.send(unsafe { libc::gettid() } as u32).unwrap();
                while receive.recv().is_ok() {}
            });
            let thread = said.recv().unwrap();
            let settled = || {
                std::thread::sleep(Duration::from_millis(20));
                idleness(thread).expect("it waits")
            };
            let first = settled();
            assert_eq!(settled(), first);
            send.send(()).unwrap();
            assert_ne!(settled(), first);
        }
    }
}
