/* Uses every function of pjrtdispatch.h as a package in C would. */
#include <pjrtdispatch.h>

#include <pthread.h>

/* The parts of pjrt_c_api.h that are needed here; all of it is appended only. */
typedef struct PJRT_Error PJRT_Error;
typedef struct {
    size_t struct_size;
    void *extension_start;
    PJRT_Client *client;
    const void *data;
    int type;
    const int64_t *dims;
    size_t num_dims;
    const int64_t *byte_strides;
    size_t num_byte_strides;
    int host_buffer_semantics;
    PJRT_Device *device;
    void *memory;
    void *device_layout;
    void *done_with_host_buffer;
    PJRT_Buffer *buffer;
    char reserve[64];
} upload_args;
typedef struct {
    size_t struct_size;
    void *extension_start;
    void *object;
} destroy_args;

enum { HEADER = 40, EVENT_DESTROY = 5, UPLOAD = 22, BUFFER_DESTROY = 58, F64 = 12 };

static PJRT_Error *call(const PJRT_Api *api, int index, void *args) {
    PJRT_Error *(*function)(void *);
    memcpy(&function, (const char *)api + HEADER + index * sizeof(void *), sizeof function);
    return function(args);
}

static void destroy(const PJRT_Api *api, int index, void *object) {
    destroy_args args = {sizeof args, NULL, object};
    call(api, index, &args);
}

SEXP borrower_about(SEXP x) {
    pjrtdispatch_buffer_info about = pjrtdispatch_buffer(x, "buffer");
    pjrtdispatch_client_info client = pjrtdispatch_client_of(about.client);
    const char *names[] = {"dtype", "dims", "device", "platform", "same_client", "has_buffer", "device_object", ""};
    SEXP out = PROTECT(Rf_mkNamed(VECSXP, names));
    SET_VECTOR_ELT(out, 0, Rf_ScalarInteger(about.dtype));
    SEXP dims = Rf_allocVector(REALSXP, (R_xlen_t)about.rank);
    SET_VECTOR_ELT(out, 1, dims);
    for (size_t i = 0; i < about.rank; i++) REAL(dims)[i] = (double)about.dims[i];
    SET_VECTOR_ELT(out, 2, Rf_ScalarInteger(about.device));
    SET_VECTOR_ELT(out, 3, Rf_mkString(client.platform));
    SET_VECTOR_ELT(out, 4, Rf_ScalarLogical(pjrtdispatch_client(client.platform).client == about.client));
    SET_VECTOR_ELT(out, 5, Rf_ScalarLogical(about.buffer != NULL && about.handle != NULL));
    SET_VECTOR_ELT(out, 6, pjrtdispatch_device_object(about.client, about.device));
    UNPROTECT(1);
    return out;
}

SEXP borrower_client_of(SEXP platform) {
    pjrtdispatch_client_info client =
        pjrtdispatch_client(platform == R_NilValue ? NULL : CHAR(STRING_ELT(platform, 0)));
    const char *names[] = {"object", "platform", "plugin", "devices", "complete", ""};
    SEXP out = PROTECT(Rf_mkNamed(VECSXP, names));
    SET_VECTOR_ELT(out, 0, pjrtdispatch_client_object(client.client));
    SET_VECTOR_ELT(out, 1, Rf_mkString(client.platform));
    SET_VECTOR_ELT(out, 2, Rf_mkString(client.plugin_path));
    SET_VECTOR_ELT(out, 3, Rf_ScalarInteger((int)client.device_count));
    int complete = client.api && client.pjrt_client;
    for (size_t i = 0; i < client.device_count; i++) complete = complete && client.devices[i];
    SET_VECTOR_ELT(out, 4, Rf_ScalarLogical(complete));
    UNPROTECT(1);
    return out;
}

SEXP borrower_device_of(SEXP x) {
    pjrtdispatch_device_info device = pjrtdispatch_device(x, "device");
    return pjrtdispatch_device_object(device.client, device.device);
}

SEXP borrower_is_buffer(SEXP x) { return Rf_ScalarLogical(pjrtdispatch_is_buffer(x)); }

