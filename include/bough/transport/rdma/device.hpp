// SPDX-License-Identifier: BSL-1.0
// RdmaDevice: what the RDMA protocol asks of the device beneath it. The protocol (endpoint.hpp,
// region_end.hpp) knows frames, credits, order and payloads. A device D moves bytes between ranks:
// fabric/device.hpp is the one for libfabric, verbs/device.hpp the one for libibverbs.
//
// The concepts below build on each other, so that a part of the protocol asks for no more than it
// needs: buffers for RdmaMemory, remote writes for RdmaWriter, messages for RdmaMessenger, and only
// joining a group for all of RdmaDevice.
#ifndef BOUGH_TRANSPORT_RDMA_DEVICE_HPP
#define BOUGH_TRANSPORT_RDMA_DEVICE_HPP

#include <bough/concepts/wire_up.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>
#include <bough/transport/measured_costs.hpp>
#include <bough/transport/rdma/frame.hpp>
#include <bough/transport/rdma/op.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace bough::inline BOUGH_ABI::detail {

// D::memory is registered memory: empty by default; its end gives it back. `use` is what it is
// registered for, one of the constants of a device. descriptor(memory) is the handle that this
// rank's own transfers from or to the memory must pass. Others write into it at remote_address(first
// byte) under remote_key(memory).
template <class D>
concept RdmaMemory = std::default_initializable<typename D::memory> && std::movable<typename D::memory> &&
    requires(D& d, std::span<const std::byte> bytes, std::uint64_t use, typename D::memory& memory) {
    typename std::integral_constant<std::uint64_t, D::is_written>; // a use: peers write into it
    { d.register_memory(bytes, use, memory) } -> std::same_as<bool>;
    { D::descriptor(memory) } -> std::same_as<void*>;
    { d.remote_address(bytes.data()) } -> std::same_as<std::uint64_t>;
    { D::remote_key(memory) } -> std::same_as<std::uint64_t>;
};

// probe() asks whether the rank is there; an operation fails if it is not.
template <class D>
concept RdmaProbe = requires(D& d, rank_t to) {
    d.probe(to);
};

// How its connections are made.
template <class D>
concept RdmaConnections = requires(const D& c) {
    { c.opens_files() } -> std::same_as<bool>; // connections take open files of this process
};

// What ends: operations, peers, the device itself.
template <class D>
concept RdmaEnds = RdmaConnections<D> && requires(D& d, rank_t rank, std::span<fabric_done> done) {
    { d.poll(done) } -> std::same_as<std::size_t>; // how many operations have ended
    // The rank is lost: what is under way to it may fail at once.
    d.disconnect(rank);
    d.close_endpoint(); // the end
    d.abandon();        // the end in the child of a fork
    typename std::bool_constant<D::probes>;
    requires !D::probes || RdmaProbe<D>;
};

// Frames come into buffers that are posted before. False: the device takes no more now.
template <class D>
concept RdmaReceiver = requires(D& d, fabric_buffer& buffer, std::size_t longest) {
    { d.receive(buffer, longest) } -> std::same_as<bool>;
    { d.most_receives() } -> std::same_as<std::size_t>;
};

// How it sends the messages and writes that it has taken.
template <class D>
concept RdmaSender = requires(D& d, const D& c) {
    { d.most_sends() } -> std::same_as<std::size_t>; // under way at a time
    { c.sends_alone() } -> std::same_as<bool>;       // they leave even if this rank calls nothing
};

// Writes into the memory of peers. `written_uses_receive`: a write with a ticket uses up a posted
// receive of its target.
template <class D>
concept RdmaWriter = RdmaMemory<D> && RdmaEnds<D> && RdmaSender<D> &&
    requires(D& d, rank_t to, const fabric_piece& piece, std::uint64_t address, std::uint64_t key,
             std::uint32_t ticket) {
    typename D::options_type;
    typename std::integral_constant<std::uint64_t, D::writes_from>; // a use: this rank writes from it
    typename std::integral_constant<std::uint64_t, D::receives>;    // a use: frames come into it
    { d.write(to, piece, address, key, ticket) } -> std::same_as<fabric_result>;
    { d.most_bytes() } -> std::same_as<std::size_t>; // of one write
    typename std::bool_constant<D::written_uses_receive>;
    requires !D::written_uses_receive || RdmaReceiver<D>;
};

// Sends tagged messages, which stand for remote writes on devices that cannot write.
template <class D>
concept RdmaTags = requires(D& d, rank_t peer, const fabric_piece& piece, std::span<std::byte> into, void* descriptor,
                            std::uint64_t tag, fabric_op& op) {
    { d.send_tagged(peer, piece, tag) } -> std::same_as<fabric_result>;
    { d.receive_tagged(peer, into, descriptor, tag, op) } -> std::same_as<bool>;
    d.cancel(op);
};

// Sends frames. inject() copies the bytes before it returns. `tags`: some of its devices cannot
// write remotely.
template <class D>
concept RdmaMessenger = RdmaWriter<D> && RdmaReceiver<D> &&
    requires(D& d, const D& c, rank_t to, fabric_buffer& buffer, std::span<const std::byte> bytes) {
    typename std::integral_constant<std::uint64_t, D::sends>; // a use: frames leave from it
    { d.send(to, buffer) } -> std::same_as<fabric_result>;
    { d.inject(to, bytes) } -> std::same_as<fabric_result>;
    { d.most_injected() } -> std::same_as<std::size_t>; // bytes
    { c.all_sent() } -> std::same_as<bool>;             // nothing that was injected is still under way
    typename std::bool_constant<D::tags>;
    requires !D::tags || RdmaTags<D>;
};

// A WireUp with nothing but what the concept asks for: any will do to connect.
struct any_wire {
    rank_t rank() const;
    rank_t size() const;
    status exchange(std::span<const std::byte> mine, std::span<std::byte> all, std::uint64_t timeout_ns);
};

// Joins a group. `options_type` is what a user chooses; by `costs` plans are chosen. open() and
// describe() also allocate what the exchanges of connect() need. connect() is collective, and may
// fail on one rank alone. Afterwards ranks are reached by number, once all are ready.
template <class D>
concept RdmaDevice = RdmaMessenger<D> && std::default_initializable<D> &&
    requires(D& d, const typename D::options_type& options, fabric_card& card, std::span<const fabric_card> cards,
             rank_t rank, any_wire& wire, std::uint64_t last_ns) {
    requires std::same_as<std::remove_cvref_t<decltype(D::costs)>, measured_costs>;
    { d.open(options) } -> std::same_as<status>;
    { d.describe(card, rank) } -> std::same_as<status>; // rank: how many there are
    { d.provider() } -> std::same_as<const char*>;
    { d.connect(wire, cards, rank, last_ns) } -> std::same_as<status>; // rank: this one
};

} // namespace bough::detail

#endif
