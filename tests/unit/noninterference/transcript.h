/* Everything that callers can see of one run of the service, as text that two runs can be compared
 * by. Identifiers become ordinals (job#3). A value that is allowed to differ becomes its form
 * (<number>, <text of 43>), but only where the table of masked fields says so: the default is to
 * compare. */
#ifndef TACET_TESTS_UNIT_NONINTERFERENCE_TRANSCRIPT_H
#define TACET_TESTS_UNIT_NONINTERFERENCE_TRANSCRIPT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* A field that is not compared by its value, but by its form alone. */
struct mask {
    const char *request; /* fnmatch pattern of "GET /v1/jobs/{id}" */
    const char *who;     /* fnmatch pattern of the caller: "owner", "*" */
    const char *field;   /* fnmatch pattern of "/evaluation/mean_return", "header ETag", "body"; an
                            object as a whole is "{}/findings/judge" */
    const char *reason;
};

/* The table of masked fields (masks.c), *COUNT long. */
const struct mask *mask_all(size_t *count);

struct transcript;

/* An empty one; the caller frees it. */
struct transcript *transcript_new(void);
void transcript_free(struct transcript *transcript);

/* Begins a scene: identifiers are counted within it. */
void transcript_scene(struct transcript *transcript);

/* Begins a block: REQUEST as masks name it, WHO asked, and WHAT exactly (path, body), in which
 * identifiers are replaced. */
void transcript_block(struct transcript *transcript, const char *request, const char *who,
                      const char *what);

/* Adds a value to the block: a text, or every leaf of JSON below the pointer FIELD. The result is
 * the transcript_size of all objects that a mask hides as a whole. */
void transcript_text(struct transcript *transcript, const char *field, const char *text);
void transcript_number(struct transcript *transcript, const char *field, double number);
size_t transcript_json(struct transcript *transcript, const char *field, const json_t *value);

/* Bytes of the JSON text BODY[SIZE] that are not part of a number: the size of an answer, but for
 * the digits of what a mechanism released. (Numbers that are not masked are compared by their
 * values.) */
size_t transcript_size(const char *body, size_t size);

/* The identifiers that were met, in the order of their first appearance; NULL past the end. */
const char *transcript_id(const struct transcript *transcript, size_t index);

/* Writes the differences of two transcripts to OUT (NULL: nowhere), at most MOST; their number. */
size_t transcript_compare(const struct transcript *one, const struct transcript *two, size_t most,
                          FILE *out);

/* Values that row MASK of the table has masked. */
size_t transcript_masked(const struct transcript *transcript, size_t mask);

/* Answers, and lines of them. */
size_t transcript_blocks(const struct transcript *transcript);
size_t transcript_lines(const struct transcript *transcript);

#endif
