//! Comparing ways to do one thing.
//!
//! Machines change their speed for seconds at a time, so two ways are only compared within one round: each round runs
//! a block of every case, in random order, and what counts is the median over the rounds of the differences (or
//! ratios) of two cases. Minima of separate runs say nothing.

use std::time::Instant;

/// One way to do something: `run(n)` does it `n` times.
pub struct Case<'a> {
    name: String,
    run: Box<dyn FnMut(usize) + 'a>,
}

/// A case that does something `n` times when it is asked to.
pub fn case<'a>(name: impl Into<String>, run: impl FnMut(usize) + 'a) -> Case<'a> {
    Case { name: name.into(), run: Box::new(run) }
}

/// Times by case and round, in nanoseconds per call.
pub struct Rounds {
    names: Vec<String>,
    times: Vec<Vec<f64>>,
}

/// A median with its spread: the lowest and highest of the medians of ten consecutive parts.
#[derive(Clone, Copy, Debug)]
pub struct Estimate {
    /// The median of all.
    pub median: f64,
    /// The lowest median of a tenth.
    pub low: f64,
    /// The highest median of a tenth.
    pub high: f64,
}

impl Estimate {
    /// Of values in the order in which they were measured.
    pub fn of(values: &[f64]) -> Estimate {
        let parts: Vec<f64> = values.chunks(values.len().div_ceil(10)).map(median).collect();
        Estimate { median: median(values), low: quantile(&parts, 0.0), high: quantile(&parts, 1.0) }
    }

    /// In another unit.
    pub fn scaled(self, factor: f64) -> Estimate {
        Estimate { median: self.median * factor, low: self.low * factor, high: self.high * factor }
    }
}

impl std::fmt::Display for Estimate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.2} (parts {:.2} to {:.2})", self.median, self.low, self.high)
    }
}

/// Runs blocks of `calls` calls of each case, `rounds` times, in random order.
pub fn rounds(cases: &mut [Case<'_>], rounds: usize, calls: usize) -> Rounds {
    // Fills caches and predictors.
    let warm_up = calls / 6;
    for case in &mut *cases {
        (case.run)(20 * calls);
    }
    let mut times = vec![Vec::with_capacity(rounds); cases.len()];
    let mut order: Vec<usize> = (0..cases.len()).collect();
    let mut random = Random::new();
    for _ in 0..rounds {
        random.shuffle(&mut order);
        for &i in &order {
            (cases[i].run)(warm_up);
            let start = Instant::now();
            (cases[i].run)(calls);
            times[i].push(start.elapsed().as_nanos() as f64 / calls as f64);
        }
    }
    Rounds { names: cases.iter().map(|case| case.name.clone()).collect(), times }
}

impl Rounds {
    /// The nanoseconds per call of a case.
    pub fn time(&self, case: usize) -> Estimate {
        Estimate::of(&self.times[case])
    }

    /// How many nanoseconds per call `case` takes more than `than` in the same round.
    pub fn difference(&self, case: usize, than: usize) -> Estimate {
        self.compare(case, than, |a, b| a - b)
    }

    /// How many times as long as `than` `case` takes in the same round.
    pub fn ratio(&self, case: usize, than: usize) -> Estimate {
        self.compare(case, than, |a, b| a / b)
    }

    /// By how much the difference of one pair of cases is above that of another pair in the same round.
    pub fn excess(&self, pair: (usize, usize), than: (usize, usize)) -> Estimate {
        let times = |i: usize| self.times[i].iter();
        let values: Vec<f64> = times(pair.0)
            .zip(times(pair.1))
            .zip(times(than.0).zip(times(than.1)))
            .map(|((a, b), (c, d))| (a - b) - (c - d))
            .collect();
        Estimate::of(&values)
    }

    fn compare(&self, a: usize, b: usize, by: fn(f64, f64) -> f64) -> Estimate {
        let values: Vec<f64> = self.times[a].iter().zip(&self.times[b]).map(|(&a, &b)| by(a, b)).collect();
        Estimate::of(&values)
    }

    /// Prints every case: its least and its median time, and what it takes more than the first one.
    pub fn print(&self, title: &str) {
        println!("\n{title} (ns per call, {} rounds)", self.times[0].len());
        for (i, name) in self.names.iter().enumerate() {
            let (least, time) = (quantile(&self.times[i], 0.0), self.time(i).median);
            print!("  {name:48} least {least:9.2}  median {time:9.2}");
            match i {
                0 => println!(),
                _ => println!("  minus the first {}", self.difference(i, 0)),
            }
        }
    }
}

/// The middle value.
pub fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5)
}

fn quantile(values: &[f64], part: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[((sorted.len() - 1) as f64 * part) as usize]
}

/// Xorshift: good enough to mix an order, the same in every run.
pub struct Random(u64);

impl Random {
    /// A fixed start.
    #[allow(clippy::new_without_default)] // a seed is no default value
    pub fn new() -> Random {
        Random(0x139_408d_cbbf_7a44)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Mixes a list.
    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        for i in (1..list.len()).rev() {
            list.swap(i, (self.next() % (i as u64 + 1)) as usize);
        }
    }
}

/// Keeps the thread on one processor, where the system knows how.
pub fn pin_to_processor(_index: usize) {
    #[cfg(target_os = "linux")]
    // SAFETY: the set is plain data, filled in by the macros' functions, and read by the call.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(_index, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set);
    }
}
