/* The answers of a processor that has AES instructions, one block at a time, and no AVX-512. Linked
 * before the library, it takes the place of the library's own answers. */
#include "algos/privacy/noise/processor.h"

bool processor_has_aes(void)
{
#ifdef __x86_64__
    return __builtin_cpu_supports("aes") && __builtin_cpu_supports("sse4.1");
#else
    return false;
#endif
}

bool processor_has_vaes(void)
{
    return false;
}

bool processor_has_avx512(void)
{
    return false;
}
