//! The part of R's C API that is used here: only documented functions, which R 4.2 and later versions have.
#![allow(non_snake_case, non_upper_case_globals, missing_docs, clippy::missing_safety_doc)]

use std::ffi::{c_char, c_int, c_uint, c_void};

/// A pointer to an object of R; the same type as savvy's.
pub type SEXP = *mut c_void;

/// A length or index.
pub type Length = isize;

pub const NILSXP: c_uint = 0;
pub const SYMSXP: c_uint = 1;
pub const LISTSXP: c_uint = 2;
pub const CLOSXP: c_uint = 3;
pub const ENVSXP: c_uint = 4;
pub const PROMSXP: c_uint = 5;
pub const LANGSXP: c_uint = 6;
pub const SPECIALSXP: c_uint = 7;
pub const BUILTINSXP: c_uint = 8;
pub const CHARSXP: c_uint = 9;
pub const LGLSXP: c_uint = 10;
pub const INTSXP: c_uint = 13;
pub const REALSXP: c_uint = 14;
pub const CPLXSXP: c_uint = 15;
pub const STRSXP: c_uint = 16;
pub const VECSXP: c_uint = 19;
pub const EXPRSXP: c_uint = 20;
pub const BCODESXP: c_uint = 21;
pub const EXTPTRSXP: c_uint = 22;
pub const WEAKREFSXP: c_uint = 23;
pub const RAWSXP: c_uint = 24;
pub const S4SXP: c_uint = 25;

pub const CE_NATIVE: c_int = 0;
pub const CE_UTF8: c_int = 1;
pub const CE_BYTES: c_int = 3;

/// A missing integer or truth value.
pub const NA_INTEGER: c_int = c_int::MIN;

unsafe extern "C" {
    pub static R_NilValue: SEXP;
    pub static R_BaseEnv: SEXP;
    pub static R_GlobalEnv: SEXP;
    pub static R_EmptyEnv: SEXP;
    pub static R_NaString: SEXP;
    pub static R_NaReal: f64;
    pub static R_NamesSymbol: SEXP;
    pub static R_ClassSymbol: SEXP;
    pub static R_DimSymbol: SEXP;
    pub static R_DimNamesSymbol: SEXP;

    pub safe fn TYPEOF(x: SEXP) -> c_uint;
    pub safe fn Rf_xlength(x: SEXP) -> Length;
    /// Faster than `Rf_xlength`, for vectors and strings only: of anything else it is an error of R's.
    pub fn XLENGTH(x: SEXP) -> Length;
    pub safe fn Rf_isObject(x: SEXP) -> c_int;
    pub safe fn R_IsNA(x: f64) -> c_int;
    pub safe fn ALTREP(x: SEXP) -> c_int;

    pub fn Rf_protect(x: SEXP) -> SEXP;
    pub fn Rf_unprotect(n: c_int);
    pub fn R_PreserveObject(x: SEXP);
    pub fn R_ReleaseObject(x: SEXP);
    pub fn MARK_NOT_MUTABLE(x: SEXP);
    pub fn R_gc();

    pub fn Rf_allocVector(kind: c_uint, length: Length) -> SEXP;
    pub fn Rf_duplicate(x: SEXP) -> SEXP;
    pub fn Rf_shallow_duplicate(x: SEXP) -> SEXP;
    pub fn Rf_cons(car: SEXP, cdr: SEXP) -> SEXP;
    pub fn Rf_lcons(car: SEXP, cdr: SEXP) -> SEXP;
    pub fn Rf_install(name: *const c_char) -> SEXP;
    pub fn Rf_installChar(name: SEXP) -> SEXP;
    pub fn PRINTNAME(symbol: SEXP) -> SEXP;
    pub fn CAR(x: SEXP) -> SEXP;
    pub fn CDR(x: SEXP) -> SEXP;
    pub fn SETCAR(x: SEXP, value: SEXP) -> SEXP;
    pub fn TAG(x: SEXP) -> SEXP;

    pub fn LOGICAL(x: SEXP) -> *mut c_int;
    pub fn INTEGER(x: SEXP) -> *mut c_int;
    pub fn REAL(x: SEXP) -> *mut f64;
    pub fn RAW(x: SEXP) -> *mut u8;
    pub fn LOGICAL_RO(x: SEXP) -> *const c_int;
    pub fn INTEGER_RO(x: SEXP) -> *const c_int;
    pub fn REAL_RO(x: SEXP) -> *const f64;
    pub fn RAW_RO(x: SEXP) -> *const u8;
    pub fn DATAPTR_RO(x: SEXP) -> *const c_void;
    /// Null for a vector in a compact form whose elements R has not made.
    pub fn DATAPTR_OR_NULL(x: SEXP) -> *const c_void;
    pub fn LOGICAL_GET_REGION(x: SEXP, from: Length, n: Length, to: *mut c_int) -> Length;
    pub fn INTEGER_GET_REGION(x: SEXP, from: Length, n: Length, to: *mut c_int) -> Length;
    pub fn REAL_GET_REGION(x: SEXP, from: Length, n: Length, to: *mut f64) -> Length;
    pub fn COMPLEX_GET_REGION(x: SEXP, from: Length, n: Length, to: *mut [f64; 2]) -> Length;
    pub fn COMPLEX_RO(x: SEXP) -> *const [f64; 2];
    pub fn COMPLEX(x: SEXP) -> *mut [f64; 2];

    pub fn Rf_ScalarLogical(x: c_int) -> SEXP;
    pub fn Rf_ScalarInteger(x: c_int) -> SEXP;
    pub fn Rf_ScalarReal(x: f64) -> SEXP;
    pub fn Rf_ScalarString(x: SEXP) -> SEXP;
    pub fn Rf_mkCharLenCE(text: *const c_char, length: c_int, encoding: c_int) -> SEXP;
    pub fn Rf_translateCharUTF8(x: SEXP) -> *const c_char;
    pub fn Riconv_open(to: *const c_char, from: *const c_char) -> *mut c_void;
    pub fn Riconv(
        converter: *mut c_void,
        from: *mut *const c_char,
        from_left: *mut usize,
        to: *mut *mut c_char,
        to_left: *mut usize,
    ) -> usize;
    pub fn Riconv_close(converter: *mut c_void) -> c_int;
    pub fn R_CHAR(x: SEXP) -> *const c_char;
    pub fn Rf_getCharCE(x: SEXP) -> c_int;
    pub fn STRING_ELT(x: SEXP, i: Length) -> SEXP;
    pub fn SET_STRING_ELT(x: SEXP, i: Length, value: SEXP);
    pub fn VECTOR_ELT(x: SEXP, i: Length) -> SEXP;
    pub fn SET_VECTOR_ELT(x: SEXP, i: Length, value: SEXP) -> SEXP;

    pub fn Rf_getAttrib(x: SEXP, name: SEXP) -> SEXP;
    pub fn Rf_setAttrib(x: SEXP, name: SEXP, value: SEXP) -> SEXP;

    pub fn R_MakeExternalPtr(address: *mut c_void, tag: SEXP, protected: SEXP) -> SEXP;
    pub fn R_ExternalPtrAddr(x: SEXP) -> *mut c_void;
    pub fn R_ExternalPtrTag(x: SEXP) -> SEXP;
    pub fn R_ExternalPtrProtected(x: SEXP) -> SEXP;
    pub fn R_SetExternalPtrProtected(x: SEXP, protected: SEXP);
    pub fn R_SetExternalPtrAddr(x: SEXP, address: *mut c_void);
    pub fn R_ClearExternalPtr(x: SEXP);
    pub fn R_RegisterCFinalizerEx(x: SEXP, finalizer: unsafe extern "C" fn(SEXP), onexit: c_int);

    pub fn Rf_eval(call: SEXP, environment: SEXP) -> SEXP;
    pub fn R_MakeUnwindCont() -> SEXP;
    pub fn R_CheckUserInterrupt();
    pub fn R_CheckStack2(more: usize);
    pub fn REprintf(format: *const c_char, ...);
}

