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
#include <bough/core/status.hpp>
#include <bough/transport/fabric/device.hpp>
#include <bough/transport/fabric/options.hpp>
#include <bough/transport/rdma/basic_fabric.hpp>
#include <bough/transport/rdma/join.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace bough::inline BOUGH_ABI {

class fabric : public basic_fabric<detail::fabric_device> {
public:
    // Collective: every rank of the wire-up calls it, once. Throws bough::error with what join() says.
    template <WireUp W>
    explicit fabric(W& wire, const fabric_options& options = {}) : basic_fabric(joined(wire, options)) {}

    // The same without exceptions: empty, and `result` says why. unsupported: libfabric has no such provider here;
    // deadline: a rank did not come, `peer` if it is known; invalid_argument: options that break a rule, or providers that
    // differ; no_resources: also memory that may not be registered; peer_aborted: another rank has an error, its code is
    // `cause`; peer_dead: the wire-up's, or of a process of this machine.
    template <WireUp W>
    static std::optional<fabric> join(W& wire, const fabric_options& options, status& result) {
        auto made = detail::join_fabric<detail::fabric_device>(wire, options, result);
        if (!made) return std::nullopt;
        return fabric(std::move(made));
    }

    // What libfabric calls the network in use.
    std::string provider() const { return end().device().provider(); }
    // Long payloads are written remotely; else they travel as tagged messages.
    bool writes_remotely() const noexcept { return end().who().writes; }

private:
    explicit fabric(std::unique_ptr<endpoint> made) noexcept : basic_fabric(std::move(made)) {}
};

static_assert(InPlaceTransport<fabric> && WaitableTransport<fabric>);

} // namespace bough

#endif
