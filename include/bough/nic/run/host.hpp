// SPDX-License-Identifier: BSL-1.0
// host_program: runs a program from nic::assemble in this process, over the links of a communicator. The
// host plays the NIC.
//
//   nic::host_nic device{comm};                                      collective; comm is a bough::communicator
//   auto sum = nic::load<double>(device, programs[comm.rank()], bough::plus{});
//   double mine = 1, all = 0;
//   sum.run(std::span(&mine, 1), std::span(&all, 1));                 blocking
//
//   sum.start(std::span(&mine, 1));                                   or in split phase: rings the bell, returns at once
//   while (!sum.poll()) work_a_little();
//   use(sum.result(0));                                               the result of instance 0
//
// A device is to a communicator what a NIC is to a host. It runs several programs at once (their
// streams tell them apart), and as many instances of each as the program has banks, without a
// barrier between them. A message that comes before its program is loaded is kept. The tables and
// the machine are those of every other target, so the values and messages are the same, too.
//
// Programs run in poll, wait and run of any program of the device, and in the device's progress.
// Whatever else uses the communicator polls the transport, too; messages that come then are kept.
// One thread at a time.
//
// An instance ends *for this host* when the host is told: then done() is true, and wait and run
// return. The rank may still owe others a message: for example, a rank in the middle of a chain
// whose child has not made room. poll() is true when nothing is owed any more. Keep polling until
// poll() returns true before you wait for anything but programs of this device; otherwise peers
// stall. The destructor of a program polls until then, too. The instance's deadline also covers
// what is owed.
//
// *Errors* are for good. They poison the group as errors of operations do, so that every rank's
//   programs and operations end with the first cause:
//   - deadline; it names the ranks that did not come (doc/design/013-who-is-missing.md)
//   - peer_dead, if an instance needs a rank that is gone
//   - peer_aborted, with the cause
//   - protocol_error, if a frame comes that no program of this set sends
//   - op_threw
//   - cancelled, if a program is unloaded with instances that this host was not told of
//   - no_resources, also if messages for programs that are not loaded exceed
//     communicator_options::early.bytes
//   - group_poisoned
//   start() returns would_block while all banks are in use; that is no error.
// *Time* what the machine takes, and a copy per message. *Memory*: load takes memory for every
//   message that may be under way; the program's destructor gives it back. In between, only the
//   search for late ranks allocates, when a deadline is near.
// *Determinism* that of the program: any timing gives the same bits.
#ifndef BOUGH_NIC_RUN_HOST_HPP
#define BOUGH_NIC_RUN_HOST_HPP

#include <bough/core/absence.hpp>
#include <bough/core/config.hpp>
#include <bough/core/contract.hpp>
#include <bough/core/ignore_exceptions.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>
#include <bough/nic/assembled.hpp>
#include <bough/nic/machine.hpp>
#include <bough/nic/program.hpp>
#include <bough/nic/run/device.hpp>
#include <bough/nic/run/program_search.hpp>
#include <bough/session/mismatch.hpp>
#include <bough/session/session.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::nic {

