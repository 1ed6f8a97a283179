//! The variables by which XLA, or a library inside of it, compiles otherwise.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

/// How the names of such variables begin. `XLA_FLAGS` has all of XLA's own options; the others set up the libraries in it.
const PREFIXES: [&[u8]; 7] = [b"XLA_", b"TF_", b"ONEDNN_", b"DNNL_", b"PJRT_", b"LLVM_", b"EIGEN_"];

/// Variables of other names that say on how many processors a program is to run.
const NAMES: [&[u8]; 2] = [b"NPROC", b"OMP_NUM_THREADS"];

/// Where plugins are, and what they log: that changes no program.
const HARMLESS: [&[u8]; 3] = [b"PJRT_PLUGIN_PATH", b"TF_CPP_MIN_", b"TF_CPP_MAX_"];

/// The variables that matter, in the order of their names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in super::super) struct Environment(Vec<(OsString, OsString)>);

impl Environment {
    /// As they are now.
    pub fn now() -> Environment {
        Environment::of(std::env::vars_os())
    }

    /// As they were when the process began, if the system says.
    pub fn at_start() -> Option<Environment> {
        let all = std::fs::read("/proc/self/environ").ok()?;
        let pairs = all.split(|&byte| byte == 0).filter_map(|entry| {
            let equals = entry.iter().skip(1).position(|&byte| byte == b'=')? + 1;
            let (name, value) = (&entry[..equals], &entry[equals + 1..]);
            Some((OsStr::from_bytes(name).to_owned(), OsStr::from_bytes(value).to_owned()))
        });
        Some(Environment::of(pairs))
    }

    fn of(all: impl Iterator<Item = (OsString, OsString)>) -> Environment {
        let mut kept: Vec<_> = all.filter(|(name, _)| matters(name.as_bytes())).collect();
        kept.sort();
        Environment(kept)
    }

    /// The variables as text. None if XLA's flags stand in a file, which may change, or ask for files about each compile,
    /// which only a compile writes.
    pub fn text(&self) -> Option<String> {
        let flags = self.0.iter().filter(|(name, _)| name.as_bytes().ends_with(b"XLA_FLAGS"));
        for (_, flags) in flags {
            let flags = flags.to_string_lossy();
            if !flags.trim_start().starts_with("--") && !flags.trim().is_empty() || flags.contains("dump") {
                return None;
            }
        }
        Some(format!("{:?}", self.0))
    }
}

fn matters(name: &[u8]) -> bool {
    let begins = |prefixes: &[&[u8]]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    (begins(&PREFIXES) || NAMES.contains(&name)) && !begins(&HARMLESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(&str, &str)]) -> Environment {
        Environment::of(pairs.iter().map(|&(name, value)| (name.into(), value.into())))
    }

    #[test]
    fn only_what_changes_programs_counts() {
        let plain = of(&[("HOME", "/a"), ("PJRT_PLUGIN_PATH_CPU", "b"), ("TF_CPP_MIN_LOG_LEVEL", "3")]);
        assert_eq!(plain, of(&[]));
        let flags = of(&[("XLA_FLAGS", "--xla_cpu_enable_fast_math=true"), ("A", "")]);
        assert_ne!(flags, plain);
        assert_ne!(flags.text().unwrap(), plain.text().unwrap());
        assert_ne!(flags, of(&[("XLA_FLAGS", "--xla_cpu_enable_fast_math=false")]));
        assert_ne!(of(&[("ONEDNN_MAX_CPU_ISA", "AVX2")]), plain);
    }

    #[test]
    fn the_order_of_variables_is_nothing() {
        let (a, b) = (("XLA_FLAGS", "--a"), ("NPROC", "2"));
        assert_eq!(of(&[a, b]), of(&[b, a]));
    }

    #[test]
    fn flags_in_a_file_and_dumps_are_not_known() {
        for flags in ["/etc/flags", "--xla_dump_to=dumps"] {
            assert_eq!(of(&[("XLA_FLAGS", flags)]).text(), None, "{flags}");
        }
        assert!(of(&[("XLA_FLAGS", " --a")]).text().is_some() && of(&[("XLA_FLAGS", "")]).text().is_some());
    }

    #[test]
    fn the_process_began_with_an_environment() {
        // Tests run as they were started.
        assert_eq!(Environment::at_start(), Some(Environment::now()));
    }
}
