// SPDX-License-Identifier: BSL-1.0
// mpi_endpoint, behind bough::mpi: a rank's messages and peers over MPI's point-to-point calls.
#ifndef BOUGH_TRANSPORT_MPI_ENDPOINT_HPP
#define BOUGH_TRANSPORT_MPI_ENDPOINT_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/core/deadline.hpp>
#include <bough/os/clock.hpp>
#include <bough/os/forks.hpp>
#include <bough/os/mpi_comm.hpp>
#include <bough/transport/join_room.hpp>
#include <bough/transport/mpi/frames.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mpi.h>
#include <span>
#include <string>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI {

struct mpi_options {
    std::uint32_t window = 32;        // most messages from one rank to another that are not used up; 1 to 4096
    std::uint32_t eager_bytes = 2048; // longer payloads stay with the sender until they are taken; at most 1 MiB
    // If ranks give different numbers, the least counts.
};

namespace detail {

class mpi_endpoint {
    using frame = mpi_frame;

    struct peer {
        std::uint32_t sent = 0, freed = 0; // messages to it, and how many of them it has used up
        std::uint32_t used = 0, told = 0;  // messages from it that are used up, and how many of them it was told of
        std::uint32_t announced = 0;       // long messages to it
        bool left = false, reported = false;
        bool parted = false; // it has said bye
    };
    struct arrival {
        frame head{};
        rank_t from = no_rank;
        mpi_buffer data{}; // the frame as it came
    };
    struct long_send {
        std::uint64_t id = 0;
        rank_t to = no_rank;
        std::uint32_t number = 0;
        std::span<const std::byte> bytes{};
        MPI_Request request = MPI_REQUEST_NULL; // null: its receiver has not asked for the payload
        bool taken_back = false;
        errc given_up = errc::ok; // what its event says if MPI cancels it
    };
    struct long_take {
        std::uint64_t id = 0;
        rank_t from = no_rank;
        std::uint32_t number = 0;
        std::size_t bytes = 0;
        MPI_Request request = MPI_REQUEST_NULL;
        errc given_up = errc::ok; // what its event says if MPI cancels it
    };
    // A payload that nobody wants any more, but that may still come.
    struct orphan {
        rank_t from = no_rank;
        std::uint32_t number = 0;
        std::size_t bytes = 0;
        mpi_buffer data{};
        bool over = false;
    };

public:
    mpi_endpoint() : outgoing(0) {}

    // Collective over `of`: ok on all ranks, or an error on all. `text`: MPI's words on this rank.
    status open(MPI_Comm of, const mpi_options& o, std::string& text) {
        mpi_parting::give_back();
        mpi_comm_errors quiet(of);
        status well;
        for (int tries = 0; tries != 2; ++tries) {
            text.clear();
            well = mpi_agree(of, duplicate(of, o, text));
            if (!well) break;
            if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm); // on all ranks that have one
            // Communicators may have run out because peers of ended transports have yet to say bye.
            if (tries == 0) mpi_parting::give_back(1'000'000'000);
        }
        if (well) return well;
        const long online = ::sysconf(_SC_NPROCESSORS_ONLN); // cores of the node, not of this process alone
        int here = 1, place = 0;
        well = mpi_agree(comm, mpi_neighbours(comm, here, place, text));
        if (well) return MPI_Comm_free(&comm), well;
        cores = place == 0 ? static_cast<std::uint32_t>(std::max(online, 1l)) : 0;
        oversubscribed = here > online;
        std::uint32_t least[2] = {o.window, o.eager_bytes};
        MPI_Allreduce(MPI_IN_PLACE, least, 2, MPI_UINT32_T, MPI_MIN, comm);
        options = {least[0], least[1]};
        MPI_Allreduce(MPI_IN_PLACE, &cores, 1, MPI_UINT32_T, MPI_SUM, comm);
        spins = oversubscribed ? 1 : 200;
        outgoing = mpi_outgoing(options.eager_bytes);
        return {};
    }

