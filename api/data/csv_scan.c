/* A machine of four states over bytes. A faulty row is read to its line feed. */
#include "api/data/csv_scan.h"

#include <stdlib.h>
#include <string.h>

#include "memory/memory.h"
#include "memory/wipe.h"

#define END        (-1)
#define FIRST_ROOM 4096

void csv_scan_open(struct csv_scan *scan, struct byte_reader reader)
{
    scan->reader = reader;
    scan->at = scan->end = 0;
    scan->begun = scan->finished = scan->gone = false;
    scan->next_line = scan->line = 1;
    scan->fault = NULL;
    scan->cell_count = 0;
    scan->used = 0;
    scan->starts = memory_new(CSV_CELLS_MAX, sizeof *scan->starts);
    scan->room = FIRST_ROOM;
    scan->text = memory_new(1, scan->room);
}

void csv_scan_close(struct csv_scan *scan)
{
    free(scan->starts);
    wipe_free(scan->text);
}

/* ---- bytes */

/* Reads until MORE bytes stand in the buffer, or no more come. */
static void fill_buffer(struct csv_scan *scan, size_t more)
{
    memmove(scan->buffer, scan->buffer + scan->at, scan->end - scan->at);
    scan->end -= scan->at;
    scan->at = 0;
    while (scan->end < more && !scan->finished) {
        long got = scan->reader.read(scan->reader.context, scan->buffer + scan->end,
                                     CSV_SCAN_BUFFER - scan->end);
        scan->gone = got < 0;
        scan->finished = got <= 0;
        if (got > 0)
            scan->end += (size_t)got;
    }
}

/* The next byte, or END. */
static inline int next_byte(struct csv_scan *scan)
{
    if (scan->at == scan->end) {
        fill_buffer(scan, 1);
        if (scan->end == 0)
            return END;
    }
    int byte = scan->buffer[scan->at++];
    scan->next_line += byte == '\n';
    return byte;
}

static bool at_line_feed(struct csv_scan *scan)
{
    if (scan->at == scan->end)
        fill_buffer(scan, 1);
    return scan->at < scan->end && scan->buffer[scan->at] == '\n';
}

static bool begins_with(const struct csv_scan *scan, const char *bytes, size_t size)
{
    return scan->end >= size && memcmp(scan->buffer, bytes, size) == 0;
}

/* Looks at the first bytes: skips a byte order mark; other encodings are a fault of all that
 * follows, of which nothing more is read. */
static bool check_beginning(struct csv_scan *scan)
{
    scan->begun = true;
    fill_buffer(scan, 4);
    if (begins_with(scan, "\xEF\xBB\xBF", 3))
        scan->at = 3;
    if (begins_with(scan, "\x1F\x8B", 2) || begins_with(scan, "\x28\xB5\x2F\xFD", 4))
        scan->fault = "is compressed: send Content-Encoding: gzip or zstd with it";
    else if (begins_with(scan, "\xFF\xFE", 2) || begins_with(scan, "\xFE\xFF", 2))
        scan->fault = "is UTF-16: save the table as UTF-8";
    else if (begins_with(scan, "PK\x03\x04", 4))
        scan->fault = "is a ZIP file (a spreadsheet?): save the table as CSV";
    if (!scan->fault)
        return true;
    scan->finished = true;
    scan->at = scan->end;
    return false;
}

/* ---- cells */

static void begin_cell(struct csv_scan *scan)
{
    if (scan->cell_count == CSV_CELLS_MAX) {
        scan->fault = "has more than 8192 cells";
        return;
    }
    scan->starts[scan->cell_count++] = (uint32_t)scan->used;
}

/* Makes room for one byte more. False: the row is too long. */
static bool grow_text(struct csv_scan *scan)
{
    if (scan->room == CSV_ROW_TEXT_MAX) {
        scan->fault = "is longer than 1 MiB: is a quote not closed?";
        return false;
    }
    scan->room *= 2;
    scan->text = memory_must(wipe_resize(scan->text, scan->room));
    return true;
}

/* Adds BYTE, or the NUL that ends a cell. */
static inline void add_byte(struct csv_scan *scan, int byte)
{
    if (scan->used < scan->room || grow_text(scan))
        scan->text[scan->used++] = (char)byte;
}

/* Reads a cell in quotes, behind the first. Gives the byte behind it. */
static int quoted_cell(struct csv_scan *scan)
{
    while (!scan->fault) {
        int byte = next_byte(scan);
        if (byte == END) {
            scan->fault = "has a quote that is not closed: is the file cut short?";
            return END;
        }
        if (byte == '"') {
            byte = next_byte(scan);
            if (byte != '"')
                return byte;
        } else if (byte == '\0') {
            scan->fault = "has a NUL byte: this is no text";
        }
        add_byte(scan, byte);
    }
    return '"';
}

/* Reads a cell without quotes that begins with BYTE. Gives the byte behind it. */
static int plain_cell(struct csv_scan *scan, int byte)
{
    while (byte != ',' && byte != '\n' && byte != '\r' && byte != END && !scan->fault) {
        if (byte == '"')
            scan->fault = "has a quote inside of a cell: put the whole cell into quotes and double "
                          "the quotes in it";
        else if (byte == '\0')
            scan->fault = "has a NUL byte: this is no text";
        add_byte(scan, byte);
        byte = next_byte(scan);
    }
    return byte;
}

/* Goes behind the line feed that ends a faulty row, unless BYTE is it. */
static void skip_row(struct csv_scan *scan, int byte)
{
    while (byte != '\n' && byte != END)
        byte = next_byte(scan);
}

/* Reads the row that begins with BYTE. */
static void csv_row(struct csv_scan *scan, int byte)
{
    for (;;) {
        begin_cell(scan);
        if (!scan->fault)
            byte = byte == '"' ? quoted_cell(scan) : plain_cell(scan, byte);
        add_byte(scan, '\0');
        if (byte == '\r') {
            byte = next_byte(scan);
            if (byte != '\n' && !scan->fault)
                scan->fault = "has a carriage return without a line feed behind it";
        }
        if (byte != ',' && byte != '\n' && byte != END && !scan->fault)
            scan->fault = "has text behind a closing quote";
        if (scan->fault) {
            skip_row(scan, byte);
            return;
        }
        if (byte != ',')
            return;
        byte = next_byte(scan);
    }
}

enum csv_status csv_scan_next(struct csv_scan *scan)
{
    scan->fault = NULL;
    scan->cell_count = 0;
    scan->used = 0;
    if (!scan->begun && !check_beginning(scan))
        return CSV_FAULTY;
    int byte;
    do {
        scan->line = scan->next_line;
        byte = next_byte(scan);
        if (byte == '\r' && at_line_feed(scan))
            byte = next_byte(scan);
    } while (byte == '\n');
    if (byte != END)
        csv_row(scan, byte);
    if (scan->gone)
        return CSV_GONE;
    if (byte == END)
        return CSV_END;
    return scan->fault ? CSV_FAULTY : CSV_ROW;
}
