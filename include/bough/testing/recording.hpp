// SPDX-License-Identifier: BSL-1.0
// bough::testing::recording: a transport over another one that records its calls and their results,
// to be read or compared.
//
//   bough::testing::record log;
//   bough::session group{bough::testing::recording{world.connect(0), log}};
//   ...
//   std::cout << to_string(log);        // "0: 12000 ns send to 1, operation 3, segment 0, 8 bytes: complete"
#ifndef BOUGH_TESTING_RECORDING_HPP
#define BOUGH_TESTING_RECORDING_HPP

#include <bough/concepts/forwarding_transport.hpp>
#include <bough/concepts/transport.hpp>

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::testing {

// One call, with its result.
struct recorded {
    enum class kind : std::uint8_t { send, take, release, claim, cancel, arrived, complete, lost, take_pieces, piece };
    kind what = kind::send;
    posted result = posted::complete; // for send, take and take_pieces; for claim `failed` means false
    errc code = errc::ok;             // for cancel and complete
    rank_t rank = no_rank, peer = no_rank;
    std::uint64_t time_ns = 0;
    std::uint64_t id = 0; // of the post or the arrival
    std::uint64_t bytes = 0;
    bough::envelope envelope{}; // for send and arrived
    friend bool operator==(const recorded&, const recorded&) = default;
};

using record = std::vector<recorded>;

// One line of text, without a newline.
inline std::string to_string(const recorded& r) {
    static constexpr const char* verbs[] = {"send",    "take",     "release", "claim",          "cancel",
                                            "arrived", "complete", "lost",    "take in pieces", "piece"};
    static constexpr const char* results[] = {"complete", "pending", "would block", "failed"};
    using kind = recorded::kind;
    std::string text = std::to_string(r.rank) + ": " + std::to_string(r.time_ns) + " ns ";
    text += verbs[static_cast<std::size_t>(r.what)];
    if (r.what == kind::send) text += " to " + std::to_string(r.peer);
    if (r.what == kind::arrived) text += " from " + std::to_string(r.peer);
    if (r.what == kind::lost) return text + " " + std::to_string(r.peer);
    if (r.what == kind::send || r.what == kind::arrived)
        text += ", operation " + std::to_string(r.envelope.operation) + ", segment " +
                std::to_string(r.envelope.segment) + ", " + std::to_string(r.bytes) + " bytes";
    else
        text += " of " + std::to_string(r.id);
    if (r.what == kind::piece) text += ", " + std::to_string(r.bytes) + " bytes";
    if (r.what == kind::send || r.what == kind::take || r.what == kind::take_pieces || r.what == kind::claim)
        text += std::string(": ") + results[static_cast<std::size_t>(r.result)];
    if (r.code != errc::ok) text += std::string(": ") + describe(r.code);
    return text;
}
// Writes what to_string gives.
inline std::ostream& operator<<(std::ostream& out, const recorded& r) { return out << to_string(r); }

inline std::string to_string(const record& log) {
    std::string text;
    for (const recorded& r : log) text += to_string(r) + '\n';
    return text;
}

template <Transport T>
class recording : public forwarding_transport<T> {
    using forwarding_transport<T>::inner_;

public:
    // `log` must outlive this object; several ranks of one thread may share one.
    recording(T inner, record& log) : forwarding_transport<T>(std::move(inner)), log_(&log) {}

    posted post_send(rank_t to, const envelope& tag, std::span<const std::byte> bytes, std::uint64_t id) {
        recorded r = blank(recorded::kind::send, id);
        r.peer = to;
        r.bytes = bytes.size();
        r.envelope = tag;
        r.result = inner_.post_send(to, tag, bytes, id);
        log_->push_back(r);
        return r.result;
    }
    std::size_t poll(std::span<event> events) {
        const std::size_t found = inner_.poll(events);
        for (const event& e : events.first(found)) {
            recorded r = blank(kind_of(e), e.id);
            r.peer = e.peer;
            r.code = e.code;
            r.bytes = e.bytes;
            r.envelope = e.envelope;
            log_->push_back(r);
        }
        return found;
    }
    posted take(std::uint64_t handle, std::span<std::byte> into, std::uint64_t id) {
        recorded r = blank(recorded::kind::take, handle);
        r.bytes = into.size();
        r.result = inner_.take(handle, into, id);
        log_->push_back(r);
        return r.result;
    }
    posted take_pieces(std::uint64_t handle, std::uint64_t grain, std::uint64_t id) requires PiecewiseTransport<T> {
        recorded r = blank(recorded::kind::take_pieces, handle);
        r.result = inner_.take_pieces(handle, grain, id);
        log_->push_back(r);
        return r.result;
    }
    bool claim(std::uint64_t handle) requires InPlaceTransport<T> {
        recorded r = blank(recorded::kind::claim, handle);
        const bool ours = inner_.claim(handle);
        r.result = ours ? posted::complete : posted::failed;
        log_->push_back(r);
        return ours;
    }
    void release(std::uint64_t handle) {
        log_->push_back(blank(recorded::kind::release, handle));
        inner_.release(handle);
    }
    errc cancel(std::uint64_t id) {
        recorded r = blank(recorded::kind::cancel, id);
        r.code = inner_.cancel(id);
        log_->push_back(r);
        return r.code;
    }

private:
    static recorded::kind kind_of(const event& e) noexcept {
        switch (e.what) {
        case event::kind::arrived: return recorded::kind::arrived;
        case event::kind::piece: return recorded::kind::piece;
        case event::kind::complete: return recorded::kind::complete;
        case event::kind::lost: break;
        }
        return recorded::kind::lost;
    }
    recorded blank(recorded::kind what, std::uint64_t id) const {
        recorded r;
        r.what = what;
        r.rank = inner_.rank();
        r.time_ns = inner_.now_ns();
        r.id = id;
        return r;
    }

    record* log_;
};

} // namespace bough::testing

#endif
