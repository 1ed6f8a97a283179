/* The C interface of the R package pjrtdispatch: clients and buffers that packages share.
 *
 * In DESCRIPTION:  Imports: pjrtdispatch     (and import something of it, so that it is loaded first)
 *                  LinkingTo: pjrtdispatch
 *
 *     #include <pjrtdispatch.h>
 *
 *     SEXP rank_of(SEXP x) {
 *         pjrtdispatch_buffer_info about = pjrtdispatch_buffer(x, "x");
 *         return Rf_ScalarInteger((int)about.rank);
 *     }
 *
 * There is one client for each platform in the process, and every buffer that R sees is made by pjrtdispatch. The
 * pointers are those of the PJRT C API (pjrt_c_api.h), for calls of your own. Who owns what:
 *
 *   client, devices    live as long as the process
 *   buffer             its R object owns it. A buffer_info is lent: it is right as long as the R object is protected and
 *                      R code cannot have released it; to keep the buffer longer, retain() and later release() it
 *   new buffer         given away to pjrtdispatch, which destroys it when R collects the object; or kept, see `owner`
 *
 * The functions of this header raise R conditions of class pjrtdispatch_error, as R's own functions do: by a jump over
 * the frames of the caller. From C++ or Rust call them by R_UnwindProtect(), or call the table's functions, which never
 * jump: they give 1 and keep the error for error() and raise(). All are for R's thread, except retain(), release(),
 * donation(), fingerprint() and those that concern handlers. In a process that was forked from the one that loaded pjrtdispatch they are errors.
 *
 * Structs and table state their size and are only appended to, so that a package that was built with another version of
 * this header goes on working; where that is impossible PJRTDISPATCH_VERSION changes, and the first call is an error
 * that says so. */
#ifndef PJRTDISPATCH_H
#define PJRTDISPATCH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <R.h>
#include <Rinternals.h>
#include <R_ext/Rdynload.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PJRTDISPATCH_VERSION 2u

/* As in pjrt_c_api.h. */
typedef struct PJRT_Api PJRT_Api;
typedef struct PJRT_Client PJRT_Client;
typedef struct PJRT_Device PJRT_Device;
typedef struct PJRT_Buffer PJRT_Buffer;

/* Names a client. Two are equal if they are the same one. */
typedef const struct pjrtdispatch_client_s *pjrtdispatch_client_id;

typedef struct pjrtdispatch_client_info {
    size_t size; /* sizeof, set by who asks; so in all structs */
    pjrtdispatch_client_id client;
    const PJRT_Api *api;
    PJRT_Client *pjrt_client;
    const char *platform; /* "cpu" */
    const char *plugin_path;
    PJRT_Device *const *devices; /* by the numbers in names such as "cpu:1" */
    size_t device_count;
} pjrtdispatch_client_info;

typedef struct pjrtdispatch_device_info {
    size_t size;
    pjrtdispatch_client_id client;
    int32_t device; /* index among the client's devices */
} pjrtdispatch_device_info;

typedef struct pjrtdispatch_buffer_info {
    size_t size;
    void *handle; /* for retain(), release() and donation() */
    PJRT_Buffer *buffer;
    pjrtdispatch_client_id client;
    int32_t device; /* index among the client's devices */
    int32_t dtype;  /* PJRT_Buffer_Type */
    const int64_t *dims; /* outermost first; the data is row-major */
    size_t rank;
    int32_t donated; /* 1 if it was given to a program, else 0 */
} pjrtdispatch_buffer_info;

typedef struct pjrtdispatch_new_buffer {
    size_t size;
    PJRT_Buffer *buffer;
    pjrtdispatch_client_id client;
    int32_t device;
    int32_t dtype;
    const int64_t *dims;
    size_t rank;
    /* If `release` is null the buffer is given away. Else it stays the owner's, who destroys it after `release` was
     * called: once, on any thread, maybe after your package was unloaded, so its library must stay in the process (link
     * it with -Wl,-z,nodelete). `donation` is told of donations as the table's function is; it may be null. */
    void *owner;
    uint32_t (*donation)(void *owner, uint32_t what);
    void (*release)(void *owner);
} pjrtdispatch_new_buffer;

