// SPDX-License-Identifier: BSL-1.0
// The host's side of test/riscv: prints what the device must print, computed with the floating-point unit; or, with the
// argument `tables`, the bytes of the NIC programs for the device, which has no heap to assemble them in.
#include "nic/conformance_programs.hpp"
#include "op/soft_oracle.hpp"
#include "riscv/work.hpp"
#include <bough/algorithm/allreduce/tree.hpp>
#include <bough/nic/assemble.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/op/exact_sum.hpp>
#include <bough/op/min_max.hpp>
#include <bough/tree/fnomial.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cinttypes>
#include <cstdio>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace {

using namespace riscv;
namespace nic = bough::nic;

template <class T, class F>
struct of_unit {
    using word = typename F::word;
    static word apply(const auto& op, word a, word b) {
        return std::bit_cast<word>(op(std::bit_cast<T>(a), std::bit_cast<T>(b)));
    }
    static word add(word a, word b) { return apply(bough::plus{}, a, b); }
    static word minimum(word a, word b) { return apply(bough::min{}, a, b); }
    static word maximum_number(word a, word b) { return apply(bough::max_number{}, a, b); }
};

void print(const char* format, const char* what, u64 value) {
    std::printf("value %s %s %016" PRIx64 "\n", format, what, value);
}

template <class F, class Arithmetic>
void digests(const char* format, bool library) {
    digest add, minimum, maximum_number;
    for (u32 i = 0; i != pairs; ++i) {
        const pair_of<F> p(i);
        add.add(Arithmetic::add(p.a, p.b));
        minimum.add(Arithmetic::minimum(p.a, p.b));
        maximum_number.add(Arithmetic::maximum_number(p.a, p.b));
    }
    print(format, "add", add.value);
    print(format, "minimum", minimum.value);
    print(format, "maximum_number", maximum_number.value);
    if (library) print(format, "libgcc", add.value);
}

auto programs_of(std::uint32_t elements) {
    nic::assemble_options options;
    options.elements = elements;
    const auto plan = bough::plan_allreduce(bough::fnomial{.degree = 4}, {.size = 16});
    auto made = nic::assemble_all(plan, nic::needs_of<bough::plus, double>, nic::capabilities_of<nic::host>, options);
    if (!made) std::printf("refused: %s\n", nic::describe(made.why.reason));
    return made.programs;
}

template <u32 Elements>
void allreduce(const char* name, const auto& op, auto&& lift) {
    using T = decltype(lift(0u, 0u));
    const auto programs = programs_of(Elements);
    std::vector<nic::state<T>> states;
    for (const auto& p : programs) states.push_back(nic::make_state<T>(p));
    auto net = std::make_unique<network<T, Elements>>();
    std::vector<std::array<T, Elements>> values(programs.size());
    std::vector<const T*> input;
    for (u32 r = 0; r != programs.size(); ++r) {
        for (u32 k = 0; k != Elements; ++k) values[r][k] = lift(r, k);
        input.push_back(values[r].data());
    }
    if (!play(programs, states, static_cast<u32>(programs.size()), *net, input, op, [](auto&& f, const auto&) { f(); }))
        std::puts("not taken");
    digest d;
    for (u32 r = 0; r != programs.size(); ++r) {
        for (u32 k = 0; k != Elements; ++k) d.add(std::bit_cast<u64>(net->result[r][k]));
    }
    print("allreduce", name, d.value);
}

nic::limits room_of(const std::vector<std::vector<nic::program>>& sets) {
    nic::limits l;
    for (const auto& programs : sets) {
        const nic::limits one = nic::limits_of(programs);
        l = {std::max(l.steps, one.steps),   std::max(l.slots, one.slots), std::max(l.counters, one.counters),
             std::max(l.inlets, one.inlets), std::max(l.banks, one.banks), std::max(l.elements, one.elements)};
    }
    // Powers of two: the machine's bounds cost least then.
    for (u32* n : {&l.steps, &l.slots, &l.counters, &l.inlets, &l.elements}) *n = std::bit_ceil(*n);
    return l;
}

// Room for them, and their bytes, as every target gets them: to be decoded by the device.
void print_tables(const char* name, const std::vector<std::vector<nic::program>>& sets) {
    const nic::limits l = room_of(sets);
    std::printf("inline constexpr bough::nic::limits room_%s{%u, %u, %u, %u, %u, %u};\n", name, l.steps, l.slots,
                l.counters, l.inlets, l.banks, l.elements);
    std::printf("inline constexpr unsigned lengths_%s[][16] = {", name);
    for (const auto& programs : sets) {
        std::printf("{");
        for (const auto& p : programs) std::printf("%zu, ", nic::encoded_bytes(p.head));
        std::printf("}, ");
    }
    std::printf("};\ninline constexpr unsigned char bytes_%s[] = {", name);
    std::size_t n = 0;
    for (const auto& programs : sets)
        for (const auto& p : programs)
            for (const unsigned byte : nic::encoded(p)) std::printf(n++ % 32 == 0 ? "\n%u," : "%u,", byte);
    std::printf("\n};\n");
}

void print_all_tables() {
    print_tables("1", {programs_of(1)});
    print_tables("8", {programs_of(8)});
    print_tables("68", {programs_of(68)});
    std::vector<std::vector<nic::program>> sets;
    for (const auto& c : conformance::cases) {
        const auto made = conformance::programs_of(c, nic::capabilities_of<nic::riscv>);
        if (!made) std::printf("refused: %s\n", nic::describe(made.why.reason));
        sets.push_back(made.programs);
    }
    print_tables("conformance", sets);
}

} // namespace

int main(int argc, char** argv) {
    if (argc > 1 && std::string_view(argv[1]) == "tables") {
        print_all_tables();
        return 0;
    }
    digests<bough::f64_bits, of_unit<double, bough::f64_bits>>("f64", true);
    digests<bough::f32_bits, of_unit<float, bough::f32_bits>>("f32", true);
    digests<bough::f16_bits, test::oracle<bough::f16_bits>>("f16", false);
    digests<bough::bf16_bits, test::oracle<bough::bf16_bits>>("bf16", false);
    std::vector<double> many;
    for (u32 i = 0; i != 1000; ++i) many.push_back(std::bit_cast<double>(moderate(i)));
    print("limbs", "f64",
          std::bit_cast<u64>(bough::exact_sum{}.lower(bough::exact_sum{}.lift(std::span<const double>(many)))));
    const auto numbers = [](u32 r, u32 k) { return std::bit_cast<double>(moderate(16 * k + r)); };
    allreduce<1>("i64", bough::plus{}, [](u32 r, u32) { return moderate(r); });
    allreduce<1>("f64", bough::plus{}, numbers);
    allreduce<8>("f64x8", bough::plus{}, numbers);
    // The sum that 68 words stand for.
    std::vector<double> sixteen;
    for (u32 r = 0; r != 16; ++r) sixteen.push_back(numbers(r, 0));
    print("allreduce", "exact",
          std::bit_cast<u64>(bough::exact_sum{}.lower(bough::exact_sum{}.lift(std::span<const double>(sixteen)))));
    for (const conformance::one_case& c : conformance::cases) {
        print("conformance", "results", c.results);
        print("conformance", "messages", c.messages);
    }
}
