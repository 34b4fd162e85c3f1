/* tacet-import-hdf5: `tacet import` with the HDF5 library. It is a program of its own so that the
 * service does not load that library; `tacet import` goes on as this program when it is given an
 * HDF5 file. */
#include <sodium.h>
#include <stdio.h>

#include "cli/import/cli_import.h"
#include "cli/import_hdf5/import_hdf5.h"

int main(int argc, char **argv)
{
    if (sodium_init() < 0) {
        fprintf(stderr, "tacet import: the system's randomness is not available\n");
        return 1;
    }
    return import_with(argc - 1, argv + 1, &import_hdf5);
}
