//! R's own LAPACK.
//!
//! It is the library that R's `qr()`, `svd()` and `eigen()` call: R keeps its own calls of LAPACK in a module,
//! `modules/lapack.so` in its home, and whatever that is linked with has the functions, be it R's copy or the system's.
//! So it is found through that module when it is first needed, and nothing has to be linked: R's flags for that name
//! development files and a Fortran compiler, which a machine that only runs R has not.
//!
//! LAPACK tells of a wrong argument by R's `xerbla`, which jumps; so every argument is checked here or made here. Nothing else
//! of it calls R. It keeps no state between calls, so threads may call it at once.

use std::ffi::{c_char, c_int, OsString};
use std::path::PathBuf;
use std::sync::OnceLock;

use dispatch_r::floats::Ieee;
use dispatch_runtime::ffi::{Error, Result};
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use super::matrix::{zeros, Stack};

/// LAPACK's integer.
type Int = c_int;

type Geqrf = unsafe extern "C" fn(
    m: &Int,
    n: &Int,
    a: *mut f64,
    lda: &Int,
    tau: *mut f64,
    work: *mut f64,
    lwork: &Int,
    info: &mut Int,
);
type Orgqr = unsafe extern "C" fn(
    m: &Int,
    n: &Int,
    k: &Int,
    a: *mut f64,
    lda: &Int,
    tau: *const f64,
    work: *mut f64,
    lwork: &Int,
    info: &mut Int,
);
type Getrf = unsafe extern "C" fn(m: &Int, n: &Int, a: *mut f64, lda: &Int, pivots: *mut Int, info: &mut Int);
// Fortran passes the lengths of strings behind all other arguments.
type Gesdd = unsafe extern "C" fn(
    jobz: &c_char,
    m: &Int,
    n: &Int,
    a: *mut f64,
    lda: &Int,
    s: *mut f64,
    u: *mut f64,
    ldu: &Int,
    vt: *mut f64,
    ldvt: &Int,
    work: *mut f64,
    lwork: &Int,
    iwork: *mut Int,
    info: &mut Int,
    jobz_length: usize,
);
type Syevd = unsafe extern "C" fn(
    jobz: &c_char,
    uplo: &c_char,
    n: &Int,
    a: *mut f64,
    lda: &Int,
    w: *mut f64,
    work: *mut f64,
    lwork: &Int,
    iwork: *mut Int,
    liwork: &Int,
    info: &mut Int,
    jobz_length: usize,
    uplo_length: usize,
);

/// The functions.
pub(super) struct Lapack {
    dgeqrf: Geqrf,
    dorgqr: Orgqr,
    dgetrf: Getrf,
    dgesdd: Gesdd,
    dsyevd: Syevd,
}

/// Where R's module is. Asked on R's thread, for the environment may change there.
static MODULE: OnceLock<Option<PathBuf>> = OnceLock::new();

/// Notes where R's LAPACK is. Called on R's thread before any target can be.
pub(crate) fn locate() {
    MODULE.get_or_init(|| {
        let home = PathBuf::from(std::env::var_os("R_HOME")?);
        // Of several architectures in one home, as R itself finds its modules.
        let mut modules = OsString::from("modules");
        modules.push(std::env::var_os("R_ARCH").unwrap_or_default());
        Some(home.join(modules).join("lapack.so"))
    });
}

/// Computes by LAPACK, in IEEE arithmetic.
pub(super) fn with(compute: impl FnOnce(&Lapack) -> Result<()>) -> Result<()> {
    static LAPACK: OnceLock<Result<Lapack, String>> = OnceLock::new();
    match LAPACK.get_or_init(open) {
        Ok(lapack) => {
            let _ieee = Ieee::on();
            compute(lapack)
        }
        Err(why) => Err(Error::unimplemented(format!("R's LAPACK cannot be used: {why}"))),
    }
}