// A loaded program of this rank; nic::load makes it. Its destructor gives up instances that the
// host was not told of: the group fails with `cancelled`. Otherwise it first sends what this rank
// still owes others. If there is no room for that before the deadline, the group fails with
// `deadline`.
template <class T, class O, Transport X>
class host_program final : detail::loaded {
    static_assert(std::is_trivially_copyable_v<T> && std::is_default_constructible_v<T>,
                  "bough: elements of a NIC program travel as their bytes: give a trivially copyable type");

public:
    // Pre: the program is sound, and made for this rank of the device's communicator; no other
    // program on the device has or had its stream.
    host_program(host_nic<X>& device, const nic::program& p, const O& with)
        : device_(device), program_(p), op_(with), state_(make_state<T>(p)) {
        BOUGH_EXPECTS(sound(p) == table_fault::none, "program: broken");
        BOUGH_EXPECTS(p.head.rank == device.rank() && p.head.ranks == device.size(),
                      "program: of another rank, or for another number of ranks");
        for (const detail::loaded* other : device.programs_)
            BOUGH_EXPECTS(other->stream() != p.head.stream, "program: its stream is taken on this device");
        for (const auto& past : device.owed_)
            BOUGH_EXPECTS(past.stream != p.head.stream, "program: its stream was taken on this device before");
        places_.resize(banks());
        std::size_t longest = 0;
        for (const slot& x : p.slots) longest = std::max<std::size_t>(longest, x.count);
        payload_.reserve(longest);
        frame_.reserve(frame_bytes(longest));
        // What may be under way: for each bank, a message to every inlet and one from every send.
        std::vector<std::size_t> sizes; // for one bank
        for (const inlet& x : p.inlets) sizes.push_back(frame_bytes(elements_of(x.slot)));
        for (const step& x : p.steps)
            if (x.what == kind::send)
                sizes.insert(sizes.end(), x.peer == everyone ? p.head.ranks : 1u, frame_bytes(elements_of(x.a)));
        room_.take(*device.session_, std::move(sizes), banks());
        device.owed_.reserve(device.owed_.size() + device.programs_.size() + 1);
        device.programs_.push_back(this);
        device.has_new_ = true;
    }
    host_program(const host_program&) = delete;
    host_program& operator=(const host_program&) = delete;
    ~host_program() {
        if (told_ != rung_) fail({.code = errc::cancelled});
        guarded([&] { drain(); });
        std::erase(device_.programs_, static_cast<detail::loaded*>(this));
        if (const std::uint64_t credits = error_ ? 0 : credits_to_come(); credits != 0)
            device_.owed_.push_back({program_.head.stream, credits});
    }

    std::uint32_t banks() const noexcept { return std::uint32_t{1} << program_.head.bank_bits; }
    std::uint32_t started() const noexcept { return rung_; } // so many instances; the next has this number
    std::uint32_t ended() const noexcept { return told_; }   // of so many of them the host was told
    // Does any instance that was started still wait for a message, or owe others one?
    bool unfinished() const noexcept {
        for (std::uint32_t k = 0; k != banks(); ++k)
            if (unfinished(k)) return true;
        return false;
    }
    const status& error() const noexcept { return error_; }
    // How many elements the host brings, and how many it is given.
    std::uint32_t input_count() const noexcept { return elements_of(program_.inlets[bell_inlet].slot); }
    std::uint32_t result_count() const noexcept {
        for (const step& s : program_.steps)
            if (s.what == kind::notify) return elements_of(s.a);
        return 0;
    }

    // The host enters the next instance. The input is copied. would_block: the last instance in its
    // bank has not ended; poll, and try again. Pre: input.size() == input_count().
    status start(std::span<const T> input) {
        BOUGH_EXPECTS(input.size() == input_count(), "input: not as long as the program takes");
        if (!error_) hear_poison(unfinished() ? errc::ok : errc::group_poisoned);
        if (error_) return error_;
        place& at = places_[rung_ & (banks() - 1)];
        if (state_.banks[rung_ & (banks() - 1)].epoch != rung_) return {.code = errc::would_block};
        at = {rung_, {.call = device_.call_of(program_.head.stream, rung_)}, nullptr, false};
        at.waiting.when.set_timeout(device_.session_->now_ns(), device_.timeout_ns_);
        attend_ns_ = std::min(attend_ns_, at.waiting.when.attend_ns_);
        port out{*this};
        const u32 epoch = rung_++;
        guarded([&] { ring(program_, state_, epoch, input.data(), op_, out); });
        return error_;
    }
    // Has this host been told of the instance, or has the program failed?
    bool done(std::uint32_t instance) const noexcept {
        const place& at = places_[instance & (banks() - 1)];
        return error_ || (is_before(instance, rung_) && (at.instance != instance || at.ended));
    }
    // The result of an instance that has ended. It stays until the host enters the instance that
    // takes its bank. Pre: started() - banks() <= instance.
    std::span<const T> result(std::uint32_t instance) const {
        const place& at = places_[instance & (banks() - 1)];
        BOUGH_EXPECTS(at.instance == instance && at.ended,
                      "result: this instance has not ended, or its bank has another");
        return {at.result, result_count()};
    }

