/* What the R package is compared with: the functions of a plugin, called from C with arguments that were filled in
 * before, on a client of our own; R functions called from C; memcpy into newly mapped memory.
 *
 * PLUGIN_HEADER is the plugin's own `pjrt_c_api.h`. */
#include PLUGIN_HEADER

#define R_NO_REMAP
#include <R_ext/Rdynload.h>
#include <Rinternals.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { MOST_ARGUMENTS = 128 };

static const PJRT_Api *api;
static PJRT_Client *client;
static PJRT_Device *device;
static PJRT_ExecuteOptions options = {.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE};
static SEXP buffer_class;

static void check(PJRT_Error *error) {
    if (!error) return;
    PJRT_Error_Message_Args args = {.struct_size = PJRT_Error_Message_Args_STRUCT_SIZE, .error = error};
    api->PJRT_Error_Message(&args);
    Rf_error("%.*s", (int)args.message_size, args.message);
}

/* Seconds. */
static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

SEXP floor_now(void) { return Rf_ScalarReal(now()); }

/* Loads the plugin and makes a client. */
SEXP floor_start(SEXP path) {
    void *library = dlopen(CHAR(STRING_ELT(path, 0)), RTLD_NOW | RTLD_LOCAL);
    if (!library) Rf_error("%s", dlerror());
    const PJRT_Api *(*get)(void) = (const PJRT_Api *(*)(void))dlsym(library, "GetPjrtApi");
    if (!get) Rf_error("%s", dlerror());
    api = get();
    PJRT_Plugin_Initialize_Args initialize = {.struct_size = PJRT_Plugin_Initialize_Args_STRUCT_SIZE};
    check(api->PJRT_Plugin_Initialize(&initialize));
    PJRT_Client_Create_Args create = {.struct_size = PJRT_Client_Create_Args_STRUCT_SIZE};
    check(api->PJRT_Client_Create(&create));
    client = create.client;
    PJRT_Client_AddressableDevices_Args devices = {
        .struct_size = PJRT_Client_AddressableDevices_Args_STRUCT_SIZE, .client = client};
    check(api->PJRT_Client_AddressableDevices(&devices));
    device = devices.addressable_devices[0];
    buffer_class = Rf_mkString("FloorBuffer");
    R_PreserveObject(buffer_class);
    return R_NilValue;
}

SEXP floor_compile(SEXP text) {
    /* The options of the package's own programs, which the plugin copies in each run: executable_build_options {
     * device_ordinal: -1 num_replicas: 1 num_partitions: 1 } env_option_overrides { xla_cpu_enable_fast_min_max: false } */
    static const char compile_options[] = "\x1a\x0f\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x20\x01\x28\x01"
                                          "\x3a\x21\x0a\x1bxla_cpu_enable_fast_min_max\x12\x02\x10\x00";
    const char *code = CHAR(STRING_ELT(text, 0));
    PJRT_Program program = {.struct_size = PJRT_Program_STRUCT_SIZE,
                            .code = (char *)code,
                            .code_size = strlen(code),
                            .format = "mlir",
                            .format_size = 4};
    PJRT_Client_Compile_Args args = {.struct_size = PJRT_Client_Compile_Args_STRUCT_SIZE,
                                     .client = client,
                                     .program = &program,
                                     .compile_options = compile_options,
                                     .compile_options_size = sizeof compile_options - 1};
    check(api->PJRT_Client_Compile(&args));
    return R_MakeExternalPtr(args.executable, R_NilValue, R_NilValue);
}

static inline PJRT_Buffer *upload(const float *data, const int64_t *dims, size_t rank) {
    PJRT_Client_BufferFromHostBuffer_Args args = {
        .struct_size = PJRT_Client_BufferFromHostBuffer_Args_STRUCT_SIZE,
        .client = client,
        .data = data,
        .type = PJRT_Buffer_Type_F32,
        .dims = dims,
        .num_dims = rank,
        .host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall,
        .device = device};
    check(api->PJRT_Client_BufferFromHostBuffer(&args));
    PJRT_Event_Destroy_Args event = {
        .struct_size = PJRT_Event_Destroy_Args_STRUCT_SIZE, .event = args.done_with_host_buffer};
    check(api->PJRT_Event_Destroy(&event));
    return args.buffer;
}

static inline void destroy(PJRT_Buffer *buffer) {
    PJRT_Buffer_Destroy_Args args = {.struct_size = PJRT_Buffer_Destroy_Args_STRUCT_SIZE, .buffer = buffer};
    check(api->PJRT_Buffer_Destroy(&args));
}

/* A buffer of f32 for the rest of the session: of these sizes, or a scalar. */
SEXP floor_buffer(SEXP values, SEXP shape) {
    float data[16];
    int64_t dims[4];
    for (R_xlen_t i = 0; i < XLENGTH(values) && i < 16; i++) data[i] = (float)REAL(values)[i];
    for (R_xlen_t i = 0; i < XLENGTH(shape) && i < 4; i++) dims[i] = INTEGER(shape)[i];
    return R_MakeExternalPtr(upload(data, dims, XLENGTH(shape)), R_NilValue, R_NilValue);
}

/* The arguments of an execution with room for what they point to. */
typedef struct {
    PJRT_LoadedExecutable_Execute_Args args;
    PJRT_Buffer *inputs[MOST_ARGUMENTS], *output, *const *input_list, **output_list;
} Execution;

