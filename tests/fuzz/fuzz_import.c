/* Any bytes as a file for `tacet import`. The first byte chooses the request and whether the rest
 * is the file itself, or the members of an NPZ file, each as: a byte for its name, two for its
 * size, an array. Without that every change would end at the ZIP file's checksums. */
#include <math.h>
#include <minizip/zip.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/import/flat_steps.h"
#include "tests/fuzz/fuzz.h"

#define STEPS_MOST 5

static const char text[] =
    "{\"row\":\"r\",\"expert\":\"e\",\"features\":[{\"name\":\"x\",\"low\":-1,\"high\":1},"
    "{\"name\":\"level\",\"low\":0.01,\"high\":100,\"scale\":\"log\"},"
    "{\"name\":\"kind\",\"categories\":[\"a\",\"b\"]}],\"outside\":\"clip\","
    "\"actions\":[\"0\",\"1\",\"2\"],\"table\":{\"expert\":\"w\",\"episode\":\"s\",\"time\":\"t\","
    "\"action\":\"a\",\"reward\":\"r\",\"terminated\":\"e\",\"last_state\":\"repeat_or_drop\"}}";

static const char *member_name(uint8_t which)
{
    static const char *const others[] = {"who", "ends", "next", "x"};
    unsigned at = which % (FLAT_EXPERTS + 4U);
    static const struct import_request any = {.path = ""};
    return at < FLAT_EXPERTS ? flat_name(&any, at) : others[at - FLAT_EXPERTS];
}

static const char *write_zip(const uint8_t *data, size_t size)
{
    static char path[100];
    char name[40];
    snprintf(path, sizeof path, "%s/a.npz", fuzz_directory());
    zipFile zip = zipOpen64(path, APPEND_STATUS_CREATE);
    assert(zip);
    while (size > 0) {
        snprintf(name, sizeof name, "%s.npy", member_name(fuzz_byte(&data, &size)));
        size_t wanted = fuzz_byte(&data, &size);
        wanted += fuzz_byte(&data, &size) * 256U;
        wanted = wanted < size ? wanted : size;
        zipOpenNewFileInZip64(zip, name, NULL, NULL, 0, NULL, 0, NULL, Z_DEFLATED * (wanted % 2), 1,
                              0);
        zipWriteInFileInZip(zip, data, (unsigned)wanted);
        zipCloseFileInZip(zip);
        data += wanted;
        size -= wanted;
    }
    zipClose(zip, NULL);
    return path;
}

static void ignore_fault(void *context, uint64_t line, const char *pointer, const char *detail)
{
    unsigned *faults = context;
    assert(pointer && detail && line <= UINT32_MAX);
    (*faults)++;
}

static void read_file(const struct import_request *request, const unsigned *faults)
{
    struct import_source source;
    enum json_stream_status status = JSON_STREAM_GONE;
    bool open = import_source_open(&source, request, NULL), faulty = false;
    while (open) {
        struct trajectory t;
        const char *expert;
        unsigned before = *faults;
        status = import_source_next(&source, &t, &expert);
        if (status == JSON_STREAM_END || status == JSON_STREAM_GONE)
            break;
        assert(status == JSON_STREAM_FAULTY || *faults == before);
        faulty = faulty || status == JSON_STREAM_FAULTY;
        if (status == JSON_STREAM_FAULTY)
            continue;
        assert(t.length >= 1 && t.length <= STEPS_MOST && expert[0] != '\0');
        for (size_t i = 0; i < ((size_t)t.length + 1) * 4; i++)
            assert(isfinite(t.states[i]));
        for (uint32_t i = 0; i < t.length; i++)
            assert(t.actions[i] < 3 && isfinite(t.rewards[i]));
    }
    /* Missing rewards are told at the end, as one fault. */
    assert(!faulty || status != JSON_STREAM_END || *faults > 0);
    assert(status != JSON_STREAM_GONE || source.error[0] != '\0');
    assert(strlen(source.error) < sizeof source.error);
    import_source_close(&source);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct description *description; /* as long as the process */
    struct json_fault fault;
    unsigned faults = 0;
    uint8_t how = fuzz_byte(&data, &size);
    description = description ? description : description_parse(text, &fault);
    struct table_tally tally = table_tally_new(description);
    const struct import_request request = {
        .path = how >= 64 ? write_zip(data, size) : fuzz_file(data, size),
        .description = description,
        .max_steps = STEPS_MOST,
        .experts = (enum import_experts)(how % 3),
        .experts_key = "who",
        .episodes_per_expert = 1 + how / 3U % 2,
        .ends_by = how / 6 % 2 ? "terminals" : NULL,
        .last_state = how / 8 % 5 - 1,
        .faults = {&faults, ignore_fault},
        .tally = &tally,
    };
    read_file(&request, &faults);
    table_tally_free(&tally);
    return 0;
}
