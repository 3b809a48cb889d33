// SPDX-License-Identifier: BSL-1.0
// Which ways the messages of all ranks go: of threads, and of processes that tell each other.
#include "party.hpp"

#include "party_of.hpp"
#include <bough/transport/in_process.hpp>

#include <utility>

namespace cli {

namespace {

constexpr std::size_t words = 6; // of a row

class threads final : public asked_ranks {
public:
    explicit threads(bough::rank_t ranks) : world_(ranks) {
        for (bough::rank_t r = 0; r != ranks; ++r) ends_.push_back(world_.connect(r));
    }
    bough::rank_t rank() const override { return 0; }
    bough::any_cost_model costs() const override { return bough::default_costs_of(ends_[0]); }
    bough::problem known() override {
        return {.cores = bough::cores_of(ends_[0]), .switch_ns = bough::switch_ns_of(ends_[0])};
    }
    std::vector<bough::message_way> ways_of(const bough::candidate_list& from, std::size_t winner, bough::dimensions at,
                                            const bough::problem& what) override {
        std::vector<bough::message_way> made;
        if (winner == from.list.size()) return made;
        const bough::plan_ref plan = plan_of(from.list[winner], at);
        for (const auto& end : ends_) bough::way_teller(end).add(made, plan, what);
        return made;
    }

private:
    bough::in_process world_;
    std::vector<bough::in_process::endpoint> ends_;
};

} // namespace

std::unique_ptr<asked_ranks> ask_in_process(bough::rank_t ranks) { return std::make_unique<threads>(ranks); }

bough::plan_ref plan_of(const bough::candidate& c, bough::dimensions at) {
    at.blocks = c.blocks == bough::natural_blocks ? c.algorithm.natural_blocks(at.size) : c.blocks;
    return {c.algorithm, at};
}

std::vector<std::uint64_t> words_of(const std::vector<bough::message_way>& rows, bough::rank_t rank,
                                    bough::rank_t ranks, std::size_t most) {
    std::vector<std::uint64_t> made(ranks * most * words);
    std::size_t at = rank * most * words;
    for (const bough::message_way& w : rows) {
        made[at++] = std::uint64_t{static_cast<std::uint8_t>(w.way)} << 2 | (w.combines ? 2 : 0) | (w.from_far ? 1 : 0);
        made[at++] = w.count;
        made[at++] = w.least_bytes;
        made[at++] = w.most_bytes;
        made[at++] = w.from_bytes;
        made[at++] = w.to_bytes;
    }
    return made;
}

std::vector<bough::message_way> ways_in(const std::vector<std::uint64_t>& all) {
    std::vector<bough::message_way> made;
    for (std::size_t at = 0; at != all.size(); at += words) {
        if (all[at + 1] == 0) continue; // no row
        bough::message_way w;
        w.way = static_cast<bough::protocol>(all[at] >> 2);
        w.combines = (all[at] & 2) != 0;
        w.from_far = (all[at] & 1) != 0;
        w.count = all[at + 1];
        w.least_bytes = all[at + 2];
        w.most_bytes = all[at + 3];
        w.from_bytes = all[at + 4];
        w.to_bytes = all[at + 5];
        bough::detail::add_way(made, w);
    }
    return made;
}

} // namespace cli
