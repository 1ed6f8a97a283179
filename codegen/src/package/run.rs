//! Calls of cargo.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::Command;

/// Cargo as the process that runs this was started by, else from `PATH`.
pub(super) struct Cargo(std::ffi::OsString);

impl Cargo {
    pub(super) fn new() -> Cargo {
        Cargo(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
    }

    /// A call that the caller starts.
    pub(super) fn command(&self, arguments: &[&str], last: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(&self.0);
        command.args(arguments).arg(last);
        command
    }

    /// What a call prints. An error is cargo's own.
    pub(super) fn output(&self, arguments: &[&str], last: impl AsRef<OsStr>) -> io::Result<String> {
        let output = self.command(arguments, last).output().map_err(no_cargo)?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(io::Error::other(format!("cargo {} failed\n{}", arguments[0], said.trim_end())));
        }
        String::from_utf8(output.stdout).map_err(io::Error::other)
    }

    /// The manifest of the workspace that a crate is in, which is its own if it is in none; none if cargo refuses it.
    pub(super) fn workspace(&self, manifest: &Path) -> io::Result<Option<String>> {
        let arguments = ["locate-project", "--workspace", "--message-format", "plain", "--manifest-path"];
        let output = self.command(&arguments, manifest).output().map_err(no_cargo)?;
        let root = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        Ok(output.status.success().then_some(root))
    }
}

fn no_cargo(error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cargo does not run: {error}"))
}
