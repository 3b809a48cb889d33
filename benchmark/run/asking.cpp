// SPDX-License-Identifier: BSL-1.0
// What it costs to ask for a collective, without running it: the choice of an algorithm and the binding of its plan to
// this rank.
//
//   bench-asking              every collective at 16, 128 and 1024 ranks
//   bench-asking 1024         at this many ranks
//   bench-asking 1024 hash    instead: a hash of all plans that are chosen, and each choice in words
//
// `first` is the first call of a size, `root` that of a new root where there is one, `again` the same call again. Each is
// the median of several, in microseconds, with its allocations. The costs are those of shared memory, and every rank has a
// core of its own; `crowded` means that all ranks share two.
#include "../arguments.hpp"
#include "support/counted_new.hpp"
#include <bough/allgather.hpp>
#include <bough/allreduce.hpp>
#include <bough/alltoall.hpp>
#include <bough/barrier.hpp>
#include <bough/broadcast.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/reduce.hpp>
#include <bough/select/print_decision.hpp>
#include <bough/transport/measured_costs.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <span>
#include <vector>

namespace {

using namespace bough;

// A transport that loses everything: nothing is ever sent over it here.
class nowhere {
public:
    nowhere(rank_t size, rank_t cores) noexcept : size_(size), cores_(cores) {}
    rank_t rank() const noexcept { return size_ / 3; }
    rank_t size() const noexcept { return size_; }
    rank_t cores() const noexcept { return cores_; }
    static model::loggops default_costs() noexcept { return detail::shared_memory_costs.model; }
    static double switch_ns() noexcept { return detail::shared_memory_costs.switch_ns; }
    posted post_send(rank_t, const envelope&, std::span<const std::byte>, std::uint64_t) noexcept {
        return posted::complete;
    }
    posted take(std::uint64_t, std::span<std::byte>, std::uint64_t) noexcept { return posted::failed; }
    void release(std::uint64_t) noexcept {}
    std::size_t poll(std::span<event>) noexcept { return 0; }
    errc cancel(std::uint64_t) noexcept { return errc::invalid_argument; }
    std::uint64_t now_ns() const noexcept { return 0; }

private:
    rank_t size_, cores_;
};

struct figure {
    double us = 0;
    std::size_t allocations = 0;
};

template <class F>
figure timed(F&& f) {
    const std::size_t before = bough_test::allocations;
    const auto start = std::chrono::steady_clock::now();
    f();
    const auto end = std::chrono::steady_clock::now();
    return {std::chrono::duration<double, std::micro>(end - start).count(), bough_test::allocations - before};
}
figure median_of(std::vector<figure> all) {
    std::sort(all.begin(), all.end(), [](const figure& a, const figure& b) { return a.us < b.us; });
    return all[all.size() / 2];
}

struct row {
    figure first, root, again;
    bool has_root = false;
};

// `ask(comm, root)` binds a call and throws it away.
template <class Ask>
row measured(rank_t p, rank_t cores, bool has_root, Ask&& ask) {
    std::vector<figure> first, root, again;
    for (int i = 0; i != 7; ++i) {
        communicator comm{nowhere(p, cores)};
        first.push_back(timed([&] { ask(comm, 0); }));
        if (has_root)
            for (const rank_t r : {rank_t{1}, p / 2 - 1, p - 1}) root.push_back(timed([&] { ask(comm, r); }));
        ask(comm, 0);
        again.push_back(timed([&] { ask(comm, 0); }));
    }
    return {median_of(first), has_root ? median_of(root) : figure{}, median_of(again), has_root};
}

void print(const char* name, rank_t p, rank_t cores, std::uint64_t bytes, const row& r) {
    std::printf("%-10s %5u %-8s %9llu  %10.1f %7zu", name, p, cores == no_rank ? "" : "crowded",
                static_cast<unsigned long long>(bytes), r.first.us, r.first.allocations);
    if (r.has_root)
        std::printf("  %10.1f %7zu", r.root.us, r.root.allocations);
    else
        std::printf("  %10s %7s", "", "");
    std::printf("  %8.2f %5zu\n", r.again.us, r.again.allocations);
    std::fflush(stdout);
}

void measure_all(rank_t p) {
    for (const rank_t cores : {no_rank, rank_t{2}}) {
        print("barrier", p, cores, 0, measured(p, cores, false, [](auto& comm, rank_t) { (void)bind_barrier(comm); }));
        for (const std::uint64_t bytes : {std::uint64_t{8}, std::uint64_t{4096}, std::uint64_t{1} << 16,
                                          std::uint64_t{1} << 20, std::uint64_t{1} << 24}) {
            std::vector<double> x(std::max<std::uint64_t>(bytes / 8, p));
            const std::span<double> all(x.data(), bytes / 8);
            print("allreduce", p, cores, bytes,
                  measured(p, cores, false, [&](auto& comm, rank_t) { (void)bind_allreduce(comm, all, plus{}); }));
            print("reduce", p, cores, bytes, measured(p, cores, true, [&](auto& comm, rank_t r) {
                      (void)bind_reduce(comm, all, plus{}, root{r});
                  }));
            print("broadcast", p, cores, bytes,
                  measured(p, cores, true, [&](auto& comm, rank_t r) { (void)bind_broadcast(comm, all, root{r}); }));
            if (bytes / 8 < p) continue;
            const std::span<double> whole = all.first(bytes / 8 / p * p);
            print("allgather", p, cores, bytes,
                  measured(p, cores, false, [&](auto& comm, rank_t) { (void)bind_allgather(comm, whole); }));
            std::vector<double> y(whole.size());
            print("alltoall", p, cores, bytes, measured(p, cores, false, [&](auto& comm, rank_t) {
                      (void)bind_alltoall(comm, whole, std::span(y));
                  }));
        }
    }
}

std::uint64_t mix(std::uint64_t h, std::uint64_t value) noexcept {
    h = (h ^ value) * 0x9e37'79b9'7f4a'7c15u;
    return h ^ h >> 32;
}

// The plans that are chosen, with the steps of this rank.
template <class Goal>
std::uint64_t hash_of(const char* name, rank_t p, bool rooted) {
    std::uint64_t h = 0;
    for (const rank_t cores : {no_rank, rank_t{2}})
        for (int k = 0; k <= 26; k += 2)
            for (const rank_t root : {rank_t{0}, p / 2, p - 1}) {
                if (root != 0 && !rooted) continue;
                for (const requirements& needed : {requirements{}, order_preserving}) {
                    const dimensions at{p, root};
                    const problem what{.bytes = k == 0 ? 0 : std::uint64_t{1} << k,
                                       .cores = cores,
                                       .switch_ns = detail::shared_memory_costs.switch_ns};
                    const auto chosen =
                        detail::standard_plan<Goal>(at, what, detail::shared_memory_costs.model, needed, nullptr);
                    if (chosen == nullptr) continue;
                    const std::uint64_t id = bind_plan(*chosen, p / 3).plan_id;
                    h = mix(h, id);
                    std::cout << name << ' ' << p << (cores == no_rank ? "" : " crowded") << " bytes " << what.bytes
                              << " root " << root << (needed == order_preserving ? " in order" : "") << ": "
                              << chosen->algorithm().text().c_str() << " in " << chosen->blocks() << ' ' << std::hex
                              << id << std::dec << '\n';
                }
            }
    return h;
}

} // namespace

int main(int argc, char** argv) {
    const arguments::list given(argc, argv, 2, "bench-asking [ranks [hash]]");
    const auto only = given.number<rank_t>(1, "ranks", 3, 4096, 0);
    if (!given.word(2, "what to do", {"hash"}).empty()) {
        std::uint64_t h = hash_of<goal::barrier>("barrier", only, false);
        h = mix(h, hash_of<goal::allreduce>("allreduce", only, false));
        h = mix(h, hash_of<goal::reduce>("reduce", only, true));
        h = mix(h, hash_of<goal::broadcast>("broadcast", only, true));
        h = mix(h, hash_of<goal::allgather>("allgather", only, false));
        h = mix(h, hash_of<goal::alltoall>("alltoall", only, false));
        std::printf("%016llx\n", static_cast<unsigned long long>(h));
        return 0;
    }
    std::printf("%-10s %5s %-8s %9s  %10s %7s  %10s %7s  %8s %5s\n", "", "ranks", "", "bytes", "first, us", "alloc",
                "root, us", "alloc", "again, us", "alloc");
    for (const rank_t p : {16u, 128u, 1024u})
        if (only == 0 || p == only) measure_all(p);
    if (only != 0 && only != 16 && only != 128 && only != 1024) measure_all(only);
}