    posted post_send(rank_t to, const envelope& tag, std::span<const std::byte> bytes, std::uint64_t id) {
        if (to >= peers.size() || to == rank) return posted::failed;
        peer& p = peers[to];
        if (p.left) return p.reported ? posted::failed : posted::would_block; // its messages come first
        if (p.sent - p.freed >= options.window) return posted::would_block;
        frame head{.tag = tag, .bytes = bytes.size()};
        if (bytes.size() <= options.eager_bytes) {
            if (!say(to, head, bytes)) return posted::would_block;
            ++p.sent;
            return posted::complete;
        }
        head.kind = frame::announcement;
        head.number = p.announced++;
        sends.push_back({.id = id, .to = to, .number = head.number, .bytes = bytes});
        if (!say(to, head, {})) { // lose() has already ended the send
            std::erase_if(ready, [id](const event& e) { return e.what == event::kind::complete && e.id == id; });
            return posted::would_block;
        }
        ++p.sent;
        return posted::pending;
    }

    std::size_t poll(std::span<event> events) {
        std::size_t found = 0;
        if (!sends.empty() || !takes.empty() || !orphans.empty()) test_transfers();
        for (; found != events.size() && !ready.empty(); ++found) {
            events[found] = ready.front();
            if (ready.front().what == event::kind::lost) peers[ready.front().peer].reported = true;
            ready.erase(ready.begin());
        }
        for (int frames = 0; frames != 64 && found != events.size() && receive(); ++frames) {
            const std::uint64_t handle = coming;
            coming = nothing;
            if (!hear(handle, events[found])) continue;
            ++found;
        }
        return found;
    }

    posted take(std::uint64_t handle, std::span<std::byte> into, std::uint64_t id) {
        arrival& a = *arrivals[handle];
        if (into.size() != a.head.bytes) return posted::failed;
        if (a.head.kind == frame::message) {
            if (!into.empty()) std::memcpy(into.data(), a.data.memory.get() + sizeof(frame), into.size());
            give_room(use_up(handle));
            return posted::complete;
        }
        if (peers[a.from].left) return posted::failed;
        long_take t{.id = id, .from = a.from, .number = a.head.number, .bytes = into.size()};
        const mpi_bytes n(into.size());
        if (MPI_Irecv(into.data(), n.count, n.type, static_cast<int>(t.from), mpi_payload_tag(t.number), comm,
                      &t.request) != MPI_SUCCESS)
            return posted::failed;
        takes.push_back(t);
        use_up(handle);
        say(t.from, {.number = t.number, .kind = frame::go}, {});
        return posted::pending;
    }
    void release(std::uint64_t handle) {
        const frame head = arrivals[handle]->head;
        const rank_t from = use_up(handle);
        if (head.kind == frame::announcement && !peers[from].left)
            say(from, {.number = head.number, .kind = frame::done}, {});
        else
            give_room(from);
    }

    errc cancel(std::uint64_t id) {
        for (long_send& s : sends) {
            if (s.id != id || s.taken_back) continue;
            if (s.request != MPI_REQUEST_NULL) return errc::ok; // under way: it will end well, soon
            s.taken_back = true;
            s.bytes = {};
            end(errc::cancelled, id, s.to);
            return errc::ok;
        }
        for (std::size_t i = 0; i != takes.size(); ++i) {
            if (takes[i].id != id) continue;
            if (takes[i].given_up == errc::ok) give_up(i, errc::cancelled);
            return errc::ok;
        }
        for (const event& e : ready) // it has ended, but the caller does not know yet
            if (e.what == event::kind::complete && e.id == id) return errc::ok;
        return errc::invalid_argument;
    }

    // MPI may send the rest only while this rank calls it.
    void flush() {
        if (!outgoing.all_sent()) outgoing.reclaim([this](int to) { lose(static_cast<rank_t>(to)); });
    }
    bool unsent() const {
        return !outgoing.all_sent() &&
               outgoing.is_flying_to([this](int to) { return !peers[static_cast<rank_t>(to)].left; });
    }
    std::uint64_t accepted() const noexcept { return outgoing.sent(); }
    std::uint64_t handed_over(rank_t to) const noexcept {
        return peers[to].left ? outgoing.sent() : outgoing.sent_to(static_cast<int>(to));
    }

