// SPDX-License-Identifier: BSL-1.0
// bough::fabric: a transport for processes that reach each other through libfabric, whatever
// network libfabric finds.
//
//   bough::fabric link{wire};                                    // `wire`: a WireUp: a launcher's, PMIx's, ...
//   bough::fabric same{wire, {.provider = "tcp;ofi_rxm"}};       // a provider by name, as fi_info lists them
//   bough::communicator comm{std::move(link)};
//
// A short message travels with its envelope in one frame, into a buffer that was posted for it;
// credits keep at most `window` messages of each rank unread. A long message is announced by its
// envelope; then the provider writes its payload from the sender's memory straight to where take()
// wants it. Messages of a peer arrive in order, whatever order the provider keeps. There are no
// threads: nothing moves unless ranks poll. doc/transports/fabric.md says what bough::fabric
// promises, over which providers it was run, and how failures show.
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
    // Collective: every rank of the wire-up calls it, once. Throws bough::error with what join()
    // says.
    template <WireUp W>
    explicit fabric(W& wire, const fabric_options& options = {}) : basic_fabric(joined(wire, options)) {}

    // The same without exceptions. If it fails, the optional is empty and `result` says why.
    //   unsupported       libfabric has no such provider here
    //   deadline          a rank did not come; `peer`, if it is known
    //   invalid_argument  options that break a rule, or providers that differ between ranks
    //   no_resources      there is too little memory, memory may not be registered, or no file can
    //                     be opened for a connection
    //   peer_aborted      another rank has an error, whose code is `cause`
    //   peer_dead         the wire-up says so, or a process of this machine has ended
    template <WireUp W>
    static std::optional<fabric> join(W& wire, const fabric_options& options, status& result) {
        auto made = detail::join_fabric<detail::fabric_device>(wire, options, result);
        if (!made) return std::nullopt;
        return fabric(std::move(made));
    }

    // The name that libfabric gives to the provider in use.
    std::string provider() const { return end().device().provider(); }
    // Whether long payloads are written remotely. If not, they travel as tagged messages.
    bool writes_remotely() const noexcept { return end().who().writes; }

private:
    explicit fabric(std::unique_ptr<endpoint> made) noexcept : basic_fabric(std::move(made)) {}
};

static_assert(InPlaceTransport<fabric> && WaitableTransport<fabric> && SaysWays<fabric>);

} // namespace bough

#endif
