/* What the files of the tokenizer share. */
#ifndef TACET_API_JSON_JSON_SCAN_BUFFER_H
#define TACET_API_JSON_JSON_SCAN_BUFFER_H

#include "api/json/json_scan.h"

/* Reads until WANTED bytes are in the buffer or there are no more; gives how many are there. */
size_t json_scan_fill(struct json_scan *scan, size_t wanted);

/* The error sentence for position AT: "the text ends" or "the line ends" if so, else WHAT. */
const char *json_scan_unexpected(struct json_scan *scan, const char *what);

#endif