    // Says bye to all. Before that, waits up to a second for transfers that cannot be taken back.
    void leave() {
        if (detail::forks() != forks) return; // MPI belongs to the parent
        int over = 0;
        MPI_Finalized(&over);
        if (over != 0) return; // MPI has been finalised
        const std::uint64_t last_ns = deadline_after(steady_now_ns(), 1'000'000'000);
        for (long_send& s : sends) s.taken_back |= s.request == MPI_REQUEST_NULL;
        const auto under_way = [this] {
            return !takes.empty() || !orphans.empty() || coming != nothing ||
                   std::any_of(sends.begin(), sends.end(), [](const long_send& s) { return !s.taken_back; });
        };
        while (under_way() && steady_now_ns() < last_ns) {
            std::array<event, 8> events;
            const std::size_t found = poll(events);
            for (std::size_t i = 0; i != found; ++i)
                if (events[i].what == event::kind::arrived) release(events[i].id);
            if (found == 0) std::this_thread::yield();
        }
        bool is_clean = !under_way();
        for (std::size_t i = takes.size(); i-- != 0; i = std::min(i, takes.size())) // one that fails ends others, too
            give_up(i, errc::peer_dead);
        int expected = 0;
        for (rank_t r = 0; r != peers.size(); ++r) {
            if (r == rank) continue;
            expected += !peers[r].left;
            is_clean = outgoing.send(comm, static_cast<int>(r), {.kind = frame::bye}, {}, [](int) {}) && is_clean &&
                       (!peers[r].left || peers[r].parted);
        }
        mpi_parting::add({comm, std::move(outgoing), sizeof(frame) + options.eager_bytes, expected, is_clean});
    }

    bool claim(std::uint64_t handle) const noexcept { return arrivals[handle]->head.kind == frame::message; }

    rank_t rank = 0;
    std::uint32_t cores = 1, spins = 1, forks = detail::forks();
    bool oversubscribed = false;
    std::vector<peer> peers;

private:
    // --- the communicator ---

    // This rank's part of opening: checks what it can see alone, and duplicates the communicator.
    status duplicate(MPI_Comm of, const mpi_options& o, std::string& text) {
        if (o.window < 1 || o.window > 4096) return refused(invalid_argument("window: must be 1 to 4096"), of);
        if (o.eager_bytes > 1u << 20) return refused(invalid_argument("eager_bytes: at most 1 MiB"), of);
        const int code = MPI_Comm_dup(of, &comm);
        if (code != MPI_SUCCESS) {
            comm = MPI_COMM_NULL;
            text = mpi_text("MPI_Comm_dup", code);
            return {.code = errc::no_resources};
        }
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
        int me = 0, all = 1;
        MPI_Comm_rank(comm, &me);
        MPI_Comm_size(comm, &all);
        rank = static_cast<rank_t>(me);
        return attempted([&] { return peers.resize(static_cast<std::size_t>(all)), status{}; });
    }
    // Duplicates all the same, because the others are already doing so and would wait.
    status refused(const status& why, MPI_Comm of) {
        if (MPI_Comm_dup(of, &comm) != MPI_SUCCESS) comm = MPI_COMM_NULL;
        return why;
    }
    // --- frames ---

    bool say(rank_t to, frame head, std::span<const std::byte> payload) {
        peer& p = peers[to];
        head.used = p.told = p.used;
        const auto failed = [this](int other) { lose(static_cast<rank_t>(other)); };
        if (outgoing.send(comm, static_cast<int>(to), head, payload, failed)) return true;
        lose(to);
        return false;
    }

    // Has the next frame come? It lies in arrivals[coming].
    bool receive() {
        if (coming == nothing) {
            MPI_Message message;
            MPI_Status about;
            int found = 0;
            if (MPI_Improbe(MPI_ANY_SOURCE, mpi_frame_tag, comm, &found, &message, &about) != MPI_SUCCESS) {
                for (rank_t r = 0; r != peers.size(); ++r)
                    if (r != rank) lose(r);
                return false;
            }
            if (found == 0) return false;
            const std::uint64_t handle = room_for_arrival();
            arrival& a = *arrivals[handle];
            a.from = static_cast<rank_t>(about.MPI_SOURCE);
            coming = handle;
            if (MPI_Imrecv(a.data.memory.get(), static_cast<int>(sizeof(frame) + options.eager_bytes), MPI_BYTE,
                           &message, &a.data.request) != MPI_SUCCESS)
                return frame_lost();
        }
        int came = 0; // frames longer than MPI sends at once come in pieces
        return MPI_Test(&arrivals[coming]->data.request, &came, MPI_STATUS_IGNORE) == MPI_SUCCESS ? came != 0
                                                                                                  : frame_lost();
    }
    // Receiving the frame that is coming has failed.
    BOUGH_COLD bool frame_lost() {
        lose(arrivals[std::exchange(coming, nothing)]->from);
        return false;
    }
    std::uint64_t room_for_arrival() {
        if (spare.empty()) {
            arrivals.push_back(std::make_unique<arrival>());
            spare.reserve(arrivals.size());
            arrivals.back()->data = mpi_buffer(sizeof(frame) + options.eager_bytes);
            return arrivals.size() - 1;
        }
        const std::uint64_t handle = spare.back();
        spare.pop_back();
        return handle;
    }

    // Does what a frame says. True: it is a message, which `e` announces.
    bool hear(std::uint64_t handle, event& e) {
        arrival& a = *arrivals[handle];
        std::memcpy(&a.head, a.data.memory.get(), sizeof(frame));
        const frame& head = a.head;
        const rank_t from = a.from;
        peers[from].freed = head.used;
        if (head.kind == frame::message || head.kind == frame::announcement) {
            e = {.what = event::kind::arrived, .peer = from, .id = handle, .bytes = head.bytes, .envelope = head.tag};
            if (head.kind == frame::message && head.bytes != 0) e.data = a.data.memory.get() + sizeof(frame);
            return true;
        }
        spare.push_back(handle);
        const auto mine = std::find_if(sends.begin(), sends.end(), [&](const long_send& s) {
            return s.to == from && s.number == head.number && s.request == MPI_REQUEST_NULL;
        });
        const bool is_mine = mine != sends.end();
        switch (head.kind) {
        case frame::go:
            if (is_mine) begin(mine);
            break;
        case frame::done:
            if (!is_mine) break;
            if (!mine->taken_back) end(errc::ok, mine->id, from);
            sends.erase(mine);
            break;
        case frame::none: no_payload(from, head.number); break;
        case frame::bye:
            peers[from].parted = true;
            lose(from);
            break;
        default: break;
        }
        return false;
    }
    void say_none(const long_send& s) {
        const frame sorry{.number = s.number, .kind = frame::none};
        say(s.to, sorry, {});
    }
    // The receiver waits for the payload.
    void begin(std::vector<long_send>::iterator s) {
        if (s->taken_back) {
            const long_send gone = *s;
            sends.erase(s);
            return say_none(gone);
        }
        const mpi_bytes n(s->bytes.size());
        const rank_t to = s->to;
        MPI_Request request = MPI_REQUEST_NULL;
        if (MPI_Isend(s->bytes.data(), n.count, n.type, static_cast<int>(to), mpi_payload_tag(s->number), comm,
                      &request) == MPI_SUCCESS)
            s->request = request;
        else
            lose(to); // this erases s
    }
    void no_payload(rank_t from, std::uint32_t number) {
        std::erase_if(orphans, [=](const orphan& o) { return o.from == from && o.number == number; });
        for (std::size_t i = 0; i != takes.size(); ++i)
            if (takes[i].from == from && takes[i].number == number) return give_up(i, errc::peer_aborted);
    }

    // --- payloads ---

    void end(errc code, std::uint64_t id, rank_t with) {
        ready.push_back({.what = event::kind::complete, .code = code, .peer = with, .id = id});
    }
    void test_transfers() {
        for (std::size_t i = 0; i != sends.size();) {
            long_send& s = sends[i];
            MPI_Status about;
            int over = 0, cancelled = 0;
            const bool good = s.request == MPI_REQUEST_NULL || MPI_Test(&s.request, &over, &about) == MPI_SUCCESS;
            if (good && over == 0) {
                ++i;
                continue;
            }
            if (good) MPI_Test_cancelled(&about, &cancelled);
            const rank_t to = s.to;
            end(!good ? errc::peer_dead : cancelled != 0 ? s.given_up : errc::ok, s.id, to);
            sends.erase(sends.begin() + static_cast<std::ptrdiff_t>(i));
            if (!good) lose(to), i = 0;
        }
        for (std::size_t i = 0; i < takes.size();)
            if (!test_take(i)) ++i;
        for (orphan& o : orphans) drain(o);
        std::erase_if(orphans, [](const orphan& o) { return o.over; });
    }
    // True: take number i is over, and its event is in `ready`.
    bool test_take(std::size_t i) {
        const long_take t = takes[i];
        MPI_Status about;
        int over = 0, cancelled = 0;
        const bool good = MPI_Test(&takes[i].request, &over, &about) == MPI_SUCCESS;
        if (good && over == 0) return false;
        if (good) MPI_Test_cancelled(&about, &cancelled);
        end(!good ? errc::peer_dead : cancelled != 0 ? t.given_up : errc::ok, t.id, t.from);
        takes.erase(takes.begin() + static_cast<std::ptrdiff_t>(i));
        if (!good) lose(t.from);
        if (cancelled == 0 || t.given_up != errc::cancelled || peers[t.from].left) return true;
        orphans.push_back({.from = t.from, .number = t.number, .bytes = t.bytes}); // it was asked for, so it will come
        return true;
    }
    // Gives take number i up, unless its payload is already coming. Its event comes now or later.
    void give_up(std::size_t i, errc code) {
        takes[i].given_up = code;
        MPI_Cancel(&takes[i].request);
        test_take(i);
    }
    // Receives a payload that nobody wants, so that its sender can go on.
    void drain(orphan& o) {
        int over = 0;
        if (o.data.request == MPI_REQUEST_NULL) {
            MPI_Message message;
            MPI_Status about;
            o.over = MPI_Improbe(static_cast<int>(o.from), mpi_payload_tag(o.number), comm, &over, &message, &about) !=
                     MPI_SUCCESS;
            if (o.over || over == 0) return;
            o.data = mpi_buffer(o.bytes);
            const mpi_bytes n(o.bytes);
            MPI_Imrecv(o.data.memory.get(), n.count, n.type, &message, &o.data.request);
        }
        if (MPI_Test(&o.data.request, &over, MPI_STATUS_IGNORE) != MPI_SUCCESS || over != 0) o.over = true;
    }

    rank_t use_up(std::uint64_t handle) {
        const rank_t from = arrivals[handle]->from;
        spare.push_back(handle);
        ++peers[from].used;
        return from;
    }
    // Tells a rank that it may send more, once that is half a window more than it knows.
    void give_room(rank_t from) {
        const peer& p = peers[from];
        if (!p.left && p.used - p.told >= (options.window + 1) / 2) say(from, {.kind = frame::room}, {});
    }

    // Called when nothing more will come from a rank.
    BOUGH_COLD void lose(rank_t r) {
        if (peers[r].left) return;
        peers[r].left = true;
        for (long_send& s : sends) {
            if (s.to != r) continue;
            if (s.request != MPI_REQUEST_NULL) { // MPI may read its bytes until the request is over
                s.given_up = errc::peer_dead;
                MPI_Cancel(&s.request);
            } else if (!s.taken_back) {
                end(errc::peer_dead, s.id, r);
            }
        }
        std::erase_if(sends, [r](const long_send& s) { return s.to == r && s.request == MPI_REQUEST_NULL; });
        for (std::size_t i = takes.size(); i-- != 0;)
            if (takes[i].from == r) give_up(i, errc::peer_dead);
        std::erase_if(orphans, [r](const orphan& o) { return o.from == r && o.data.request == MPI_REQUEST_NULL; });
        ready.push_back({.what = event::kind::lost, .peer = r});
    }

    static constexpr std::uint64_t nothing = ~std::uint64_t{0};

    mpi_options options;
    MPI_Comm comm = MPI_COMM_NULL;
    mpi_outgoing outgoing;
    std::vector<std::unique_ptr<arrival>> arrivals; // by handle
    std::vector<std::uint64_t> spare;               // handles
    std::uint64_t coming = nothing;                 // the arrival that is being received
    std::vector<long_send> sends;
    std::vector<long_take> takes;
    std::vector<orphan> orphans;
    std::vector<event> ready;
};

} // namespace detail
} // namespace bough

#endif
