//! The end of the process while a plugin still works.
//!
//! A computation that nobody awaited, or a compile that was left behind, may be going on when R ends. `exit()` then
//! destroys what the plugin has in static variables, under the hands of its threads: now and then the process crashes
//! instead of ending with its status. So the end waits a little until the threads are quiet, and if they are not, it
//! does without the destructors.

#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) use linux::watch;

/// Nothing to do where the threads of the process cannot be looked at.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn watch() {}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod linux {
    use std::ffi::{c_int, c_void};
    use std::sync::Once;
    use std::sync::atomic::AtomicU8;
    use std::time::{Duration, Instant};

    use crate::background::is_abandoned_work;
    use crate::main_thread;

    /// How long the end waits for threads that work.
    const PATIENCE: Duration = Duration::from_millis(300);

    /// How long all of them have to do nothing.
    const QUIET: Duration = Duration::from_millis(2);

    unsafe extern "C" {
        fn on_exit(function: unsafe extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
        fn __cxa_thread_atexit_impl(
            function: unsafe extern "C" fn(*mut c_void),
            object: *mut c_void,
            library: *const c_void,
        ) -> c_int;
    }

    /// Names this library to the system.
    static LIBRARY: AtomicU8 = AtomicU8::new(0);

    /// Minds the end of the process from now on. Called on R's thread.
    ///
    /// Handlers run in reverse order, and ours has to be the first: a plugin registers some whenever it first uses a
    /// static variable, even while R ends. What a thread leaves behind is destroyed before them all, so ours is
    /// registered there.
    pub(crate) fn watch() {
        static ONCE: Once = Once::new();
        // SAFETY: the function lives as long as the process, since packages of this toolkit are never unloaded.
        ONCE.call_once(|| unsafe {
            __cxa_thread_atexit_impl(first, std::ptr::null_mut(), (&raw const LIBRARY).cast());
        });
    }

    unsafe extern "C" fn first(_: *mut c_void) {
        // SAFETY: as above. This runs when R's thread calls `exit()`.
        unsafe { on_exit(ending, std::ptr::null_mut()) };
    }

    unsafe extern "C" fn ending(status: c_int, _: *mut c_void) {
        // The threads of a process that was forked are not there.
        if main_thread::is_forked() || is_quiet_soon() {
            return;
        }
        // SAFETY: what is buffered for files is written, as `exit()` would, and the process ends with the same status.
        unsafe {
            libc::fflush(std::ptr::null_mut());
            libc::_exit(status);
        }
    }

    fn is_quiet_soon() -> bool {
        let start = Instant::now();
        loop {
            if !is_abandoned_work() && is_quiet() {
                return true;
            }
            if start.elapsed() >= PATIENCE {
                return false;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Whether no other thread works; also if the system does not tell.
    fn is_quiet() -> bool {
        let Some(before) = worked() else { return true };
        std::thread::sleep(QUIET);
        match worked() {
            Some(after) => !before.running && !after.running && before.time == after.time,
            None => true,
        }
    }

    /// What the other threads do.
    struct Worked {
        /// Whether one has or wants a processor, or waits for a disk.
        running: bool,
        /// The processor time of all, in nanoseconds.
        time: u64,
    }

    fn worked() -> Option<Worked> {
        // SAFETY: the function takes nothing.
        let own = unsafe { libc::gettid() }.to_string();
        let mut worked = Worked { running: false, time: 0 };
        for thread in std::fs::read_dir("/proc/self/task").ok()? {
            let thread = thread.ok()?;
            if *thread.file_name() == *own {
                continue;
            }
            // One that has ended meanwhile does nothing.
            let Ok(stat) = std::fs::read_to_string(thread.path().join("stat")) else { continue };
            // The state stands behind the name, which is in parentheses and may have some itself.
            let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
            worked.running |= matches!(state, Some('R' | 'D'));
            let time = std::fs::read_to_string(thread.path().join("schedstat"));
            let time = time.ok().and_then(|text| text.split(' ').next()?.parse::<u64>().ok());
            worked.time = worked.time.wrapping_add(time.unwrap_or(0));
        }
        Some(worked)
    }
}
