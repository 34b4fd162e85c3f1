/* Files of networks that carry their certificate: JSON as the last member "certificate",
 * safetensors as "certificate" in "__metadata__", ONNX as the last of metadata_props, under
 * "tacet.certificate". The certificate can be cut out again, and what is left is byte for byte the
 * file that it binds. */
#ifndef TACET_API_WIRE_CERTIFIED_FILE_H
#define TACET_API_WIRE_CERTIFIED_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* FILE of SIZE bytes, as network_export.h writes it in one of the three forms, with CERTIFICATE,
 * canonical JSON. The caller frees it; NULL: it is too large. */
char *certified_file_put(const char *file, size_t size, const char *certificate, size_t *out_size);

struct certified_file {
    char *file, *certificate; /* the latter ends with a NUL that its size does not count */
    size_t file_size, certificate_size;
};

/* Takes the certificate out of BYTES, which may be anything. False: it carries none. The caller
 * frees both parts of OUT. */
bool certified_file_cut(const char *bytes, size_t size, struct certified_file *out);

#endif
