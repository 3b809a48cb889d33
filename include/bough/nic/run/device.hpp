// SPDX-License-Identifier: BSL-1.0
// host_nic: the device on which bough/nic/run/host.hpp runs programs, over the links of a
// communicator. Include bough/nic/run/host.hpp instead of this header.
#ifndef BOUGH_NIC_RUN_DEVICE_HPP
#define BOUGH_NIC_RUN_DEVICE_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/collective_name.hpp>
#include <bough/core/config.hpp>
#include <bough/core/ignore_exceptions.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>
#include <bough/nic/machine.hpp>
#include <bough/nic/run/program_search.hpp>
#include <bough/session/absence_search.hpp>
#include <bough/session/session.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::nic {

template <Transport X>
class host_nic;
template <class T, class O, Transport X>
class host_program;

namespace detail {

// What a device knows of a program.
class loaded {
public:
    virtual void take(const message& m, std::span<const std::byte> payload) = 0;
    virtual std::uint32_t stream() const noexcept = 0;
    // Where this rank is, if others wait for it in this instance of this program.
    virtual whereabouts where(std::uint32_t instance) const = 0;
    // Where this rank is in this program, if others wait for it in another program.
    virtual whereabouts where() const = 0;

protected:
    ~loaded() = default;
};

} // namespace detail

// A NIC played by the host. Making one is collective: every rank of the communicator makes its
// devices in the same order. Programs refer to their device: it does not move, and must outlive
// them.
template <Transport X>
class host_nic {
public:
    template <class Communicator>
    explicit host_nic(Communicator& comm)
        : session_(kept(comm)), rank_(comm.rank()), timeout_ns_(comm.options().timeout_ns),
          most_waiting_(comm.options().early.bytes) {
        for (rank_t r = 0; r != comm.size(); ++r) ranks_.push_back(comm.world_rank(r));
        tag_.context = comm.context();
        // A communicator's agreements take small numbers: none ever reaches this half.
        const auto next_number = [this] {
            return 0x8000'0000u |
                   session_->with_lock([this] { return session_->contexts().next_agreement(tag_.context); });
        };
        tag_.operation = next_number();
        envelope searched = tag_;
        searched.operation = next_number();
        search_.emplace(*session_, searched);
    }
    host_nic(const host_nic&) = delete;
    host_nic& operator=(const host_nic&) = delete;

    rank_t rank() const noexcept { return rank_; }
    rank_t size() const noexcept { return static_cast<rank_t>(ranks_.size()); }
    std::uint64_t timeout_ns() const noexcept { return timeout_ns_; }

    // Polls the transport once, and runs what has come. True if something had.
    bool progress() {
        const bool moved = session_->progress();
        return run_arrived() || moved;
    }

    // Calls f for each message that a program of this rank sends, once for a multicast.
    void on_send(std::function<void(const message&, std::span<const std::byte> payload)> f) { sees_ = std::move(f); }

private:
    template <class T, class O, Transport Y>
    friend class host_program;

    void send(rank_t to, std::span<const std::byte> frame) { session_->send_control(ranks_[to], tag_, frame); }
    bool is_lost(rank_t r) const noexcept { return session_->is_lost(ranks_[r]); }
    envelope call_of(std::uint32_t stream, std::uint32_t instance) const noexcept {
        return detail::call_of(tag_.context, stream, instance);
    }
    // Where this rank is, if others wait for it in `call`: in that program, or, if it is not there,
    // in another one.
    detail::whereabouts where(const envelope& call) const {
        const auto asked = program_instance::unpacked(call.operation);
        detail::whereabouts said{.at = detail::whereabouts::place::nowhere};
        for (const detail::loaded* p : programs_)
            if ((p->stream() & 0x7ffu) == asked.stream) said = p->where(asked.instance);
        for (const detail::loaded* p : programs_)
            if (said.at == detail::whereabouts::place::nowhere)
                if (auto other = p->where(); other.at != said.at) said = std::move(other);
        return said;
    }

