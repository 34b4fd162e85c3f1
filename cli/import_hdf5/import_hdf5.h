/* HDF5 as a kind of file for `tacet import`: D4RL's flat arrays, and Minari's groups. */
#ifndef TACET_CLI_IMPORT_HDF5_IMPORT_HDF5_H
#define TACET_CLI_IMPORT_HDF5_IMPORT_HDF5_H

#include "cli/import/import_source.h"

extern const struct import_kind import_hdf5;

#endif