/* A function that compiled programs call: an XLA_FFI_Handler of XLA's xla/ffi/api/c_api.h, or one with data of its own. */
typedef struct pjrtdispatch_new_handler {
    size_t size;
    const char *target;   /* the name that programs call it by */
    const char *platform; /* "cpu" or "cuda" */
    /* The XLA_FFI_Handler*, which answers XLA's handshake itself; its library stays in the process. NULL if there is
     * `call`: that gets `data` and the XLA_FFI_CallFrame*, for the stages below only, and gives an XLA_FFI_Error* or NULL. */
    const void *entry;
    void *(*call)(void *data, void *frame);
    void *data;
    void (*release)(void *data); /* once, on any thread, when nobody uses `data` any more, also if it is refused */
    uint32_t stages; /* a bit each: 1 instantiate, 2 prepare, 4 initialize, 8 execute */
    uint32_t traits; /* XLA's: 1 if calls may become part of a command buffer */
    const char *owner; /* who may replace and remove it: "package mine"; NULL is nobody */
    const char *name;  /* of the function, in messages; may be NULL */
} pjrtdispatch_new_handler;

/* Who owns a buffer, as in pjrtdispatch_new_buffer. */
typedef struct pjrtdispatch_owner {
    void *owner;
    uint32_t (*donation)(void *owner, uint32_t what);
    void (*release)(void *owner);
} pjrtdispatch_owner;

/* Where compiled programs are kept across processes. */
typedef struct pjrtdispatch_cache_info {
    size_t size;
    const char *path;   /* a directory, until the next call; NULL if nothing is kept */
    uint64_t max_bytes; /* the most that the files there may take */
} pjrtdispatch_cache_info;

/* What one package has done there in this process. */
typedef struct pjrtdispatch_cache_counts {
    size_t size;
    uint64_t hits;    /* programs that were loaded */
    uint64_t misses;  /* programs that were not there, and were compiled */
    uint64_t writes;  /* programs that were written */
    uint64_t refused; /* files that were not taken */
    uint64_t evicted; /* entries that were removed for the bound */
    uint64_t failed;  /* times that the directory could not be used */
} pjrtdispatch_cache_counts;

/* What an argument has to be that is converted. */
typedef struct pjrtdispatch_expected {
    size_t size;
    const char *path;      /* of the argument: "params$w" */
    const int32_t *dtypes; /* PJRT_Buffer_Types that it may have */
    size_t dtype_count;    /* 0 if that is not known */
    const int64_t *dims;   /* sizes, -1 where any will do */
    int64_t rank;          /* -1 if that is not known */
    pjrtdispatch_client_id client; /* whose device data is brought to */
    int32_t device;
    int32_t writes_back; /* 1 if a result is written back into the object, which must not be read-only then */
    int32_t donated; /* 1 if a program may write into the array, which must not be the object's own memory then */
    int32_t keeps_view; /* 1 if convert() gives the view of the host's memory that the converter gave, too */
} pjrtdispatch_expected;

/* What a result is converted for. */
typedef struct pjrtdispatch_out_info {
    size_t size;
    const char *function;
    const char *argument;
    size_t index; /* among the arguments, counted from 0 */
} pjrtdispatch_out_info;

/* A converter that is a function of your package, called on R's thread. The functions give 0; or 1 after they have told what
 * went wrong by `tell(to, text)`; or 2 and in `out` the token of R_UnwindProtect(), with its lowest bit set, for R to go on with
 * a jump. They do not jump themselves. What they give is not protected. */
typedef struct pjrtdispatch_new_converter {
    size_t size;
    const char *class_; /* NULL where there is a predicate */
    const char *description;
    const char *package; /* NULL if it is none's */
    uint32_t copy;       /* 0 never, 1 if needed, 2 always */
    int (*convert_in)(void *data, SEXP x, const pjrtdispatch_expected *expected, SEXP *out,
                      void (*tell)(void *to, const char *text), void *to);
    /* for a result that is written back; may be NULL */
    int (*convert_out)(void *data, SEXP result, SEXP original, const pjrtdispatch_out_info *info, SEXP *out,
                       void (*tell)(void *to, const char *text), void *to);
    void *data;
    void (*release)(void *data); /* once, when nobody uses `data` any more, also if the converter is refused */
    const char *scope; /* the package for calls from whose code it is; NULL if it is for all */
    /* in place of a class: gives TRUE or FALSE for an object, whether the converter is for it */
    int (*predicate)(void *data, SEXP x, SEXP *out, void (*tell)(void *to, const char *text), void *to);
} pjrtdispatch_new_converter;

/* What donation() is told. It gives 1 if the buffer was given to a program before, else 0. */
enum { PJRTDISPATCH_ASK = 0, PJRTDISPATCH_GIVE = 1, PJRTDISPATCH_TAKE_BACK = 2 };

