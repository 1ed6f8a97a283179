//! The processor, as a compiler sees it.

use std::fmt::Write;
use std::sync::OnceLock;

/// The system, the processor with its features, and on how many of them a process may run. None where the features are not
/// known.
pub(super) fn text() -> Option<&'static str> {
    static TEXT: OnceLock<Option<String>> = OnceLock::new();
    let make = || {
        let processors = std::thread::available_parallelism().ok()?;
        Some(format!("{} {} {processors} {}", std::env::consts::OS, std::env::consts::ARCH, processor()?))
    };
    TEXT.get_or_init(make).as_deref()
}

/// The answers of the processor that tell its model and its features, as LLVM asks for them. They say as well what a
/// hypervisor or the system leaves out.
#[cfg(target_arch = "x86_64")]
fn processor() -> Option<String> {
    use std::arch::x86_64::{__cpuid_count, _xgetbv, CpuidResult};

    // Whether this takes an unsafe block depends on the compiler's version.
    #[allow(unused_unsafe)]
    // SAFETY: every processor of this kind has the instruction.
    let ask = |leaf, sub| unsafe { __cpuid_count(leaf, sub) };
    /// # Safety
    ///
    /// The processor says that it has the instruction.
    #[target_feature(enable = "xsave")]
    unsafe fn enabled() -> u64 {
        #[allow(unused_unsafe)]
        // SAFETY: by the caller's promise.
        unsafe {
            _xgetbv(0)
        }
    }

    let (last, last_extended) = (ask(0, 0).eax, ask(0x8000_0000, 0).eax);
    let mut text = String::new();
    let mut put = |leaf: u32, sub: u32, take: fn(CpuidResult) -> [u32; 4]| {
        if leaf <= if leaf < 0x8000_0000 { last } else { last_extended } {
            write!(text, "{leaf:x}.{sub}{:x?}", take(ask(leaf, sub))).expect("a string takes all");
        }
    };
    let whole = |r: CpuidResult| [r.eax, r.ebx, r.ecx, r.edx];
    // The vendor; the model, without the number of this core.
    put(0, 0, whole);
    put(1, 0, |r| [r.eax, 0, r.ecx, r.edx]);
    for (leaf, sub) in [(7, 0), (7, 1), (7, 2), (0x14, 0), (0x19, 0), (0x1e, 0), (0x1e, 1), (0x24, 0)] {
        put(leaf, sub, whole);
    }
    // The size of the area in use changes with what else is in it.
    put(0xd, 1, |r| [r.eax, 0, 0, 0]);
    for leaf in [0x8000_0001, 0x8000_0002, 0x8000_0003, 0x8000_0004, 0x8000_0007, 0x8000_0021] {
        put(leaf, 0, whole);
    }
    put(0x8000_0008, 0, |r| [r.eax, r.ebx, 0, 0]);
    // What the system saves for a process, and so lets it use.
    let has_xsave = ask(1, 0).ecx >> 27 & 1 == 1;
    // SAFETY: the processor has the instruction.
    let enabled = if has_xsave { unsafe { enabled() } } else { 0 };
    write!(text, " {enabled:x}").expect("a string takes all");
    Some(text)
}

/// What the system says of all processors, each answer once.
#[cfg(not(target_arch = "x86_64"))]
fn processor() -> Option<String> {
    let told = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    processor_of(&told)
}

/// The lines about models and features. None if there are none about features.
#[cfg(any(test, not(target_arch = "x86_64")))]
fn processor_of(told: &str) -> Option<String> {
    const ASKED: [&str; 5] = ["CPU implementer", "CPU architecture", "CPU variant", "CPU part", "Features"];
    let lines = told.lines().filter_map(|line| line.split_once(':'));
    let mut answers: Vec<(&str, &str)> = lines
        .map(|(name, value)| (name.trim(), value.trim()))
        .filter(|(name, _)| ASKED.contains(name))
        .collect();
    answers.sort_unstable();
    answers.dedup();
    answers.iter().any(|(name, _)| *name == "Features").then(|| format!("{answers:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processor_answers_the_same_on_every_core() {
        let first = processor().unwrap();
        let others: Vec<_> = (0..8).map(|_| std::thread::spawn(processor)).collect();
        others.into_iter().for_each(|other| assert_eq!(other.join().unwrap().unwrap(), first));
        assert!(text().unwrap().contains(&first));
    }

    #[test]
    fn a_feature_more_is_another_processor() {
        let told = |features: &str| {
            let of = |n: i32| format!("processor\t: {n}\nFeatures\t: {features}\nCPU part\t: 0xd0c\n\n");
            processor_of(&[of(0), of(1)].concat())
        };
        assert_eq!(told("fp asimd").unwrap(), "[(\"CPU part\", \"0xd0c\"), (\"Features\", \"fp asimd\")]");
        assert_ne!(told("fp asimd"), told("fp asimd sve"));
        assert_eq!(processor_of("model name: x"), None);
    }
}
