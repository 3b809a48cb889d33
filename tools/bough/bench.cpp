// SPDX-License-Identifier: BSL-1.0
// Ranks as threads that run a plan again and again; and what they combine, by name.
#include "bench.hpp"

#include "bench_rank.hpp"
#include "parse.hpp"
#include <bough/engine/prepared.hpp>
#include <bough/transport/in_process.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace cli {

namespace {

template <class E>
struct named {
    std::string_view name;
    E value;
};

constexpr std::array<named<bough::op_kind>, 10> ops{{{"plus", bough::op_kind::plus},
                                                     {"multiplies", bough::op_kind::multiplies},
                                                     {"min", bough::op_kind::min},
                                                     {"max", bough::op_kind::max},
                                                     {"logical_and", bough::op_kind::land},
                                                     {"logical_or", bough::op_kind::lor},
                                                     {"logical_xor", bough::op_kind::lxor},
                                                     {"bit_and", bough::op_kind::band},
                                                     {"bit_or", bough::op_kind::bor},
                                                     {"bit_xor", bough::op_kind::bxor}}};
constexpr std::array<named<bough::element_type>, 6> types{{{"f64", bough::element_type::f64},
                                                           {"f32", bough::element_type::f32},
                                                           {"i64", bough::element_type::i64},
                                                           {"i32", bough::element_type::i32},
                                                           {"u64", bough::element_type::u64},
                                                           {"u32", bough::element_type::u32}}};

template <class E, std::size_t N>
E find(std::string_view argument, std::string_view name, const std::array<named<E>, N>& all) {
    std::string known;
    for (const auto& entry : all) {
        if (entry.name == name) return entry.value;
        known += (known.empty() ? "" : ", ") + std::string(entry.name);
    }
    throw usage_error(argument, "there is no '" + std::string(name) + "'; known are " + known);
}

template <class T>
void fill(std::vector<std::byte>& bytes, const workload& work, bough::rank_t rank) {
    for (std::uint64_t i = 0; i != work.count; ++i) {
        std::uint64_t value = (rank * std::uint64_t{7} + i * 3) % 16;
        // A product of at most 2^16, whatever the number of ranks.
        if (work.kind == bough::op_kind::multiplies) value = rank < 16 && value < 8 ? 2 : 1;
        const T element = static_cast<T>(value);
        std::memcpy(bytes.data() + i * sizeof(T), &element, sizeof(T));
    }
}

} // namespace

workload find_workload(std::string_view op, std::string_view type) {
    workload work;
    work.kind = find("--op", op, ops);
    work.type = find("--type", type, types);
    work.op = bough::builtin_op(work.kind, work.type);
    if (!work.op) throw usage_error("--op", std::string(op) + " makes no sense on " + std::string(type));
    return work;
}

void check_whole(const std::vector<std::uint64_t>& sizes, const workload& work, const std::string& type) {
    for (const std::uint64_t bytes : sizes)
        if (bytes % work.op.element_size != 0)
            throw usage_error("--bytes", std::to_string(bytes) + " bytes are no whole number of " + type);
}

std::vector<std::byte> values_of(const workload& work, bough::rank_t rank) {
    std::vector<std::byte> bytes(work.bytes());
    switch (work.type) {
    case bough::element_type::f32: fill<float>(bytes, work, rank); break;
    case bough::element_type::i64: fill<std::int64_t>(bytes, work, rank); break;
    case bough::element_type::i32: fill<std::int32_t>(bytes, work, rank); break;
    case bough::element_type::u64: fill<std::uint64_t>(bytes, work, rank); break;
    case bough::element_type::u32: fill<std::uint32_t>(bytes, work, rank); break;
    default: fill<double>(bytes, work, rank); break;
    }
    return bytes;
}

std::vector<std::byte> fold(const workload& work, const bough::contributions& ranks) {
    std::vector<std::byte> result = values_of(work, ranks.first);
    for (bough::rank_t r = ranks.first + 1; r != ranks.last; ++r) {
        const std::vector<std::byte> next = values_of(work, r);
        work.op(result.data(), next.data(), result.data(), work.count);
    }
    return result;
}

namespace {

// When each rank began and ended each run.
class laps {
public:
    laps(bough::rank_t ranks, std::size_t runs) : runs_(runs), begin_(ranks * runs, 0), end_(ranks * runs, 0) {}

