// SPDX-License-Identifier: BSL-1.0
// The ends of one rank: in the child of a fork, with a device that does not give memory back, and which way messages go.
#include "support/catch.hpp"
#include "transport/rdma/scripted_messenger.hpp"
#include <bough/transport/rdma/endpoint.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

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
    int* receives_after_end = nullptr; // receives that are posted when the device is closed
    bool closed = false;
    void close_endpoint() { closed = true; }
    bool receive(bough::detail::fabric_buffer& b, std::size_t longest) {
        if (closed) ++*receives_after_end;
        return scripted_messenger::receive(b, longest);
    }
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

TEST_CASE("rdma endpoint: what the device had no room for leaves with a flush, but not from the child of a fork") {
    using bough_test::lone_rank, bough_test::scripted_messenger;
    detail::fabric_endpoint<scripted_messenger> end(std::make_unique<scripted_messenger>(), lone_rank::options(4),
                                                    detail::fabric_group{.size = 3});
    REQUIRE_FALSE(end.prepare());
    end.begin();
    end.device().answer = detail::fabric_result::full;
    end.out().say(1, detail::fabric_frame::room);
    end.device().answer = detail::fabric_result::ok;
    REQUIRE(end.out().unsent());
    const std::size_t before = end.device().sent.size();
    const pid_t child = ::fork();
    if (child == 0) {
        end.flush(); // the device is the parent's
        ::_exit(static_cast<int>(end.device().sent.size() - before));
    }
    int how = -1;
    REQUIRE(::waitpid(child, &how, 0) == child);
    CHECK((WIFEXITED(how) && WEXITSTATUS(how) == 0));
    end.flush();
    CHECK(end.device().sent.size() == before + 1);
    CHECK_FALSE(end.out().unsent());
}

TEST_CASE("rdma endpoint: one that has resigned gives its closed device nothing more") {
    int late = 0;
    fabric_options options = bough_test::lone_rank::options(4);
    options.answer_ns = 1;
    std::optional<detail::fabric_endpoint<counting_messenger>> end;
    end.emplace(std::make_unique<counting_messenger>(), options, detail::fabric_group{.size = 3});
    end->device().receives_after_end = &late;
    REQUIRE_FALSE(end->prepare());
    end->begin();
    std::array<event, 8> events;
    const std::vector<std::byte> bytes(100);
    // A frame is held; a long message is under way, and is given up.
    const auto hear = [&](std::uint16_t kind, std::uint32_t sequence, std::span<const std::byte> body) {
        const detail::fabric_frame head{{}, sequence, 0, 1, 0, kind};
        detail::fabric_buffer& b = *end->device().posted.front();
        end->device().posted.pop_front();
        std::memcpy(b.memory, &head, sizeof head);
        std::memcpy(b.memory + sizeof head, body.data(), body.size());
        end->device().next.push_back({.op = &b.op, .bytes = sizeof head + body.size()});
    };
    end->device().room_for_receives = end->device().posted.size() - 2; // fewer than the rank wants
    hear(detail::fabric_frame::message, 0, std::span(bytes).first(3));
    REQUIRE(end->poll(events) == 1);
    const std::uint64_t held = events[0].id;
    REQUIRE(end->post_send(1, {}, bytes, 7) == posted::pending);
    const detail::fabric_place place;
    hear(detail::fabric_frame::go, 1, std::as_bytes(std::span(&place, 1)));
    while (end->device().written.empty()) (void)end->poll(events);
    REQUIRE(end->cancel(7) == errc::ok);
    const std::uint64_t last = detail::steady_now_ns() + 20'000'000'000;
    while (!end->device().closed && detail::steady_now_ns() < last) (void)end->poll(events);
    REQUIRE(end->device().closed);
    end->device().room_for_receives = 512;
    end->release(held);
    for (int i = 0; i != 200; ++i) (void)end->poll(events);
    CHECK(late == 0);
}

TEST_CASE("rdma endpoint: says which way each message goes") {
    using bough_test::lone_rank, bough_test::scripted_messenger;
    for (const bool writes : {true, false})
        for (const std::size_t bytes : {0u, 1u, 63u, 64u, 65u, 999u, 5000u}) { // lone_rank: eager_bytes is 64
            const detail::fabric_group group{.size = 3, .writes = writes};
            detail::fabric_endpoint<scripted_messenger> end(std::make_unique<scripted_messenger>(),
                                                            lone_rank::options(4), group);
            REQUIRE_FALSE(end.prepare());
            end.begin();
            const std::vector<std::byte> payload(bytes);
            const posted result = end.post_send(1, {}, payload, 7);
            REQUIRE(end.device().sent.size() == 1);
            protocol way = protocol::copied;
            if (end.device().sent[0].head.kind == detail::fabric_frame::announcement) {
                CHECK(result == posted::pending);
                const detail::fabric_frame head{{}, 0, 0, 1, 0, detail::fabric_frame::go};
                const detail::fabric_place place{.address = 5000, .key = 7};
                detail::fabric_buffer& b = *end.device().posted.front();
                end.device().posted.pop_front();
                std::memcpy(b.memory, &head, sizeof head);
                std::memcpy(b.memory + sizeof head, &place, sizeof place);
                end.device().next.push_back({.op = &b.op, .bytes = sizeof head + sizeof place});
                std::array<event, 1> none;
                for (int i = 0; i != 100 && end.device().written.empty(); ++i) (void)end.poll(none);
                REQUIRE(end.device().written.size() == 1);
                way = end.device().written[0].tagged ? protocol::staged : protocol::remote_write;
            } else {
                CHECK((result == posted::complete && end.device().sent[0].head.kind == detail::fabric_frame::message));
            }
            CAPTURE(writes, bytes);
            CHECK(way == end.way_of(bytes));
            CHECK((way == protocol::copied) == (bytes <= 64));
            end.device().next.clear();
        }
}
