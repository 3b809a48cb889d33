// SPDX-License-Identifier: BSL-1.0
// RdmaDevice: a device with nothing but what the concept asks for is one; without any one thing it is none.
#include "support/catch.hpp"
#include <bough/transport/rdma/device.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

using namespace bough;
using detail::fabric_result;

namespace {

// Neither probes nor tags, and a write uses up no receive.
struct least_device {
    struct options_type {};
    struct memory {};
    static constexpr detail::measured_costs costs = detail::fabric_costs;
    static constexpr bool tags = false, probes = false, written_uses_receive = false;
    static constexpr std::uint64_t sends = 0, receives = 0, writes_from = 0, is_written = 0;

    status open(const options_type&);
    status describe(detail::fabric_card&, rank_t ranks);
    const char* provider();
    status connect(detail::any_wire&, std::span<const detail::fabric_card>, rank_t me, std::uint64_t last_ns);

    bool register_memory(std::span<const std::byte>, std::uint64_t use, memory&);
    static void* descriptor(const memory&);
    std::uint64_t remote_address(const std::byte* first);
    static std::uint64_t remote_key(const memory&);
    std::size_t most_bytes();
    std::size_t most_sends();
    std::size_t most_receives();
    std::size_t most_injected();

    bool receive(detail::fabric_buffer&, std::size_t longest);
    fabric_result send(rank_t, detail::fabric_buffer&);
    fabric_result inject(rank_t, std::span<const std::byte>);
    fabric_result write(rank_t, const detail::fabric_piece&, std::uint64_t address, std::uint64_t key, std::uint32_t);
    std::size_t poll(std::span<detail::fabric_done>);
    bool all_sent() const;
    bool sends_alone() const;
    bool opens_files() const;
    void disconnect(rank_t);
    void close_endpoint();
    void abandon();
};
static_assert(detail::RdmaDevice<least_device>);

// Members that hide those of the least device.
struct cannot_open : least_device {
    void open() = delete;
};
struct knows_no_costs : least_device {
    static constexpr double costs = 1;
};
struct has_no_connections : least_device {
    void connect() = delete;
};
static_assert(!detail::RdmaDevice<cannot_open> && !detail::RdmaDevice<knows_no_costs> &&
              !detail::RdmaDevice<has_no_connections>);
// To send messages it need not join.
static_assert(detail::RdmaMessenger<cannot_open> && detail::RdmaMessenger<has_no_connections>);

struct injects_nothing : least_device {
    void inject() = delete;
};
struct says_not_what_is_sent : least_device {
    bool all_sent(); // not const
};
static_assert(!detail::RdmaMessenger<injects_nothing> && !detail::RdmaMessenger<says_not_what_is_sent>);
static_assert(detail::RdmaWriter<injects_nothing> && detail::RdmaWriter<says_not_what_is_sent>);

struct writes_nothing : least_device {
    void write() = delete;
};
struct forgets_keys : least_device {
    static void remote_key() = delete;
};
struct never_leaves : least_device {
    void disconnect() = delete;
};
static_assert(!detail::RdmaWriter<writes_nothing> && detail::RdmaMemory<writes_nothing> &&
              detail::RdmaEnds<writes_nothing>);
static_assert(!detail::RdmaWriter<forgets_keys> && !detail::RdmaMemory<forgets_keys>);
static_assert(!detail::RdmaWriter<never_leaves> && !detail::RdmaEnds<never_leaves>);

// What a device says that it can do, it must have.
struct says_that_it_probes : least_device {
    static constexpr bool probes = true;
};
struct probing : says_that_it_probes {
    void probe(rank_t);
};
static_assert(!detail::RdmaEnds<says_that_it_probes> && detail::RdmaDevice<probing>);

struct says_that_it_tags : least_device {
    static constexpr bool tags = true;
};
struct tagging : says_that_it_tags {
    fabric_result send_tagged(rank_t, const detail::fabric_piece&, std::uint64_t tag);
    bool receive_tagged(rank_t, std::span<std::byte>, void* descriptor, std::uint64_t tag, detail::fabric_op&);
    void cancel(detail::fabric_op&);
};
static_assert(detail::RdmaWriter<says_that_it_tags> && !detail::RdmaMessenger<says_that_it_tags>);
static_assert(detail::RdmaDevice<tagging>);

struct uses_receives : least_device {
    static constexpr bool written_uses_receive = true;
};
struct has_no_receives : uses_receives {
    void receive() = delete;
};
static_assert(detail::RdmaDevice<uses_receives> && !detail::RdmaWriter<has_no_receives>);

} // namespace

TEST_CASE("rdma_device: checked while it is compiled") { STATIC_REQUIRE(detail::RdmaDevice<least_device>); }