    void set(bough::rank_t rank, std::size_t run, const lap& now) {
        begin_[rank * runs_ + run] = now.begin_ns;
        end_[rank * runs_ + run] = now.end_ns;
    }
    // From the first begin, or the last one, to the last end of each run, ascending.
    std::vector<double> sorted(bool from_last) const {
        std::vector<double> ns;
        for (std::size_t run = 0; run != runs_; ++run) {
            std::uint64_t begin = begin_[run], end = 0;
            for (std::size_t at = run; at < begin_.size(); at += runs_) {
                begin = from_last ? std::max(begin, begin_[at]) : std::min(begin, begin_[at]);
                end = std::max(end, end_[at]);
            }
            ns.push_back(static_cast<double>(end - begin));
        }
        std::sort(ns.begin(), ns.end());
        return ns;
    }

private:
    std::size_t runs_;
    std::vector<std::uint64_t> begin_, end_;
};

} // namespace

std::vector<std::vector<expectation>> expectations(const problem& what, const workload& work) {
    std::vector<std::vector<expectation>> all(what.at.size);
    // A barrier has no values.
    if (what.collective == collective::barrier || !work.check) return all;
    with_plain_plan(what, [&](const auto& plan) {
        const bough::dimensions at{plan.size(), plan.root(), plan.blocks()};
        std::map<std::pair<bough::rank_t, bough::rank_t>, std::shared_ptr<const std::vector<std::byte>>> folds;
        for (bough::rank_t r = 0; r != at.size; ++r)
            for (bough::block_t b = 0; b != at.blocks; ++b) {
                const bough::contributions wanted = plan.goal().result(at, r, b);
                if (wanted.empty()) continue;
                auto& known = folds[{wanted.first, wanted.last}];
                if (!known) known = std::make_shared<const std::vector<std::byte>>(fold(work, wanted));
                const auto begin = [&](bough::block_t k) {
                    return static_cast<std::size_t>(bough::block_begin(work.count, at.blocks, k)) *
                           work.op.element_size;
                };
                auto& mine = all[r];
                if (!mine.empty() && mine.back().last == begin(b) && mine.back().fold == known)
                    mine.back().last = begin(b + 1);
                else
                    mine.push_back({begin(b), begin(b + 1), known});
            }
    });
    return all;
}

std::uint64_t count_wrong(const workload& work, const std::vector<std::byte>& got, const expectation& expected) {
    const std::size_t size = work.op.element_size;
    std::uint64_t wrong = 0;
    if (std::memcmp(got.data() + expected.first, expected.fold->data() + expected.first,
                    expected.last - expected.first) == 0)
        return 0;
    for (std::size_t at = expected.first; at < expected.last; at += size)
        wrong += std::memcmp(got.data() + at, expected.fold->data() + at, size) != 0;
    return wrong;
}

timing time_plan(const problem& what, const workload& work) {
    const bough::rank_t size = what.at.size;
    const auto expected = expectations(what, work);
    laps times(size, work.iterations);
    std::atomic<std::uint64_t> checked{0}, wrong{0};
    bough::in_process world{size};
    const auto run_rank = [&](auto& comm, auto&& meet) {
        const bough::rank_t me = comm.rank();
        const checked_elements found = time_rank(comm, what, work, expected[me], meet,
                                                 [&](std::size_t i, const lap& now) { times.set(me, i, now); });
        checked += found.checked;
        wrong += found.wrong;
    };
    std::barrier<> together(size);
    world.run([&](auto transport) {
        if (work.emulate) { // messages of a barrier would cost as others do, and ranks begin at different times
            bough::communicator comm{bough::emulated{std::move(transport), *work.emulate}};
            struct place { // whoever fails leaves, so that nobody waits for it
                std::barrier<>& all;
                ~place() { all.arrive_and_drop(); }
            } mine{together};
            run_rank(comm, [&] { together.arrive_and_wait(); });
        } else {
            bough::communicator comm{std::move(transport)};
            run_rank(comm, [&] { meet_by_messages(comm); });
        }
    });
    return {times.sorted(!work.arrivals_ns.empty()), checked, wrong};
}

} // namespace cli