fn open() -> Result<Lapack, String> {
    let module = MODULE.get().and_then(Option::as_ref).ok_or("R_HOME is not set")?;
    // SAFETY: loading it is what R does for its own functions; it has no constructors that do more.
    let opened = unsafe { Library::open(Some(module), RTLD_NOW | RTLD_LOCAL) };
    let library = match opened {
        Ok(library) => library,
        // An R without modules has it in itself.
        Err(why) => {
            let this = Library::this();
            // SAFETY: only its presence is asked.
            if unsafe { this.get::<Getrf>(b"dgetrf_\0") }.is_err() {
                return Err(why.to_string());
            }
            this
        }
    };
    macro_rules! function {
        ($name:literal) => {
            // SAFETY: these are LAPACK's functions, with the arguments that its documentation lists.
            *unsafe { library.get(concat!($name, "\0").as_bytes()) }.map_err(|why| why.to_string())?
        };
    }
    let lapack = Lapack {
        dgeqrf: function!("dgeqrf_"),
        dorgqr: function!("dorgqr_"),
        dgetrf: function!("dgetrf_"),
        dgesdd: function!("dgesdd_"),
        dsyevd: function!("dsyevd_"),
    };
    // The functions are used until the process ends.
    std::mem::forget(library);
    Ok(lapack)
}

/// The working space of calls on matrices of one size.
#[derive(Default)]
pub(super) struct Work {
    numbers: Vec<f64>,
    integers: Vec<Int>,
}

impl Work {
    /// With as many integers.
    pub fn new(integers: usize) -> Result<Work> {
        Ok(Work { numbers: Vec::new(), integers: zeros(integers)? })
    }

    /// Calls a function of LAPACK; the first time, it says before how many numbers it works best with. What it gives is
    /// `info`, from 0 on.
    fn call(
        &mut self,
        routine: &'static str,
        call: impl Fn(*mut f64, &Int, *mut Int, &mut Int),
    ) -> Result<Int> {
        let mut info = 0;
        if self.numbers.is_empty() {
            let mut best = 0.0;
            call(&mut best, &-1, self.integers.as_mut_ptr(), &mut info);
            refuse(routine, info)?;
            // Its own counting overflows for sizes that are refused before.
            if !(0.0..=f64::from(Int::MAX)).contains(&best) {
                return Err(Error::internal(format!("{routine} asks for {best} numbers of working space")));
            }
            self.numbers = zeros((best.ceil() as usize).max(1))?;
        }
        let length = int(self.numbers.len())?;
        call(self.numbers.as_mut_ptr(), &length, self.integers.as_mut_ptr(), &mut info);
        refuse(routine, info)?;
        Ok(info)
    }
}

/// An argument that LAPACK takes for wrong is our fault.
fn refuse(routine: &str, info: Int) -> Result<()> {
    if info >= 0 {
        return Ok(());
    }
    Err(Error::internal(format!("{routine} refuses its argument {}", -i64::from(info))))
}

/// A size as LAPACK counts.
fn int(size: usize) -> Result<Int> {
    Int::try_from(size).map_err(|_| {
        Error::invalid_argument(format!(
            "expected sizes below 2^31, for LAPACK counts with 32 bits, got {size}"
        ))
    })
}

/// The distance between columns, which LAPACK wants to be 1 at least.
fn leading(rows: usize) -> Result<Int> {
    int(rows.max(1))
}

/// An error if LAPACK's count of its working space, at most this, does not fit.
fn countable(routine: &str, stack: Stack, count: u128) -> Result<()> {
    if count <= Int::MAX as u128 {
        return Ok(());
    }
    Err(Error::invalid_argument(format!(
        "expected a matrix whose working space LAPACK can count with 32 bits, got one of {} x {}, for which {routine} \
         takes up to {count} numbers",
        stack.rows, stack.columns
    )))
}

impl Lapack {
    /// `a = QR`: R in the upper triangle, the reflectors of Q below it, their factors in `tau`.
    pub fn geqrf(&self, stack: Stack, a: &mut [f64], tau: &mut [f64], work: &mut Work) -> Result<()> {
        assert!(a.len() == stack.size() && tau.len() == stack.rank());
        let (m, n, lda) = (int(stack.rows)?, int(stack.columns)?, leading(stack.rows)?);
        let (a, tau) = (a.as_mut_ptr(), tau.as_mut_ptr());
        work.call("dgeqrf", |work, lwork, _, info| {
            // SAFETY: the arrays have the sizes that the documentation asks for, see above and `Work::call`.
            unsafe { (self.dgeqrf)(&m, &n, a, &lda, tau, work, lwork, info) }
        })?;
        Ok(())
    }