/* Uploads doubles as they lie, as a vector. */
static pjrtdispatch_new_buffer upload(SEXP x, SEXP device, const int64_t *length) {
    pjrtdispatch_device_info where = pjrtdispatch_device(device, "device");
    pjrtdispatch_client_info client = pjrtdispatch_client_of(where.client);
    upload_args args;
    memset(&args, 0, sizeof args);
    args.struct_size = offsetof(upload_args, reserve);
    args.client = client.pjrt_client;
    args.data = REAL(x);
    args.type = F64;
    args.dims = length;
    args.num_dims = 1;
    args.device = client.devices[where.device];
    if (call(client.api, UPLOAD, &args)) Rf_error("the upload failed");
    if (args.done_with_host_buffer) destroy(client.api, EVENT_DESTROY, args.done_with_host_buffer);
    pjrtdispatch_new_buffer new;
    memset(&new, 0, sizeof new);
    new.size = sizeof new;
    new.buffer = args.buffer;
    new.client = where.client;
    new.device = where.device;
    new.dtype = F64;
    new.dims = length;
    new.rank = 1;
    return new;
}

SEXP borrower_give(SEXP x, SEXP device) {
    int64_t length = XLENGTH(x);
    return pjrtdispatch_new(upload(x, device, &length));
}

/* Buffers that this package keeps: how many there are, and what was told of donations. */
static int lent_now = 0, donations = 0;
typedef struct {
    const PJRT_Api *api;
    PJRT_Buffer *buffer;
    uint32_t donated;
} loan;

static uint32_t on_donation(void *owner, uint32_t what) {
    loan *l = owner;
    uint32_t before = l->donated;
    if (what == PJRTDISPATCH_GIVE) l->donated = 1, donations++;
    if (what == PJRTDISPATCH_TAKE_BACK) l->donated = 0;
    return before;
}

static void on_release(void *owner) {
    loan *l = owner;
    destroy(l->api, BUFFER_DESTROY, l->buffer);
    free(l);
    lent_now--;
}

SEXP borrower_lend(SEXP x, SEXP device) {
    int64_t length = XLENGTH(x);
    pjrtdispatch_new_buffer new = upload(x, device, &length);
    loan *l = malloc(sizeof *l);
    l->api = pjrtdispatch_client_of(new.client).api;
    l->buffer = new.buffer;
    l->donated = 0;
    new.owner = l;
    new.donation = on_donation;
    new.release = on_release;
    lent_now++;
    return pjrtdispatch_new(new);
}

SEXP borrower_lent(void) {
    SEXP out = Rf_allocVector(INTSXP, 2);
    INTEGER(out)[0] = lent_now;
    INTEGER(out)[1] = donations;
    return out;
}

SEXP borrower_hold(SEXP x) {
    void *handle = pjrtdispatch_buffer(x, "buffer").handle;
    SEXP held = R_MakeExternalPtr(handle, R_NilValue, R_NilValue);
    pjrtdispatch()->retain(handle);
    return held;
}

SEXP borrower_let_go(SEXP held) {
    pjrtdispatch()->release(R_ExternalPtrAddr(held));
    R_ClearExternalPtr(held);
    return R_NilValue;
}

SEXP borrower_donation(SEXP x, SEXP what) {
    void *handle = TYPEOF(x) == EXTPTRSXP && !pjrtdispatch_is_buffer(x) ? R_ExternalPtrAddr(x)
                                                                        : pjrtdispatch_buffer(x, "buffer").handle;
    return Rf_ScalarInteger((int)pjrtdispatch()->donation(handle, (uint32_t)Rf_asInteger(what)));
}

SEXP borrower_give_wrong(SEXP what) {
    const char *w = CHAR(STRING_ELT(what, 0));
    int64_t length = 2, negative = -1;
    SEXP x = PROTECT(Rf_allocVector(REALSXP, 2));
    REAL(x)[0] = REAL(x)[1] = 1;
    pjrtdispatch_new_buffer new = upload(x, R_NilValue, &length);
    PJRT_Buffer *buffer = new.buffer;
    const PJRT_Api *api = pjrtdispatch_client_of(new.client).api;
    if (!strcmp(w, "client")) new.client = (pjrtdispatch_client_id)&length;
    if (!strcmp(w, "device")) new.device = 99;
    if (!strcmp(w, "dtype")) new.dtype = 999;
    if (!strcmp(w, "dims")) new.dims = &negative;
    if (!strcmp(w, "rank")) new.dims = NULL;
    if (!strcmp(w, "buffer")) new.buffer = NULL;
    SEXP out;
    if (pjrtdispatch()->new_buffer(&new, &out)) {
        /* It is still ours. */
        destroy(api, BUFFER_DESTROY, buffer);
        pjrtdispatch()->raise();
    }
    UNPROTECT(1);
    return R_NilValue;
}

