// SPDX-License-Identifier: BSL-1.0
// bough tune one_sided: the options of bough::one_sided that are the fastest here, measured between two ranks.
//
// Of the sizes of pieces that with which the longest payload travels fastest; with it the threshold, below which payloads ride in
// blocks. Blocks then need to hold no more than the threshold.
#include "commands.hpp"
#include "json.hpp"
#include "parse.hpp"
#include "remote_links.hpp"

#include <algorithm>
#include <bit>
#include <iostream>

namespace cli {

int tune_one_sided(const tune_arguments& typed) {
    if (typed.ranks != tune_arguments{}.ranks && typed.ranks != "2")
        throw usage_error("--ranks", "one_sided is measured between 2 ranks, not '" + typed.ranks + "'");
    const remote_medium medium{typed.transport, typed.provider};
    const auto sizes = parse_size_range("--bytes", typed.bytes.empty() ? "64..64K" : typed.bytes);
    const std::uint64_t least = sizes.front(), most = sizes.back();
    if (least < 64 || most > std::uint64_t{16} << 20)
        throw usage_error("--bytes", "blocks and pieces have 64 bytes to 16M");
    bough::one_sided_tune_options options;
    options.timeout_ns = 60'000'000'000;
    options.rounds = 5 * static_cast<std::uint32_t>(parse_number("--iterations", typed.iterations, 1, 100'000));
    bough::one_sided_options best{.block_bytes = static_cast<std::uint32_t>(most)};
    bough::one_sided_tuning found;
    json pieces = json::array();
    double fastest_ns = 0;
    for (const std::uint64_t piece : sizes) {
        if (piece * 64 < most) continue; // hundreds of pieces a message: never the fastest
        bough::one_sided_options tried = best;
        tried.piece_bytes = static_cast<std::uint32_t>(piece);
        const bough::one_sided_tuning tuned = tune_over(medium, tried, options);
        const double ns = tuned.samples.back().wait_ns;
        pieces.push_back({{"piece_bytes", piece}, {"ns", ns}});
        if (found.samples.empty() || ns < fastest_ns) {
            fastest_ns = ns;
            found = tuned;
            best.piece_bytes = tried.piece_bytes;
        }
    }
    json samples = json::array();
    for (const auto& s : found.samples)
        samples.push_back({{"bytes", s.bytes}, {"block_ns", s.block_ns}, {"announced_ns", s.wait_ns}});
    const std::uint32_t block = std::clamp(found.static_bytes, 64u, best.block_bytes);
    print(std::cout, json{{"transport", typed.transport},
                          {"ranks", 2},
                          {"options",
                           {{"block_bytes", block},
                            {"piece_bytes", best.piece_bytes},
                            {"static_bytes", std::min(found.static_bytes, block)}}},
                          {"samples", samples},
                          {"pieces_of", found.samples.back().bytes},
                          {"pieces", pieces}});
    return 0;
}

} // namespace cli
