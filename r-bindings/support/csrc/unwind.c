/* R leaves C code by longjmp. This catches the jump before it reaches Rust's frames.
 *
 * R's functions are declared here, so that building needs no R. */
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>

typedef struct SEXPREC *SEXP;
enum { VECSXP = 19 };
extern SEXP R_NilValue, R_GlobalEnv;
extern SEXP Rf_protect(SEXP x);
extern void Rf_unprotect(int n);
extern SEXP Rf_allocVector(unsigned int type, ptrdiff_t length);
extern SEXP SET_VECTOR_ELT(SEXP list, ptrdiff_t i, SEXP value);
extern SEXP Rf_cons(SEXP car, SEXP cdr);
extern SEXP Rf_lcons(SEXP car, SEXP cdr);
extern SEXP Rf_eval(SEXP call, SEXP env);
extern void R_ContinueUnwind(SEXP token);
extern void Rf_error(const char *format, ...);
extern SEXP R_UnwindProtect(SEXP (*fun)(void *), void *data, void (*clean)(void *, int), void *clean_data, SEXP token);

/* Does not save the signal mask, which costs a system call on some systems. */
#if defined(__APPLE__) || defined(__FreeBSD__)
#define SETJMP _setjmp
#define LONGJMP _longjmp
#else
#define SETJMP setjmp
#define LONGJMP longjmp
#endif

static void leave(void *buffer, int jump) {
    if (jump) LONGJMP(*(jmp_buf *)buffer, 1);
}

/* Calls fun(data); 1 if R wanted to jump away, which R_ContinueUnwind(token) then has to do. */
int dispatch_r_unwind(SEXP (*fun)(void *), void *data, SEXP token) {
    jmp_buf buffer;
    if (SETJMP(buffer)) return 1;
    R_UnwindProtect(fun, data, leave, &buffer, token);
    return 0;
}

/* `src/dispatcher/direct.rs`: the call of an R function that a dispatcher ends with. */
enum { LEAVES = 32 };
typedef struct {
    SEXP function;
    ptrdiff_t length;
    SEXP leaves[LEAVES];
} LastCall;

/* `src/dispatcher/direct.rs`: a value, a token with its lowest bit set, or this address for the call. */
#define LAST_CALL ((SEXP)2)
extern SEXP dispatch_r_dispatch(SEXP dispatcher, SEXP args, LastCall *last);

/* Called by R itself. What R may jump out of is done here, where no frame of Rust is left. */
SEXP dispatch_r_dispatch_call(SEXP dispatcher, SEXP args) {
    LastCall last;
    SEXP result = dispatch_r_dispatch(dispatcher, args, &last);
    if ((uintptr_t)result & 1) R_ContinueUnwind((SEXP)((uintptr_t)result & ~(uintptr_t)1));
    if (result != LAST_CALL) return result;
    /* The leaves are parts of the arguments; the function may belong to an entry that R code evicts meanwhile. */
    Rf_protect(last.function);
    SEXP list = Rf_protect(Rf_allocVector(VECSXP, last.length));
    for (ptrdiff_t i = 0; i < last.length; i++) SET_VECTOR_ELT(list, i, last.leaves[i]);
    SEXP call = Rf_protect(Rf_lcons(last.function, Rf_cons(list, R_NilValue)));
    result = Rf_eval(call, R_GlobalEnv);
    Rf_unprotect(3);
    return result;
}

/* `src/shared/provide.rs`: a token with its lowest bit set, or null. */
extern SEXP dispatch_r_take_error(void);

/* Called by other packages' C code, whose frames R jumps over; no frame of Rust is left. */
void dispatch_r_raise(void) {
    uintptr_t token = (uintptr_t)dispatch_r_take_error();
    if (token) R_ContinueUnwind((SEXP)(token & ~(uintptr_t)1));
    Rf_error("pjrtdispatch failed, and cannot say how");
}
