// SPDX-License-Identifier: BSL-1.0
// bough::verbs: a transport for processes that reach each other through RDMA cards (InfiniBand,
// RoCE), by libibverbs alone.
//
//   bough::verbs link{wire};                            // `wire`: a WireUp: a launcher's, PMIx's, ...
//   bough::verbs same{wire, {.device = "mlx5_0"}};      // a card by name, as ibv_devices lists them
//   bough::communicator comm{std::move(link)};
//
// Every pair of ranks has a reliable connection. A short message travels with its envelope in one
// frame; a payload of up to 208 bytes travels inside the request itself. A long message is
// announced; then the sender's card writes its payload straight to where take() wants it. The
// protocol is that of bough::fabric (rdma/endpoint.hpp), over another device. There are no threads:
// a rank receives nothing unless it polls. doc/transports/verbs.md says what bough::verbs promises
// and over which devices it was run.
//
// Needs libibverbs of rdma-core 33 or newer: CMake target bough::verbs.
#ifndef BOUGH_TRANSPORT_VERBS_HPP
#define BOUGH_TRANSPORT_VERBS_HPP

#include <bough/concepts/transport.hpp>
#include <bough/concepts/wire_up.hpp>
#include <bough/core/status.hpp>
#include <bough/transport/rdma/basic_fabric.hpp>
#include <bough/transport/rdma/join.hpp>
#include <bough/transport/verbs/device.hpp>
#include <bough/transport/verbs/options.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace bough::inline BOUGH_ABI {

class verbs : public basic_fabric<detail::verbs_device> {
public:
    // Collective: every rank of the wire-up calls it, once. Throws bough::error with what join()
    // says.
    template <WireUp W>
    explicit verbs(W& wire, const verbs_options& options = {}) : basic_fabric(joined(wire, options)) {}

    // The same without exceptions. If it fails, the optional is empty and `result` says why.
    //   unsupported       there is no such card, or its port is down
    //   deadline          a rank did not come; `peer`, if it is known
    //   invalid_argument  options that break a rule
    //   no_resources      there is too little memory, or memory may not be registered
    //   peer_aborted      another rank has an error, whose code is `cause`
    //   peer_dead         the wire-up says so, or a rank cannot be reached
    template <WireUp W>
    static std::optional<verbs> join(W& wire, const verbs_options& options, status& result) {
        auto made = detail::join_fabric<detail::verbs_device>(wire, options, result);
        if (!made) return std::nullopt;
        return verbs(std::move(made));
    }

    // The name of the card in use.
    std::string device() const { return end().device().name(); }

private:
    explicit verbs(std::unique_ptr<endpoint> made) noexcept : basic_fabric(std::move(made)) {}
};

static_assert(InPlaceTransport<verbs> && WaitableTransport<verbs> && SaysWays<verbs>);

} // namespace bough

#endif
