// As much of JSON (RFC 8259) as tables need: the members of an object as they are written, and
// strings both ways. Bytes beyond ASCII are not looked at.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "formats/table_reader.h"

namespace prep {

// The members of the one object that `text` is, as views of it: names between their quotes, escapes
// and all, and values. The grammar is checked all through. throws Error corrupt, or limit for what
// is nested over TableReader::kMaxDepth or has more members than TableReader::kMaxColumns; the
// message does not name the table.
void split_json_object(std::string_view text, std::vector<std::string_view>& names,
                       std::vector<Cell>& values);

// What stands between the quotes of a JSON string, its escapes replaced. The string must have gone
// through split_json_object(). throws Error corrupt for half of a surrogate pair.
std::string unescape_json(std::string_view text);

// With quotes, and escapes only where there must be some.
void append_json_string(std::string_view text, std::string& out);

}  // namespace prep
