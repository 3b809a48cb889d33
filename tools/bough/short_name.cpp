// SPDX-License-Identifier: BSL-1.0
// What an algorithm is called in a map of who wins where.
#include "short_name.hpp"

#include <string_view>

namespace cli {

std::string short_name(const bough::any_algorithm& a, bough::rank_t ranks) {
    std::string text = text_of(a);
    if (text.starts_with("tree_") && text.ends_with("}")) {
        const std::size_t open = text.find('{');
        text = text.substr(open + 1, text.size() - open - 2);
    }
    for (const char* ending : {"_allreduce", "_broadcast", "_reduce_scatter", "_allgather", "_alltoall"})
        if (text.ends_with(ending)) text.resize(text.size() - std::string_view(ending).size());
    constexpr std::string_view fnomial = "fnomial{.degree = ";
    if (text.starts_with(fnomial) && std::stoull(text.substr(fnomial.size())) >= ranks) return "flat";
    return text;
}

} // namespace cli
