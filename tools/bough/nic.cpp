// SPDX-License-Identifier: BSL-1.0
// bough nic: prints NIC programs, what targets are able to do, and why one refuses.
#include "catalogue.hpp"
#include "commands.hpp"
#include "on_network.hpp"
#include "parse.hpp"
#include "simulation.hpp"
#include <bough/nic/assemble.hpp>
#include <bough/nic/check.hpp>
#include <bough/nic/choose_target.hpp>
#include <bough/nic/listing.hpp>
#include <bough/tree/flat.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iomanip>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cli {

namespace {

namespace nics = bough::nic;

constexpr std::uint64_t most_steps_times_ranks = std::uint64_t{1} << 30; // up to 1.2 gigabytes

constexpr std::array<const nics::capabilities*, 10> targets{&nics::host::limits,  &nics::simulated::limits,
                                                            &nics::xdp::limits,   &nics::tc::limits,
                                                            &nics::riscv::limits, &nics::libfabric_deferred::limits,
                                                            &nics::cxi::limits,   &nics::portals4::limits,
                                                            &nics::dpa::limits,   &nics::pspin::limits};

constexpr std::array<std::pair<std::string_view, nics::native>, 7> ops{
    std::pair{"sum", nics::native::sum}, {"min", nics::native::min},       {"max", nics::native::max},
    {"bit_and", nics::native::bit_and},  {"bit_or", nics::native::bit_or}, {"bit_xor", nics::native::bit_xor},
    {"own", nics::native::own}};

struct element_type {
    std::string_view name;
    nics::element element;
    std::uint32_t bytes;
    bool floating;
};
constexpr std::array<element_type, 6> types{element_type{"int32", nics::element::int32, 4, false},
                                            {"uint32", nics::element::uint32, 4, false},
                                            {"int64", nics::element::int64, 8, false},
                                            {"uint64", nics::element::uint64, 8, false},
                                            {"float32", nics::element::float32, 4, true},
                                            {"float64", nics::element::float64, 8, true}};

template <class All, class Name>
const auto& find(const char* argument, const All& all, std::string_view wanted, Name&& name) {
    std::string known;
    for (const auto& one : all) {
        if (name(one) == wanted) return one;
        known += (known.empty() ? "" : ", ") + std::string(name(one));
    }
    throw usage_error(argument, "there is no '" + std::string(wanted) + "'; known are " + known);
}

std::string figure(std::uint32_t n) { return n == 0xffff'ffffu ? "any" : std::to_string(n); }

// What a target can combine, and how.
std::string combines(const nics::capabilities& target) {
    std::string text, elements;
    const auto add = [](std::string& to, std::string_view name) { to += (to.empty() ? "" : ", ") + std::string(name); };
    for (const auto& [name, op] : ops)
        if (target.ops.contains(op)) add(text, name);
    for (const element_type& type : types)
        if (target.elements.contains(type.element)) add(elements, type.name);
    if (target.ops == nics::all_of<nics::native>) text = "anything";
    return text + (target.elements == nics::all_of<nics::element> ? "" : " of " + elements);
}

int print_targets() {
    std::cout << std::left << std::setw(20) << "target" << std::right << std::setw(7) << "ranks" << std::setw(7)
              << "steps" << std::setw(7) << "slots" << std::setw(9) << "counters" << std::setw(7) << "banks"
              << std::setw(9) << "elements" << std::setw(9) << "message" << std::setw(9) << "memory" << std::setw(7)
              << "sends"
              << "  multicast accumulates floating combines\n";
    for (const nics::capabilities* t : targets)
        std::cout << std::left << std::setw(20) << t->name << std::right << std::setw(7) << figure(t->ranks)
                  << std::setw(7) << figure(t->steps) << std::setw(7) << figure(t->slots) << std::setw(9)
                  << figure(t->counters) << std::setw(7) << figure(t->banks) << std::setw(9)
                  << figure(t->elements_per_bank) << std::setw(9) << figure(t->message_bytes) << std::setw(9)
                  << figure(t->memory_bytes) << std::setw(7) << figure(t->sends_per_arrival) << "  " << std::left
                  << std::setw(10) << (t->multicast ? "yes" : "no") << std::setw(12) << (t->accumulates ? "yes" : "no")
                  << std::setw(9) << (t->floating_point ? "yes" : "no") << combines(*t)
                  << (t->shown ? "" : "; by its documents") << '\n';
    std::cout << "elements: of a bank; message, memory: bytes, memory of all banks\n";
    return 0;
}

void print_hex(std::ostream& out, const nics::program& p) {
    const char* const digits = "0123456789abcdef";
    std::size_t column = 0;
    for (const std::uint8_t byte : nics::encoded(p)) {
        out << digits[byte >> 4] << digits[byte & 15];
        if (++column % 32 == 0) out << '\n';
    }
    if (column % 32 != 0) out << '\n';
}

// L,r,c,C; and, if combining two elements takes other than combining one, how long that takes. A line goes through both.
bough::model::lrc costs_of(const char* argument, const std::string& text, std::uint32_t element_bytes) {
    std::vector<double> ns;
    for (std::size_t first = 0; first <= text.size();) {
        const std::size_t end = std::min(text.find(',', first), text.size());
        ns.push_back(parse_time(argument, text.substr(first, end - first)));
        first = end + 1;
    }
    if (ns.size() != 4 && ns.size() != 5)
        throw usage_error(argument, "needs four times: L,r,c,C; a fifth is c of two elements");
    if (ns.size() == 5 && ns[4] < ns[2]) throw usage_error(argument, "c of two elements must be no less than c of one");
    const double more = ns.size() == 5 ? ns[4] - ns[2] : 0;
    return {.message_latency_ns = ns[0],
            .receive = {ns[1], 0},
            .combine = {ns[2] - more, more / element_bytes},
            .startup_ns = ns[3],
            .copy = {}};
}

using given = std::vector<std::pair<const char*, bool>>;
void refuse(const given& all, const std::string& why) {
    for (const auto& [argument, is_given] : all)
        if (is_given) throw usage_error(argument, "does not change " + why);
}
// What was typed, other than what holds if nothing is: of the programs that are printed, and of prices.
given for_programs(const nic_arguments& typed) {
    const nic_arguments left_out;
    return {{"ALGORITHM", !typed.plan.algorithm.empty()},
            {"--degree", !typed.plan.degree.empty()},
            {"--root", typed.plan.root != left_out.plan.root},
            {"--blocks", !typed.plan.blocks.empty()},
            {"--ordered", typed.plan.ordered},
            {"--format", typed.plan.format != left_out.plan.format},
            {"--rank", !typed.rank.empty()},
            {"--target", !typed.target.empty()},
            {"--op", typed.op != left_out.op},
            {"--banks", typed.banks != left_out.banks},
            {"--accumulate", typed.accumulate},
            {"--multicast", typed.multicast},
            {"--without-credits", typed.without_credits}};
}
given for_prices(const nic_arguments& typed) {
    const nic_arguments left_out;
    return {{"--host-costs", typed.host_costs != left_out.host_costs},
            {"--nic-costs", typed.nic_costs != left_out.nic_costs},
            {"--per-node", typed.per_node != left_out.per_node},
            {"--node-costs", typed.node_costs != left_out.node_costs}};
}

// Says where a reduction should run, and what else it might.
int choose(const nic_arguments& typed) {
    if (!typed.plan.collective.empty() && typed.plan.collective != "reduce")
        throw usage_error("COLLECTIVE", "is reduce, if anything, beside --choose");
    refuse(for_programs(typed), "where a reduction should run; it is for programs, without --choose");
    if (typed.per_node == nic_arguments{}.per_node)
        refuse({for_prices(typed).back()}, "the times of one process per node; it is for --per-node");
    if (typed.plan.ranks.empty()) throw usage_error("--choose", "needs --ranks");
    const bough::rank_t ranks = parse_ranks(typed.plan.ranks);
    if (ranks > 4096) throw usage_error("--ranks", "4096 are the most that a choice walks");
    const element_type& type = find("--type", types, typed.type, [](const auto& t) { return t.name; });
    const auto elements = typed.elements.empty() ? 1 : parse_number("--elements", typed.elements, 1, 65535);
    const nics::target_costs costs{.host = costs_of("--host-costs", typed.host_costs, type.bytes),
                                   .nic = costs_of("--nic-costs", typed.nic_costs, type.bytes)};
    const auto per_node = static_cast<bough::rank_t>(parse_number("--per-node", typed.per_node, 1, 1024));
    for (const auto& [who, with] : {std::pair{"hosts", &costs.host}, std::pair{"NICs", &costs.nic}})
        if (elements > 1 && with->combine_ns(0, elements * type.bytes) == with->combine_ns(0, type.bytes))
            std::cout << who << ": " << elements
                      << " elements are combined in the time of one; a fifth cost says otherwise\n";
    double before_ns = 0;
    if (per_node != 1) {
        const bough::model::lrc node = costs_of("--node-costs", typed.node_costs, type.bytes);
        before_ns =
            nics::priced_ns(bough::plan_reduce(bough::flat{}, {.size = per_node}), node, 1, elements * type.bytes);
        std::cout << per_node << " processes of a node among themselves: " << bough::time_text(before_ns)
                  << ", which is in the times below\n";
    }
    const auto made =
        nics::choose_target(ranks, elements * type.bytes, costs, {.elements = elements, .before_ns = before_ns});
    std::cout << nics::to_string(made);
    for (bough::rank_t splits = 0; elements > 1; ++splits) {
        const nics::placement* const hosts = made.best_with(false, splits);
        const nics::placement* const nic = made.best_with(true, splits);
        if (hosts == nullptr || nic == nullptr) break;
        std::cout << "  " << splits << (splits == 1 ? " split:  hosts, degree " : " splits: hosts, degree ")
                  << hosts->upper_degree << ": " << bough::time_text(hosts->predicted_ns) << "; NICs, degree "
                  << nic->upper_degree << ": " << bough::time_text(nic->predicted_ns) << '\n';
    }
    return 0;
}

} // namespace

int nic(const nic_arguments& typed) {
    if (typed.targets) {
        const std::string why = "the list of targets";
        refuse({{"--choose", typed.choose}, {"COLLECTIVE", !typed.plan.collective.empty()}}, why);
        refuse({{"--ranks", !typed.plan.ranks.empty()}, {"--elements", !typed.elements.empty()}}, why);
        refuse({{"--type", typed.type != nic_arguments{}.type}}, why);
        refuse(for_programs(typed), why);
        refuse(for_prices(typed), why);
        return print_targets();
    }
    if (typed.choose) return choose(typed);
    if (typed.plan.collective.empty() || typed.plan.algorithm.empty() || typed.plan.ranks.empty())
        throw usage_error("COLLECTIVE", "say which, an ALGORITHM, and --ranks; or --targets");
    refuse(for_prices(typed), "programs; it is for --choose");
    const auto& target = *find("--target", targets, typed.target.empty() ? "host" : typed.target,
                               [](auto* t) { return std::string_view(t->name); });
    const nics::native op = find("--op", ops, typed.op, [](const auto& o) { return o.first; }).second;
    const element_type& type = find("--type", types, typed.type, [](const auto& t) { return t.name; });
    find_collective(typed.plan.collective); // one without neighbours
    const problem what = parse_plan(typed.plan);
    // A bit for each step and rank, a few times: what programs may wait for (bough/nic/detail/network.hpp).
    if (check_affordable(what) > most_steps_times_ranks / what.at.size)
        throw usage_error("--ranks",
                          "that is too much to prove: the steps of all ranks times the ranks may be at most " +
                              std::to_string(most_steps_times_ranks) + "; ask for fewer ranks");
    const auto rank = typed.rank.empty()
                          ? bough::no_rank
                          : static_cast<bough::rank_t>(parse_number("--rank", typed.rank, 0, what.at.size - 1));

    const bool own = op == nics::native::own || (type.floating && op != nics::native::sum);
    const nics::needs needs{.element = type.element,
                            .element_bytes = type.bytes,
                            .op = own ? nics::native::own : op,
                            .commutative = op != nics::native::own,
                            .exact = op != nics::native::own && (!type.floating || op != nics::native::sum),
                            .integer_only = !type.floating};
    return with_plain_plan(what, [&](const auto& plan) {
        nics::assemble_options options{.elements = what.collective == collective::barrier ? 0 : plan.blocks(),
                                       .accumulate = typed.accumulate,
                                       .multicast = typed.multicast,
                                       .credits = !typed.without_credits};
        if (!typed.elements.empty())
            options.elements = static_cast<std::uint32_t>(parse_number("--elements", typed.elements, 0, 0xffff'ffffu));
        options.banks = static_cast<std::uint32_t>(parse_number("--banks", typed.banks, 1, 0xffff'ffffu));
        const nics::assembled_all made = nics::assemble_all(plan, needs, target, options);
        if (!made) {
            std::cout << target.name << " refuses: " << nics::to_string(made.why) << '\n';
            return 1;
        }
        for (const nics::program& p : made.programs) {
            if (rank != bough::no_rank && p.head.rank != rank) continue;
            if (typed.plan.format == "hex")
                print_hex(std::cout, p);
            else
                std::cout << nics::listing(p);
        }
        const nics::program_verdict verdict = nics::check(made.programs);
        const bool promised = verdict.fault == nics::program_fault::no_room && typed.without_credits;
        if (typed.plan.format == "text")
            std::cout << (promised ? std::string("checked, but for what hosts promise") : nics::to_string(verdict))
                      << '\n';
        return verdict || promised ? 0 : 1;
    });
}

} // namespace cli
