// A PJRT plugin that computes nothing, for tests of what the runtime does with plugins that are odd. It is written
// against nothing but the layouts below, and compiled once per variant:
//
//   -DMAJOR=n -DMINOR=n   the version it states (0.81)
//   -DTABLE_BYTES=n       the size of its function table
//   -DNO_ENTRY            no GetPjrtApi
//   -DNO_TABLE            GetPjrtApi returns null
//   -DMISSING=n           function n of the table is null
//   -DINIT_FAILS          PJRT_Plugin_Initialize returns an error
//   -DCREATE_ARGS=n       the least size of PJRT_Client_Create_Args; EXACT: also the largest
//   -DORDER=n             buffers are stored: 0 row-major, 1 column-major, 2 the same described by strides,
//                         3 in tiles
//   -DNO_DEVICES          the client has none
//   -DON_DEVICE           the platform is "mock", not "cpu"
//   -DMODULE=n            the optimized program: 0 none, 1 bytes that are no message, 2 an unknown format,
//                         3 a module larger than the text lets expect
//   -DCROWDED=n           with n buffers alive there is no room for another one; programs give back their argument
//   -DCOSTS=n             the analysis of costs: 0 none, 1 an error, 2 counts, 3 what cannot be a count, 4 no list
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef MAJOR
#define MAJOR 0
#endif
#ifndef MINOR
#define MINOR 81
#endif
#ifndef CREATE_ARGS
#define CREATE_ARGS 72
#endif
#ifndef ORDER
#define ORDER 0
#endif
#ifndef MODULE
#define MODULE 0
#endif
#ifndef COSTS
#define COSTS 0
#endif

typedef struct { size_t size; void *extensions; } Head;
typedef struct { int code; char text[160]; } Error;
typedef struct { int64_t dims[8]; size_t rank, item; char *data; } Buffer;

// What is alive, and what was destroyed, for the tests to read.
int64_t mock_errors, mock_events, mock_buffers, mock_clients, mock_executables;
uint64_t mock_create_args_size, mock_upload_args_size;

static Error *fail(int code, const char *text) {
  Error *error = malloc(sizeof *error);
  error->code = code;
  snprintf(error->text, sizeof error->text, "%s", text);
  mock_errors++;
  return error;
}

static void error_destroy(struct { Head h; Error *error; } *a) { if (a->error) { free(a->error); mock_errors--; } }
static void error_message(struct { Head h; Error *error; const char *text; size_t len; } *a) {
  a->text = a->error->text;
  a->len = strlen(a->text);
}
static Error *error_code(struct { Head h; Error *error; int code; } *a) { a->code = a->error->code; return 0; }

static Error *initialize(Head *a) {
  (void)a;
#ifdef INIT_FAILS
  return fail(14, "the mock cannot start");
#else
  return 0;
#endif
}

static Error *event_destroy(struct { Head h; void *event; } *a) { if (a->event) { free(a->event); mock_events--; } return 0; }
static Error *event_ready(struct { Head h; void *event; char ready; } *a) { a->ready = 1; return 0; }
static Error *event_await(struct { Head h; int *event; } *a) { return *a->event ? fail(13, "the mock computed nothing") : 0; }
static void *event(int failed) { int *e = malloc(sizeof *e); *e = failed; mock_events++; return e; }