    // Ends the program, and the group, with the caller's reason. Does nothing after a failure.
    void abort(const status& why) { fail(why); }

    // Polls once. True if every instance that was started has ended and nothing is owed, or if the
    // program has failed.
    bool poll() {
        const bool idle = !device_.progress();
        if ((++turns_ & (idle ? 63u : 1023u)) == 0 || (idle && device_.session_->forked()))
            look_around(); // even if others keep this rank busy all the time
        return error_ || !unfinished();
    }
    // Waits until the instance has ended for this host, no longer than the communicator's timeout.
    const status& wait(std::uint32_t instance) {
        BOUGH_EXPECTS(is_before(instance, rung_), "wait: this instance was not started");
        wait_until([&] { return done(instance); });
        return error_;
    }
    // Enters an instance as soon as a bank is free, and waits until it has ended for this host.
    // Never returns would_block. Pre: as start, and result.size() == result_count().
    status run(std::span<const T> input, std::span<T> result) {
        BOUGH_EXPECTS(result.size() == result_count(), "result: not as long as the program gives");
        const std::uint32_t instance = rung_;
        status entered = start(input);
        if (entered.code == errc::would_block) {
            wait_until([&] { return (entered = start(input)).code != errc::would_block; });
            if (error_) return error_;
        }
        if (entered) return entered;
        if (wait(instance)) return error_;
        std::ranges::copy(this->result(instance), result.begin());
        return {};
    }

private:
    struct place {
        std::uint32_t instance = 0;
        detail::waiting_instance waiting{};
        const T* result = nullptr;
        bool ended = false;
    };
    // Memory that the session reserves for what may be under way: so many messages of each size.
    struct message_room {
        message_room() = default;
        message_room(const message_room&) = delete;
        message_room& operator=(const message_room&) = delete;
        ~message_room() {
            if (of == nullptr || of->forked()) return;
            of->with_lock([this] {
                for (const auto& [bytes, messages] : taken) of->messages().unreserve(messages, bytes);
            });
        }
        void take(session<X>& s, std::vector<std::size_t> sizes, std::size_t times) {
            of = &s;
            std::ranges::sort(sizes);
            taken.reserve(sizes.size());
            for (auto at = sizes.begin(); at != sizes.end();) {
                const auto next = std::upper_bound(at, sizes.end(), *at);
                const std::size_t messages = static_cast<std::size_t>(next - at) * times;
                s.with_lock([&] { s.messages().reserve(messages, *at); });
                taken.emplace_back(*at, messages);
                at = next;
            }
        }
        session<X>* of = nullptr;
        std::vector<std::pair<std::size_t, std::size_t>> taken{}; // bytes, messages
    };
    struct port {
        host_program& self;
        void send(const message& m, const T* payload) {
            std::vector<std::byte>& frame = self.frame_;
            frame.resize(frame_bytes(m.count));
            std::memcpy(frame.data(), &m, sizeof m);
            if (m.count != 0) std::memcpy(frame.data() + sizeof m, payload, std::size_t{m.count} * sizeof(T));
            if (self.device_.sees_) self.device_.sees_(m, std::span(frame).subspan(sizeof m));
            if (m.to != everyone) return self.device_.send(m.to, frame);
            for (rank_t r = 0; r != self.device_.size(); ++r)
                if (r != self.device_.rank()) self.device_.send(r, frame);
        }
        void notify(u32 epoch, const T* result, u32) {
            place& at = self.places_[epoch & (self.banks() - 1)];
            at.result = result;
            at.ended = true;
            ++self.told_;
        }
    };
    static constexpr std::size_t frame_bytes(std::size_t count) noexcept { return sizeof(message) + count * sizeof(T); }
    static bool is_before(std::uint32_t a, std::uint32_t b) noexcept { return static_cast<std::int32_t>(a - b) < 0; }
    // Is a bank's instance, which was started, still at work? Then places_[k] is its place.
    bool unfinished(std::uint32_t k) const noexcept { return is_before(state_.banks[k].epoch, rung_); }
    // Waits until nothing is owed, or until the deadline has passed.
    void drain() {
        wait_until([&] { return !unfinished(); });
    }
    // How many credits for the next instances of all banks have not come yet. Pre: nothing is
    // unfinished.
    std::uint64_t credits_to_come() const noexcept {
        std::uint64_t n = 0;
        for (std::uint32_t k = 0; k != banks(); ++k)
            for (std::size_t i = 0; i != program_.inlets.size(); ++i)
                if ((program_.inlets[i].flags & inlet_credit) != 0 &&
                    state_.banks[k].expected[i] == state_.banks[k].epoch)
                    ++n;
        return n;
    }
    std::uint32_t elements_of(u16 slot) const noexcept { return slot == no_index ? 0 : program_.slots[slot].count; }

