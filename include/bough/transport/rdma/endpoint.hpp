// SPDX-License-Identifier: BSL-1.0
// One rank of bough::fabric and bough::verbs: it joins its group, sends and takes messages, and
// leaves in order.
//
// A short message is one frame. A long message is an announcement, then the receiver's `go` with a
// place, then a remote write (pushes.hpp, pulls.hpp).
#ifndef BOUGH_TRANSPORT_RDMA_ENDPOINT_HPP
#define BOUGH_TRANSPORT_RDMA_ENDPOINT_HPP

#include <bough/concepts/protocol.hpp>
#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/core/deadline.hpp>
#include <bough/core/ignore_exceptions.hpp>
#include <bough/os/clock.hpp>
#include <bough/os/forks.hpp>
#include <bough/transport/rdma/device.hpp>
#include <bough/transport/rdma/frame.hpp>
#include <bough/transport/rdma/greetings.hpp>
#include <bough/transport/rdma/inbox.hpp>
#include <bough/transport/rdma/outbox.hpp>
#include <bough/transport/rdma/poller.hpp>
#include <bough/transport/rdma/pulls.hpp>
#include <bough/transport/rdma/pushes.hpp>
#include <bough/transport/rdma/rank_core.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <thread>
#include <utility>

namespace bough::inline BOUGH_ABI::detail {

template <RdmaMessenger Device>
class fabric_endpoint {
public:
    using options_type = typename Device::options_type;

    fabric_endpoint(std::unique_ptr<Device> device, const options_type& options, const fabric_group& g)
        : core_(std::move(device), options, g), pushes_(core_), pulls_(core_), poller_(core_, pushes_, pulls_) {}

    ~fabric_endpoint() {
        if (forked()) {
            pushes_.abandon();
            pulls_.abandon();
            core_.in.abandon();
            core_.out.abandon();
            core_.device->abandon();
            return;
        }
        leave();
        core_.device->close_endpoint();
    }

    const fabric_group& who() const noexcept { return core_.group; }
    bool forked() const noexcept { return forks() != forks_; }
    std::uint64_t strangers() const noexcept { return poller_.strangers() + core_.in.strangers(); }
    const Device& device() const noexcept { return *core_.device; }
    Device& device() noexcept { return *core_.device; }
    const fabric_outbox<Device>& out() const noexcept { return core_.out; }
    fabric_outbox<Device>& out() noexcept { return core_.out; }

    // --- Joining ---

    // Allocates what is needed to greet the others. May fail on this rank alone.
    status prepare() {
        if (core_.out.prepare() && core_.in.prepare()) return {};
        return {.code = errc::no_resources, .argument = "eager_bytes, window: so much memory may not be registered"};
    }
    void watch(rank_t r, std::uint64_t process) { core_.presence.watch(r, process); }
    // Says hello to all and waits until all have said it (errors: greetings.hpp).
    status meet(std::uint64_t until_ns) {
        const fabric_group& g = core_.group;
        for (rank_t r = 0; r != g.size && now_ == stage::outside; ++r)
            if (r != g.rank) core_.out.say(r, fabric_frame::hello);
        now_ = stage::meeting;
        core_.out.set_meeting(true);
        const auto turn = [this] {
            core_.out.flush();
            for (bool more = true; more;) more = poller_.gather(8);
        };
        // A rank that has died is needed until both have said hello.
        const auto died = [&](rank_t late) {
            return core_.presence.died_early([&](rank_t r) { return !core_.in.has_met(r) || late == g.size; });
        };
        return await_greetings(
            g, *core_.device, until_ns, turn, [&] { return core_.in.missing(); }, [&] { return core_.out.all_sent(); },
            died);
    }
    void begin() noexcept {
        now_ = stage::joined;
        core_.out.set_meeting(false);
    }

    // --- The transport ---

    protocol way_of(std::size_t bytes) const noexcept {
        return fabric_way(core_.group, bytes, core_.options.eager_bytes);
    }
    posted post_send(rank_t to, const envelope& tag, std::span<const std::byte> bytes, std::uint64_t id) {
        if (to >= core_.group.size || to == core_.group.rank || forked()) return posted::failed;
        if (!core_.presence.is_here(to)) return core_.presence.is_reported(to) ? posted::failed : posted::would_block;
        if (!core_.out.has_room(to)) return posted::would_block;
        if (way_of(bytes.size()) != protocol::copied) return pushes_.announce(to, tag, bytes, id);
        return core_.out.send(to, fabric_frame::message, tag, bytes) == fabric_result::ok ? posted::complete
                                                                                          : posted::would_block;
    }

