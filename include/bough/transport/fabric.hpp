// SPDX-License-Identifier: BSL-1.0
// fabric: ranks are processes that reach each other through libfabric, whatever network that finds.
//
//   bough::fabric link{wire};                                    // `wire`: a WireUp: a launcher's, PMIx's, ...
//   bough::fabric same{wire, {.provider = "tcp;ofi_rxm"}};       // a provider by name, as fi_info lists them
//   bough::communicator comm{std::move(link)};
//
// Short messages travel with their envelope in one frame, into buffers that wait for them; credits keep at most `window`
// messages of each rank unread. A long message is announced by its envelope; its payload is written by the provider from
// the sender's memory straight to where take() wants it. Messages of a peer arrive in order, whatever order the provider
// keeps. There are no threads; nothing moves while nobody polls. What it promises, what it was run over, and how failures
// show: doc/transports/fabric.md.
//
// Needs libfabric 1.9 or newer: CMake target bough::fabric.
#ifndef BOUGH_TRANSPORT_FABRIC_HPP
#define BOUGH_TRANSPORT_FABRIC_HPP

#include <bough/concepts/transport.hpp>
#include <bough/concepts/wire_up.hpp>
#include <bough/core/config.hpp>
#include <bough/error.hpp>
#include <bough/transport/detail/measured_costs.hpp>
#include <bough/transport/fabric/endpoint.hpp>
#include <bough/transport/fabric/join.hpp>
#include <bough/transport/fabric/options.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>

namespace bough {

class fabric {
public:
    // Collective: every rank of the wire-up calls it, once. Throws bough::error with what join() says.
    template <WireUp W>
    explicit fabric(W& wire, const fabric_options& options = {}) : fabric(checked(wire, options)) {}

    // The same without exceptions: empty, and `result` says why. unsupported: libfabric has no such provider here;
    // deadline: a rank did not come, `peer` if it is known; invalid_argument: options that break a rule, or providers that
    // differ; peer_aborted: another rank has an error, its code is `cause`; no_resources; peer_dead: the wire-up's.
    template <WireUp W>
    static std::optional<fabric> join(W& wire, const fabric_options& options, status& result) {
        auto made = detail::join_fabric(wire, options, result);
        if (!made) return std::nullopt;
        return fabric(std::move(made));
    }

    fabric(fabric&&) noexcept = default;
    fabric& operator=(fabric&&) = delete;

    rank_t rank() const noexcept { return end_->who().rank; }
    rank_t size() const noexcept { return end_->who().size; }
    // How many cores the ranks share: those of all machines, each counted once.
    std::uint32_t cores() const noexcept { return end_->who().cores; }
    // More ranks than cores on this machine: whoever waits takes time from whoever works.
    bool oversubscribed() const noexcept { return end_->who().oversubscribed; }
    // What plans are chosen by (bough/select/transport_costs.hpp).
    static constexpr model::loggops default_costs() noexcept { return detail::fabric_costs.model; }
    static constexpr double switch_ns() noexcept { return detail::fabric_costs.switch_ns; }
    bool forked() const noexcept { return end_->forked(); }
    // What libfabric calls the network in use.
    std::string provider() const { return end_->device().provider(); }
    // Long payloads are written remotely; else they travel as tagged messages.
    bool writes_remotely() const noexcept { return end_->who().writes; }
    // Frames that were not of this group, and were dropped.
    std::uint64_t strangers() const noexcept { return end_->strangers(); }

    posted post_send(rank_t to, const envelope& tag, std::span<const std::byte> bytes, std::uint64_t id) {
        return end_->post_send(to, tag, bytes, id);
    }
    std::size_t poll(std::span<event> events) { return end_->poll(events); }
    posted take(std::uint64_t handle, std::span<std::byte> into, std::uint64_t id) {
        return end_->take(handle, into, id);
    }
    // A long message has to be taken.
    bool claim(std::uint64_t handle) noexcept { return end_->claim(handle); }
    void release(std::uint64_t handle) { end_->release(handle); }
    errc cancel(std::uint64_t id) { return end_->cancel(id); }

    std::uint64_t now_ns() const noexcept { return detail::steady_now_ns(); }
    // Polls drive the provider, so nobody may sleep for long.
    void wait(std::uint32_t idle, std::uint64_t) const {
        const std::uint32_t spins = oversubscribed() ? 1 : 200;
        constexpr std::uint32_t yields = 5'000; // some milliseconds; each poll has asked the provider too
        if (idle < spins) return;
        if (idle < spins + yields)
            std::this_thread::yield();
        else
            std::this_thread::sleep_for(std::chrono::microseconds(50));
    }

private:
    explicit fabric(std::unique_ptr<detail::fabric_endpoint> end) noexcept : end_(std::move(end)) {}
    template <class W>
    static fabric checked(W& wire, const fabric_options& options) {
        status result;
        auto made = detail::join_fabric(wire, options, result);
        detail::throw_if(result);
        return fabric(std::move(made));
    }

    std::unique_ptr<detail::fabric_endpoint> end_;
};

static_assert(InPlaceTransport<fabric> && WaitableTransport<fabric>);

} // namespace bough

#endif
