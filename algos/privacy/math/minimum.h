/* The least value of a function of one number. */
#ifndef TACET_ALGOS_PRIVACY_MATH_MINIMUM_H
#define TACET_ALGOS_PRIVACY_MATH_MINIMUM_H

/* Where VALUE(context, x), falling and then rising, is least on [least, greatest]: walks downhill
 * from START, then golden section until x is known to WIDTH. INFINITY stands for out of reach.
 * *out_value (may be NULL) is what was found there: INFINITY when nothing finite was. Of a function
 * with several valleys it finds one. */
double minimum_of(double (*value)(const void *context, double x), const void *context, double start,
                  double least, double greatest, double width, double *out_value);

#endif