// For what packages share.
unsafe extern "C" {
    pub fn R_RegisterCCallable(package: *const c_char, name: *const c_char, function: unsafe extern "C" fn());
    pub fn R_GetCCallable(package: *const c_char, name: *const c_char) -> Option<unsafe extern "C" fn()>;

    /// `csrc/unwind.c`
    pub(crate) fn dispatch_r_raise();
}

// For static values and dispatch.
unsafe extern "C" {
    pub static R_RowNamesSymbol: SEXP;
    pub static R_MissingArg: SEXP;

    pub fn ATTRIB(x: SEXP) -> SEXP;
    pub fn IS_S4_OBJECT(x: SEXP) -> c_int;
    pub fn FORMALS(x: SEXP) -> SEXP;
    pub fn SET_TAG(x: SEXP, tag: SEXP);
    pub fn CLOENV(x: SEXP) -> SEXP;
    pub fn R_ClosureExpr(x: SEXP) -> SEXP;
    pub fn R_BytecodeExpr(x: SEXP) -> SEXP;
    pub fn Rf_GetOption1(name: SEXP) -> SEXP;
    pub fn R_ExpandFileName(name: *const c_char) -> *const c_char;
    pub fn R_MakeExternalPtrFn(
        function: unsafe extern "C" fn(SEXP, SEXP) -> SEXP,
        tag: SEXP,
        protected: SEXP,
    ) -> SEXP;
    pub fn SHALLOW_DUPLICATE_ATTRIB(to: SEXP, from: SEXP);
}

unsafe extern "C" {
    /// `csrc/unwind.c`
    pub(crate) fn dispatch_r_unwind(
        function: unsafe extern "C" fn(*mut c_void) -> SEXP,
        data: *mut c_void,
        token: SEXP,
    ) -> c_int;

    /// `csrc/unwind.c`
    pub(crate) fn dispatch_r_dispatch_call(dispatcher: SEXP, args: SEXP) -> SEXP;
}

/// `NULL`.
#[inline(always)]
pub fn nil() -> SEXP {
    // SAFETY: R sets the variable before any package is loaded, and never changes it.
    unsafe { R_NilValue }
}