    std::uint32_t stream() const noexcept override { return program_.head.stream; }
    detail::whereabouts where(std::uint32_t low_bits) const override {
        const std::uint32_t ahead = (low_bits - rung_) << 12; // low_bits has 20 bits
        const std::uint32_t instance = rung_ + static_cast<std::uint32_t>(static_cast<std::int32_t>(ahead) >> 12);
        const place& at = places_[instance & (banks() - 1)];
        const bool started = is_before(instance, rung_);
        if (started && at.instance == instance && unfinished(instance & (banks() - 1)))
            return {detail::whereabouts::place::in_it, at.waiting.call, waits_of(instance & (banks() - 1))};
        return started ? detail::whereabouts{.at = detail::whereabouts::place::done, .call = at.waiting.call} : where();
    }
    // The oldest instance that is unfinished, or the latest one if none is.
    detail::whereabouts where() const override {
        for (std::uint32_t e = rung_ - banks(); e != rung_; ++e)
            if (const u32 k = e & (banks() - 1); places_[k].instance == e && rung_ != 0 && unfinished(k))
                return {detail::whereabouts::place::elsewhere, places_[k].waiting.call, waits_of(k)};
        detail::whereabouts said{.at = detail::whereabouts::place::nowhere};
        if (rung_ != 0) said.call = device_.call_of(program_.head.stream, rung_ - 1);
        return said;
    }
    // The ranks whose messages a bank's instance still lacks.
    detail::rank_set waits_of(std::uint32_t k) const {
        detail::rank_set who(device_.session_->size());
        for_each_missing(k, [&](rank_t r) { who.add(device_.ranks_[r]); });
        return who;
    }
    template <class F>
    void for_each_missing(std::uint32_t k, F&& f) const {
        for (std::size_t i = 0; i != program_.inlets.size(); ++i) {
            const inlet& in = program_.inlets[i];
            if (in.from != no_index && i != bell_inlet && !is_before(places_[k].instance, state_.banks[k].expected[i]))
                f(rank_t{in.from});
        }
    }
    void take(const message& m, std::span<const std::byte> payload) override {
        if (error_) return;
        if (payload.size() != std::size_t{m.count} * sizeof(T) || m.count > payload_.capacity() ||
            m.inlet == bell_inlet)
            return fail({.code = errc::protocol_error, .peer = rank_of(m.from)});
        payload_.resize(m.count);
        if (!payload.empty()) std::memcpy(payload_.data(), payload.data(), payload.size());
        port out{*this};
        answer what = answer::taken;
        guarded([&] { what = deliver(program_, state_, m, payload_.data(), op_, out); });
        if (what != answer::taken && what != answer::duplicate)
            fail({.code = errc::protocol_error, .peer = rank_of(m.from)});
    }
    // A rank of the program as the transport counts it; a message may name none.
    rank_t rank_of(std::uint32_t r) const noexcept { return r < device_.ranks_.size() ? device_.ranks_[r] : no_rank; }

