/* A Q-function that was paid for once and may be asked for ever: the mean over shards of experts
 * plus noise that is drawn once. Three forms:
 *
 *   path      one coordinate: values at public knots, and a Gaussian process's sample path per
 *             action that is never stored, only its key (algos/privacy/functions/gaussian_tree.h;
 *             releases of before, gaussian_path.h). Mean and key are secrets, wiped when freed.
 *   features  several: coefficients of public features, noise already in them; not secret.
 *   grid      several: values at the nodes of a public grid, noise already in them; not secret.
 *
 * Terms are public. The same state gives the same value, in any order, on any thread. */
#ifndef TACET_ALGOS_RELEASE_Q_RELEASE_H
#define TACET_ALGOS_RELEASE_Q_RELEASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "algos/policy.h"
#include "algos/privacy/functions/gaussian_path.h"
#include "algos/q_terms.h"

/* The name of a form: "path", "features" or "grid". */
const char *q_form_name(enum q_form form);

/* The form NAME of a Q-release ("path"), or -1. */
int q_form_find(const char *name);

/* The name of a unit: "expert" or "reward". */
const char *q_unit_name(enum q_unit unit);

/* The unit NAME of a Q-release ("expert"), or -1. */
int q_unit_find(const char *name);

struct q_release;

/* Makes a path over MEAN[(2^knot_bits + 1) x actions], knot by knot. MEAN and KEY are copied into
 * locked memory. The terms' sensitivity and sigma make the lattice of the noise. NULL: the terms
 * are out of range. */
struct q_release *q_release_path(const struct q_terms *terms, const double *mean,
                                 const uint8_t key[GAUSSIAN_PATH_KEY_BYTES]);

/* Makes a release by features from NETWORK, which relu_features_policy made. The release owns
 * NETWORK, which is freed also on failure. */
struct q_release *q_release_features(const struct q_terms *terms, struct policy *network);

/* Makes a grid from VALUES[knot_bits^state_dim x actions], last coordinate fastest, which are
 * copied. */
struct q_release *q_release_grid(const struct q_terms *terms, const double *values);

/* Wipes and frees RELEASE; takes NULL. */
void q_release_free(struct q_release *release);

/* The terms that RELEASE was made by, valid as long as RELEASE lives. */
const struct q_terms *q_release_terms(const struct q_release *release);

/* The network of a release by features, borrowed; NULL for the other forms. */
const struct policy *q_release_network(const struct q_release *release);

/* About how many multiply-adds take as long as one call of q_release_values: more than 0. */
size_t q_release_work(const struct q_release *release);

enum q_answer { Q_ANSWERED, Q_OUTSIDE, Q_NOT_A_NUMBER };
/* Writes VALUES[actions] at the raw STATE[state_dim]. *OUT_AT (or NULL) receives the coordinate
 * that is outside of the bounds or not finite. -0.0 counts as 0. */
enum q_answer q_release_values(const struct q_release *release, const double *state, double *values,
                               uint32_t *out_at);

/* Encodes everything but the terms as *OUT_SIZE bytes with a checksum. A path's bytes contain its
 * secrets. The caller wipes and frees the bytes. */
unsigned char *q_release_to_bytes(const struct q_release *release, size_t *out_size);

/* Decodes the release with TERMS from BYTES. NULL: the bytes are not such a release. */
struct q_release *q_release_from_bytes(const struct q_terms *terms, const unsigned char *bytes,
                                       size_t size);

#endif
