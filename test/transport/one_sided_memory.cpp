// SPDX-License-Identifier: BSL-1.0
// What memory messages by remote writes take: that of the pairs of ranks that talk; and what happens where there is none.
#include "support/catch.hpp"
#include "support/joined_ends.hpp"
#include <bough/allreduce.hpp>
#include <bough/communicator.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/remote/in_process.hpp>
#include <bough/remote/shared_memory.hpp>
#include <bough/transport/one_sided.hpp>
#include <bough/tree/binomial.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace bough;

namespace {

// How many bytes of its pages are there.
std::uint64_t backed(std::span<std::byte> memory) {
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    const auto first = reinterpret_cast<std::uintptr_t>(memory.data()) / page * page;
    const auto last = reinterpret_cast<std::uintptr_t>(memory.data() + memory.size());
    std::vector<unsigned char> there((last - first + page - 1) / page);
    if (::mincore(reinterpret_cast<void*>(first), last - first, there.data()) != 0) return ~std::uint64_t{0} >> 8;
    std::uint64_t bytes = 0;
    for (const unsigned char t : there) bytes += (t & 1) * page;
    return bytes;
}

// Whether memory is there only when it is reserved: since Linux 5.14.
bool reserves() {
#if defined(MADV_POPULATE_WRITE)
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    void* some = ::mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (some == MAP_FAILED) return false;
    const bool can = ::madvise(some, page, MADV_POPULATE_WRITE) == 0;
    ::munmap(some, page);
    return can;
#else
    return false;
#endif
}

// Whether the system may give more than the page that is touched.
bool gives_huge_pages() {
    std::ifstream setting("/sys/kernel/mm/transparent_hugepage/shmem_enabled");
    std::string all;
    std::getline(setting, all);
    for (const char* chosen : {"[always]", "[within_size]", "[force]"})
        if (all.find(chosen) != std::string::npos) return true;
    return false;
}

// An allreduce of 8 bytes over one tree, from every rank: what all regions take then, and what they took before.
struct usage {
    std::uint64_t before = 0, after = 0;
};
template <class Link>
usage of_one_tree(std::vector<Link> ends) {
    std::atomic<std::uint64_t> before{0}, after{0};
    std::atomic<std::size_t> done{0};
    std::vector<std::thread> ranks;
    std::vector<int> wrong(ends.size(), 0);
    for (std::size_t r = 0; r != ends.size(); ++r) {
        before += backed(ends[r].writes().region());
        ranks.emplace_back([&, r, mine = std::move(ends[r])]() mutable {
            communicator comm{std::move(mine)};
            double x = 1;
            allreduce(comm, std::span(&x, 1), plus{}, binomial{});
            wrong[r] = x != static_cast<double>(ends.size());
            for (++done; done < ends.size();) std::this_thread::yield();
            after += backed(comm.transport().writes().region());
            for (++done; done < 2 * ends.size();) std::this_thread::yield();
        });
    }
    for (std::thread& t : ranks) t.join();
    for (const int w : wrong) CHECK(w == 0);
    return {before, after};
}

template <class X>
struct short_of_memory : X { // for what belongs to one rank's lanes
    rank_t of;
    short_of_memory(X&& x, rank_t r) : X(std::move(x)), of(r) {}
    bool reserve(rank_t r, std::uint64_t, std::uint64_t) { return r != of; }
};

} // namespace

TEST_CASE("one_sided: a tree takes the memory of its edges, not of all pairs") {
    if (gives_huge_pages()) {
        WARN("skipped: this system gives more than the page that is touched");
        return;
    }
    if (!reserves()) {
        WARN("skipped: on this system all memory is there from the start");
        return;
    }
    constexpr rank_t p = 16;
    const std::uint64_t page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    const std::uint64_t region = one_sided_bytes(p), lane = region / (p - 1);
    const auto over_shared_memory = [&](bool sparse) {
        using link = one_sided<shared_memory_regions>;
        return of_one_tree(bough_test::joined_ends<link>(p, [&](rank_t, auto& wire, status&) {
            return std::optional(
                link(shared_memory_regions{wire, {.region_bytes = region, .sparse = sparse, .cores = 1}}));
        }));
    };
    const std::uint64_t edges = 2 * (p - 1); // to the root and back
    const usage sparse = over_shared_memory(true);
    CAPTURE(region, lane, sparse.before, sparse.after);
    CHECK(sparse.before <= p * page);                            // the greetings
    CHECK(sparse.after >= edges * (lane - 2 * page));            // reserved,
    CHECK(sparse.after <= p * page + edges * (lane + 2 * page)); // and no more than that
    CHECK(over_shared_memory(false).before >= p * region);
}

TEST_CASE("shared_memory_regions: too large a region has its name in what joining says") {
    constexpr std::uint64_t most = std::uint64_t{1} << 46;
    for (const std::uint64_t large : {most, most + 1}) {
        std::vector<status> why;
        const auto made = bough_test::joined_ends<shared_memory_regions>(
            2,
            [&](rank_t r, auto& wire, status& result) {
                return shared_memory_regions::join(wire, {.region_bytes = r == 1 ? large : 4096}, result);
            },
            &why);
        CHECK(made.empty());
        REQUIRE(why[1].argument != nullptr);
        CHECK(why[1].argument == std::string(large == most ? "region_bytes: there is not so much memory"
                                                           : "region_bytes: at most 64 TiB"));
        CHECK(why[1].code == (large == most ? errc::no_resources : errc::invalid_argument));
        CHECK((why[0].code == errc::peer_aborted && why[0].cause == why[1].code && why[0].peer == 1));
    }
}

TEST_CASE("one_sided: who finds no memory for a peer has lost it, and says why") {
    using regions = short_of_memory<in_process_regions::endpoint>;
    for (const rank_t short_one : {0u, 1u}) { // rank 0's own answers; the blocks at rank 1
        in_process_regions world(3, {.region_bytes = one_sided_bytes(3)});
        one_sided<regions> a(regions(world.connect(0), short_one)), b(regions(world.connect(1), no_rank)),
            c(regions(world.connect(2), no_rank));
        std::array<event, 4> events;
        const std::byte x{7};
        const envelope tag{.operation = 5};
        CHECK(a.post_send(1, tag, std::span(&x, 1), 1) != posted::complete);
        std::size_t found = a.poll(events);
        REQUIRE(found == (short_one == 0 ? 2u : 1u)); // without its own region it hears nobody
        for (std::size_t i = 0; i != found; ++i) {
            CHECK(events[i].what == event::kind::lost);
            CHECK(events[i].code == errc::no_resources);
            CHECK(events[i].peer == i + 1);
        }
        CHECK(a.post_send(1, tag, std::span(&x, 1), 2) == posted::failed);
        CHECK(a.post_send(2, tag, std::span(&x, 1), 3) == (short_one == 0 ? posted::failed : posted::complete));
        CHECK(a.poll(events) == 0);
        CHECK(b.post_send(2, tag, std::span(&x, 1), 4) == posted::complete); // others go on
    }
    in_process_regions world(1, {.region_bytes = one_sided_bytes(1) + 4096});
    one_sided<regions> alone(regions(world.connect(0), 0));
    CHECK(alone.allocate(64).empty());
}
