//! The function that R calls.

/// Makes a family a function of R: its slot, and the C function behind the R function, with the name that the generated C
/// code calls it by.
///
/// ```text
/// dispatch_r::export!(crate::fits::Logistic as "logistic" = savvy_rs_logistic__ffi(x: array, start: list, iterations: fixed));
/// ```
///
/// The words after the arguments say what each is: `array`, one array; `list`, a list of arrays (`Vec<Aval>`); `exact`,
/// one whose length is in the signature (`[Aval; N]`); `tree`, a struct that derives `InputTree`; `fixed`, a static value.
#[macro_export]
macro_rules! export {
    ($family:path as $name:literal = $symbol:ident($($argument:ident: $kind:ident),* $(,)?)) => {
        #[allow(non_snake_case)]
        const _: () = {
            static __DISPATCH_SLOT: $crate::family::Slot<$family> = $crate::family::Slot::new();

            impl $crate::family::Exported for $family {
                const NAME: &'static str = $name;
                const FORMALS: &'static [$crate::family::Formal] = &[$(
                    $crate::family::Formal {
                        name: $crate::family::plain(::core::stringify!($argument)),
                        kind: $crate::__kind!($kind),
                    }
                ),*];

                fn slot() -> &'static $crate::family::Slot<Self> {
                    &__DISPATCH_SLOT
                }

                #[inline]
                #[allow(unused_variables)]
                fn call_from_r(
                    &self,
                    args: &$crate::family::Args<'_, $crate::runtime::Array>,
                    results: &mut $crate::family::Results,
                ) -> $crate::Result<()> {
                    // Read before the run, for R may run code of its own meanwhile.
                    let (outputs, left) = match ($($crate::__take!(args $kind),)*) {
                        ($($argument,)*) => $crate::runs::run(|| <$family>::call(self, $($argument),*)),
                    };
                    left?;
                    $crate::runtime::tree::OutputTree::give(outputs?, results);
                    ::core::result::Result::Ok(())
                }

                #[allow(unused_variables)]
                fn explain_from_r(
                    &self,
                    args: &$crate::family::Args<'_, $crate::runtime::Array>,
                ) -> $crate::Result<$crate::runtime::Explanation> {
                    ::core::result::Result::Ok(<$family>::explain(self, $($crate::__take!(args $kind)),*)?)
                }

                #[allow(unused_variables)]
                fn warm_from_r(
                    &self,
                    args: &$crate::family::Args<'_, $crate::runtime::Aval>,
                ) -> $crate::Result<()> {
                    ::core::result::Result::Ok(<$family>::warm(self, $($crate::__take!(args $kind)),*)?)
                }
            }

            // SAFETY: the name is this function's own, which the generated C code knows.
            #[unsafe(no_mangle)]
            extern "C" fn $symbol($($argument: $crate::SEXP),*) -> $crate::SEXP {
                __DISPATCH_SLOT.call(&[$($argument),*])
            }
        };
    };
}

/// What stands for a function of R whose family is not part of this build: an error that says so.
///
/// ```text
/// dispatch_r::absent!("on_gpu" = savvy_rs_on_gpu__ffi(x));
/// ```
#[macro_export]
macro_rules! absent {
    ($name:literal = $symbol:ident($($argument:ident),* $(,)?)) => {
        #[allow(non_snake_case)]
        const _: () = {
            // SAFETY: the name is this function's own, which the generated C code knows.
            #[unsafe(no_mangle)]
            extern "C" fn $symbol($($argument: $crate::SEXP),*) -> $crate::SEXP {
                let _ = [$($argument),*] as [$crate::SEXP; { <[&str]>::len(&[$(::core::stringify!($argument)),*]) }];
                $crate::family::absent($name)
            }
        };
    };
}

/// What an argument is, for `export!`.
#[doc(hidden)]
#[macro_export]
macro_rules! __kind {
    (array) => {
        $crate::family::Kind::Array
    };
    (list) => {
        $crate::family::Kind::List
    };
    (exact) => {
        $crate::family::Kind::List
    };
    (tree) => {
        $crate::family::Kind::Tree
    };
    (fixed) => {
        $crate::family::Kind::Static
    };
}

/// The next argument as the family's methods take it, for `export!`.
#[doc(hidden)]
#[macro_export]
macro_rules! __take {
    ($args:ident array) => {
        $args.array()?
    };
    ($args:ident list) => {
        $args.list()?
    };
    ($args:ident exact) => {
        &$args.exact()?
    };
    ($args:ident tree) => {
        &$args.tree()?
    };
    ($args:ident fixed) => {
        $args.fixed()?
    };
}

use super::{About, Fault, Function, Result, SEXP, entry};

/// A name without the `r#` of a raw identifier.
#[doc(hidden)]
pub const fn plain(name: &'static str) -> &'static str {
    match name.as_bytes() {
        [b'r', b'#', rest @ ..] => match std::str::from_utf8(rest) {
            Ok(rest) => rest,
            Err(_) => name,
        },
        _ => name,
    }
}

/// The error of a function that is not part of this build.
#[doc(hidden)]
pub fn absent(name: &str) -> SEXP {
    entry::direct(|| Err(is_absent(name)))
}

fn is_absent(name: &str) -> Fault {
    Fault::new(
        "absent",
        format!("`{name}()` is not part of this build of its package: a `#[cfg]` leaves it out"),
    )
}

/// A family that is not part of this build, by its name in R, for the list of a package's functions.
#[doc(hidden)]
pub struct Absent(pub &'static str);

impl Function for Absent {
    fn name(&self) -> &'static str {
        self.0
    }

    fn set_open(&self, _: bool) {}

    fn about(&self) -> Result<&dyn About> {
        Err(is_absent(self.0))
    }
}