    /// The first `rank` columns of Q, out of as many reflectors in `a`, which is `rows` x `rank`.
    pub fn orgqr(&self, stack: Stack, a: &mut [f64], tau: &[f64], work: &mut Work) -> Result<()> {
        let k = stack.rank();
        assert!(a.len() == stack.rows * k && tau.len() == k);
        let (m, k, lda) = (int(stack.rows)?, int(k)?, leading(stack.rows)?);
        let (a, tau) = (a.as_mut_ptr(), tau.as_ptr());
        work.call("dorgqr", |work, lwork, _, info| {
            // SAFETY: as above.
            unsafe { (self.dorgqr)(&m, &k, &k, a, &lda, tau, work, lwork, info) }
        })?;
        Ok(())
    }

    /// `a = PLU`; `pivots` are the rows that were swapped, from 1 on. A singular matrix is no error.
    pub fn getrf(&self, stack: Stack, a: &mut [f64], pivots: &mut [i32]) -> Result<()> {
        assert!(a.len() == stack.size() && pivots.len() == stack.rank());
        let (m, n, lda) = (int(stack.rows)?, int(stack.columns)?, leading(stack.rows)?);
        let mut info = 0;
        // SAFETY: as above.
        unsafe { (self.dgetrf)(&m, &n, a.as_mut_ptr(), &lda, pivots.as_mut_ptr(), &mut info) };
        refuse("dgetrf", info)
    }

    /// `a = U diag(s) Vt`, reduced; whether it converged. `a` is lost.
    pub fn gesdd(
        &self,
        stack: Stack,
        a: &mut [f64],
        (u, s, vt): (&mut [f64], &mut [f64], &mut [f64]),
        work: &mut Work,
    ) -> Result<bool> {
        let k = stack.rank();
        assert!(a.len() == stack.size() && u.len() == stack.rows * k);
        assert!(s.len() == k && vt.len() == k * stack.columns && work.integers.len() == 8 * k);
        // What the documentation asks for, of the old versions and the new, and the blocks of the fast way.
        let (least, most) = (k as u128, stack.rows.max(stack.columns) as u128);
        countable("dgesdd", stack, 5 * least * least + 64 * (most + 3 * least))?;
        let (m, n, k, lda) = (int(stack.rows)?, int(stack.columns)?, leading(k)?, leading(stack.rows)?);
        let (a, u, s, vt) = (a.as_mut_ptr(), u.as_mut_ptr(), s.as_mut_ptr(), vt.as_mut_ptr());
        let reduced = b'S' as c_char;
        let info = work.call("dgesdd", |work, lwork, iwork, info| {
            // SAFETY: as above.
            unsafe {
                (self.dgesdd)(&reduced, &m, &n, a, &lda, s, u, &lda, vt, &k, work, lwork, iwork, info, 1);
            }
        })?;
        Ok(info == 0)
    }

    /// The eigenvalues of a symmetric matrix, ascending, and its eigenvectors in place of it; whether it converged. Only
    /// the lower triangle is read.
    pub fn syevd(&self, n: usize, a: &mut [f64], values: &mut [f64], work: &mut Work) -> Result<bool> {
        assert!(a.len() == n * n && values.len() == n && work.integers.len() == 3 + 5 * n);
        let wide = n as u128;
        countable("dsyevd", Stack::new(n, n), 1 + 6 * wide + 2 * wide * wide + 64 * wide)?;
        let (size, lda, liwork) = (int(n)?, leading(n)?, int(work.integers.len())?);
        let (a, values) = (a.as_mut_ptr(), values.as_mut_ptr());
        let (vectors, lower) = (b'V' as c_char, b'L' as c_char);
        let info = work.call("dsyevd", |work, lwork, iwork, info| {
            // SAFETY: as above.
            unsafe {
                let size = &size;
                (self.dsyevd)(
                    &vectors, &lower, size, a, &lda, values, work, lwork, iwork, &liwork, info, 1, 1,
                );
            }
        })?;
        Ok(info == 0)
    }
}
