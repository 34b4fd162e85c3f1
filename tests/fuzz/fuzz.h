/* What the fuzzers share. A fuzzer is one file, fuzz_NAME.c, whose LLVMFuzzerTestOneInput asserts
 * what is true of any bytes; its kept inputs are corpus_NAME/, its words NAME.dict. */
#ifndef TACET_TESTS_FUZZ_FUZZ_H
#define TACET_TESTS_FUZZ_FUZZ_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/json/byte_reader.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

/* Bytes that arrive STEP at a time; 0: as many as are asked for. */
struct fuzz_source {
    const uint8_t *data;
    size_t size, at, step;
};

/* SOURCE (borrowed) as a reader. */
struct byte_reader fuzz_reader(struct fuzz_source *source);

#define FUZZ_SUM_START UINT64_C(0xcbf29ce484222325)

/* Extends the sum *SUM by bytes: two readings with the same sum gave the same. */
void fuzz_add(uint64_t *sum, const void *bytes, size_t size);

/* A copy of exactly that size, so that a byte too many is noticed; with a NUL behind it where TEXT
 * asks for one. The caller frees it. */
void *fuzz_copy(const uint8_t *data, size_t size, bool text);

/* Takes one byte from the front of the input; 0 at its end. */
uint8_t fuzz_byte(const uint8_t **data, size_t *size);

/* Writes the bytes to a file in memory, the same one at each call, and gives its path. */
const char *fuzz_file(const uint8_t *data, size_t size);

/* A new directory, in memory where there is /dev/shm, which goes when the process ends by itself;
 * static text. */
const char *fuzz_directory(void);

/* Changes the JSON text that begins at byte START of an input, perhaps with something behind it:
 * now and then a value, a member or an element of its tree, and else any byte, as libFuzzer does.
 * For LLVMFuzzerCustomMutator. */
size_t fuzz_mutate_json(uint8_t *data, size_t size, size_t max_size, unsigned seed, size_t start);

#endif
