/* R leaves C code by longjmp. This catches the jump before it reaches Rust's frames.
 *
 * R's functions are declared here, so that building needs no R. */
#include <setjmp.h>
#include <stdint.h>

typedef struct SEXPREC *SEXP;
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

/* `src/dispatcher/direct.rs`: a value, or a token with its lowest bit set. */
extern SEXP dispatch_r_dispatch(SEXP dispatcher, SEXP args);

/* Called by R itself. What has to be continued is continued here, where no frame of Rust is left. */
SEXP dispatch_r_dispatch_call(SEXP dispatcher, SEXP args) {
    uintptr_t result = (uintptr_t)dispatch_r_dispatch(dispatcher, args);
    if (result & 1) R_ContinueUnwind((SEXP)(result & ~(uintptr_t)1));
    return (SEXP)result;
}

/* `src/shared/provide.rs`: a token with its lowest bit set, or null. */
extern SEXP dispatch_r_take_error(void);

/* Called by other packages' C code, whose frames R jumps over; no frame of Rust is left. */
void dispatch_r_raise(void) {
    uintptr_t token = (uintptr_t)dispatch_r_take_error();
    if (token) R_ContinueUnwind((SEXP)(token & ~(uintptr_t)1));
    Rf_error("pjrtdispatch failed, and cannot say how");
}
