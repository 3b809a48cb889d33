// SPDX-License-Identifier: BSL-1.0
// What one rank leaves alone in the child of a fork: all that its parent has registered.
#include "support/catch.hpp"
#include "transport/rdma/scripted_messenger.hpp"
#include <bough/transport/rdma/endpoint.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <sys/wait.h>
#include <unistd.h>

using namespace bough;

namespace {

int given_back = 0;

// Counts the memory that is given back.
struct counting_messenger : bough_test::scripted_messenger {
    struct give_back {
        void operator()(int* p) const noexcept {
            ++given_back;
            delete p;
        }
    };
    using memory = std::unique_ptr<int, give_back>;
    bool register_memory(std::span<const std::byte>, std::uint64_t, memory& m) { return m.reset(new int), true; }
    static void* descriptor(const memory&) { return nullptr; }
    static std::uint64_t remote_key(const memory&) { return 7; }
};

} // namespace

TEST_CASE("rdma endpoint: the child of a fork gives back none of its parent's registered memory") {
    using bough_test::lone_rank;
    std::optional<detail::fabric_endpoint<counting_messenger>> end;
    const detail::fabric_group group{.size = 3};
    end.emplace(std::make_unique<counting_messenger>(), lone_rank::options(4), group);
    REQUIRE_FALSE(end->prepare());
    const pid_t child = ::fork();
    if (child == 0) {
        end.reset();
        ::_exit(given_back);
    }
    int how = -1;
    REQUIRE(::waitpid(child, &how, 0) == child);
    CHECK((WIFEXITED(how) && WEXITSTATUS(how) == 0));
    end.reset();
    CHECK(given_back >= 2); // frames that come, and frames that leave
}
