//! The folders where pip puts packages.

use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::variable;

/// One way to learn about folders; the folders are only asked for when the earlier ways found nothing.
pub(super) struct Source {
    pub name: &'static str,
    pub folders: fn() -> Vec<PathBuf>,
}

/// How long an interpreter may take to say where its packages are.
const PATIENCE: Duration = Duration::from_secs(5);

/// The ways, cheapest and most specific first.
pub(super) fn sources() -> [Source; 6] {
    [
        Source { name: "VIRTUAL_ENV", folders: || prefix(variable("VIRTUAL_ENV")) },
        Source { name: "CONDA_PREFIX", folders: || prefix(variable("CONDA_PREFIX")) },
        Source { name: "HOME", folders: || prefix(variable("HOME").map(|home| home.join(".local"))) },
        Source { name: "/usr/local", folders: || prefix(Some("/usr/local".into())) },
        Source { name: "/usr", folders: || prefix(Some("/usr".into())) },
        Source { name: "python3 in PATH", folders: ask_python },
    ]
}

/// The package folders under a prefix: `lib/python3*/{site,dist}-packages`, the newest Python first.
fn prefix(prefix: Option<PathBuf>) -> Vec<PathBuf> {
    let Some(prefix) = prefix else { return Vec::new() };
    let mut pythons: Vec<PathBuf> = ["lib", "lib64"]
        .iter()
        .filter_map(|lib| std::fs::read_dir(prefix.join(lib)).ok())
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| minor(path).is_some())
        .collect();
    pythons.sort_by_key(|path| std::cmp::Reverse(minor(path)));
    pythons
        .iter()
        .flat_map(|python| [python.join("site-packages"), python.join("dist-packages")])
        .filter(|folder| folder.is_dir())
        .collect()
}

/// `11` of `python3.11`, `0` of `python3`.
fn minor(path: &Path) -> Option<u32> {
    let rest = path.file_name().and_then(OsStr::to_str)?.strip_prefix("python3")?;
    if rest.is_empty() { Some(0) } else { rest.strip_prefix('.')?.parse().ok() }
}

/// The folders that an interpreter names. It runs isolated from the current folder, and is ended when it takes too
/// long.
fn ask_python() -> Vec<PathBuf> {
    let script = "import site, sysconfig\n\
                  for p in [sysconfig.get_path('platlib'), site.getusersitepackages(), *site.getsitepackages()]: print(p)";
    let child = Command::new("python3")
        .args(["-I", "-c", script])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut child) = child else { return Vec::new() };
    let start = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(_)) => break,
            Ok(None) if start.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(2)),
            _ => {
                let _ = child.kill();
                let _ = child.wait();
                return Vec::new();
            }
        }
    }
    let mut text = String::new();
    if let Some(mut out) = child.stdout.take() {
        let _ = out.read_to_string(&mut text);
    }
    text.lines().map(PathBuf::from).filter(|folder| folder.is_dir()).collect()
}