    // Whether poll() has something to report already. (A flush reads completions, too.)
    bool has_found() const noexcept { return poller_.has_found(); }
    std::size_t poll(std::span<event> events) { return forked() ? 0 : poller_.poll(events); }

    posted take(std::uint64_t handle, std::span<std::byte> into, std::uint64_t id) {
        if (forked()) return posted::failed;
        fabric_buffer& b = core_.in.buffer(handle);
        const fabric_arrival a(b);
        if (into.size() != a.bytes) return posted::failed;
        if (a.head.kind == fabric_frame::message) {
            if (!into.empty()) std::memcpy(into.data(), b.memory + sizeof a.head, into.size());
            core_.in.use_up(b, a.head.from);
            core_.out.give_room(a.head.from);
            return posted::complete;
        }
        return core_.presence.is_lost(a.head.from) ? posted::failed : pulls_.take(b, a, into, id);
    }
    // Only short messages can be claimed: a long one must be taken.
    bool claim(std::uint64_t handle) noexcept {
        return !forked() && fabric_arrival(core_.in.buffer(handle)).head.kind == fabric_frame::message;
    }
    void release(std::uint64_t handle) noexcept {
        if (forked()) return;
        fabric_buffer& b = core_.in.buffer(handle);
        const fabric_arrival a(b);
        const bool is_long = a.head.kind == fabric_frame::announcement;
        core_.in.use_up(b, a.head.from);
        if (is_long && !core_.presence.is_lost(a.head.from))
            core_.out.say(a.head.from, fabric_frame::done, {0, 0, a.number, 0});
        else
            core_.out.give_room(a.head.from);
        if (is_long) core_.out.expect_less();
    }
    errc cancel(std::uint64_t id) {
        if (forked()) return errc::forked_child;
        const bool found = pushes_.cancel(id) || pulls_.cancel(id) || core_.events.has_completed(id);
        return found ? errc::ok : errc::invalid_argument;
    }
    // GatheringTransport. Frames that arrive during a flush are left to the next poll.
    void flush() {
        if (forked() || !core_.out.unsent()) return;
        core_.out.flush();
        if (core_.out.unsent()) (void)poller_.gather(8);
    }

private:
    enum class stage : std::uint8_t { outside, meeting, joined };

    // Lets transfers end that cannot be taken back, then says bye. Takes at most `linger_ns` in
    // all.
    void leave() noexcept {
        if (core_.out.is_closed() || now_ != stage::joined) return;
        const std::uint64_t last = deadline_after(steady_now_ns(), core_.options.linger_ns);
        pushes_.take_back();
        const auto wait_for = [&](const auto& done) {
            for (std::array<event, 8> events; !done() && !core_.out.is_closed() && steady_now_ns() < last;) {
                std::size_t found = 0;
                ignore_exceptions([&] { found = poll(events); }); // perhaps there is memory later
                for (std::size_t i = 0; i != found; ++i)
                    if (events[i].what == event::kind::arrived) release(events[i].id);
                if (found == 0) std::this_thread::yield();
            }
        };
        wait_for([this] { return pulls_.empty() && pushes_.are_over(); });
        if (core_.out.is_closed()) return;
        poller_.say_bye();
        wait_for([this] { return core_.out.all_sent() && have_all_waved(); });
    }

    // Whether all peers to which this rank has said `bye` have answered it or are gone.
    bool have_all_waved() const noexcept {
        rank_t r = 0;
        while (r != core_.group.size && (!core_.out.is_parting(r) || core_.in.has_waved(r))) ++r;
        return r == core_.group.size;
    }

    fabric_rank_core<Device> core_;
    fabric_pushes<Device> pushes_;
    fabric_pulls<Device> pulls_;
    fabric_poller<Device> poller_;
    std::uint32_t forks_ = forks();
    stage now_ = stage::outside;
};

} // namespace bough::detail

#endif