static inline void prepare(Execution *to, PJRT_LoadedExecutable *executable, size_t inputs) {
    to->input_list = to->inputs;
    to->output_list = &to->output;
    to->args = (PJRT_LoadedExecutable_Execute_Args){.struct_size = PJRT_LoadedExecutable_Execute_Args_STRUCT_SIZE,
                                                    .executable = executable,
                                                    .options = &options,
                                                    .argument_lists = &to->input_list,
                                                    .num_devices = 1,
                                                    .num_args = inputs,
                                                    .output_lists = &to->output_list,
                                                    .execute_device = device};
}

/* An execution of these buffers, prepared. */
SEXP floor_prepare(SEXP executable, SEXP inputs) {
    if (XLENGTH(inputs) > MOST_ARGUMENTS) Rf_error("too many inputs");
    Execution *execution = calloc(1, sizeof *execution);
    prepare(execution, R_ExternalPtrAddr(executable), XLENGTH(inputs));
    for (R_xlen_t i = 0; i < XLENGTH(inputs); i++) execution->inputs[i] = R_ExternalPtrAddr(VECTOR_ELT(inputs, i));
    return R_MakeExternalPtr(execution, R_NilValue, R_NilValue);
}

/* Executes n times, and ends each result. */
SEXP floor_execute(SEXP prepared, SEXP n) {
    Execution *execution = R_ExternalPtrAddr(prepared);
    for (int i = Rf_asInteger(n); i > 0; i--) {
        check(api->PJRT_LoadedExecutable_Execute(&execution->args));
        destroy(execution->output);
    }
    return R_NilValue;
}

static void finalize(SEXP x) {
    PJRT_Buffer *buffer = R_ExternalPtrAddr(x);
    if (!buffer) return;
    R_ClearExternalPtr(x);
    destroy(buffer);
}

/* Executes a program of two buffers, and gives the result as an R object. */
SEXP floor_call(SEXP executable, SEXP x, SEXP y) {
    Execution execution;
    prepare(&execution, R_ExternalPtrAddr(executable), 2);
    execution.inputs[0] = R_ExternalPtrAddr(x);
    execution.inputs[1] = R_ExternalPtrAddr(y);
    check(api->PJRT_LoadedExecutable_Execute(&execution.args));
    SEXP result = Rf_protect(R_MakeExternalPtr(execution.output, R_NilValue, R_NilValue));
    Rf_setAttrib(result, R_ClassSymbol, buffer_class);
    R_RegisterCFinalizerEx(result, finalize, FALSE);
    Rf_unprotect(1);
    return result;
}

/* The same with the result in an array like this one. */
SEXP floor_call_wrapped(SEXP executable, SEXP x, SEXP y, SEXP like) {
    SEXP array = Rf_protect(Rf_allocVector(VECSXP, XLENGTH(like)));
    SET_VECTOR_ELT(array, 0, floor_call(executable, x, y));
    for (R_xlen_t i = 1; i < XLENGTH(like); i++) SET_VECTOR_ELT(array, i, VECTOR_ELT(like, i));
    SHALLOW_DUPLICATE_ATTRIB(array, like);
    Rf_unprotect(1);
    return array;
}

/* Uploads a number n times, and ends each buffer. */
SEXP floor_upload(SEXP value, SEXP n) {
    for (int i = Rf_asInteger(n); i > 0; i--) {
        float number = (float)*REAL(value);
        destroy(upload(&number, NULL, 0));
    }
    return R_NilValue;
}

/* Asks the extractor about an array, and calls the function with the list of its data, n times. */
SEXP floor_callbacks(SEXP extractor, SEXP function, SEXP array, SEXP n) {
    for (int i = Rf_asInteger(n); i > 0; i--) {
        SEXP call = Rf_protect(Rf_lcons(extractor, Rf_cons(array, R_NilValue)));
        Rf_eval(call, R_GlobalEnv);
        SEXP list = Rf_protect(Rf_allocVector(VECSXP, 1));
        SET_VECTOR_ELT(list, 0, VECTOR_ELT(array, 0));
        call = Rf_protect(Rf_lcons(function, Rf_cons(list, R_NilValue)));
        Rf_eval(call, R_GlobalEnv);
        Rf_unprotect(3);
    }
    return R_NilValue;
}

/* Seconds that it takes to map memory and copy the numbers there. */
SEXP floor_copy(SEXP x) {
    size_t size = XLENGTH(x) * sizeof(double);
    double start = now();
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) Rf_error("no memory");
    memcpy(memory, REAL(x), size);
    double took = now() - start;
    munmap(memory, size);
    return Rf_ScalarReal(took);
}

static const R_CallMethodDef methods[] = {
    {"floor_now", (DL_FUNC)floor_now, 0},         {"floor_start", (DL_FUNC)floor_start, 1},
    {"floor_compile", (DL_FUNC)floor_compile, 1}, {"floor_buffer", (DL_FUNC)floor_buffer, 2},
    {"floor_prepare", (DL_FUNC)floor_prepare, 2}, {"floor_execute", (DL_FUNC)floor_execute, 2},
    {"floor_call", (DL_FUNC)floor_call, 3},       {"floor_call_wrapped", (DL_FUNC)floor_call_wrapped, 4},
    {"floor_upload", (DL_FUNC)floor_upload, 2},
    {"floor_callbacks", (DL_FUNC)floor_callbacks, 4}, {"floor_copy", (DL_FUNC)floor_copy, 1},
    {NULL, NULL, 0}};

void R_init_floors(DllInfo *info) { R_registerRoutines(info, NULL, methods, NULL, NULL); }
