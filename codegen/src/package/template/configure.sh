#!/bin/sh
# Finds cargo and says in src/Makevars how it is called. The same in every package of this toolkit.
#
# CARGO_TARGET_DIR         where cargo builds; packages that have one share what is compiled
# DISPATCH_CARGO_PROFILE   the cargo profile, `release` unless set
# DISPATCH_ARCHIVE         the package's static library, where it is built already: cargo is not called
set -eu

# R CMD build breaks lines.
description() {
  tr -s '\n ' '  ' <DESCRIPTION | sed -n "s/.*$1.*/\\1/p"
}
package=$(sed -n 's/^Package: *//p' DESCRIPTION)

# Where cargo is not in PATH it usually is here.
PATH="$PATH:${HOME:-/nonexistent}/.cargo/bin"
export PATH

fail() {
  echo "" >&2
  echo "$package: $1" >&2
  echo "Get Rust from https://www.rust-lang.org/tools/install, or by your system's package manager" >&2
  echo "(Debian: apt-get install cargo, if it is new enough), then install $package again." >&2
  exit 1
}

# In the toolkit's own sources the compiler is pinned; it may be installed under another name.
for project in .. ../../..; do
  if [ -z "${RUSTUP_TOOLCHAIN:-}" ] && [ -f $project/rust-toolchain.toml ] && [ -x $project/scripts/toolchain ]; then
    RUSTUP_TOOLCHAIN=$($project/scripts/toolchain) || RUSTUP_TOOLCHAIN=
    if [ -n "$RUSTUP_TOOLCHAIN" ]; then export RUSTUP_TOOLCHAIN; fi
  fi
done

command -v cargo >/dev/null || fail "cargo, Rust's build tool, is not in PATH."
command -v rustc >/dev/null || fail "cargo is in PATH, but rustc, Rust's compiler, is not."
cargo=$(cargo --version) || fail "cargo is in PATH, but does not run."
rustc=$(rustc --version) || fail "rustc is in PATH, but does not run."

lowest=$(description 'rustc (>= \([0-9.]*\))')
is=$(echo "$rustc" | sed 's/^rustc \([0-9]*\)\.\([0-9]*\).*/\1 \2/')
needs=$(echo "$lowest" | sed 's/\([0-9]*\)\.\([0-9]*\).*/\1 \2/')
older() { [ "$1" -lt "$3" ] || { [ "$1" -eq "$3" ] && [ "$2" -lt "$4" ]; }; }
# shellcheck disable=SC2086 # both are two numbers
! older $is $needs || fail "Rust is too old: at least $lowest is needed, this is $rustc."

profile=${DISPATCH_CARGO_PROFILE:-release}
folder=$profile
[ "$profile" != dev ] || folder=debug

vendored='' manifest=rust/Cargo.toml target=unused rule=''
if [ -f src/rust/vendor.tar.xz ]; then
  # All crates are inside: nothing is downloaded, and nothing outside of the package is written.
  vendored=yes manifest=rust/crates/Cargo.toml target=rust/target
  case ${CARGO_TARGET_DIR:-} in
    "") ;;
    /*) target=$CARGO_TARGET_DIR ;;
    *) target=$PWD/$CARGO_TARGET_DIR ;;
  esac
elif [ -z "${DISPATCH_ARCHIVE:-}" ]; then
  # Where cargo itself would build: of what is compiled there already, nothing is compiled again.
  target=$(cargo metadata --no-deps --format-version 1 --manifest-path src/$manifest |
    sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p')
  if [ -z "$target" ]; then
    echo "$package: cargo does not read src/$manifest, as it says above." >&2
    exit 1
  fi
fi
if [ -n "${DISPATCH_ARCHIVE:-}" ]; then
  archive=$DISPATCH_ARCHIVE rule=unused vendored=''
else
  # The library has the name of the crate, in which `-` is `_`.
  library=$(sed -n '/^\[package\]/,/^\[[^p]/s/^name *= *"\(.*\)".*/\1/p' src/$manifest | tr - _)
  archive=$target/$folder/lib$library.a
fi

link=
if [ "$(uname)" = Linux ]; then
  # Only R's entry point is seen from outside. The library stays in the process, as plugins keep pointers into it.
  # What nobody calls, and of a released library what debuggers read, are most of its size.
  link="-Wl,--exclude-libs,ALL -Wl,-z,nodelete -Wl,--gc-sections"
  [ "$profile" != release ] || link="$link -Wl,--strip-debug"
fi

echo "using $cargo, $rustc, profile $profile"
sed -e "s|@TOOLCHAIN@|${RUSTUP_TOOLCHAIN:-}|" -e "s|@PROFILE@|$profile|" -e "s|@VENDORED@|$vendored|" \
  -e "s|@MANIFEST@|$manifest|" -e "s|@TARGET@|$target|" -e "s|@ARCHIVE@|$archive|" -e "s|@UNUSED@|$rule|" \
  -e "s|@LINK@|$link|" src/Makevars.in >src/Makevars
