//! Comparing one thread with two.
//!
//! Each round runs, for every case in random order, thread 0 alone, thread 1 alone, and both, each for a fixed time on
//! a processor of its own. A window in which the system took a thread off its processor is not counted.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::harness::{Estimate, Random, pin_to_processor};

/// Something that two threads can do at once: `run(thread, n)` does it `n` times.
pub struct Case<'a> {
    name: String,
    run: Box<dyn Fn(usize, usize) + Sync + 'a>,
}

/// A case that does something `n` times on thread 0 or 1.
pub fn case<'a>(name: impl Into<String>, run: impl Fn(usize, usize) + Sync + 'a) -> Case<'a> {
    Case { name: name.into(), run: Box::new(run) }
}

/// Calls per nanosecond, by case and round; `None` where a window was disturbed.
pub struct TwoThreads {
    names: Vec<String>,
    windows: Vec<Vec<Option<Window>>>,
}

/// The rates of one case in one round.
#[derive(Clone, Copy)]
struct Window {
    alone: [f64; 2],
    both: f64,
}

/// Runs the cases in windows of this length, checking the clock every `calls` calls. `None` on a machine with one
/// processor.
pub fn two_threads(cases: &[Case<'_>], rounds: usize, calls: usize, length: Duration) -> Option<TwoThreads> {
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        return None;
    }
    let mut random = Random::new();
    let schedule: Vec<usize> = (0..rounds)
        .flat_map(|_| {
            let mut order: Vec<usize> = (0..cases.len()).collect();
            random.shuffle(&mut order);
            order
        })
        .collect();
    let meeting = Meeting::default();
    let thread = |index: usize| -> Vec<[Option<f64>; 2]> {
        pin_to_processor(index);
        cases.iter().for_each(|case| (case.run)(index, 2 * calls));
        let mut met = 0;
        let mut meet = || meeting.wait(&mut met);
        let rate = |case: &Case<'_>| undisturbed(|| rate(case, index, calls, length));
        schedule
            .iter()
            .map(|&i| {
                let case = &cases[i];
                let mut alone = None;
                for turn in 0..2 {
                    meet();
                    if turn == index {
                        alone = rate(case);
                    }
                }
                meet();
                [alone, rate(case)]
            })
            .collect()
    };
    let (first, second) = std::thread::scope(|scope| {
        let second = scope.spawn(|| thread(1));
        let first = scope.spawn(|| thread(0));
        (first.join().expect("no case panics"), second.join().expect("no case panics"))
    });
    let mut windows = vec![Vec::with_capacity(rounds); cases.len()];
    for ((&i, first), second) in schedule.iter().zip(first).zip(second) {
        windows[i].push(match (first, second) {
            ([Some(a), Some(c)], [Some(b), Some(d)]) => Some(Window { alone: [a, b], both: c + d }),
            _ => None,
        });
    }
    Some(TwoThreads { names: cases.iter().map(|case| case.name.clone()).collect(), windows })
}

/// Calls per nanosecond in a window; its first tenth is not counted, so that both threads are at it.
fn rate(case: &Case<'_>, thread: usize, calls: usize, length: Duration) -> f64 {
    let early = Instant::now();
    while early.elapsed() < length / 10 {
        (case.run)(thread, calls);
    }
    let (start, mut done) = (Instant::now(), 0);
    loop {
        (case.run)(thread, calls);
        done += calls;
        let elapsed = start.elapsed();
        if elapsed >= length {
            return done as f64 / elapsed.as_nanos() as f64;
        }
    }
}

/// The answer, unless the thread was taken off its processor.
fn undisturbed(measure: impl Fn() -> f64) -> Option<f64> {
    let before = interruptions();
    let answer = measure();
    (interruptions() == before).then_some(answer)
}

/// How often this thread was taken off its processor.
fn interruptions() -> i64 {
    #[cfg(target_os = "linux")]
    // SAFETY: the struct is plain data that the call fills in.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_THREAD, &mut usage);
        usage.ru_nivcsw
    }
    #[cfg(not(target_os = "linux"))]
    0
}

/// Where two threads wait for each other without sleeping.
#[derive(Default)]
struct Meeting(AtomicUsize);

impl Meeting {
    fn wait(&self, met: &mut usize) {
        *met += 2;
        self.0.fetch_add(1, Ordering::AcqRel);
        while self.0.load(Ordering::Acquire) < *met {
            spin_loop();
        }
    }
}

impl TwoThreads {
    /// How many times as much two threads do as one.
    pub fn speedup(&self, case: usize) -> Estimate {
        let ratio = |w: &Window| w.both / ((w.alone[0] + w.alone[1]) / 2.0);
        Estimate::of(&self.windows[case].iter().flatten().map(ratio).collect::<Vec<_>>())
    }

    /// How many times as much two threads do of `case` as two do of `than`, in the same round.
    pub fn against(&self, case: usize, than: usize) -> Estimate {
        let pairs = self.windows[case].iter().zip(&self.windows[than]);
        let ratios: Vec<f64> = pairs.filter_map(|(a, b)| Some(a.as_ref()?.both / b.as_ref()?.both)).collect();
        Estimate::of(&ratios)
    }

    /// Prints every case.
    pub fn print(&self, title: &str) {
        println!("\n{title} ({} rounds)", self.windows[0].len());
        for (i, name) in self.names.iter().enumerate() {
            let windows: Vec<&Window> = self.windows[i].iter().flatten().collect();
            let of = |rate: fn(&Window) -> f64| {
                Estimate::of(&windows.iter().map(|w| 1.0 / rate(w)).collect::<Vec<_>>()).median
            };
            println!(
                "  {name:48} alone {:8.2} ns, both {:8.2} ns per call and thread; {} times ({} windows)",
                of(|w| (w.alone[0] + w.alone[1]) / 2.0),
                of(|w| w.both / 2.0),
                self.speedup(i),
                windows.len()
            );
        }
    }
}
