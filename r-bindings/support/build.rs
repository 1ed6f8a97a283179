//! Compiles the one piece of C: setjmp cannot be called from Rust.

fn main() {
    println!("cargo:rerun-if-changed=csrc/unwind.c");
    let mut build = cc::Build::new();
    build.file("csrc/unwind.c");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("macos") {
        // R may be built with -flto in its CFLAGS; a slim object would be lost in the archive.
        build.flag_if_supported("-ffat-lto-objects");
    }
    build.compile("dispatch_r_unwind");
}