    // Hands the messages that have come to their programs.
    bool run_arrived() {
        bool any = false;
        if (std::exchange(has_new_, false)) {
            waiting_bytes_ = 0;
            for (control_message& one : std::exchange(waiting_, {})) use(std::move(one));
        }
        for (control_message one; session_->with_lock([&] { return take_arrived(one); }); any = true)
            use(std::move(one));
        return any;
    }
    bool take_arrived(control_message& taken) {
        bool has_come = false;
        session_->messages().hear([&](control_message& there) {
            const bool is_mine = (there.tag.context == tag_.context && there.tag.operation == tag_.operation) ||
                                 search_->is_its(there.tag);
            if (has_come || !is_mine) return false;
            taken = std::move(there);
            return has_come = true;
        });
        return has_come;
    }
    void use(control_message&& one) {
        if (search_->is_its(one.tag)) {
            bough::detail::ignore_exceptions(
                [&] { search_->heard(one, [this](const envelope& call) { return where(call); }); });
            return session_->with_lock([&] { session_->messages().recycle(std::move(one.bytes)); });
        }
        message m;
        const bool whole = one.bytes.size() >= sizeof m;
        if (whole) std::memcpy(&m, one.bytes.data(), sizeof m);
        if (whole && m.from < ranks_.size() && ranks_[m.from] == one.peer) {
            const auto to = std::ranges::find(programs_, m.stream, &detail::loaded::stream);
            if (to != programs_.end())
                (*to)->take(m, std::span(one.bytes).subspan(sizeof m));
            else if (m.count != 0 || !was_owed(m.stream))
                return keep(std::move(one));
        }
        session_->with_lock([&] { session_->messages().recycle(std::move(one.bytes)); });
    }
    // Is it a credit for a program that has ended here?
    bool was_owed(std::uint32_t stream) {
        const auto at = std::ranges::find(owed_, stream, &owed::stream);
        if (at == owed_.end()) return false;
        if (--at->credits == 0) owed_.erase(at);
        return true;
    }
    // Keeps a message until its program is loaded.
    void keep(control_message&& one) {
        const std::uint64_t bytes = sizeof one + one.bytes.size();
        bool kept = waiting_bytes_ + bytes <= most_waiting_;
        const rank_t from = one.peer;
#if BOUGH_HAS_EXCEPTIONS
        try {
            if (kept) waiting_.push_back(std::move(one));
        } catch (...) {
            kept = false;
        }
#else
        if (kept) waiting_.push_back(std::move(one));
#endif
        if (!kept) return session_->give_up({.code = errc::no_resources, .peer = from});
        waiting_bytes_ += bytes;
    }

    // The session, and with it the communicator, whose number is the device's.
    template <class Communicator>
    static std::shared_ptr<session<X>> kept(Communicator& comm) {
        if constexpr (requires { comm.core(); })
            return {comm.core(), comm.shared_session().get()};
        else
            return comm.shared_session();
    }
    struct owed {
        std::uint32_t stream;
        std::uint64_t credits; // how many are still to come
    };

    std::shared_ptr<session<X>> session_;
    rank_t rank_;
    std::uint64_t timeout_ns_;
    envelope tag_{};
    std::optional<detail::program_search<X>> search_{};
    std::vector<rank_t> ranks_{}; // by rank of the communicator: the rank in the transport
    std::vector<detail::loaded*> programs_{};
    std::function<void(const message&, std::span<const std::byte>)> sees_{};
    std::vector<owed> owed_{};               // to programs that have ended
    std::vector<control_message> waiting_{}; // for programs that are not loaded
    std::uint64_t waiting_bytes_ = 0, most_waiting_;
    bool has_new_ = false; // a program was loaded
};
template <class Communicator>
host_nic(Communicator&) -> host_nic<std::remove_cvref_t<decltype(std::declval<Communicator&>().transport())>>;

} // namespace bough::nic

#endif
