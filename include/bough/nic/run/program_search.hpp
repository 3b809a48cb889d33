// SPDX-License-Identifier: BSL-1.0
// program_search: how the hosts that run NIC programs find the ranks that hold up an instance which is
// about to end by its deadline.
//
// An instance waits for the ranks whose messages have not come to its inlets. These may wait, too. So a
// host asks them where they are, and then those that they wait for, as a session does, by messages
// between the devices (doc/design/013-who-is-missing.md). A device answers when its host polls it. A host
// that polls none of its programs is silent.
#ifndef BOUGH_NIC_RUN_PROGRAM_SEARCH_HPP
#define BOUGH_NIC_RUN_PROGRAM_SEARCH_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/collective_name.hpp>
#include <bough/core/deadline.hpp>
#include <bough/core/status.hpp>
#include <bough/session/absence_search.hpp>
#include <bough/session/deadline_stages.hpp>
#include <bough/session/session.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::nic::detail {

using bough::detail::absence_search;
using bough::detail::deadline_stages;
using bough::detail::finding;
using bough::detail::rank_set;
using bough::detail::whereabouts;

// An instance of a program, as a call. Ranks are those of the transport.
inline envelope call_of(std::uint16_t context, std::uint32_t stream, std::uint32_t instance) noexcept {
    envelope call;
    call.operation = program_instance{stream, instance}.packed();
    call.context = context;
    call.kind = program_kind;
    return call;
}

// An instance that has begun, and its deadlines.
struct waiting_instance {
    envelope call{};
    deadline_stages when{};
    std::uint32_t search = 0; // the round in which it began to look for those that hold it up
};

template <Transport X>
class program_search {
    enum class kind_of_word : std::uint8_t { question, answer, proposal };
    // A message; an answer has a rank_set behind it.
    struct word {
        kind_of_word what = kind_of_word::question;
        whereabouts::place at = whereabouts::place::nowhere;
        bough::detail::finding::how_sure sure = bough::detail::finding::how_sure::nothing;
        std::uint8_t missing = 0;
        std::uint32_t about = 0, in = 0; // calls of programs
        struct {
            rank_t peer = no_rank;
            std::uint64_t mine = 0, theirs = 0;
        } report{};
        std::uint64_t lasts_ns = 0;

        bough::detail::finding finding(std::uint16_t context) const noexcept {
            bough::detail::finding f{sure, {.code = errc::deadline, .collective = program_kind}};
            if (missing == 0 || sure > bough::detail::finding::how_sure::sure) return {};
            f.report.peer = report.peer;
            f.report.operation = in;
            f.report.context = context;
            f.report.missing = missing;
            f.report.mine = report.mine;
            f.report.theirs = report.theirs;
            return f;
        }
    };
    static_assert(std::is_trivially_copyable_v<word>);

    auto asker() {
        return [this](rank_t r, const envelope& about) {
            if (session_.is_lost(r)) return;
            const word said{.about = about.operation};
            session_.send_control(r, tag_, std::as_bytes(std::span(&said, 1)));
        };
    }

public:
    // `tag` marks the messages of this search; no other messages have it.
    program_search(session<X>& in, const envelope& tag) : session_(in), tag_(tag), search_(in.size(), in.rank()) {}

