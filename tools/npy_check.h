// Whether a NumPy file (.npy) is whole: its header can be read, and it holds as many bytes as that
// says (numpy.org/doc/stable/reference/generated/numpy.lib.format.html).
#pragma once

#include "lib/core/bytes.h"

namespace prep {

// throws Error truncated, corrupt, or unsupported where the header is of a kind whose size cannot
// be told (records, Python objects).
void check_npy(ByteView file);

}  // namespace prep
