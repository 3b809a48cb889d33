// SPDX-License-Identifier: BSL-1.0
// Once warm, a collective allocates nothing: not on the heap of any rank, for short messages and for long ones.
#include "support/catch.hpp"
#include <bough/allreduce.hpp>
#include <bough/barrier.hpp>
#include <bough/broadcast.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/reduce.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/transport/self.hpp>

#include <array>
#include <cstdlib>
#include <mutex>
#include <new>
#include <vector>

namespace {

// Of this thread.
thread_local std::size_t allocations = 0;

void* allocate(std::size_t bytes) {
    ++allocations;
    if (void* p = std::malloc(bytes == 0 ? 1 : bytes)) return p;
    throw std::bad_alloc();
}
void* allocate(std::size_t bytes, std::align_val_t alignment) {
    ++allocations;
    const auto a = static_cast<std::size_t>(alignment);
    if (void* p = std::aligned_alloc(a, (bytes + a - 1) / a * a)) return p;
    throw std::bad_alloc();
}

} // namespace

void* operator new(std::size_t bytes) { return allocate(bytes); }
void* operator new[](std::size_t bytes) { return allocate(bytes); }
void* operator new(std::size_t bytes, std::align_val_t a) { return allocate(bytes, a); }
void* operator new[](std::size_t bytes, std::align_val_t a) { return allocate(bytes, a); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return ++allocations, std::malloc(bytes + 1); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
    return ++allocations, std::malloc(bytes + 1);
}
void operator delete(void* p, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete[](void* p, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }

namespace {

using namespace bough;

// Allocations of one rank after warm-up, by collective: allreduce, reduce, broadcast, barrier. A barrier keeps the ranks
// together: messages that come many operations early are copied, and that does allocate.
template <class X>
std::array<std::size_t, 4> counted(communicator<X>& comm, std::size_t count) {
    std::vector<std::uint64_t> in(count, 1), out(count, 0);
    const std::span<const std::uint64_t> from(in);
    const std::span<std::uint64_t> into(out);
    status s;
    std::error_code ec;
    const auto measure = [&](auto&& call) {
        for (int i = 0; i != 50; ++i) call(), barrier(comm, ec);
        const std::size_t before = allocations;
        for (int i = 0; i != 100; ++i) call(), barrier(comm, ec);
        return s || ec ? ~std::size_t{0} : allocations - before;
    };
    return {measure([&] {
                allreduce(comm, from, into, plus{}, s);
                allreduce(comm, into, plus{}, recursive_doubling{}, s);
                allreduce(comm, into, plus{}, fnomial{.degree = 3}, ec);
            }),
            measure([&] {
                reduce(comm, from, into, plus{}, root{comm.size() - 1}, s);
                reduce(comm, into, plus{}, root{0}, fnomial{.degree = 4}, ec);
            }),
            measure([&] {
                broadcast(comm, into, root{0}, s);
                broadcast(comm, into, root{comm.size() - 1}, fnomial{.degree = 2}, ec);
            }),
            measure([&] { barrier(comm, s); })};
}

} // namespace

TEST_CASE("front doors: once warm, nothing is allocated") {
    for (const rank_t size : {1u, 2u, 4u})
        for (const std::size_t bytes : {std::size_t{8}, std::size_t{100 * 1024}}) {
            std::mutex guard;
            std::vector<std::array<std::size_t, 4>> seen;
            in_process(size).run([&](auto end) {
                communicator comm{std::move(end)};
                const auto mine = counted(comm, bytes / 8);
                const std::scoped_lock lock(guard);
                seen.push_back(mine);
            });
            REQUIRE(seen.size() == size);
            for (const auto& s : seen) {
                CAPTURE(size, bytes, s);
                CHECK(s == std::array<std::size_t, 4>{});
            }
        }
}

TEST_CASE("front doors: nor over self, and the counter counts") {
    communicator comm{self{}};
    CHECK(counted(comm, 1) == std::array<std::size_t, 4>{});
    const std::size_t before = allocations;
    std::vector<int> x(100);
    CHECK(allocations == before + 1);
}
