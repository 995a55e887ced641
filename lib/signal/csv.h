// Tables of numbers as text: a column a channel, a row a moment.
#pragma once

#include <memory>

#include "lib/core/bytes.h"
#include "lib/core/sample.h"
#include "lib/signal/recording.h"

namespace prep::signal {

// Whether it is text whose rows, after one that may hold names, are numbers: two rows or more of
// two or more columns, or many of one. `whole`: the head is all of the file.
bool looks_like_csv(ByteView head, bool whole);

// Between the cells are tabs, semicolons or commas (told by the first two rows); with the first
// two, decimals may have commas. Cells may be quoted. Empty cells, "NaN", "NA" and "null" are NaN.
// Lines before the table that start with '#' or '%' are passed over. A name may carry a unit: "Fp1
// (uV)", "Fp1 [mV]".
//
// A time column (see OpenOptions) gives the rate; where its steps jump, another segment starts. A
// column that counts rows ("index", "sample", or without a name) is left out. The numbers are held
// in memory. throws Error corrupt with the line's number, empty, limit (more than 2^27 numbers);
// usage where there is neither a time column nor a rate, or they contradict each other.
std::unique_ptr<Recording> open_csv(std::shared_ptr<const Content> content,
                                    const OpenOptions& options);

}  // namespace prep::signal
