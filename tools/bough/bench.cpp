// SPDX-License-Identifier: BSL-1.0
#include "bench.hpp"

#include "parse.hpp"

#include <array>
#include <string>

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

namespace detail {

std::vector<double> laps::sorted() const {
    std::vector<double> ns;
    for (std::size_t run = 0; run != runs_; ++run) {
        std::uint64_t begin = begin_[run], end = 0;
        for (std::size_t at = run; at < begin_.size(); at += runs_) {
            begin = std::min(begin, begin_[at]);
            end = std::max(end, end_[at]);
        }
        ns.push_back(static_cast<double>(end - begin));
    }
    std::sort(ns.begin(), ns.end());
    return ns;
}

std::uint64_t count_wrong(const workload& work, const std::vector<std::byte>& got,
                          const std::vector<std::byte>& expected) {
    if (got == expected) return 0;
    std::uint64_t wrong = 0;
    const std::size_t size = work.op.element_size;
    for (std::size_t at = 0; at < got.size(); at += size)
        wrong += std::memcmp(got.data() + at, expected.data() + at, size) != 0;
    return wrong;
}

} // namespace detail

} // namespace cli
