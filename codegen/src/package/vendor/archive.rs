//! The crates of the registry in one file.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::package::run::Cargo;

/// What a crate's own tests and benchmarks need is not built here; without it the file is half as large.
const LEFT_OUT: &[&str] = &["tests", "benches", "examples", "ci", ".github"];

/// Packs the crates that the staged package asks for; the same bytes for the same crates.
pub(super) fn pack(cargo: &Cargo, stage: &Path) -> io::Result<Vec<u8>> {
    let folder = stage.join("vendor");
    let manifest = stage.join("crates/Cargo.toml");
    let manifest = manifest.to_str().ok_or_else(|| io::Error::other("the temporary folder is not UTF-8"))?;
    cargo.output(
        &["vendor", "--quiet", "--locked", "--versioned-dirs", "--manifest-path", manifest],
        &folder,
    )?;
    std::fs::create_dir_all(&folder)?;
    for one in sorted(&folder)? {
        trim(&one)?;
    }
    let mut tar = tar::Builder::new(Vec::new());
    add(&mut tar, stage, &folder)?;
    compress(stage, &tar.into_inner()?)
}

/// Removes what is left out, from the list of the crate's files too, which cargo compares.
fn trim(folder: &Path) -> io::Result<()> {
    for name in LEFT_OUT {
        match std::fs::remove_dir_all(folder.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    let path = folder.join(".cargo-checksum.json");
    let mut sums: Value = serde_json::from_slice(&std::fs::read(&path)?)?;
    if let Some(files) = sums["files"].as_object_mut() {
        files.retain(|name, _| folder.join(name).exists());
    }
    std::fs::write(path, sums.to_string())
}

/// Adds all files below a folder, without times, owners or the like.
fn add(tar: &mut tar::Builder<Vec<u8>>, stage: &Path, folder: &Path) -> io::Result<()> {
    for path in sorted(folder)? {
        if path.is_dir() {
            add(tar, stage, &path)?;
            continue;
        }
        let content = std::fs::read(&path)?;
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        header.set_mtime(0);
        let inside = path.strip_prefix(stage).map_err(io::Error::other)?;
        tar.append_data(&mut header, inside, content.as_slice())?;
    }
    Ok(())
}

fn sorted(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths =
        std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<PathBuf>>>()?;
    paths.sort();
    Ok(paths)
}

fn compress(stage: &Path, bytes: &[u8]) -> io::Result<Vec<u8>> {
    let tar = stage.join("vendor.tar");
    std::fs::write(&tar, bytes)?;
    // One thread: with more, the number of processors would show.
    let output = Command::new("xz")
        .args(["-9", "--threads=1", "--stdout"])
        .arg(&tar)
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| io::Error::new(error.kind(), format!("xz does not run: {error}")))?;
    if output.status.success() { Ok(output.stdout) } else { Err(io::Error::other("xz failed")) }
}
