/* Rows of a CSV file (RFC 4180) that arrives in pieces, in constant memory: comma, double quotes, a
 * quote inside of quotes doubled, rows ended by LF or CRLF, a byte order mark skipped. Strict: what
 * is not that form is a fault of its row, and reading goes on with the next one. It knows cells
 * only; table_stream.c knows what they mean. */
#ifndef TACET_API_DATA_CSV_SCAN_H
#define TACET_API_DATA_CSV_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/json/byte_reader.h"

#define CSV_SCAN_BUFFER  65536
#define CSV_CELLS_MAX    8192       /* of a row */
#define CSV_ROW_TEXT_MAX (1U << 20) /* bytes of a row's cells */

enum csv_status {
    CSV_ROW,    /* cells hold one */
    CSV_FAULTY, /* the row is skipped; fault says why */
    CSV_END,
    CSV_GONE, /* the reader failed */
};

struct csv_scan {
    struct byte_reader reader; /* borrowed */
    size_t at, end;            /* what is left of the buffer */
    bool begun, finished, gone;
    uint64_t next_line; /* of the next byte, from 1 */
    uint64_t line;      /* where the row in hand begins */
    const char *fault;  /* a sentence about the row in hand */
    uint32_t cell_count;
    uint32_t *starts; /* owned: where each cell begins in text */
    char *text;       /* owned: the cells, each with a NUL */
    size_t used, room;
    unsigned char buffer[CSV_SCAN_BUFFER];
};

/* Begins. The caller frees with csv_scan_close. READER is borrowed. */
void csv_scan_open(struct csv_scan *scan, struct byte_reader reader);

/* Frees the row. */
void csv_scan_close(struct csv_scan *scan);

/* Reads the next row that is not empty. */
enum csv_status csv_scan_next(struct csv_scan *scan);

#endif
