/* See one_desk.h. */
#include "tests/http/one_desk.h"

struct server_process server;
struct desk desk;
char desk_data[64];

void one_desk_open(void)
{
    server_open(&server, "--workers", "1", NULL);
    desk_open(&desk, &server);
}

void one_desk_open_data(void)
{
    one_desk_open();
    scene_dataset(desk.client, desk.steward, 40, desk_data);
}

void one_desk_close(void)
{
    desk_close(&desk);
    server_close(&server);
}
