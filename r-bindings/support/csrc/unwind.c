/* R leaves C code by longjmp. This catches the jump before it reaches Rust's frames.
 *
 * R's functions are declared here, so that building needs no R. */
#include <setjmp.h>

typedef struct SEXPREC *SEXP;
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