/* Whether there is a table of this version, and which one there is. */
SEXP borrower_ask_version(SEXP version) {
    typedef const pjrtdispatch_table *(*ask_t)(uint32_t version, uint32_t *has);
    DL_FUNC function = R_GetCCallable("pjrtdispatch", "pjrtdispatch_table");
    ask_t ask;
    memcpy(&ask, &function, sizeof ask);
    uint32_t has = 0;
    const pjrtdispatch_table *table = ask((uint32_t)Rf_asInteger(version), &has);
    SEXP out = Rf_allocVector(INTSXP, 3);
    INTEGER(out)[0] = table != NULL;
    INTEGER(out)[1] = (int)has;
    INTEGER(out)[2] = table != NULL && table->size == sizeof *table && table->version == has;
    return out;
}

/* The parts of an error, without a jump. */
SEXP borrower_code_of_error(SEXP x) {
    /* An older package knows less of the struct: nothing is written past what it states. */
    struct {
        size_t size;
        void *handle;
        char after[16];
    } small;
    memset(&small, 7, sizeof small);
    small.size = offsetof(pjrtdispatch_buffer_info, handle) + sizeof(void *);
    const char *code, *message, *argument;
    if (!pjrtdispatch()->buffer(x, "thing", (pjrtdispatch_buffer_info *)&small)) {
        for (size_t i = 0; i < sizeof small.after; i++)
            if (small.after[i] != 7) Rf_error("written past the end");
        return Rf_ScalarLogical(small.handle != NULL);
    }
    if (pjrtdispatch()->error(&code, &message, &argument) != 1) Rf_error("no error is kept");
    SEXP out = PROTECT(Rf_allocVector(STRSXP, 3));
    SET_STRING_ELT(out, 0, Rf_mkChar(code));
    SET_STRING_ELT(out, 1, Rf_mkChar(message));
    SET_STRING_ELT(out, 2, Rf_mkChar(argument));
    UNPROTECT(1);
    return out;
}

/* Retains and releases from another thread, where nothing else may be called. */
typedef struct {
    void *handle;
    int refused;
} job;

static void *run(void *data) {
    job *j = data;
    pjrtdispatch_client_info info;
    memset(&info, 0, sizeof info);
    info.size = sizeof info;
    for (int i = 0; i < 1000; i++) pjrtdispatch()->retain(j->handle);
    j->refused = pjrtdispatch()->client(NULL, &info);
    for (int i = 0; i < 1000; i++) pjrtdispatch()->release(j->handle);
    return NULL;
}

SEXP borrower_on_other_thread(SEXP x) {
    job j = {pjrtdispatch_buffer(x, "buffer").handle, 0};
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, &j)) Rf_error("no thread");
    pthread_join(thread, NULL);
    return Rf_ScalarLogical(j.refused);
}

/* The parts of xla/ffi/api/c_api.h that are needed here. */
typedef struct {
    size_t size;
    struct {
        size_t size;
        void *extension;
        int major, minor;
    } version;
    uint32_t traits;
} ffi_metadata;
typedef struct {
    size_t size;
    int type;
    void *next;
    ffi_metadata *metadata;
} ffi_metadata_extension;
typedef struct {
    size_t size;
    void *extension;
    int dtype;
    void *data;
    int64_t rank;
    const int64_t *dims;
} ffi_buffer;
typedef struct {
    size_t size;
    void *extension;
    int64_t count;
    const int *types;
    void **values;
} ffi_list;
typedef struct {
    size_t size;
    ffi_metadata_extension *extension;
    void *api, *ctx;
    int stage;
    ffi_list args, rets;
} ffi_frame;

