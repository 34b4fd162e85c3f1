/* Asked by CPUID; on other machines than x86-64 the answer is no. */
#include "algos/privacy/noise/processor.h"

#ifdef __x86_64__

bool processor_has_aes(void)
{
    return __builtin_cpu_supports("aes") && __builtin_cpu_supports("sse4.1");
}

bool processor_has_vaes(void)
{
#ifdef __clang__ /* of which older ones do not know the word */
    return false;
#else
    return __builtin_cpu_supports("vaes") && __builtin_cpu_supports("avx2");
#endif
}

bool processor_has_avx512(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

#else

bool processor_has_aes(void)
{
    return false;
}

bool processor_has_vaes(void)
{
    return false;
}

bool processor_has_avx512(void)
{
    return false;
}

#endif
