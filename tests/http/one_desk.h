/* One server with one worker and its steward, for a whole suite:
 *
 *     TestSuite(NAME, .init = one_desk_open, .fini = one_desk_close);
 */
#ifndef TACET_TESTS_HTTP_ONE_DESK_H
#define TACET_TESTS_HTTP_ONE_DESK_H

#include "tests/http/scene.h"

extern struct server_process server;
extern struct desk desk;
extern char desk_data[64]; /* of one_desk_open_data: 40 experts, epsilon 8 */

void one_desk_open(void);
void one_desk_open_data(void);
void one_desk_close(void);

#endif
