/* Reading the members of a JSON object by a table: names, types, bounds and where the values go.
 * Every fault of the object is gathered with its JSON pointer, unknown members included, so that a
 * caller mends them all at once.
 *
 *     const char *name = NULL;
 *     double discount = 0.99;
 *     json_t *budget = NULL;
 *     const struct field fields[] = {
 *         field_text("name", &name, 1, 200),
 *         field_optional(field_number("discount", &discount, 0, 1)),
 *         field_object("budget", &budget),
 *     };
 *     if (!fields_read(call, call->body, "", fields, sizeof fields / sizeof fields[0])) ... */
#ifndef TACET_API_CALL_FIELDS_H
#define TACET_API_CALL_FIELDS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct app;
struct call;

enum field_type {
    FIELD_TEXT,
    FIELD_CHOICE,
    FIELD_NUMBER,
    FIELD_INTEGER,
    FIELD_BOOL,
    FIELD_OBJECT,
    FIELD_ARRAY,
    FIELD_ANY,
};

/* OUT is written only when the member is there and fits. Texts, objects and arrays are borrowed
 * from the body and live as long as the call. */
struct field {
    const char *name;
    enum field_type type;
    bool optional;              /* may be missing; null counts as missing */
    bool above_min;             /* the number must be greater than min, not equal */
    double min, max;            /* of the number, of the text's bytes, of the array's elements */
    const char *const *choices; /* FIELD_CHOICE: NULL-terminated; OUT receives the index */
    void *out; /* const char **, int *, double *, int64_t *, bool *, json_t ** (objects, arrays) */
};

/* Text of MIN to MAX bytes of UTF-8 without control characters. */
struct field field_text(const char *name, const char **out, size_t min, size_t max);
/* One of CHOICES (NULL-terminated); OUT receives its index. */
struct field field_choice(const char *name, int *out, const char *const *choices);
/* A finite number, min <= x <= max; an integer is a number too. */
struct field field_number(const char *name, double *out, double min, double max);
/* A finite number, 0 < x <= max. */
struct field field_positive(const char *name, double *out, double max);
/* An integer (3 or 3.0), min <= x <= max, both at most 2^53 in size. */
struct field field_integer(const char *name, int64_t *out, int64_t min, int64_t max);
/* true or false. */
struct field field_bool(const char *name, bool *out);
/* An object of any members. */
struct field field_object(const char *name, json_t **out);
/* An array of MIN to MAX elements of any type. */
struct field field_array(const char *name, json_t **out, size_t min, size_t max);
/* A value of any type; null is left out, as everywhere. */
struct field field_any(const char *name, json_t **out);
/* FIELD, but it may be missing. */
struct field field_optional(struct field field);

/* True when OBJECT has a member NAME of any type other than null. A member that was sent but is
 * invalid has been reported by fields_read and must not be reported as missing too. */
bool field_sent(const json_t *object, const char *name);

/* POINTER/NAME with RFC 6901's escapes, in the call's arena; a long name is cut. */
const char *fields_pointer(struct call *call, const char *pointer, const char *name);

/* Reads OBJECT, which stands at POINTER in the body ("" is the body itself, "/privacy" a member).
 * False when anything was wrong: the faults are in the call, and the handler returns
 * PROBLEM_VALIDATION once it has gathered all it wants. OBJECT that is not an object is a fault. */
bool fields_read(struct call *call, const json_t *object, const char *pointer,
                 const struct field *fields, size_t count);

/* Reads an array of exactly or at most COUNT finite numbers into OUT[count]. Returns how many it
 * read, or -1 after gathering faults (with pointers such as POINTER/3). EXACT: the array must have
 * COUNT. */
long fields_numbers(struct call *call, const json_t *array, const char *pointer, double *out,
                    size_t count, bool exact);

/* ---- observations: arrays of numbers that become float32 */

/* Reads ARRAY, which stands at POINTER, as DIM numbers that are finite as float32 into OUT. False:
 * the faults are in the call. */
bool state_read(struct call *call, const json_t *array, const char *pointer, uint32_t dim,
                float *out);

/* Reads an array of 1 to MOST states, which stands at "/states". *out is in the call's arena.
 * Returns the number of states, or 0 with the faults in the call. */
uint32_t states_read(struct call *call, const json_t *array, uint32_t dim, uint32_t most,
                     float **out);

/* The most states of one question whose answer takes WORK multiply-adds (more than 0) for each: as
 * the operator allows, and no more than what takes some milliseconds, during which every call of
 * its commit may wait. At least 1. */
uint32_t states_limit(const struct app *app, size_t work);

#endif
