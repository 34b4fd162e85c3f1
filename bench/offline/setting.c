/* NAME=VALUE:VALUE... */
#include "bench/offline/setting.h"

#include <stdlib.h>
#include <string.h>

const char *cell_setting_read(const char *text, struct cell_setting *out)
{
    size_t length = strcspn(text, "= ");
    *out = (struct cell_setting){.name = ""};
    if (length == 0 || length >= CELL_SETTING_NAME || text[length] != '=')
        return NULL;
    memcpy(out->name, text, length);
    text += length;
    while (out->value.count < PARAMETER_REALS_MAX && (*text == '=' || *text == ':')) {
        char *end;
        out->value.number[out->value.count++] = strtod(text + 1, &end);
        if (end == text + 1)
            return NULL;
        text = end;
    }
    return *text == '\0' || *text == ' ' ? text : NULL;
}
