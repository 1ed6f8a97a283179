//! The generator as a command; see `dispatch_codegen::command`.

use std::process::ExitCode;

fn main() -> ExitCode {
    dispatch_codegen::command::run(std::env::args().skip(1))
}