    template <class F>
    void guarded(F&& f) {
#if BOUGH_HAS_EXCEPTIONS
        try {
            f();
        } catch (const std::bad_alloc&) {
            fail({.code = errc::no_resources});
        } catch (...) {
            fail({.code = errc::op_threw});
        }
#else
        f();
#endif
    }

    template <class F>
    void wait_until(F&& ready) {
        std::uint32_t turn = 0;
        const bool over = device_.session_->wait_until(
            [&] {
                device_.run_arrived();
                if ((++turn & 15u) == 0) look_around();
                return error_ || ready();
            },
            attend_ns_);
        if (!over) look_around();
    }
    // Looks for reasons to give up: a poisoned group, lost ranks, deadlines.
    void look_around() {
        if (error_) return;
        attend_ns_ = ~std::uint64_t{0};
        if (hear_poison(errc::ok) || !unfinished()) return;
        const std::uint64_t now = device_.session_->transport().now_ns();
        for (std::uint32_t k = 0; k != banks() && !error_; ++k) {
            if (!unfinished(k)) continue;
            for_each_missing(k, [&](rank_t r) {
                if (device_.is_lost(r)) fail({.code = errc::peer_dead, .peer = device_.ranks_[r]});
            });
            if (!error_ && now >= places_[k].waiting.when.attend_ns_) attend(places_[k].waiting, k, now);
            attend_ns_ = std::min(attend_ns_, places_[k].waiting.when.attend_ns_);
        }
    }
    // Looks for the ranks that hold up an instance whose deadline comes near.
    BOUGH_COLD void attend(detail::waiting_instance& one, std::uint32_t k, std::uint64_t now) {
        const auto where = [this](const envelope& call) { return device_.where(call); };
        const auto waits = [&] { return waits_of(k); };
        status why = device_.search_->deadline_of(one);
        bool is_late = now >= one.when.deadline_ns_; // holds if there is no memory for the search
        bough::detail::ignore_exceptions([&] {
            is_late = device_.search_->attend(one, waits, now, where);
            if (is_late) why = device_.search_->report_of(one, waits_of(k), now, where);
        });
        if (is_late) fail(why);
    }
    // Has the communicator failed, or the group? Then this program fails, too: with the same status, or
    // with group_poisoned if `code` is not ok, as for what begins after the failure.
    bool hear_poison(errc code) {
        status poison = device_.session_->poison(device_.tag_.context);
        if (!poison) return false;
        if (code != errc::ok && poison.code != errc::forked_child) poison = poisoned(poison);
        error_ = poison;
        return true;
    }
    // Ends the program, and the group with it.
    void fail(const status& why) {
        if (error_) return;
        error_ = bough::as_seen_by(device_.session_->rank(), why);
        device_.session_->give_up(why);
    }

    host_nic<X>& device_;
    nic::program program_;
    O op_;
    nic::state<T> state_;
    std::vector<place> places_{}; // by bank
    std::vector<T> payload_{};
    std::vector<std::byte> frame_{};
    std::uint32_t rung_ = 0, told_ = 0; // numbers of instances
    std::uint32_t turns_ = 0;
    std::uint64_t attend_ns_ = ~std::uint64_t{0}; // when an instance's time is to be looked at again
    status error_{};
    message_room room_{};
};

// Loads a program on a device. The result does not move, and must not outlive the device.
template <class T, class O, Transport X>
host_program<T, O, X> load(host_nic<X>& device, const program& p, const O& op) {
    return {device, p, op};
}

} // namespace bough::nic

#endif
