/* The table of well-formed sequences (RFC 3629, section 4). */
#include "api/json/utf8.h"

/* The properties of a first byte: the character's length, and the range of the second byte. */
static const struct utf8_row {
    unsigned char first, last, length, low, high;
} UTF8_ROWS[] = {
    {0x00, 0x7F, 1, 0, 0},       {0xC2, 0xDF, 2, 0x80, 0xBF}, {0xE0, 0xE0, 3, 0xA0, 0xBF},
    {0xE1, 0xEC, 3, 0x80, 0xBF}, {0xED, 0xED, 3, 0x80, 0x9F}, {0xEE, 0xEF, 3, 0x80, 0xBF},
    {0xF0, 0xF0, 4, 0x90, 0xBF}, {0xF1, 0xF3, 4, 0x80, 0xBF}, {0xF4, 0xF4, 4, 0x80, 0x8F},
};

#define ROW_COUNT (sizeof UTF8_ROWS / sizeof UTF8_ROWS[0])

size_t utf8_length(const unsigned char *bytes, size_t left)
{
    const struct utf8_row *row = UTF8_ROWS, *end = UTF8_ROWS + ROW_COUNT;
    while (row < end && bytes[0] > row->last)
        row++;
    if (row == end || bytes[0] < row->first || row->length > left)
        return 0;
    if (row->length > 1 && (bytes[1] < row->low || bytes[1] > row->high))
        return 0;
    for (size_t i = 2; i < row->length; i++)
        if ((bytes[i] & 0xC0) != 0x80)
            return 0;
    return row->length;
}

bool utf8_is_valid(const char *bytes, size_t size)
{
    for (size_t i = 0; i < size;) {
        size_t length = utf8_length((const unsigned char *)bytes + i, size - i);
        if (length == 0)
            return false;
        i += length;
    }
    return true;
}