/* Multiplies each element of an array of f32. */
static void *twice(ffi_frame *frame, float factor) {
    if (frame->extension && frame->extension->type == 1) {
        frame->extension->metadata->version.major = 0;
        frame->extension->metadata->version.minor = 1;
        return NULL;
    }
    const ffi_buffer *from = frame->args.values[0], *to = frame->rets.values[0];
    size_t n = 1;
    for (int64_t i = 0; i < from->rank; i++) n *= (size_t)from->dims[i];
    for (size_t i = 0; i < n; i++) ((float *)to->data)[i] = factor * ((const float *)from->data)[i];
    return NULL;
}
static void *handler_twice(void *frame) { return twice(frame, 2); }
static void *handler_thrice(void *frame) { return twice(frame, 3); }
/* With data of its own. */
static void *with_data(void *data, void *frame) { return twice(frame, *(float *)data); }

static int released_handlers = 0;
static void release_handler(void *data) {
    (void)data;
    released_handlers++;
}

SEXP borrower_handler(SEXP thrice) {
    DL_FUNC function = Rf_asLogical(thrice) ? (DL_FUNC)handler_thrice : (DL_FUNC)handler_twice;
    return R_MakeExternalPtrFn(function, R_NilValue, R_NilValue);
}

static void keep_reason(void *to, const char *reason) { strncpy(to, reason, 255); }

/* Registers a handler with data by the table; the reason if it is refused. */
SEXP borrower_register(SEXP target, SEXP platform, SEXP owner) {
    static float factor = 4;
    char reason[256] = {0};
    pjrtdispatch_new_handler new = {sizeof new, CHAR(Rf_asChar(target)), CHAR(Rf_asChar(platform)), NULL, with_data,
                                    &factor, release_handler, 8, 0, CHAR(Rf_asChar(owner)), "with_data"};
    pjrtdispatch()->register_handler(&new, keep_reason, reason);
    return Rf_mkString(reason);
}

static void count_target(void *to, const char *target, const char *platform, const char *owner) {
    const char **found = to;
    if (strcmp(target, found[0]) || strcmp(platform, "Host")) return;
    found[1] = strcpy(R_alloc(strlen(owner) + 1, 1), owner);
}

/* Who owns a target on the CPU, if there is one. */
SEXP borrower_owner(SEXP target) {
    const char *found[2] = {CHAR(Rf_asChar(target)), NULL};
    pjrtdispatch()->handlers(count_target, found);
    return found[1] ? Rf_mkString(found[1]) : R_NilValue;
}

/* How many were removed, and how many were released in all. */
SEXP borrower_remove(SEXP owner, SEXP target) {
    const char *name = Rf_isNull(target) ? NULL : CHAR(Rf_asChar(target));
    size_t removed = pjrtdispatch()->remove_handlers(CHAR(Rf_asChar(owner)), name, "cpu");
    SEXP out = Rf_allocVector(INTSXP, 2);
    INTEGER(out)[0] = (int)removed;
    INTEGER(out)[1] = released_handlers;
    return out;
}

#define ENTRY(name, n) {#name, (DL_FUNC)&name, n}
static const R_CallMethodDef entries[] = {
    ENTRY(borrower_about, 1), ENTRY(borrower_client_of, 1), ENTRY(borrower_device_of, 1), ENTRY(borrower_is_buffer, 1),
    ENTRY(borrower_give, 2), ENTRY(borrower_lend, 2), ENTRY(borrower_lent, 0), ENTRY(borrower_hold, 1),
    ENTRY(borrower_let_go, 1), ENTRY(borrower_donation, 2), ENTRY(borrower_give_wrong, 1),
    ENTRY(borrower_ask_version, 1), ENTRY(borrower_code_of_error, 1), ENTRY(borrower_on_other_thread, 1),
    ENTRY(borrower_handler, 1), ENTRY(borrower_register, 3), ENTRY(borrower_owner, 1), ENTRY(borrower_remove, 2),
    {NULL, NULL, 0},
};

void R_init_borrower(DllInfo *dll) {
    R_registerRoutines(dll, NULL, entries, NULL, NULL);
    R_useDynamicSymbols(dll, FALSE);
}
