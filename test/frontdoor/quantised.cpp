// SPDX-License-Identifier: BSL-1.0
// Sums that travel as encoded blocks: allreduce and reduce, blocking, started and bound, with codecs of bough and of a
// user; and calls that differ.
#include "support/catch.hpp"
#include <bough/algorithm/by_owner.hpp>
#include <bough/algorithm/ring.hpp>
#include <bough/allreduce.hpp>
#include <bough/barrier.hpp>
#include <bough/error.hpp>
#include <bough/op/quantised_sum.hpp>
#include <bough/operation.hpp>
#include <bough/reduce.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/tree/fnomial.hpp>

#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>
#include <string>
#include <vector>

using namespace bough;

namespace {

using floats = std::vector<float>;

float value_of(rank_t r, std::size_t i) {
    return std::sin(static_cast<float>(i * 7 + r)) * static_cast<float>(1 + i / 100);
}
floats vector_of(rank_t r, std::size_t count) {
    floats x(count);
    for (std::size_t i = 0; i != count; ++i) x[i] = value_of(r, i);
    return x;
}
// The result, to the last bit: what the op makes of the vectors of all ranks in order.
template <class O>
floats fold(const O& op, rank_t p, std::size_t count) {
    std::vector<std::vector<std::byte>> blocks(p);
    std::vector<const std::byte*> operands;
    for (rank_t r = 0; r != p; ++r) {
        blocks[r].resize(O::blocks_of(count) * O::block_bytes + 1);
        op.encode(vector_of(r, count), blocks[r].data());
        operands.push_back(blocks[r].data());
    }
    if (p != 1) op.combine_blocks(operands.data(), p, blocks[0].data(), O::blocks_of(count));
    floats made(count);
    op.decode(blocks[0].data(), made, p == 1);
    return made;
}
bool same_bits(const floats& a, const floats& b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

// A codec of a user: four values as 16-bit fixed-point numbers. It has no add().
struct fixed_point {
    static constexpr std::size_t values = 4, bytes = 8;
    float unit = 1.0f / 256;
    std::uint64_t hash_of_values() const noexcept { return static_cast<std::uint64_t>(1 / unit); }
    void encode(const float* from, std::byte* to) const noexcept {
        for (std::size_t i = 0; i != values; ++i) {
            const auto code = static_cast<short>(std::lrint(from[i] / unit));
            std::memcpy(to + 2 * i, &code, sizeof code);
        }
    }
    void decode(const std::byte* from, float* to) const noexcept {
        for (std::size_t i = 0; i != values; ++i) {
            short code = 0;
            std::memcpy(&code, from + 2 * i, sizeof code);
            to[i] = static_cast<float>(code) * unit;
        }
    }
};

template <class O>
int wrong_results(communicator<in_process::endpoint>& comm, const O& op, std::size_t count) {
    const rank_t r = comm.rank(), p = comm.size();
    const floats due = fold(op, p, count), mine = vector_of(r, count);
    int wrong = 0;
    floats x = mine, y(count, -1.0f);
    allreduce(comm, std::span(x), op);
    wrong += !same_bits(x, due);
    allreduce(comm, std::span<const float>(mine), std::span(y), op, by_owner{});
    wrong += !same_bits(y, due);
    for (rank_t to = 0; to != p; ++to) {
        x = mine;
        reduce(comm, std::span(x), op, root{to});
        wrong += !same_bits(x, r == to ? due : mine);
    }
    x = y = mine;
    operation first = start_allreduce(comm, std::span(x), op),
              second = start_reduce(comm, std::span(y), op, root{p - 1});
    second.wait(), first.wait();
    wrong += !same_bits(x, due) || !same_bits(y, r + 1 == p ? due : mine);
    persistent_operation bound = bind_allreduce(comm, std::span(x), op);
    for (int i = 0; i != 3; ++i) {
        x = mine;
        bound.start();
        bound.wait();
        wrong += !same_bits(x, due);
    }
    return wrong;
}

} // namespace

TEST_CASE("quantised: all forms give the bits of the op in rank order") {
    for (rank_t p = 1; p != 7; ++p) {
        std::atomic<int> wrong{0};
        in_process{p}.run([&](auto transport) {
            communicator comm{std::move(transport)};
            for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{255}, std::size_t{256},
                                            std::size_t{257}, std::size_t{3000}}) {
                wrong += wrong_results(comm, quantised_sum<>{}, count);
                wrong += wrong_results(comm, quantised_sum<int8_blocks<64>>{.after = 0.25f}, count);
                wrong += wrong_results(comm, quantised_sum<fixed_point>{.codec = {0.125f}}, count);
            }
            wrong += allreduce(comm, 2.0f, quantised_sum<>{.after = 0.5f}) != Approx(comm.size()).epsilon(0.02);
        });
        CAPTURE(p);
        CHECK(wrong == 0);
    }
}

TEST_CASE("quantised: calls that differ are told, and a plan that passes partial sums on is refused") {
    std::atomic<int> wrong{0};
    const auto both = [&](const auto& call, const char* text) {
        in_process{2}.run([&](auto transport) {
            communicator comm{std::move(transport)};
            status s;
            call(comm, s);
            wrong += !s || message_of(s).find(text) == std::string::npos;
            if (message_of(s).find(text) == std::string::npos) std::fprintf(stderr, "%s\n", message_of(s).c_str());
        });
    };
    both(
        [](auto& comm, status& s) {
            floats x(1000 + comm.rank(), 1); // the same number of blocks
            allreduce(comm, std::span(x), quantised_sum<>{}, s);
        },
        "the count differs");
    both(
        [](auto& comm, status& s) {
            floats x(1000, 1);
            allreduce(comm, std::span(x), quantised_sum<>{.after = 1.0f + static_cast<float>(comm.rank())}, s);
        },
        "the op differs");
    both(
        [](auto& comm, status& s) {
            floats x(1000, 1);
            allreduce(comm, std::span(x), quantised_sum<fixed_point>{.codec = {comm.rank() == 0 ? 0.5f : 0.25f}}, s);
        },
        "the op differs");
    both(
        [](auto& comm, status& s) {
            floats x(1000, 1);
            if (comm.rank() == 0)
                allreduce(comm, std::span(x), quantised_sum<>{}, s);
            else
                allreduce(comm, std::span(x), quantised_sum<int8_blocks<64>>{}, s);
        },
        "the op differs");
    both(
        [](auto& comm, status& s) {
            floats x(1000, 1);
            allreduce(comm, std::span(x), quantised_sum<>{}, ring{}, s);
        },
        "by_owner{}");
    both(
        [](auto& comm, status& s) {
            floats x(1000, 1);
            reduce(comm, std::span(x), quantised_sum<>{}, root{2}, s);
        },
        "root: not a rank of the group");
    both(
        [](auto& comm, status& s) {
            floats x(1000, 1);
            allreduce(comm, std::span(x), quantised_sum<>{}, fnomial{.degree = 2}, s);
        },
        "by_owner{}");
    both(
        [](auto& comm, status& s) {
            floats x(1000, 1);
            allreduce(comm, std::span(x), quantised_sum<>{}, automatic{.required = same_bits_for_any_partition}, s);
        },
        "choice: blocks of encoded values have not the bits");
    CHECK(wrong == 0);
}
