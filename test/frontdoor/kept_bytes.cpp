// SPDX-License-Identifier: BSL-1.0
// A transport that breaks its rule and never gives the bytes of a cancelled send back: nothing waits for ever, and no memory
// is destroyed that it may still read.
#include "support/catch.hpp"
#include "support/last_words.hpp"
#include <bough/allreduce.hpp>
#include <bough/barrier.hpp>
#include <bough/op/arithmetic.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace {

using namespace bough;

// Rank 0 of 2, alone. Each look at its clock takes 10 ms.
class keeper {
public:
    explicit keeper(int& alive) : alive_(&alive) { ++*alive_; }
    keeper(keeper&& other) noexcept : alive_(std::exchange(other.alive_, nullptr)), now_(other.now_) {}
    keeper& operator=(keeper&&) = delete;
    ~keeper() {
        if (alive_ != nullptr) --*alive_;
    }
    rank_t rank() const noexcept { return 0; }
    rank_t size() const noexcept { return 2; }
    posted post_send(rank_t, const envelope&, std::span<const std::byte>, std::uint64_t) { return posted::pending; }
    posted take(std::uint64_t, std::span<std::byte>, std::uint64_t) { return posted::failed; }
    void release(std::uint64_t) {}
    std::size_t poll(std::span<event>) { return 0; }
    errc cancel(std::uint64_t) { return errc::ok; }
    std::uint64_t now_ns() const noexcept { return now_ += 10'000'000; }

private:
    int* alive_;
    mutable std::uint64_t now_ = 0;
};

} // namespace

TEST_CASE("a handle whose bytes are never given back: they are the caller's, so the program ends with a sentence") {
    const bough_test::last_words said = bough_test::last_words_of([] {
        int alive = 0;
        communicator comm{keeper{alive}};
        std::vector<int> x(10);
        const operation op = start_allreduce(comm, x, plus{});
    });
    CHECK(said.aborted);
    CHECK(said.has("does not give the bytes of a cancelled operation back"));
}

TEST_CASE("a handle whose bytes are never given back: they are the library's own, so they stay") {
    static int alive = 0; // of the transport, which is there for good
    {
        communicator comm{keeper{alive}};
        { const operation op = start_barrier(comm); }
        CHECK_FALSE(comm.poison());
        CHECK(comm.shared_session()->outstanding() == 1);
    }
    CHECK(alive == 1);
}
