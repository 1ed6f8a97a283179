#!/bin/sh
rm -rf src/Makevars src/*.o src/*.so src/rust/target src/rust/vendor src/rust/cargo-home
