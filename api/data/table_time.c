/* Dates of one form and one zone are in the order of their texts. */
#include "api/data/table_time.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "api/data/table_values.h"

/* True for 2024-05-17, 2024-05-17 13:00, 2024-05-17T13:00:00.5Z. */
static bool is_date(const char *text)
{
    static const char form[] = "dddd-dd-dd";
    size_t size = strlen(text);
    if (size < sizeof form - 1 || size >= TABLE_TIME_TEXT)
        return false;
    for (size_t i = 0; i < sizeof form - 1; i++)
        if (form[i] == 'd' ? !isdigit((unsigned char)text[i]) : text[i] != form[i])
            return false;
    const char *rest = text + sizeof form - 1;
    return *rest == '\0' || ((*rest == 'T' || *rest == ' ') && isdigit((unsigned char)rest[1]) &&
                             rest[1 + strspn(rest + 1, "0123456789:.Z")] == '\0');
}

/* True when B has digits where A has them, and otherwise the same text. */
static bool is_written_alike(const char *a, const char *b)
{
    size_t i = 0;
    for (; a[i] != '\0' && b[i] != '\0'; i++)
        if (a[i] != b[i] && !(isdigit((unsigned char)a[i]) && isdigit((unsigned char)b[i])))
            return false;
    return a[i] == b[i];
}

static const char *time_next_date(struct table_time *time, const char *text)
{
    if (time->begun && (!time->is_date || !is_written_alike(time->date, text)))
        return "must be written as the time of the row before it is";
    if (time->begun && strcmp(text, time->date) <= 0)
        return "must be after the time of the row before it in the episode";
    time->begun = time->is_date = true;
    snprintf(time->date, sizeof time->date, "%s", text);
    return NULL;
}

const char *table_time_next(struct table_time *time, const char *text)
{
    double number = 0;
    if (is_date(text))
        return time_next_date(time, text);
    if (table_number(text, &number))
        return "must be a number, or a date and time such as 2024-05-17 13:00:00";
    if (time->begun && time->is_date)
        return "must be written as the time of the row before it is";
    if (time->begun && number <= time->number)
        return "must be after the time of the row before it in the episode";
    time->begun = true;
    time->number = number;
    return NULL;
}
