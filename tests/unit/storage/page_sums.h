/* The sums in the pages of a database file, which is closed. */
#ifndef TACET_TESTS_UNIT_STORAGE_PAGE_SUMS_H
#define TACET_TESTS_UNIT_STORAGE_PAGE_SUMS_H

/* Removes the sums of all pages of the file at PATH, as if another program had written them: they
 * are read unchecked, and what else finds damage has to find it. */
void page_sums_remove(const char *path);

/* How many pages of the file at PATH have a sum, and have none. */
void page_sums_count(const char *path, unsigned *out_with, unsigned *out_without);

#endif
