#include "api/json/text.h"

#include <stdio.h>
#include <string.h>

const char *text_or_empty(const char *text)
{
    return text ? text : "";
}

void text_list_add(char *list, size_t size, const char *separator, const char *word)
{
    size_t used = strlen(list);
    if (used == 0)
        separator = "";
    snprintf(list + used, size - used, "%s%s", separator, word);
}

size_t text_pointer_put(char *out, char c)
{
    out[0] = c;
    if (c != '~' && c != '/')
        return 1;
    out[0] = '~';
    out[1] = c == '~' ? '0' : '1';
    return 2;
}

void text_clean(char *text, char instead)
{
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)text[0], next = (unsigned char)text[1];
        if (c == 0xc2 && next >= 0x80 && next < 0xa0)
            text[0] = text[1] = instead;
        else if (c < ' ' || c == 0x7f)
            *text = instead;
    }
}
