// SPDX-License-Identifier: BSL-1.0
// How a rank joins a group: it opens its device and learns where the others are; is connected, makes what it needs, and
// learns whether all could; greets them. What goes wrong on one rank alone is told in the first exchange or in the second.
#ifndef BOUGH_TRANSPORT_FABRIC_JOIN_HPP
#define BOUGH_TRANSPORT_FABRIC_JOIN_HPP

#include <bough/concepts/wire_up.hpp>
#include <bough/core/deadline.hpp>
#include <bough/core/quietly.hpp>
#include <bough/core/status.hpp>
#include <bough/os/clock.hpp>
#include <bough/transport/fabric/alive.hpp>
#include <bough/transport/fabric/endpoint.hpp>
#include <bough/transport/fabric/frame.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace bough::detail {

// What f() says; no_resources if it throws.
template <class F>
status attempted(const F& f) noexcept {
    status result{.code = errc::no_resources};
    quietly([&] { result = f(); });
    return result;
}

template <class Options>
status check_fabric_options(const Options& o) noexcept {
    if (o.window < 1 || o.window > 4096) return invalid_argument("window: must be 1 to 4096");
    if (o.eager_bytes > std::uint32_t{1} << 20) return invalid_argument("eager_bytes: at most 1 MiB");
    return {};
}

template <class Device>
status describe_fabric(fabric_card& mine, Device& device, const typename Device::options_type& options, rank_t size) {
    if (const status bad = check_fabric_options(options)) return bad;
    if (const status bad = device.open(options)) return bad;
    std::strncpy(mine.provider.data(), device.provider(), mine.provider.size() - 1);
    return device.describe(mine, size);
}

// What the cards say of the whole group. An error is everybody's.
template <class Options>
status agree_on_fabric(std::span<const fabric_card> cards, rank_t me, Options& options, fabric_group& group) {
    group.rank = me;
    group.size = static_cast<rank_t>(cards.size());
    group.job = cards[0].job;
    group.cores = 0;
    rank_t neighbours = 0;
    for (rank_t r = 0; r != group.size; ++r) {
        const fabric_card& c = cards[r];
        if (c.format != fabric_card{}.format || c.address_bytes > c.address.size())
            return {.code = errc::protocol_error, .peer = r};
        if (c.failure != 0) return {.code = errc::peer_aborted, .cause = static_cast<errc>(c.failure), .peer = r};
        if (c.provider != cards[0].provider)
            return {.code = errc::invalid_argument, .peer = r, .argument = "provider: differs between ranks"};
        options.window = std::min(options.window, c.window);
        options.eager_bytes = std::min(options.eager_bytes, c.eager_bytes);
        group.writes = group.writes && c.tagged == 0;
        neighbours += c.machine == cards[me].machine;
        const auto same = [&c](const fabric_card& other) { return other.machine == c.machine; };
        if (std::none_of(cards.begin(), cards.begin() + r, same)) group.cores += c.cores;
    }
    group.oversubscribed = neighbours > cards[me].cores;
    return {};
}

// What every rank does before it greets the others.
template <class Device>
class fabric_meeting {
public:
    using options_type = typename Device::options_type;

    explicit fabric_meeting(const options_type& o)
        : options(o), last_ns(deadline_after(steady_now_ns(), o.timeout_ns)), device(std::make_unique<Device>()) {}

    // Collective: opens the device, and tells all. Ranks disagree on the result only if they could not talk to each other.
    template <WireUp W>
    status run(W& wire) {
        mine_.window = options.window;
        mine_.eager_bytes = options.eager_bytes;
        mine_.cores = std::max(1u, std::thread::hardware_concurrency());
        mine_.machine = machine_mark();
        mine_.processes = process_space();
        mine_.process = static_cast<std::uint64_t>(::getpid());
        cards_.resize(wire.size());
        const status ready = attempted([&] {
            mine_.job = std::random_device{}();
            return describe_fabric(mine_, *device, options, wire.size());
        });
        mine_.failure = static_cast<std::uint32_t>(ready.code); // so that nobody waits for this rank
        status outcome = wire.exchange(std::as_bytes(std::span(&mine_, 1)), std::as_writable_bytes(std::span(cards_)),
                                       options.timeout_ns);
        if (!outcome) outcome = agree_on_fabric(cards_, wire.rank(), options, group);
        return ready ? ready : outcome;
    }
    // Collective, when all have run(), once: the ranks are connected, and make(card) -> status does what else may go wrong
    // on this rank alone. Then its card goes round, with a `failure` if there was one. Ranks disagree as after run().
    // Pre: `all` has a card for every rank; its memory was found before run(), for without it nobody can be told.
    template <WireUp W, class Card, class Make>
    status settle(W& wire, std::vector<Card>& all, const Make& make) {
        Card mine;
        const status ready = attempted([&] {
            const status lost = device->connect(wire, cards_, group.rank, last_ns);
            return lost ? lost : make(mine);
        });
        mine.failure = static_cast<std::uint32_t>(ready.code);
        status outcome = wire.exchange(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)),
                                       time_left(steady_now_ns(), last_ns));
        for (rank_t r = 0; r != group.size && !outcome; ++r)
            if (all[r].failure != 0)
                outcome = {.code = errc::peer_aborted, .cause = static_cast<errc>(all[r].failure), .peer = r};
        return ready ? ready : outcome;
    }
    // Calls f(rank, process number) for each process that this one can watch.
    template <class F>
    void for_each_neighbour(const F& f) const {
        for (rank_t r = 0; r != group.size; ++r) {
            const fabric_card& c = cards_[r];
            if (mine_.machine != 0 && c.machine == mine_.machine && mine_.processes != 0 &&
                c.processes == mine_.processes && c.process != mine_.process)
                f(r, c.process);
        }
    }

    options_type options;
    std::uint64_t last_ns;
    std::unique_ptr<Device> device;
    fabric_group group;

private:
    fabric_card mine_;
    std::vector<fabric_card> cards_;
};

// Whether a rank can be greeted.
struct fabric_ready_card {
    std::uint32_t failure = 0; // errc
};

template <class Device, WireUp W>
std::unique_ptr<fabric_endpoint<Device>> join_fabric(W& wire, const typename Device::options_type& options,
                                                     status& outcome) {
    fabric_meeting<Device> met(options);
    std::vector<fabric_ready_card> all(wire.size());
    outcome = met.run(wire);
    if (outcome) return nullptr;
    std::unique_ptr<fabric_endpoint<Device>> end;
    outcome = met.settle(wire, all, [&](const fabric_ready_card&) {
        end = std::make_unique<fabric_endpoint<Device>>(std::move(met.device), met.options, met.group);
        met.for_each_neighbour([&](rank_t r, std::uint64_t process) { end->watch(r, process); });
        return end->prepare();
    });
    if (!outcome) outcome = attempted([&] { return end->meet(met.last_ns); });
    if (outcome) end.reset();
    return end;
}

} // namespace bough::detail

#endif