typedef struct pjrtdispatch_table {
    size_t size;
    uint32_t version;
    const char *package_version;

    /* 0: no error is kept. 1: a condition, whose texts live until the next call; `argument` may be null. 2: a jump of R,
     * an error or an interrupt in R code, that raise() lets go on. */
    int (*error)(const char **code, const char **message, const char **argument);
    /* Raises the error that is kept; does not return. */
    void (*raise)(void);

    /* Those that give an int give 0, or 1 and keep an error. */
    int (*client)(const char *platform, pjrtdispatch_client_info *out);
    int (*client_info)(pjrtdispatch_client_id client, pjrtdispatch_client_info *out);
    int (*client_object)(pjrtdispatch_client_id client, SEXP *out);
    int (*device)(SEXP x, const char *argument, pjrtdispatch_device_info *out);
    int (*device_object)(pjrtdispatch_client_id client, int32_t device, SEXP *out);

    int (*is_buffer)(SEXP x); /* 1 or 0 */
    int (*buffer)(SEXP x, const char *argument, pjrtdispatch_buffer_info *out);
    /* buffer() and retain() in one, for who is called often: 0, or 1 of what is no buffer that is alive; keeps no error. */
    int (*borrow)(SEXP x, pjrtdispatch_buffer_info *out);
    void (*retain)(void *handle);
    void (*release)(void *handle);
    uint32_t (*donation)(void *handle, uint32_t what);
    int (*new_buffer)(const pjrtdispatch_new_buffer *buffer, SEXP *out);

    /* Notes why a program was compiled, unless it is NULL, for expect_no_compile(); 1 if anybody watches. */
    int (*compiled)(const char *why);

    /* An AnvlArray without data, of the client, device, dtype and sizes of `like`, whose buffer is not looked at. Keep it
     * from R's collector as long as you use it for new_arrays(). */
    int (*template_)(const pjrtdispatch_new_buffer *like, SEXP *out);
    /* AnvlArrays of your buffers, each like its template: one, or a list of other than one. `owners` is null if all
     * buffers are given away. On an error all buffers stay yours. */
    int (*new_arrays)(PJRT_Buffer *const *buffers, const pjrtdispatch_owner *owners, const SEXP *templates, size_t count,
                      SEXP *out);

    /* Not 0 while programs have printed what R has not shown yet. Changes on any thread: look at it at the end of a call
     * in which programs ran, and then have it shown. */
    const volatile unsigned char *printed;
    int (*show_printed)(void);

    /* The functions that programs call, one list for the process. These are for any thread and keep no error.
     * register_handler() gives the handler to the plugins of its platform, those that are loaded later too; 0, or 1 if it
     * is refused, and then `tell(to, reason)` was called. remove_handlers() removes those of an owner, or only the target
     * of a platform if `target` is not NULL; how many there were. handlers() calls `visit` for each target. */
    int (*register_handler)(const pjrtdispatch_new_handler *handler, void (*tell)(void *to, const char *reason), void *to);
    size_t (*remove_handlers)(const char *owner, const char *target, const char *platform);
    void (*handlers)(void (*visit)(void *to, const char *target, const char *platform, const char *owner), void *to);

    /* R functions that programs call may be left by R: by a restart, an interrupt, a condition that is handled further out.
     * Then the program fails, and the jump may go on once it has ended. Who wants that writes 1 to `running` before a
     * program is started on R's thread, and afterwards what was there before; if it is 2 then, go_on() keeps the jump as
     * the error and gives 1, and raise() goes on with it. No R code may run in between but by such functions. */
    volatile unsigned char *running;
    int (*go_on)(void);

    /* Where compiled programs are kept across processes, for who compiles them without R functions. cache() tells what the
     * user's options say now; ask before each compile. count_cache() takes a function that adds to `counts` what its package
     * has done in a directory; it is called on R's thread, as long as the process lives. fingerprint(), for any thread,
     * tells in a text all that decides, besides program and options, what is compiled for a device: only processes in which
     * it is the same may exchange executables. It does not call `tell` where that is not known. */
    int (*cache)(pjrtdispatch_cache_info *out);
    void (*count_cache)(void (*counts)(const char *path, pjrtdispatch_cache_counts *counts));
    void (*fingerprint)(pjrtdispatch_client_id client, int32_t device, void (*tell)(void *to, const char *text), void *to);

    /* Objects that are no arrays, for which converters are registered: see the R function register_converter(). convert()
     * gives a new list, not protected, of what the converter of `x` gave (an R vector or array, a PJRTBuffer or an
     * AnvlArray) and of the converter, for convert_out(), and where `keeps_view` asks for it of the view of the host's memory
     * that it gave, or NULL; or NULL as a whole if there is no converter for it: then no_converter()
     * tells why. convert_out() makes of a result what the converter gives for `original`, which it converted before. */
    int (*convert)(SEXP x, const pjrtdispatch_expected *expected, SEXP *out);
    int (*no_converter)(SEXP x, void (*tell)(void *to, const char *text), void *to);
    int (*convert_out)(SEXP converter, SEXP result, SEXP original, const pjrtdispatch_out_info *info, SEXP *out);
    /* A converter that is a function of your package; its number, for remove_converter(), which gives 1 if it was there. */
    int (*register_converter)(const pjrtdispatch_new_converter *converter, uint64_t *out);
    int (*remove_converter)(uint64_t id);
    /* Whether two views that convert() gave share memory: 1 or 0. Into what is written to no other argument may look. */
    int (*same_memory)(SEXP a, SEXP b);
} pjrtdispatch_table;

