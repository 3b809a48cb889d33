// SPDX-License-Identifier: BSL-1.0
// mpi: a transport between the ranks of an MPI communicator, with any MPI. Messages travel by MPI's
// point-to-point calls only.
//
//   MPI_Init(&argc, &argv);
//   {
//       bough::communicator comm{bough::mpi{MPI_COMM_WORLD}};   // collective over the communicator
//       ...
//   }
//   MPI_Finalize();
//
// Each transport has a duplicate of the communicator to itself, so that its messages never meet the
// program's own. The duplicate is given back when the transports of all its ranks have ended: when
// the next transport is made or ends, or in MPI_Finalize. A message travels as one frame, envelope
// and payload together, if the payload has at most `eager_bytes`. A longer one is announced by its
// envelope, and its payload goes from the sender's memory straight to where take() wants it. MPI
// buffers messages without a bound that a program could set. So credits keep at most `window`
// messages of each rank on their way.
//
// Failure. MPI does not report dead ranks: mpirun ends the whole job, or an operation ends by its
// deadline. A rank that destroys its transport tells the others, which report it lost. A rank for
// which a call of MPI fails is reported lost, too (calls return their errors here). A payload that
// is under way cannot be taken back (T9). So cancel, and the loss of its receiver, wait until MPI
// says that it is over. MPI does not say so while a receiver is stopped in the middle.
//
// Threads. Calls must come from one thread at a time. That needs MPI_THREAD_FUNNELED in the main
// thread, and MPI_THREAD_SERIALIZED elsewhere. With MPI_THREAD_MULTIPLE each thread may have
// transports of its own.
#ifndef BOUGH_TRANSPORT_MPI_HPP
#define BOUGH_TRANSPORT_MPI_HPP

#include <bough/concepts/protocol.hpp>
#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/core/status.hpp>
#include <bough/error.hpp>
#include <bough/os/clock.hpp>
#include <bough/report/trace_file.hpp> // BOUGH_TRACE
#include <bough/transport/measured_costs.hpp>
#include <bough/transport/mpi/endpoint.hpp>
#include <bough/transport/mpi/options.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mpi.h>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>

namespace bough::inline BOUGH_ABI {

class mpi {
public:
    // Collective over `of`. Pre: MPI is initialised, and is finalised after this transport has
    // gone. Throws bough::error with the status that join() would give, and with MPI's own words.
    // While the transport is made, errors of MPI on `of` are returned, not fatal.
    explicit mpi(MPI_Comm of, const mpi_options& options = {}) : s_(opened(of, options)) {}

    // The same without exceptions. When it returns nothing, `result` says why. no_resources: MPI
    // refuses a communicator; invalid_argument: options break a rule. If one rank has an error, all
    // have: the others get peer_aborted with its cause.
    static std::optional<mpi> join(MPI_Comm of, const mpi_options& options, status& result) {
        std::optional<mpi> made;
        std::string text;
        auto end = std::make_unique<detail::mpi_endpoint>();
        result = end->open(of, options, text);
        if (!result) made.emplace(mpi(std::move(end)));
        return made;
    }
    mpi(mpi&&) = default;
    mpi& operator=(mpi&&) = delete;
    ~mpi() {
        if (s_) s_->leave();
    }

    rank_t rank() const noexcept { return s_->who().rank; }
    rank_t size() const noexcept { return s_->who().size; }
    // How many cores the ranks share, on all nodes.
    std::uint32_t cores() const noexcept { return s_->who().cores; }
    // More ranks than cores on this node: then a rank that waits takes time from one that works.
    bool oversubscribed() const noexcept { return s_->who().oversubscribed; }
    // The costs by which plans are chosen (bough/select/transport_costs.hpp).
    static constexpr model::loggops default_costs() noexcept { return detail::mpi_costs.model; }
    static constexpr double switch_ns() noexcept { return detail::mpi_costs.switch_ns; }
    bool forked() const noexcept { return s_->forked(); }
    // Which way a message goes; see SaysWays.
    protocol way_of(rank_t, std::size_t bytes, bool) const noexcept { return s_->way_of(bytes); }

    // In the child of a fork MPI is not called, because all of its state is the parent's.
    posted post_send(rank_t to, const envelope& tag, std::span<const std::byte> bytes, std::uint64_t id) {
        return forked() ? posted::failed : s_->post_send(to, tag, bytes, id);
    }
    std::size_t poll(std::span<event> events) { return forked() ? 0 : s_->poll(events); }
    posted take(std::uint64_t handle, std::span<std::byte> into, std::uint64_t id) {
        return forked() ? posted::failed : s_->take(handle, into, id);
    }
    // False for a long message: it has to be taken.
    bool claim(std::uint64_t handle) const noexcept { return !forked() && s_->claim(handle); }
    void release(std::uint64_t handle) {
        if (!forked()) s_->release(handle);
    }
    errc cancel(std::uint64_t id) { return forked() ? errc::forked_child : s_->cancel(id); }
    // MPI may have to be called again before a frame can leave: flush() does that. accepted() and
    // handed_over() count frames, those to all peers together.
    void flush() {
        if (!forked()) s_->flush();
    }
    bool unsent() const noexcept { return !forked() && s_->unsent(); }
    std::uint64_t accepted(rank_t) const noexcept { return s_->accepted(); }
    std::uint64_t handed_over(rank_t to) noexcept { return s_->handed_over(to); }

    std::uint64_t now_ns() const noexcept { return detail::steady_now_ns(); }
    void wait(std::uint32_t idle, std::uint64_t) const {
        const std::uint32_t spins = oversubscribed() ? 1 : 200;
        constexpr std::uint32_t yields = 20'000; // some milliseconds; each poll has asked MPI too
        if (idle < spins || forked()) return;
        if (idle < spins + yields)
            std::this_thread::yield();
        else
            std::this_thread::sleep_for(std::chrono::microseconds(50));
    }

private:
    explicit mpi(std::unique_ptr<detail::mpi_endpoint> end) noexcept : s_(std::move(end)) {}
    static std::unique_ptr<detail::mpi_endpoint> opened(MPI_Comm of, const mpi_options& options) {
        std::string text;
        auto end = std::make_unique<detail::mpi_endpoint>();
        const status bad = end->open(of, options, text);
#if BOUGH_HAS_EXCEPTIONS
        if (bad) throw error(bad, text);
#else
        detail::throw_if(bad);
#endif
        return end;
    }

    std::unique_ptr<detail::mpi_endpoint> s_;
};

static_assert(InPlaceTransport<mpi> && WaitableTransport<mpi> && GatheringTransport<mpi> && SaysWays<mpi>);

} // namespace bough

#endif