    bool is_its(const envelope& tag) const noexcept {
        return tag.context == tag_.context && tag.operation == tag_.operation;
    }
    // Takes a message of another device. where(call) returns the whereabouts of this rank, if
    // others wait for it in that call.
    template <class F>
    void heard(const control_message& m, F&& where) {
        word said;
        if (m.bytes.size() < sizeof said) return;
        std::memcpy(&said, m.bytes.data(), sizeof said);
        envelope about;
        about.context = tag_.context;
        about.operation = said.about;
        about.kind = program_kind;
        if (said.what == kind_of_word::question) return answer(m.peer, about, where(std::as_const(about)));
        const std::uint64_t now = session_.now_ns();
        if (said.what == kind_of_word::proposal && said.report.peer < session_.size())
            return search_.propose(m.peer, about, said.finding(tag_.context), deadline_after(now, said.lasts_ns), now);
        if (said.what != kind_of_word::answer || said.at > whereabouts::place::nowhere) return;
        whereabouts its{said.at, about, rank_set(session_.size())};
        its.call.operation = said.in;
        bough::detail::plain_list<unsigned char>& set = its.waits.bytes();
        if (m.bytes.size() != sizeof said + set.size()) return;
        std::memcpy(set.data(), m.bytes.data() + sizeof said, set.size());
        if (!search_.answered(m.peer, about, std::move(its), asker())) return;
        const whereabouts& at = search_.said_by(m.peer, about);
        if (at.at == whereabouts::place::in_it || at.at == whereabouts::place::elsewhere) ask(at.waits, at.call);
    }
    // Does what is due for an instance that waits for the ranks waits(). True if its time is up. Before
    // the search begins nothing is, and waits() is not called: a set of ranks takes memory.
    template <class W, class F>
    bool attend(waiting_instance& one, W&& waits, std::uint64_t now_ns, F&& where) {
        using due = deadline_stages::due;
        left(now_ns);
        const due what = one.when.at(now_ns);
        if (what == due::search || what == due::search_again) {
            search_.begin_round(now_ns, one.when.part_ns() / 2);
            if (what == due::search) one.search = search_.round();
            ask(waits(), one.call);
        } else if (what == due::proposal) {
            propose(one, find(one, waits(), now_ns, where), now_ns);
        }
        return what == due::end;
    }
    // The status of an instance whose time is up.
    template <class F>
    status report_of(const waiting_instance& one, const rank_set& waits, std::uint64_t now_ns, F&& where) {
        const auto any = [](rank_t, const envelope&) { return true; }; // a host has programs of one group
        finding f = search_.proposed(now_ns, any);
        if (f.sure != finding::how_sure::nothing) return f.settled(search_.proposers(now_ns, any));
        f = find(one, waits, now_ns, where);
        return f.sure != finding::how_sure::nothing ? f.settled({}) : deadline_of(one);
    }
    static status deadline_of(const waiting_instance& one) noexcept {
        return {.code = errc::deadline,
                .collective = one.call.kind,
                .operation = one.call.operation,
                .context = one.call.context};
    }

private:
    void ask(const rank_set& who, const envelope& call) {
        search_.ask(who, call, asker());
        left(session_.now_ns());
    }
    void left(std::uint64_t now_ns) {
        search_.look_at_departures(now_ns, [this](rank_t r) { return !session_.has_told(r); });
    }
    void answer(rank_t to, const envelope& about, const whereabouts& own) {
        const word said{.what = kind_of_word::answer, .at = own.at, .about = about.operation, .in = own.call.operation};
        rank_set waits = own.waits;
        waits.bytes().resize(rank_set(session_.size()).bytes().size());
        std::vector<std::byte> bytes(sizeof said + waits.bytes().size());
        std::memcpy(bytes.data(), &said, sizeof said);
        std::memcpy(bytes.data() + sizeof said, waits.bytes().data(), waits.bytes().size());
        session_.send_control(to, tag_, bytes);
    }
    template <class F>
    finding find(const waiting_instance& one, const rank_set& waits, std::uint64_t now_ns, F&& where) {
        return search_.find(waits, one.call, one.search, now_ns, one.when.part_ns() / 2, where);
    }
    void propose(const waiting_instance& one, finding f, std::uint64_t now_ns) {
        if (f.sure == finding::how_sure::nothing) return;
        word said{.what = kind_of_word::proposal,
                  .sure = f.sure,
                  .missing = static_cast<std::uint8_t>(f.report.missing < 255 ? f.report.missing : 255),
                  .about = one.call.operation,
                  .in = f.report.operation,
                  .lasts_ns = 2 * one.when.part_ns()};
        said.report.peer = f.report.peer;
        said.report.mine = f.report.mine;
        said.report.theirs = f.report.theirs;
        search_.propose(session_.rank(), one.call, f, deadline_after(now_ns, said.lasts_ns), now_ns);
        for (rank_t r = 0; r != session_.size(); ++r)
            if (r != session_.rank() && !session_.is_lost(r))
                session_.send_control(r, tag_, std::as_bytes(std::span(&said, 1)));
    }
    session<X>& session_;
    envelope tag_;
    absence_search search_;
};

} // namespace bough::nic::detail

#endif
