// SPDX-License-Identifier: BSL-1.0
// bough-xdp: collectives by NIC programs inside the Linux kernel. One namespace per rank, one virtual NIC in each, one switch;
// tables from nic::assemble run in the machine of bough/nic/machine.hpp, compiled to BPF (nic.bpf.cpp). Hosts only ring.
//
//   bough-xdp            checks every kind of program, prints what the verifier and the clock say; exit 77: not possible here
//   bough-xdp --consistency [SAMPLES] [--csv FILE]    times reductions on NICs and on processes, with idle and with busy cores
//   bough-xdp --fit [SAMPLES]              the costs of these NICs from serial reductions; times and predictions by degree
//   ... --object FILE                      takes the compiled nic.bpf.cpp from there
//
// Each result is compared bit for bit with nic::run_simulated, which adds in the processor's floating-point unit, and with
// a plain sum; each count of messages with that of the simulation. Needs root, clang when it is built, libbpf, iproute2.
#include "consistency.hpp"
#include "faults.hpp"
#include "fit.hpp"
#include "nic.hpp"
#include "nic/conformance_programs.hpp"
#include "two_level.hpp"
#include <bough/algorithm/allreduce/tree.hpp>
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/core/random.hpp>
#include <bough/model/lrc.hpp>
#include <bough/nic/assemble.hpp>
#include <bough/nic/check.hpp>
#include <bough/nic/listing.hpp>
#include <bough/nic/run/simulated.hpp>
#include <bough/op/exact_sum.hpp>
#include <bough/op/limb_state.hpp>
#include <bough/op/soft_ops.hpp>
#include <bough/tree/fnomial.hpp>

#include <array>
#include <bit>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <sched.h>
#include <string>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <vector>