static Error *create(struct { Head h; void *options; size_t n; void *callbacks[4]; void *client; } *a) {
  char text[160];
  mock_create_args_size = a->h.size;
#ifdef EXACT
  if (a->h.size != CREATE_ARGS) {
#else
  if (a->h.size < CREATE_ARGS) {
#endif
    snprintf(text, sizeof text, "Unexpected PJRT_Client_Create_Args size: expected %d, got %zu. Check installed software versions.",
             CREATE_ARGS, a->h.size);
    return fail(3, text);
  }
  for (size_t i = 88; i < a->h.size; i++)
    if (((char *)a)[i]) return fail(3, "what the runtime does not know is not zero");
  a->client = malloc(1);
  mock_clients++;
  return 0;
}
static Error *client_destroy(struct { Head h; void *client; } *a) { free(a->client); mock_clients--; return 0; }
static Error *platform(struct { Head h; void *client; const char *text; size_t len; } *a) {
#ifdef ON_DEVICE
  a->text = "MOCK";
#else
  a->text = "cpu";
#endif
  a->len = strlen(a->text);
  return 0;
}
static int device;
static void *device_list[] = {&device};
static Error *devices(struct { Head h; void *client; void **devices; size_t n; } *a) {
  a->devices = device_list;
#ifdef NO_DEVICES
  a->n = 0;
#else
  a->n = 1;
#endif
  return 0;
}
static Error *description(struct { Head h; void *device; void *description; } *a) { a->description = a->device; return 0; }
static Error *device_id(struct { Head h; void *description; int id; } *a) { a->id = 7; return 0; }
static Error *local_id(struct { Head h; void *device; int id; } *a) { a->id = 5; return 0; }

static int is_crowded(void) {
#ifdef CROWDED
  return mock_buffers >= CROWDED;
#else
  return 0;
#endif
}

// Stores the array in the order of the variant.
static Error *upload(struct { Head h; void *client; const char *data; int type; const int64_t *dims; size_t rank; void *strides;
    size_t n_strides; int semantics; void *device, *memory, *layout, *done; Buffer *buffer; } *a) {
  static const size_t items[] = {0, 1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8, 2, 8, 16};
  mock_upload_args_size = a->h.size;
  if (a->rank == 1 && a->dims[0] == 13) return fail(8, "the mock has no room for 13");
  if (is_crowded()) return fail(8, "the mock is crowded");
  Buffer *b = calloc(1, sizeof *b);
  size_t n = 1;
  b->rank = a->rank;
  b->item = items[a->type];
  for (size_t d = 0; d < a->rank; d++) n *= b->dims[d] = a->dims[d];
  b->data = malloc(n * b->item + 1);
  for (size_t i = 0; i < n; i++) {
    size_t to = i;
    if (ORDER && b->rank == 2) to = i % b->dims[1] * b->dims[0] + i / b->dims[1];
    memcpy(b->data + to * b->item, a->data + i * b->item, b->item);
  }
  a->buffer = b;
  a->done = event(0);
  mock_buffers++;
  return 0;
}
static Error *buffer_destroy(struct { Head h; Buffer *buffer; } *a) {
  free(a->buffer->data);
  free(a->buffer);
  mock_buffers--;
  return 0;
}
// A vector of 4 fails when it is awaited.
static Error *ready(struct { Head h; Buffer *buffer; void *event; } *a) {
  a->event = event(a->buffer->rank == 1 && a->buffer->dims[0] == 4);
  return 0;
}
static Error *layout(struct { Head h; Buffer *buffer; struct { Head h; struct { Head h; int64_t *numbers; size_t n; void *tiles, *tile_sizes;
    size_t n_tiles; } of; int kind; } layout; } *a) {
  static int64_t row_major[] = {1, 0}, column_major[] = {0, 1}, strides[2];
  a->layout.of.n = a->buffer->rank;
  a->layout.of.numbers = ORDER == 1 ? column_major : row_major;
  a->layout.of.n_tiles = ORDER == 3;
  if (ORDER == 2) {
    strides[0] = a->buffer->item;
    strides[1] = a->buffer->item * a->buffer->dims[0];
    a->layout.of.numbers = strides;
    a->layout.kind = 1;
  }
  return 0;
}
static size_t bytes(Buffer *b) {
  size_t n = b->item;
  for (size_t d = 0; d < b->rank; d++) n *= b->dims[d];
  return n;
}
static Error *device_size(struct { Head h; Buffer *buffer; size_t size; } *a) { a->size = bytes(a->buffer); return 0; }
static Error *to_host(struct { Head h; Buffer *buffer; void *layout; void *to; size_t size; void *event; } *a) {
  if (a->size < bytes(a->buffer)) return fail(3, "the destination is too small");
  memcpy(a->to, a->buffer->data, bytes(a->buffer));
  a->event = event(0);
  return 0;
}
static int64_t pins;
static Error *pin(Head *a) { (void)a; pins++; return 0; }
static Error *unpin(Head *a) { (void)a; return --pins < 0 ? fail(13, "unpinned twice") : 0; }
static Error *pointer(struct { Head h; Buffer *buffer; void *data; } *a) {
  if (!pins) return fail(9, "not pinned");
  a->data = a->buffer->data;
  return 0;
}

// Every program takes one f32[2], says its text, and gives one f32[2]; none runs.
static Error *compile(struct { Head h; void *client, *program; const char *options; size_t len; void *executable; } *a) {
  a->executable = malloc(1);
  mock_executables++;
  return 0;
}
static Error *executable(struct { Head h; void *loaded, *executable; } *a) {
  a->executable = malloc(1);
  mock_executables++;
  return 0;
}
static Error *executable_destroy(struct { Head h; void *executable; } *a) { free(a->executable); mock_executables--; return 0; }
static Error *types(struct { Head h; void *executable; const int *types; size_t n; } *a) {
  static const int f32[] = {11};
  a->types = f32, a->n = 1;
  return 0;
}
static Error *dimensions(struct { Head h; void *executable; size_t n; const int64_t *dims; const size_t *ranks; } *a) {
  static const int64_t dims[] = {2};
  static const size_t ranks[] = {1};
  a->n = 1, a->dims = dims, a->ranks = ranks;
  return 0;
}
static Error *code_size(struct { Head h; void *executable; int64_t size; } *a) { a->size = -1; return 0; }
static Error *run(struct { Head h; void *executable, *options; Buffer *const *const *arguments; size_t n_devices, n; Buffer ***results; } *a) {
#ifdef CROWDED
  const Buffer *from = a->arguments[0][0];
  if (is_crowded()) return fail(8, "the mock is crowded");
  Buffer *b = malloc(sizeof *b);
  *b = *from;
  b->data = malloc(from->dims[0] * from->item);
  memcpy(b->data, from->data, from->dims[0] * from->item);
  a->results[0][0] = b;
  mock_buffers++;
  return 0;
#else
  (void)a;
  return fail(13, "the mock does not run programs");
#endif
}

// A module of XLA: its field 4 has the types of arguments and results, its field 3 is padding here.
static Error *module(struct { Head h; void *executable; struct { Head h; char *code; size_t size; const char *format; size_t len; } *program; } *a) {
  static const unsigned char head[] = {
      0x0a, 0xd4, 0xb8, 0x02,                                                        // the module, 40020 bytes
      0x22, 14, 0x0a, 5, 0x10, 11, 0x1a, 1, 2, 0x12, 5, 0x10, 11, 0x1a, 1, 2,         // f32[2] -> f32[2]
      0x1a, 0xc0, 0xb8, 0x02,                                                        // padding, 40000 bytes
  }, tail[] = {0x12, 2, 8, 1};
  const size_t size = sizeof head + 40000 + sizeof tail;
  if (MODULE == 0) return fail(12, "the mock has no modules");
  a->program->format = MODULE == 2 ? "poem" : "hlo_with_config";
  a->program->len = strlen(a->program->format);
  if (!a->program->code) { a->program->size = size; return 0; }
  if (MODULE == 1) { memset(a->program->code, 0xff, a->program->size); return 0; }
  if (a->program->size < size) return fail(3, "`program->code_size` is too small");
  memset(a->program->code, 0, size);
  memcpy(a->program->code, head, sizeof head);
  memcpy(a->program->code + size - sizeof tail, tail, sizeof tail);
  return 0;
}
// Properties by name; type 0 is text, 1 an int64, 3 a float.
typedef struct {
  Head h;
  const char *name;
  size_t name_len;
  int type;
  union { const char *text; int64_t integer; float real; } value;
  size_t value_len;
} Property;

static Error *costs(struct { Head h; void *executable; size_t n; const Property *properties; } *a) {
  static const Property all[][3] = {
      {{{0}, "utilization", 11, 3, {.real = 2}, 1}, {{0}, "flops", 5, 3, {.real = 1.5e6f}, 1},
       {{0}, "bytes accessed", 14, 1, {.integer = 8000}, 1}},
      {{{0}, "flops", 5, 3, {.real = -1}, 1}, {{0}, "bytes accessed", 14, 0, {.text = "many"}, 4},
       {{0}, 0, 0, 3, {.real = 1}, 1}},
  };
  if (COSTS == 1) return fail(13, "the mock cannot count");
  a->n = 3;
  if (COSTS != 4) a->properties = all[COSTS - 2];
  return 0;
}
static Error *never(Head *a) { (void)a; return fail(12, "the mock does not do this"); }

static struct {
  size_t size;
  void *extensions;
  struct { Head h; int major, minor; } version;
  void *functions[128];
} table;

#ifndef NO_ENTRY
void *GetPjrtApi(void) {
#ifdef NO_TABLE
  return 0;
#endif
  for (int i = 0; i < 128; i++) table.functions[i] = never;
  void **f = table.functions;
  f[0] = error_destroy, f[1] = error_message, f[2] = error_code, f[3] = initialize;
  f[5] = event_destroy, f[6] = event_ready, f[8] = event_await;
  f[10] = create, f[11] = client_destroy, f[12] = platform, f[16] = devices, f[20] = compile, f[22] = upload;
  f[23] = device_id, f[29] = description, f[31] = local_id;
  f[58] = buffer_destroy, f[63] = layout, f[64] = device_size, f[70] = to_host, f[72] = ready;
  f[40] = f[50] = executable_destroy, f[45] = code_size, f[48] = module, f[51] = executable, f[55] = run;
  if (COSTS) f[46] = costs;
  f[90] = types, f[91] = dimensions;
  f[74] = pin, f[75] = unpin, f[76] = pointer;
#ifdef MISSING
  f[MISSING] = 0;
#endif
  table.version.major = MAJOR, table.version.minor = MINOR;
#ifdef TABLE_BYTES
  table.size = TABLE_BYTES;
#else
  table.size = sizeof table;
#endif
  return &table;
}
#endif