/* The functions of the loaded pjrtdispatch. An R error if it is another version than this header. */
static inline const pjrtdispatch_table *pjrtdispatch(void) {
    static const pjrtdispatch_table *table = NULL;
    if (!table) {
        typedef const pjrtdispatch_table *(*ask_t)(uint32_t version, uint32_t *has);
        DL_FUNC function = R_GetCCallable("pjrtdispatch", "pjrtdispatch_table");
        ask_t ask;
        uint32_t has = 0;
        const pjrtdispatch_table *given;
        memcpy(&ask, &function, sizeof ask);
        given = ask(PJRTDISPATCH_VERSION, &has);
        if (!given || given->size < sizeof *given) {
            Rf_error("this package was built for version %u of the interface of pjrtdispatch, the one installed has "
                     "version %u: install pjrtdispatch, then this package anew",
                     PJRTDISPATCH_VERSION, has);
        }
        table = given;
    }
    return table;
}

/* The client of a platform, made if there is none yet; NULL is the default platform. */
static inline pjrtdispatch_client_info pjrtdispatch_client(const char *platform) {
    pjrtdispatch_client_info out;
    memset(&out, 0, sizeof out);
    out.size = sizeof out;
    if (pjrtdispatch()->client(platform, &out)) pjrtdispatch()->raise();
    return out;
}

/* What is known of a client that a buffer or a device names. */
static inline pjrtdispatch_client_info pjrtdispatch_client_of(pjrtdispatch_client_id client) {
    pjrtdispatch_client_info out;
    memset(&out, 0, sizeof out);
    out.size = sizeof out;
    if (pjrtdispatch()->client_info(client, &out)) pjrtdispatch()->raise();
    return out;
}

/* The PJRTClient of R, which R never collects. */
static inline SEXP pjrtdispatch_client_object(pjrtdispatch_client_id client) {
    SEXP out = R_NilValue;
    if (pjrtdispatch()->client_object(client, &out)) pjrtdispatch()->raise();
    return out;
}

/* The device that an R object means: a PJRTDevice, the name of one, or NULL for the default. `argument` is the name of
 * the argument in messages. */
static inline pjrtdispatch_device_info pjrtdispatch_device(SEXP x, const char *argument) {
    pjrtdispatch_device_info out;
    memset(&out, 0, sizeof out);
    out.size = sizeof out;
    if (pjrtdispatch()->device(x, argument, &out)) pjrtdispatch()->raise();
    return out;
}

/* The PJRTDevice of R, which R never collects. */
static inline SEXP pjrtdispatch_device_object(pjrtdispatch_client_id client, int32_t device) {
    SEXP out = R_NilValue;
    if (pjrtdispatch()->device_object(client, device, &out)) pjrtdispatch()->raise();
    return out;
}

/* Whether an R object is a buffer that is alive. */
static inline int pjrtdispatch_is_buffer(SEXP x) { return pjrtdispatch()->is_buffer(x); }

/* What a PJRTBuffer is, lent. */
static inline pjrtdispatch_buffer_info pjrtdispatch_buffer(SEXP x, const char *argument) {
    pjrtdispatch_buffer_info out;
    memset(&out, 0, sizeof out);
    out.size = sizeof out;
    if (pjrtdispatch()->buffer(x, argument, &out)) pjrtdispatch()->raise();
    return out;
}

/* A new PJRTBuffer of R, not protected. On an error the buffer stays yours: to destroy it then, call the table's
 * new_buffer(), which does not jump. */
static inline SEXP pjrtdispatch_new(pjrtdispatch_new_buffer buffer) {
    SEXP out = R_NilValue;
    buffer.size = sizeof buffer;
    if (pjrtdispatch()->new_buffer(&buffer, &out)) pjrtdispatch()->raise();
    return out;
}

#ifdef __cplusplus
}
#endif

#endif