namespace {

namespace nic = bough::nic;
using bough::rank_t;
using std::chrono::steady_clock;
using xdp::word;

// What is combined, and how a host says it.
enum class kind { integers, doubles, exact };

using limbs_type = bough::limb_state<bough::f64_bits>;
static_assert(limbs_type::size == xdp::most_elements);

// In the processor: what the kernel's integer instructions must equal.
struct reference {
    kind what;
    word operator()(word a, word b) const {
        if (what != kind::doubles) return a + b;
        return std::bit_cast<word>(bough::plus{}(std::bit_cast<double>(a), std::bit_cast<double>(b)));
    }
};

// A double, whatever becomes of it.
double number(std::uint32_t instance, rank_t rank, std::size_t element) {
    const std::uint64_t x = bough::mix_bits(instance * 1'000'003u + rank * 1009u + element);
    // All digits in use, magnitudes 2^-32 to 2^31, both signs: sums round, and depend on their order.
    return std::bit_cast<double>((x & 0x800f'ffff'ffff'ffffu) | std::uint64_t{1023 - 32 + (x >> 52 & 63)} << 52);
}

struct hosts {
    kind what;
    std::vector<std::vector<std::vector<word>>> result; // by instance and rank
    hosts(kind k, std::uint32_t instances, std::size_t ranks)
        : what(k), result(instances, std::vector<std::vector<word>>(ranks)) {}
    void input(rank_t rank, std::uint32_t instance, std::span<word> mine) const {
        if (what == kind::exact && !mine.empty()) {
            const auto limbs = limbs_type::of(std::bit_cast<std::uint64_t>(number(instance, rank, 0)));
            for (std::size_t i = 0; i != mine.size(); ++i) mine[i] = limbs.word[i];
            return;
        }
        for (std::size_t i = 0; i != mine.size(); ++i) mine[i] = std::bit_cast<word>(number(instance, rank, i));
    }
    void complete(rank_t rank, std::uint32_t instance, std::span<const word> got) {
        result[instance][rank].assign(got.begin(), got.end());
    }
};

[[noreturn]] void fail(const std::string& what) { throw std::runtime_error(what); }

// Waits for a host to be told of `count` instances.
void wait_for(const xdp::nic& on, rank_t rank, std::uint64_t count) {
    const auto deadline = steady_clock::now() + std::chrono::seconds(5);
    for (unsigned spin = 0; on.told(rank) < count; ++spin) {
        if (spin % 64 != 63) continue;
        if (steady_clock::now() > deadline) fail("rank " + std::to_string(rank) + " was not told");
        sched_yield();
    }
}

// Every host rings for every instance, in an order that is drawn; a host that has no credits from the NIC waits until all
// have ended the instance that was in its bank. `take(instance, rank, result)` for each host that is told.
template <class Take>
void ring_all(const xdp::nic& on, std::span<const nic::program> programs, kind what, std::uint32_t instances,
              bool hosts_keep_pace, Take&& take) {
    const auto ranks = static_cast<rank_t>(programs.size());
    const std::uint32_t banks = 1u << programs[0].head.bank_bits;
    const hosts bring(what, 0, 0);
    bough::random_sequence random(instances, ranks, banks);
    std::vector<rank_t> order;
    for (rank_t r = 0; r != ranks; ++r) order.push_back(r);
    std::vector<std::uint32_t> taken(ranks, 0);
    std::array<word, xdp::most_elements> memory{};
    const auto take_of = [&](rank_t r, std::uint32_t count) {
        wait_for(on, r, count);
        for (; taken[r] < count; ++taken[r]) {
            for (std::size_t i = 0; i != memory.size(); ++i) memory[i] = on.completion_of(r).result[taken[r] & 3][i];
            take(taken[r], r, memory);
        }
    };
    for (std::uint32_t e = 0; e != instances; ++e) {
        for (rank_t i = ranks; i > 1; --i) std::swap(order[i - 1], order[static_cast<std::size_t>(random.below(i))]);
        if (e >= banks && hosts_keep_pace)
            for (rank_t r = 0; r != ranks; ++r) take_of(r, e - banks + 1);
        for (const rank_t r : order) {
            if (e >= banks) take_of(r, e - banks + 1);
            const std::uint16_t bell = programs[r].inlets[nic::bell_inlet].slot;
            std::array<word, xdp::most_elements> input{};
            const auto mine = std::span(input).first(bell == nic::no_index ? 0 : programs[r].slots[bell].count);
            bring.input(r, e, mine);
            on.ring(r, e, mine);
        }
    }
    for (rank_t r = 0; r != ranks; ++r) take_of(r, instances);
}

struct totals {
    unsigned runs = 0;
    std::uint64_t messages = 0, results = 0;
};

// One set of programs: the same results, and as many messages, as in virtual time.
void compare(xdp::nic& on, std::span<const nic::program> programs, kind what, bool credits, bool everyone_has_all,
             totals& sum) {
    constexpr std::uint32_t instances = 12;
    const auto ranks = static_cast<rank_t>(programs.size());
    hosts want(what, instances, ranks);
    // One instance at a time: those of hosts that keep pace.
    std::uint64_t expected_frames = std::uint64_t{ranks} * instances; // the bells
    for (std::uint32_t e = 0; e != instances; ++e) {
        struct at_instance {
            hosts& all;
            std::uint32_t instance;
            void input(rank_t r, std::uint32_t, std::span<word> mine) const { all.input(r, instance, mine); }
            void complete(rank_t r, std::uint32_t, std::span<const word> got) { all.complete(r, instance, got); }
        } bring{want, e};
        const auto run = nic::run_simulated<word>(programs, reference{what}, bough::model::lrc{}, bring);
        if (!run.finished) fail("the simulation did not end");
        expected_frames += run.messages + run.credits;
    }
    on.install(programs);
    ring_all(on, programs, what, instances, !credits, [&](std::uint32_t instance, rank_t r, const auto& got) {
        const auto& expected = want.result[instance][r];
        for (std::size_t i = 0; i != expected.size(); ++i)
            if (got[i] != expected[i])
                fail("instance " + std::to_string(instance) + ", rank " + std::to_string(r) + ": a wrong value");
        sum.results += expected.empty() ? 0 : 1;
        if (expected.empty() || (r != 0 && !everyone_has_all)) return;
        // A second derivation, without any program.
        if (what == kind::integers) {
            for (std::size_t i = 0; i != expected.size(); ++i) {
                word all = 0;
                for (rank_t s = 0; s != ranks; ++s) all += std::bit_cast<word>(number(instance, s, i));
                if (got[i] != all) fail("not the sum");
            }
        } else if (what == kind::exact) {
            std::vector<double> numbers;
            for (rank_t s = 0; s != ranks; ++s) numbers.push_back(number(instance, s, 0));
            limbs_type limbs;
            for (std::size_t i = 0; i != limbs_type::size; ++i) limbs.word[i] = got[i];
            const double rounded = bough::exact_sum{}.lower(bough::exact_sum{}.lift(std::span<const double>(numbers)));
            if (limbs.rounded() != std::bit_cast<std::uint64_t>(rounded)) fail("not the exact sum");
        }
    });
    std::uint64_t taken = 0;
    for (rank_t r = 0; r != ranks; ++r) {
        const volatile xdp::completion& c = on.completion_of(r);
        taken += c.answers[0];
        if (c.dropped != 0) fail("a frame could not be sent");
        for (unsigned a = 1; a != 8; ++a)
            if (c.answers[a] != 0)
                fail("rank " + std::to_string(r) + " refused a frame, for reason " + std::to_string(a));
    }
    if (taken != expected_frames)
        fail(std::to_string(taken) + " frames were taken, not " + std::to_string(expected_frames));
    ++sum.runs;
    sum.messages += taken;
}

// --- All programs of one NIC ----------------------------------------------------------------------------------------

struct flavour {
    const char* name;
    kind what;
};
constexpr flavour flavours[] = {{"nic_xdp_i64x1", kind::integers}, {"nic_xdp_i64x8", kind::integers},
                                {"nic_xdp_f64x1", kind::doubles},  {"nic_xdp_f64x8", kind::doubles},
                                {"nic_xdp_exact", kind::exact},    {"nic_tc_i64x1", kind::integers},
                                {"nic_tc_i64x8", kind::integers},  {"nic_tc_f64x1", kind::doubles},
                                {"nic_tc_f64x8", kind::doubles},   {"nic_tc_exact", kind::exact}};

template <class Plan>
std::vector<nic::program> made_of(const Plan& plan, const xdp::nic& on, kind what, nic::assemble_options options) {
    const nic::needs op = what == kind::doubles ? nic::needs_of<bough::soft_plus<bough::f64_bits>, double>
                                                : nic::needs_of<bough::plus, std::uint64_t>;
    const auto& target = on.is_xdp() ? nic::capabilities_of<nic::xdp> : nic::capabilities_of<nic::tc>;
    auto made = nic::assemble_all(plan, op, target, options);
    if (!made) fail("refused: " + nic::to_string(made.why));
    if (options.credits && !nic::check(made.programs)) fail("the programs are not sound");
    return made.programs;
}

// XDP sends one frame per arrival: a reduction without credits, and the result by multicast. Clones lift that: any tree, with
// credits, hosts running ahead.
totals check_all(xdp::nic& on, kind what) {
    totals sum;
    const bool any = !on.is_xdp();
    for (rank_t p = 2; p <= xdp::most_ranks; ++p) {
        const std::uint32_t n = on.elements();
        const bough::fnomial tree{.degree = 4};
        const auto reduce = bough::plan_reduce(tree, {.size = p});
        const auto run = [&](const auto& plan, const nic::assemble_options& options, bool everyone_has_all) {
            compare(on, made_of(plan, on, what, options), what, options.credits, everyone_has_all, sum);
        };
        run(reduce, {.elements = n, .banks = 2, .credits = any}, false);
        run(reduce, {.elements = n, .banks = 4, .multicast = true}, true);
        run(reduce, {.elements = 0, .multicast = true}, true); // a barrier
        if (what != kind::doubles) run(reduce, {.elements = n, .accumulate = true, .multicast = true}, true);
        if (any || p == 2) {
            run(bough::plan_allreduce(tree, {.size = p}), {.elements = n, .banks = 2}, true);
            run(bough::plan_allreduce(tree, {.size = p}), {.elements = 0}, true);
        } else {
            const auto no = nic::assemble_all(bough::plan_allreduce(tree, {.size = p}), nic::moves_of<word>,
                                              nic::capabilities_of<nic::xdp>);
            if (no.why.reason != nic::reason::sends) fail("XDP took a tree whose inner ranks send twice");
        }
    }
    return sum;
}

// The cases of test/nic/conformance.hpp that this kind of NIC can run: the results and messages of all other targets.
unsigned check_conformance(const std::string& object, const xdp::network& net, bool in_driver) {
    unsigned run = 0;
    for (const conformance::one_case& c : conformance::cases) {
        if (in_driver && !conformance::sends_once(c)) continue;
        const std::string program = std::string(in_driver ? "nic_xdp_" : "nic_tc_") +
                                    (c.numbers == conformance::numbers::doubles ? "f64x" : "i64x") +
                                    (c.elements == 8 ? "8" : "1");
        xdp::nic on(object, program, net, true);
        const auto made =
            conformance::programs_of(c, in_driver ? nic::capabilities_of<nic::xdp> : nic::capabilities_of<nic::tc>);
        if (!made) fail(std::string(c.name) + ": refused: " + nic::to_string(made.why));
        on.install(made.programs);
        word results = 0;
        for (std::uint32_t e = 0; e != conformance::instances; ++e) {
            for (rank_t r = 0; r != c.ranks; ++r) {
                std::array<word, conformance::most_elements> mine{};
                for (std::uint32_t k = 0; k != c.elements; ++k) mine[k] = conformance::input(c, e, r, k);
                on.ring(r, e, std::span(mine).first(c.elements));
            }
            for (rank_t r = 0; r != c.ranks; ++r) {
                wait_for(on, r, e + 1);
                std::uint32_t count = 0;
                for (const nic::step& s : made.programs[r].steps)
                    if (s.what == nic::kind::notify && s.a != nic::no_index) count = made.programs[r].slots[s.a].count;
                const volatile xdp::completion& at = on.completion_of(r);
                results += conformance::of_result(e, r, count, [&](std::uint32_t k) { return at.result[e & 3][k]; });
            }
        }
        const auto deadline = steady_clock::now() + std::chrono::seconds(2); // the last credits may be on their way
        while (on.tapped() != c.messages && steady_clock::now() < deadline) sched_yield();
        if (results != c.results) fail(std::string(c.name) + ": " + program + " has other results than other targets");
        if (on.tapped() != c.messages) fail(std::string(c.name) + ": " + program + " sends other messages");
        ++run;
    }
    return run;
}

struct cost {
    double nic_ns = 0, switch_ns = 0;
    std::uint64_t packets = 0;
};
// Of a packet, on average, over reductions of 16 ranks along a 4-nomial tree.
cost measure(xdp::nic& on, kind what) {
    constexpr std::uint32_t instances = 500;
    const auto plan = bough::plan_reduce(bough::fnomial{.degree = 4}, {.size = xdp::most_ranks});
    const auto programs = made_of(plan, on, what, {.elements = on.elements(), .banks = 4, .credits = !on.is_xdp()});
    on.install(programs);
    const xdp::program_time before = on.time(), switch_before = on.switch_time();
    ring_all(on, programs, what, instances, on.is_xdp(), [](std::uint32_t, rank_t, const auto&) {});
    const xdp::program_time after = on.time(), switch_after = on.switch_time();
    const auto mean = [](const xdp::program_time& a, const xdp::program_time& b) {
        return static_cast<double>(b.ns - a.ns) / static_cast<double>(b.runs - a.runs);
    };
    return {mean(before, after), mean(switch_before, switch_after), after.runs - before.runs};
}

std::string kernel_said;
int listen(libbpf_print_level level, const char* format, va_list arguments) {
    char line[512];
    if (level != LIBBPF_WARN) return 0;
    const int n = std::vsnprintf(line, sizeof line, format, arguments);
    if (kernel_said.size() < 4096) kernel_said += line;
    return n;
}

int skip(const std::string& why) {
    std::printf("skipped: %s\n", why.c_str());
    return 77;
}

// What to do besides checking, and how often.
struct wishes {
    unsigned consistency = 0, fit = 0, two_level = 0;
    std::string csv;
};

int run_all(const std::string& object, const wishes& wanted) {
    if (geteuid() != 0) return skip("this makes network namespaces and loads BPF: it needs root");
    if (std::system("ip -V > /dev/null 2>&1") != 0) return skip("ip is not installed (Debian package iproute2)");
    libbpf_set_print(listen);
    std::unique_ptr<xdp::network> net;
    try {
        net = std::make_unique<xdp::network>(xdp::most_ranks);
        xdp::nic(object, flavours[0].name, *net);
    } catch (const std::system_error& e) {
        for (const int denied : {EPERM, EACCES, ENOSYS, EOPNOTSUPP})
            if (e.code().value() == denied) return skip(e.what());
        throw;
    }
    if (wanted.consistency != 0) {
        xdp::print_consistency(object, *net, wanted.consistency, wanted.csv);
        return 0;
    }
    if (wanted.fit != 0) {
        xdp::print_fit(object, *net, wanted.fit);
        return 0;
    }
    if (wanted.two_level != 0) {
        xdp::print_two_level(object, *net, wanted.two_level);
        return 0;
    }
    const int statistics = bpf_enable_stats(BPF_STATS_RUN_TIME);
    std::printf("%-14s %8s %9s %8s %8s | %6s %8s %8s | %8s %10s\n", "program", "instr.", "verified", "bytes", "load ms",
                "runs", "messages", "results", "ns/packet", "ns/switch");
    for (const flavour& f : flavours) {
        xdp::nic on(object, f.name, *net);
        const totals t = check_all(on, f.what);
        const cost c = statistics >= 0 ? measure(on, f.what) : cost{};
        const xdp::program_report& r = on.report();
        std::printf("%-14s %8u %9u %8u %8.1f | %6u %8llu %8llu | %8.0f %10.0f\n", f.name, r.instructions,
                    r.verified_instructions, r.machine_bytes, r.load_ms, t.runs,
                    static_cast<unsigned long long>(t.messages), static_cast<unsigned long long>(t.results), c.nic_ns,
                    c.switch_ns);
        std::fflush(stdout);
    }
    if (statistics >= 0) close(statistics);
    for (const bool in_driver : {true, false})
        std::printf("%u cases of conformance by %s: results and messages as on every target\n",
                    check_conformance(object, *net, in_driver), in_driver ? "XDP" : "tc");
    xdp::check_faults(object, *net);
    std::puts("frames that lie about their sender are dropped, tables that do not fit refused, failures undone");
    std::puts("every value as in the simulation with the processor's floating-point unit, every message accounted for");
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    std::string object = BOUGH_XDP_OBJECT;
    wishes wanted;
    for (int i = 1; i < argc; ++i) {
        const std::string_view option = argv[i];
        if (option == "--object" && i + 1 < argc) {
            object = argv[++i];
        } else if (option == "--csv" && i + 1 < argc) {
            wanted.csv = argv[++i];
        } else if (option == "--consistency" || option == "--fit" || option == "--two-level") {
            unsigned& samples = option == "--fit"           ? wanted.fit
                                : option == "--consistency" ? wanted.consistency
                                                            : wanted.two_level;
            samples = option == "--fit" ? 301 : 1000;
            if (i + 1 < argc && argv[i + 1][0] != '-') samples = static_cast<unsigned>(std::atoi(argv[++i]));
            if (samples < 100) samples = 100;
        } else {
            std::fputs("usage: bough-xdp [--consistency [SAMPLES] [--csv FILE] | --fit [SAMPLES] | --two-level "
                       "[SAMPLES]] [--object FILE]\n",
                       stderr);
            return 2;
        }
    }
    try {
        return run_all(object, wanted);
    } catch (const std::exception& e) {
        std::fflush(stdout);
        std::fprintf(stderr, "bough-xdp: %s\n%s", e.what(), kernel_said.c_str());
        return 1;
    }
}
