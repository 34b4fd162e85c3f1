/* Which name somebody meant who has written another. */
#ifndef TACET_API_JSON_NEAR_NAME_H
#define TACET_API_JSON_NEAR_NAME_H

/* Of NAMES[count] the one that NAME is most likely meant for: the same but for case, dashes and a
 * version ("CartPole-v1" for "cartpole"), its first letters ("lr" for "learning_rate"), its
 * beginning, or at most two letters off. NULL: none. */
const char *near_name(const char *name, const char *const *names, unsigned count);

#define NEAR_HINT_SIZE 100

/* The same as the rest of a sentence, in OUT: "; did you mean \"cql\"?", or "". */
const char *near_hint(const char *name, const char *const *names, unsigned count,
                      char out[NEAR_HINT_SIZE]);

#endif
