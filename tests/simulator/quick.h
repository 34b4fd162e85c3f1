/* What makes a life quick and leaves it as it is: quick.c also has what the linker puts in the
 * place of slower parts of the program that say the same (tests.mk). */
#ifndef TACET_TESTS_SIMULATOR_QUICK_H
#define TACET_TESTS_SIMULATOR_QUICK_H

/* From now on SQLite's memory comes from lists of free pieces, without locks. Before its first use.
 */
void quick_memory(void);

#endif
