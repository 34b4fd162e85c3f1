/* Trees of events as JSON, in the shape of dp_accounting's DpEvent classes: an object with the
 * members of the class and its name as "type".
 *
 *     {"type":"NoOpDpEvent"}                {"type":"NonPrivateDpEvent"}
 *     {"type":"GaussianDpEvent","noise_multiplier":1.1}
 *     {"type":"LaplaceDpEvent","noise_multiplier":2}
 *     {"type":"RandomizedResponseDpEvent","noise_parameter":0.5,"num_buckets":4}
 *     {"type":"EpsilonDeltaDpEvent","epsilon":0.1,"delta":1e-7}
 *     {"type":"DirichletDpEvent","actions":4,"concentration":20,"min_probability":0.1,
 *      "sensitivity":0.01}                                       -- ours
 *     {"type":"PoissonSampledDpEvent","sampling_probability":0.01,"event":{...}}
 *     {"type":"SelfComposedDpEvent","count":1000,"event":{...}}
 *     {"type":"ComposedDpEvent","events":[{...},...]}
 *
 * Names of classes and members are those of dp_accounting 0.6 (dp_event.py, attrs fields). It has
 * no JSON of its own; its to_named_tuple gives "class_name" and "module_name" beside the members,
 * which are read too. */
#ifndef TACET_API_WIRE_EVENT_JSON_H
#define TACET_API_WIRE_EVENT_JSON_H

#include <jansson.h>
#include <stdbool.h>

#include "algos/privacy/accounting/event.h"

#define EVENT_JSON_MAX_DEPTH  12    /* events inside of events */
#define EVENT_JSON_MAX_EVENTS 10000 /* of a tree, leaves and all */

/* Receives faults, each with a JSON pointer and a half-sentence. */
struct event_json_faults {
    void (*add)(void *context, const char *pointer, const char *detail);
    void *context;
};

/* Reads JSON, which stands at POINTER of some document, into *OUT, which is the caller's to clear.
 * An array is read as a ComposedDpEvent of its elements. Unknown types, unknown members, and
 * numbers out of range are faults; event_flatten checks the tree as a whole. False when there was a
 * fault: *OUT is empty. */
bool event_json_read(const json_t *json, const char *pointer,
                     const struct event_json_faults *faults, struct event *out);

/* EVENT as JSON; a new reference. Every leaf's Gaussian has sampling
 * rate 1, as event.h says. */
json_t *event_json(const struct event *event);

#endif
